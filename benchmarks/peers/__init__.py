"""One file for each peer and job; every file is run inside that peer's own environment."""
