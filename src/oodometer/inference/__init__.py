"""Inference: folds, samples, transport, classifiers of domains: tools that methods share and that register nothing."""
