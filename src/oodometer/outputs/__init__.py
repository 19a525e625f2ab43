"""Outputs: a result where people look at it: frames, notebooks, files by their ending."""
