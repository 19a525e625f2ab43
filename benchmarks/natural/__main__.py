"""`python -m benchmarks.natural` measures the headline on natural shifts, writes the tables and fills the guide."""

from benchmarks.natural.run import main

if __name__ == "__main__":
    raise SystemExit(main())
