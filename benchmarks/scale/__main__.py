"""`python -m benchmarks.scale`."""

from .run import main

main()
