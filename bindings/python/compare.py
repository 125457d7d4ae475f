"""Measures ways to wait as Python sees them, beside other packages: python compare.py [ROUNDS]

Three times: on a quiet machine, with a thread that computes in Python beside it (which has the
interpreter's lock for 5 ms at a time), and with a process for each CPU that computes. Packages that
are not installed (naptime, loop-rate-limiters) are left out.
"""

import os
import subprocess
import sys
import threading
import time
from typing import Callable, Dict

import punctual_time

others: Dict[str, Callable[[int], None]] = {}
try:
    import naptime

    def nap(deadline: int) -> None:
        left = deadline - time.monotonic_ns()
        if left > 0:
            naptime.sleep(left * 1e-9)

    others["naptime"] = nap
except ImportError:
    pass
try:
    from loop_rate_limiters import RateLimiter

    def limit(deadline: int) -> None:
        left = deadline - time.monotonic_ns()
        if left > 0:
            # Its next tick is a period after the last call, so a loop of it drifts: here it does not.
            RateLimiter(1e9 / left, warn=False).sleep()

    others["loop-rate-limiters"] = limit
except ImportError:
    pass

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
columns = f"{'Hz':>5}  {'way':<24} {'early':>6} {'p50 us':>8} {'p99 us':>8}  {'CPU us a wait':>20}"


def table(title: str) -> None:
    print(f"{title}\n{columns}")
    for row in punctual_time.bench(rounds=rounds, others=others)["rows"]:
        p50, p99, cpu, least, most = (
            row[name] / 1000 for name in ("p50_ns", "p99_ns", "cpu_ns", "cpu_least_ns", "cpu_most_ns")
        )
        spread = f"{cpu:.1f} [{least:.1f}..{most:.1f}]"
        print(
            f"{row['hz']:>5}  {row['way']:<24} {row['early']:>6} {p50:8.1f} {p99:8.1f}  {spread:>20}"
        )
    print()


table("Quiet")

stop = threading.Event()


def compute() -> None:
    while not stop.is_set():
        sum(range(100))


hog = threading.Thread(target=compute)
hog.start()
table("A thread that computes (CPU time is of both)")
stop.set()
hog.join()

hogs = [
    subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)
]
try:
    table("A process on each CPU")
finally:
    for process in hogs:
        process.kill()
        process.wait()
