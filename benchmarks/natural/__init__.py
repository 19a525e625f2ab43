"""Natural shifts: the headline, its trust and every method on shifts that nobody simulated."""
