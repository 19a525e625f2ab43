"""Temporal sources of named packages: a model of early rows, a labelled reference, then periods in order."""
