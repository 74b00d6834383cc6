"""Runs the benchmarks named on the command line, or all of them; prints a table, or JSON lines with --json."""

import argparse
import dataclasses
import json
import sys

from rich.console import Console
from rich.table import Table

from scripts.benchmarks import field_object, mapping, noise
from scripts.benchmarks.comparison import Measured

BENCHMARKS = {"field": field_object.comparisons, "mapping": mapping.comparisons, "noise": noise.comparisons}


def show(rows: list[Measured]) -> None:
    own = any(row.own_us is not None for row in rows)
    worked = any(row.processor_us is not None for row in rows)
    headings = ["comparison", "variant", "median us", "low", "high", "ratio to the first", "of lows"]
    table = Table(*headings, *(["own us", "own ratio"] if own else []), *(["processor us", "ratio"] if worked else []))
    for row in rows:
        figures = [f"{row.median_us:.3f}", f"{row.low_us:.3f}", f"{row.high_us:.3f}", f"{row.ratio:.2f}"]
        figures.append(f"{row.low_ratio:.2f}")
        if own:
            figures += ["" if figure is None else f"{figure:.2f}" for figure in (row.own_us, row.own_ratio)]
        if worked:
            figures += ["" if figure is None else f"{figure:.2f}" for figure in (row.processor_us, row.processor_ratio)]
        table.add_row(row.comparison, row.variant, *figures)
    Console(width=140).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all when none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in asked.names or BENCHMARKS:
        for comparison in BENCHMARKS[name]():
            rows = comparison.run()
            if asked.json:
                print("\n".join(json.dumps(dataclasses.asdict(row)) for row in rows), flush=True)
            else:
                show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
