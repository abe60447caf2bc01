"""Did it work? Benchmarks, runs, scores, reports."""
