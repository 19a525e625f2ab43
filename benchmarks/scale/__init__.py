"""Scale: rows a second, memory and states of `oodometer estimate` from 1 M to 100 M rows, on every engine."""
