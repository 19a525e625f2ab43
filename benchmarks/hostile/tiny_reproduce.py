"""`oodometer reproduce` as it is, its recipe at the tiny size of its tests: for runs that are killed and run again."""

from __future__ import annotations

import sys
import warnings


def main() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        torch.set_num_threads(1)
        from oodometer.cli import main as command
        from oodometer_lab.recipes.correctness_discriminators import RECIPE

    from benchmarks.hostile.kill import tiny_cogs

    RECIPE.lineup = tiny_cogs().tiny_tasks
    return command(["reproduce", *sys.argv[1:]])


if __name__ == "__main__":
    raise SystemExit(main())
