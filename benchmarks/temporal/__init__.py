"""Temporal: models through time, whose labels come in late; what own history makes of the estimate."""
