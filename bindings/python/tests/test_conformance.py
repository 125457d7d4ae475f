"""The cases of ../conformance.txt, which every language runs."""

import math
import os
import pathlib
import threading
import time

import pytest

import punctual_time as pt

TABLE = pathlib.Path(__file__).parents[2] / "conformance.txt"
CASES = [
    line.rsplit(" = ", 1) if " = " in line else [line.rstrip("= "), ""]
    for line in TABLE.read_text().splitlines()
    if line and not line.startswith("#")
]


def sleep(ns: str) -> str:
    length = int(ns)
    begin = pt.now_ns()
    outcome = pt.sleep(length / 1e9)
    passed = pt.now_ns() - begin
    assert passed >= length and passed >= outcome.slept_ns + outcome.spun_ns
    return "ok"


def sleep_until(after: str) -> str:
    begin = time.monotonic_ns()
    deadline = begin + int(after)
    waiter = pt.Waiter()
    for wait in (
        pt.sleep_until_ns,
        waiter.sleep_until_ns,
        lambda t: waiter.sleep_until_ns(t, pt.Cancel()),
        lambda t: pt.sleep_until(t / 1e9),
    ):
        outcome = wait(deadline)
        # A float of seconds is exact to a fraction of a microsecond.
        assert time.monotonic_ns() + 1000 >= deadline
        assert outcome.lateness_ns + 1000 >= min(begin - deadline, begin)
    return "ok"


def strategy(text: str) -> str:
    waiter = pt.Waiter(text)
    waiter.sleep(1e-4)
    assert waiter.statistics().waits == 1
    return "ok"


def weight(number: str) -> str:
    pt.Waiter(late_weight=float(number)).sleep(1e-4)
    return "ok"


def rate(hz: str) -> str:
    tick = pt.Rate(float(hz)).sleep()
    assert time.monotonic_ns() >= tick.actual_ns >= tick.scheduled_ns
    return "ok"


def missed(behavior: str, behind: str) -> str:
    ticker = pt.Rate(100, behavior, start_ns=pt.now_ns() - round(float(behind) * 1e7))
    tick = ticker.sleep()
    counts = ticker.counts()
    assert counts.due == counts.ticks + counts.missed + counts.owed
    return str(tick.missed)


def cancel(when: str) -> str:
    handle, now = pt.Cancel(), time.monotonic_ns()
    deadline = {"during": now + 3600 * 10**9, "past": now - 10**6, "forever": 2**64 - 1}
    other = None
    if when in ("during", "forever"):
        other = threading.Timer(0.002, handle.cancel)
        other.start()
    else:
        handle.cancel()
    if when == "reset":
        handle.reset()
    try:
        pt.Waiter().sleep_until_ns(deadline.get(when, now + 3 * 10**6), handle)
    finally:
        if other:
            other.join()
    return "ok"


def queued(times: tuple[str, ...]) -> tuple[pt.TimerQueue, list[int], list[int]]:
    queue, order = pt.TimerQueue(), []
    keys = []
    for time_ in times:
        earliest, _, tolerance = time_.partition("+")
        keys.append(queue.insert(int(earliest), order.append, int(tolerance or 0)))
    return queue, order, keys


def queue(*times: str) -> str:
    timers, order, _ = queued(times)
    assert timers.advance(100) == len(order)
    return " ".join(map(str, order))


def queue_cancel(*times: str) -> str:
    timers, order, keys = queued(times)
    assert timers.cancel(keys[0]) and not timers.cancel(keys[0])
    timers.advance(100)
    return " ".join(map(str, order))


def queue_wake(*times: str) -> str:
    wake = queued(times)[0].next_wake_ns
    return "never" if wake is None else str(wake)


def threads(how: str) -> str:
    waiter, done = pt.Waiter(), []

    def wait(own: pt.Waiter) -> None:
        done.append(own.sleep(1e-3))

    waiter.sleep(1e-3)
    others = [waiter] if how == "move" else [pt.Waiter(), pt.Waiter()]
    running = [threading.Thread(target=wait, args=(one,)) for one in others]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(done) == len(others)
    return "ok"


def fork(_: str) -> str:
    if not hasattr(os, "fork"):
        return "ok"
    waiter = pt.Waiter()
    waiter.sleep(1e-3)
    child = os.fork()
    if child == 0:
        waiter.sleep(1e-3)
        pt.sleep(1e-6)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return "ok"


OPERATIONS = {
    "sleep": sleep,
    "sleep-until": sleep_until,
    "strategy": strategy,
    "weight": weight,
    "rate": rate,
    "missed": missed,
    "cancel": cancel,
    "queue": queue,
    "queue-cancel": queue_cancel,
    "queue-wake": queue_wake,
    "threads": threads,
    "fork": fork,
    # Nothing here takes a pointer.
    "null": lambda _: "null",
}


@pytest.mark.parametrize(["case", "expected"], CASES, ids=[case for case, _ in CASES])
def test_case(case: str, expected: str) -> None:
    operation, *arguments = case.split()
    try:
        got = OPERATIONS[operation](*arguments)
    except pt.Cancelled:
        got = "cancelled"
    except ValueError as why:
        assert str(why)
        got = "range"
    except NotImplementedError:
        got = "unsupported"
    if expected.startswith(">="):
        assert int(got) >= int(expected[2:])
    else:
        assert got == expected


@pytest.mark.parametrize("bad", [math.nan, -1.0, -math.inf])
def test_no_such_length(bad: float) -> None:
    for wait in (pt.sleep, pt.Waiter().sleep):
        with pytest.raises(ValueError):
            wait(bad)


def test_other_types() -> None:
    for bad in ("1", None, b""):
        with pytest.raises(TypeError):
            pt.sleep(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pt.Rate("fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="skip, burst"):
        pt.Rate(10, "sometimes")
    with pytest.raises(ValueError, match="not both"):
        pt.Waiter("spin", late_weight=2.0)
