"""Labelling: a page, one file that loads nothing, on which a person labels suggested rows in any browser."""
