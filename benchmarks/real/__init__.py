"""Quality on real model outputs: how far each estimate is from the truth, and how often its interval holds it."""
