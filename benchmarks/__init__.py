"""Benchmarks: how fast and how small oodometer is beside its peers and beside plain numpy."""
