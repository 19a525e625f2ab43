"""Shifts: examples changed on purpose, seeded and with a severity, for data on which models are tried or trained."""
