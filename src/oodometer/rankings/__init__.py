"""Rankings: several models, a few labels and an unlabelled pool in; an order with its probabilities out."""
