"""RestBench: instructions, judged by the end state of a simulated API."""
