"""Runs the two programs in turns and prints what a wait costs; see `run`."""

import statistics
import subprocess
import sys
from math import comb

rounds, program, python, script = int(sys.argv[1]), *sys.argv[2:5]
CROWDS = [
    ("C", [program], "clock_nanosleep", 8),
    ("C", [program], "clock_nanosleep", 24),
    ("C", [program], "clock_nanosleep", 64),
    ("Python", [python, script], "time.sleep", 8),
    ("Python", [python, script], "time.sleep", 24),
]


def interval(values: list[float]) -> tuple[float, float]:
    """The narrowest interval of ordered values that holds the median with 95 %, or all of them."""
    ordered, n = sorted(values), len(values)
    below = 0
    while sum(comb(n, k) for k in range(below + 1)) / 2**n <= 0.025:
        below += 1
    cut = max(below - 1, 0)
    return ordered[cut], ordered[n - 1 - cut]


for language, command, other, threads in CROWDS:
    costs: dict[str, list[float]] = {"punctual": [], other: []}
    cpus: dict[str, list[float]] = {"punctual": [], other: []}
    for number in range(rounds):
        subjects = ["punctual", other] if number % 2 else [other, "punctual"]
        for subject in subjects:
            run = subprocess.run([*command, subject, str(threads), "1000", "1"], capture_output=True, check=True)
            waits, cpu_ns, late_ns = map(int, run.stdout.split())
            costs[subject].append((cpu_ns + 10 * late_ns) / waits)
            cpus[subject].append(cpu_ns / 1e9)
    ratios = [ours / theirs for ours, theirs in zip(costs["punctual"], costs[other])]
    low, high = interval(ratios)
    used = " and ".join(f"{statistics.median(cpus[subject]):.2f}" for subject in ("punctual", other))
    print(
        f"{language}, {threads} threads, 1 ms: {statistics.median(ratios):.2f} [{low:.2f}..{high:.2f}] "
        f"times the cost of {other}; {used} CPUs",
        flush=True,
    )
