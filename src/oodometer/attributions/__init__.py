"""Attributions: how much each word of a text weighs for a model."""
