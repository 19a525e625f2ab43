"""`python -m benchmarks.real` measures every set of real outputs and writes the tables."""

from benchmarks.real.run import main

raise SystemExit(main())
