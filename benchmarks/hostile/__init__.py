"""Hostile input: every class of bad or odd input with what must happen, fuzzed files, and killed runs."""
