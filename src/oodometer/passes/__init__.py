"""Passes: one reading of the data for estimators, metrics and diagnoses: plan, summarize, merge, finish."""
