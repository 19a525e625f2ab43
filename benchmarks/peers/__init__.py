"""Jobs of peers, each run inside that peer's own environment."""
