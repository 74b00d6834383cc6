"""Runs the benchmarks named on the command line, or all of them; prints a table, or JSON lines with --json."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.table import Table

from scripts.benchmarks import (
    audit,
    field_object,
    keys,
    ledger,
    looking_up,
    maintaining,
    mapping,
    mean_peers,
    noise,
    private_answers,
    reencrypting,
    scale,
    sealed_answers,
    status,
    workers,
)
from scripts.benchmarks.comparison import Comparison, Measured
from scripts.benchmarks.counted import Count, Counted
from scripts.benchmarks.worked import Worked, Works

BENCHMARKS: dict[str, Callable[..., Iterator[Comparison | Count | Works]]] = {
    "answers": sealed_answers.comparisons,
    "audit": audit.comparisons,
    "field": field_object.comparisons,
    "jobs": reencrypting.comparisons,
    "keys": keys.comparisons,
    "ledger": ledger.comparisons,
    "lookups": looking_up.comparisons,
    "maintain": maintaining.comparisons,
    "mapping": mapping.comparisons,
    "means": mean_peers.comparisons,
    "noise": noise.comparisons,
    "private": private_answers.comparisons,
    "scale": scale.comparisons,
    "status": status.comparisons,
    "workers": workers.comparisons,
}
SIZED = frozenset({"answers", "audit", "jobs", "lookups", "maintain", "scale", "workers"})


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


def show_counts(rows: list[Counted]) -> None:
    table = Table("counted", "times", "target")
    for row in rows:
        table.add_row(row.counted, f"{row.times:,}", f"{row.target:,}")
    Console(width=120).print(table)


def show_worked(row: Worked) -> None:
    """One line, as soon as it is there: the next may take an hour."""
    peak = f"  peak {row.peak_mib} MiB" if row.peak_mib else ""
    print(
        f"{row.rows:>11,} rows  {row.work:<46} {row.seconds:8.1f} s {row.rows_a_second:>9,} rows/s"
        f"  processor {row.client:.1f} s client {row.server:.1f} s server{peak}"
        f"  log {row.wal_mib:,} MiB  table {row.table_mib:,} MiB index {row.index_mib:,} MiB  load {row.load:.1f}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all when none is given")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="of the table that answers, jobs, lookups, maintain, scale and workers work on, or of audit's log; a"
        " million, of answers 100,000, of scale 100,000 before it",
    )
    parser.add_argument("--largest", action="store_true", help="scale: on a table of ten million rows too")
    parser.add_argument("--fillfactor", type=int, default=100, metavar="N", help="scale: of the table, in percent")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in asked.names or BENCHMARKS:
        sized = [asked.rows] if asked.rows and name in SIZED else []
        options = {"largest": asked.largest, "fillfactor": asked.fillfactor} if name == "scale" else {}
        for comparison in BENCHMARKS[name](*sized, **options):
            if isinstance(comparison, Works):
                for row in comparison.run():
                    if asked.json:
                        print(json.dumps(dataclasses.asdict(row)), flush=True)
                    else:
                        show_worked(row)
                continue
            rows: list[Measured | Counted] = list(comparison.run())
            if asked.json:
                print("\n".join(json.dumps(dataclasses.asdict(row)) for row in rows), flush=True)
                continue
            counts, times = [r for r in rows if isinstance(r, Counted)], [r for r in rows if isinstance(r, Measured)]
            if counts:
                show_counts(counts)
            if times:
                show(times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
