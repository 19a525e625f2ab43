"""Torch: one training loop and one asking loop for every network, checkpoints, batches; loaded where it is used."""
