"""The baselines of the paper as graphs of their own (appendix B)."""
