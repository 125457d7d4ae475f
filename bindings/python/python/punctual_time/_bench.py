"""Ways to wait beside each other, as a Python program sees them."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._native import loop_ns

Wait = Callable[[int], None]


def _system(deadline: int) -> None:
    left = deadline - time.monotonic_ns()
    if left > 0:
        time.sleep(left * 1e-9)


def _hybrid(deadline: int) -> None:
    # As most write it by hand: sleep, and spin for the last millisecond.
    left = deadline - time.monotonic_ns() - 1_000_000
    if left > 0:
        time.sleep(left * 1e-9)
    while time.monotonic_ns() < deadline:
        pass


def _spin(deadline: int) -> None:
    while time.monotonic_ns() < deadline:
        pass


def _punctual(strategy: Optional[str]) -> Wait:
    from . import Waiter

    waiter = Waiter(strategy)

    def wait(deadline: int) -> None:
        waiter.sleep_until_ns(deadline)

    return wait


def _loop(wait: Wait, period: int, waits: int) -> List[int]:
    late = []
    deadline = time.monotonic_ns()
    for _ in range(waits):
        deadline += period
        wait(deadline)
        now = time.monotonic_ns()
        late.append(now - deadline)
        # Time lost by a stall is not caught up with.
        deadline = max(deadline, now - period)
    return late


def _async_loop(kind: str, period: int, waits: int) -> List[int]:
    from ._aio import sleep_until_ns

    async def loop() -> List[int]:
        late = []
        deadline = time.monotonic_ns()
        for _ in range(waits):
            deadline += period
            if kind == "asyncio":
                left = deadline - time.monotonic_ns()
                if left > 0:
                    await asyncio.sleep(left * 1e-9)
            else:
                await sleep_until_ns(deadline)
            now = time.monotonic_ns()
            late.append(now - deadline)
            deadline = max(deadline, now - period)
        return late

    return asyncio.run(loop())


def bench(
    hz: Sequence[float] = (100, 1000),
    *,
    rounds: int = 6,
    seconds: float = 0.4,
    others: Optional[Dict[str, Wait]] = None,
) -> Dict[str, Any]:
    """Measures ways to wait in turns, as late as Python sees them, and their CPU time.

    `others` are functions that wait until a deadline of `time.monotonic_ns`. The result has a row
    for each rate and way: the lateness in ns and the CPU time in ns for each wait, of all rounds.
    """
    waits: Dict[str, Callable[[int, int], List[int]]] = {}

    def add(name: str, wait: Wait) -> None:
        waits[name] = lambda period, count: _loop(wait, period, count)

    add("time.sleep", _system)
    add("sleep and spin 1 ms", _hybrid)
    add("spin", _spin)
    add("punctual_time", _punctual(None))
    add("punctual_time, frugal", _punctual("adaptive-frugal"))
    waits["punctual in Rust"] = loop_ns
    for name, wait in (others or {}).items():
        add(name, wait)
    for kind in ("asyncio", "punctual_time"):
        name = "asyncio.sleep" if kind == "asyncio" else "punctual_time, asyncio"
        waits[name] = lambda period, count, kind=kind: _async_loop(kind, period, count)  # type: ignore[misc]

    rows = []
    for rate in hz:
        period = round(1e9 / rate)
        count = max(round(seconds * rate), 10)
        late: Dict[str, List[int]] = {name: [] for name in waits}
        cpu: Dict[str, List[float]] = {name: [] for name in waits}
        for _ in range(rounds):
            for name, loop in waits.items():
                before = time.process_time_ns()
                late[name] += loop(period, count)
                cpu[name].append((time.process_time_ns() - before) / count)
        for name in waits:
            ordered = sorted(late[name])
            rows.append(
                {
                    "hz": rate,
                    "way": name,
                    "waits": len(ordered),
                    "early": sum(1 for ns in ordered if ns < 0),
                    "p50_ns": ordered[len(ordered) // 2],
                    "p99_ns": ordered[len(ordered) * 99 // 100],
                    "max_ns": ordered[-1],
                    "cpu_ns": sorted(cpu[name])[len(cpu[name]) // 2],
                    "cpu_least_ns": min(cpu[name]),
                    "cpu_most_ns": max(cpu[name]),
                }
            )
    return {"rounds": rounds, "seconds": seconds, "rows": rows}
