"""`python -m benchmarks.temporal` measures own history on models through time, and writes the tables."""

from benchmarks.temporal.own_history import main

if __name__ == "__main__":
    raise SystemExit(main())
