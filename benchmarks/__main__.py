"""`make bench`: run every benchmark, one process each, and write the table `benchmarks/results.md`."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
from pathlib import Path

from .measure import Row, measure_into

HERE = Path(__file__).resolve().parent
TITLES = {
    "bench_notation": "Equations",
    "bench_texts": "Any text",
    "bench_recurrent": "Recurrent models",
    "bench_attention": "Attention and grids",
    "bench_imports": "Imports",
    "bench_grading": "Grading",
    "bench_book": "The book",
    "bench_live": "The living book",
}


def measure(name: str) -> list[Row]:
    """A benchmark in a process of its own: what it imports and how it sets its threads is its own affair."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=measure_into, args=(name, theirs))
    process.start()
    theirs.close()
    try:
        return [Row(**row) for row in ours.recv()]
    except EOFError:
        raise SystemExit(f"{name} did not finish") from None
    finally:
        process.join()


def markdown(results: dict[str, dict]) -> str:
    lines = ["# How fast", "", "Measured by `make bench`.", ""]
    for part in results.values():
        lines += [f"## {part['title']}", "", f"On {part['machine']}.", ""]
        lines += ["| what | ours | theirs | measured | wanted | |", "|---|---|---|---|---|---|"]
        for row in part["rows"]:
            cells = [row[name] for name in ("what", "ours", "theirs", "measured", "wanted", "met")]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def machine() -> str:
    """What was measured on, and what else it was doing."""
    python, load = platform.python_version(), os.getloadavg()[0]
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {python}, load {load:.1f} at the start"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks (default: all)", choices=[*TITLES, []])
    names = parser.parse_args().names or list(TITLES)
    stored = HERE / "results.json"
    known = json.loads(stored.read_text()) if stored.exists() else {}
    for name in names:
        print(f"{TITLES[name]} …", flush=True)
        where, rows = machine(), [row.told() for row in measure(name)]
        for row in rows:
            print(f"  {row['what']:<62} {row['measured']:>12}  {row['met']}", flush=True)
        known[name] = {"title": TITLES[name], "machine": where, "rows": rows}
    known = {name: known[name] for name in TITLES if name in known}
    stored.write_text(json.dumps(known, indent=1) + "\n")
    (HERE / "results.md").write_text(markdown(known))
    print(f"The table: {HERE / 'results.md'}")


if __name__ == "__main__":
    main()
