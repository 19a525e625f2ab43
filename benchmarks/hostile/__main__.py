"""`python -m benchmarks.hostile` tries every class of bad input; `fuzz` damages files; `kill` ends runs with -9."""

from __future__ import annotations

import argparse


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], help="classes whose group or name contains this"
    )
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="put the table into benchmarks/results/bad_input.md",
    )
    parser.add_argument("--json", help="write what came of each class to this file")
    parser.add_argument("--workers", type=int, default=2)
    commands = parser.add_subparsers(dest="command")
    fuzz = commands.add_parser("fuzz", help="damage files and pairs of files")
    fuzz.add_argument("--files", type=int, default=2000)
    fuzz.add_argument(
        "--first", type=int, default=0, help="number of the first file, to try one again"
    )
    kill = commands.add_parser("kill", help="end runs with -9 and run them again")
    kill.add_argument("--times", type=int, default=8)
    kill.add_argument("--jobs", nargs="*", help="only these")
    for command in (fuzz, kill):
        command.add_argument("--seed", type=int, default=0)
        command.add_argument(
            "--no-results", action="store_true", help="leave benchmarks/results as it is"
        )
    given = parser.parse_args()
    if given.command == "fuzz":
        from benchmarks.hostile.fuzz import main as run

        return run(given.files, given.seed, given.workers, not given.no_results, given.first)
    if given.command == "kill":
        from benchmarks.hostile.kill import main as end

        return end(given.times, given.seed, given.jobs, not given.no_results)
    from benchmarks.hostile.catalogue import main as catalogue

    return catalogue(given.only, given.write_docs, given.json, given.workers)


if __name__ == "__main__":
    raise SystemExit(main())
