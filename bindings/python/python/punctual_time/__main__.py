"""python -m punctual_time doctor [--quick], or bench."""

from __future__ import annotations

import argparse
import sys

from . import RunError, bench, doctor


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m punctual_time", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    examine = commands.add_parser("doctor", help="why a wait is late here, and what would help")
    examine.add_argument("--quick", action="store_true", help="in 4 s instead of 10")
    commands.add_parser("bench", help="ways to wait, as late as Python sees them")
    asked = parser.parse_args()
    if asked.command == "doctor":
        try:
            print(doctor(quick=asked.quick))
        except (OSError, RunError) as why:
            print(f"error: {why}", file=sys.stderr)
            return 2
        return 0
    rows = bench()["rows"]
    print(f"{'Hz':>5}  {'way':<24} {'p50 us':>8} {'p99 us':>8} {'CPU us':>8}")
    for row in rows:
        us = [f"{row[name] / 1000:8.1f}" for name in ("p50_ns", "p99_ns", "cpu_ns")]
        print(f"{row['hz']:>5}  {row['way']:<24} {' '.join(us)}")
    print("Lateness as Python sees it, and CPU time of the process for each wait.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
