"""Backtests: methods tried on shifts that are simulated from the labelled reference; trials are kept and reused."""
