"""Sleeps that end when you asked, and say what they cost.

    import punctual_time

    punctual_time.sleep(0.002)                  # never early, microseconds late
    for tick in punctual_time.Rate(1000):       # in phase for ever
        step(tick.missed)

Times are those of `time.monotonic()`, in seconds, or in nanoseconds where a name ends with `_ns`.
No wait holds the interpreter's lock; Ctrl-C and other signal handlers run at once.
"""

from __future__ import annotations

import math
import sys
import time as _time
from typing import Callable, Optional, TypeVar

from ._aio import (
    AsyncRate,
    sleep as async_sleep,
    sleep_until as async_sleep_until,
    sleep_until_ns as async_sleep_until_ns,
)
from ._bench import bench
from ._native import (
    Cancel,
    Cancelled,
    Guard,
    Outcome,
    Rate as _Rate,
    SlotCounts,
    Statistics,
    Tick,
    TimerQueue,
    Waiter as _Waiter,
    begin_ns as _begin_ns,
    end_ns as _end_ns,
    now_ns as _now_ns,
    show_on as _show_on,
)
from ._runs import Run, RunError, doctor, read_run

__all__ = [
    "AsyncRate",
    "Cancel",
    "Cancelled",
    "Guard",
    "Outcome",
    "Rate",
    "Run",
    "RunError",
    "SlotCounts",
    "Statistics",
    "Tick",
    "TimerQueue",
    "Waiter",
    "async_sleep",
    "async_sleep_until",
    "async_sleep_until_ns",
    "bench",
    "doctor",
    "honoured_requests",
    "now_ns",
    "read_run",
    "sleep",
    "sleep_until",
    "sleep_until_ns",
    "thread_priority",
    "timer_resolution",
    "timer_slack",
    "wakeup_latency",
]

_NEVER = 2**64 - 1

if sys.platform == "win32" and sys.version_info < (3, 13):
    # There `time.monotonic` counts ticks of 15.6 ms, and this library the performance counter.
    _show_on(_time.monotonic_ns)

    def now_ns() -> int:
        """What `time.monotonic_ns` shows."""
        return _time.monotonic_ns()

    def _on_clock(t: int) -> int:
        # In this order, so that what passes in between is late, not early.
        return t - _time.monotonic_ns() + _now_ns()
else:

    def now_ns() -> int:
        """What `time.monotonic_ns` shows."""
        return _now_ns()

    def _on_clock(t: int) -> int:
        return t


def _clamped(t: int) -> int:
    return min(max(_on_clock(t), 0), _NEVER)


def _length(seconds: float) -> int:
    """Nanoseconds, rounded up; as `time.sleep` refuses."""
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    return _NEVER if seconds > 9e9 else math.ceil(seconds * 1e9)


def _instant(t: float) -> int:
    if t != t:
        raise ValueError("Invalid value NaN (not a number)")
    return _NEVER if t > 9e9 else _clamped(math.ceil(max(t, 0.0) * 1e9))


_T = TypeVar("_T")
_own = globals()


class _Caller:
    """Stands for who waits: calls and their returns, as most programs go on with."""

    __slots__ = ()

    def wait(self, end: Callable[..., Optional[_T]], deadline: "tuple[int, ...]") -> Optional[_T]:
        return self.until(end, deadline)

    def until(self, end: Callable[..., Optional[_T]], deadline: "tuple[int, ...]") -> Optional[_T]:
        return end(*deadline)


_caller = _Caller()


def _touch_callers() -> None:
    frame = sys._getframe(2).f_back
    while frame is not None and frame.f_globals is _own:
        frame = frame.f_back
    for _ in range(2):
        if frame is not None:
            # The next call is most likely one of these.
            for name in frame.f_code.co_names[:16]:
                frame.f_globals.get(name)
            frame = frame.f_back


def _finish(is_cold: bool, end: Callable[..., Optional[_T]], *deadline: int) -> _T:
    # The last microseconds pass here, and the code after the wait is rehearsed. After a nap
    # neither the interpreter nor the program is in any cache, and continuing takes 10 us.
    if is_cold:
        _touch_callers()
        for _ in range(2):
            over = _caller.wait(end, deadline)
            if over is not None:
                return over
            _time.monotonic_ns() - 1
    while True:
        over = end(*deadline)
        if over is not None:
            return over


def _until(deadline: int) -> Outcome:
    return _finish(_begin_ns(deadline), _end_ns, deadline)


def sleep(seconds: float) -> Outcome:
    """Waits for so many seconds with what this thread has learned of its waits."""
    return _until(min(_now_ns() + _length(seconds), _NEVER))


def sleep_until(t: float) -> Outcome:
    """Waits until `time.monotonic()` is `t`; returns at once if it is later."""
    return _until(_instant(t))


def sleep_until_ns(t: int) -> Outcome:
    """Waits until `time.monotonic_ns()` is `t`; returns at once if it is later."""
    return _until(_clamped(t))


class Waiter:
    """Waits with one strategy and what that has learned: one for each thread that waits.

    `strategy` is a text such as `"adaptive-frugal:budget=5%"`. Instead of it, `late_weight` says
    how much worse a nanosecond of lateness is than one of CPU time; 10 without either.
    """

    __slots__ = ("_waiter",)

    def __init__(
        self, strategy: Optional[str] = None, *, late_weight: Optional[float] = None
    ) -> None:
        self._waiter = _Waiter(strategy, late_weight)

    def _until(self, deadline: int, cancel: Optional[Cancel]) -> Outcome:
        waiter = self._waiter
        return _finish(waiter.begin_ns(deadline, cancel), waiter.end_ns, deadline)

    def sleep(self, seconds: float, cancel: Optional[Cancel] = None) -> Outcome:
        """Waits for so many seconds, or raises `Cancelled`."""
        return self._until(min(_now_ns() + _length(seconds), _NEVER), cancel)

    def sleep_until(self, t: float, cancel: Optional[Cancel] = None) -> Outcome:
        """Waits until `time.monotonic()` is `t`, or raises `Cancelled`."""
        return self._until(_instant(t), cancel)

    def sleep_until_ns(self, t: int, cancel: Optional[Cancel] = None) -> Outcome:
        """Waits until `time.monotonic_ns()` is `t`, or raises `Cancelled`."""
        return self._until(_clamped(t), cancel)

    def statistics(self) -> Statistics:
        """What was seen of its waits, as late as Python saw them end."""
        return self._waiter.statistics()


class Rate:
    """Ticks at an exact rate, in phase for ever: `rate.sleep()`, or `for tick in rate`.

    A tick whose slot has passed comes at once. Slots that have passed by then too are missed
    (`missed="skip"`), owed (`"burst"`, `"burst-of:N"`), or the schedule begins anew (`"delay"`).
    With a `poisson_seed` the gaps are random, on average a period, as the requests of many users.
    """

    __slots__ = ("_rate",)

    def __init__(
        self,
        hz: float,
        missed: str = "skip",
        *,
        strategy: Optional[str] = None,
        late_weight: Optional[float] = None,
        start_ns: Optional[int] = None,
        poisson_seed: Optional[int] = None,
    ) -> None:
        self._rate = _Rate(
            hz,
            missed,
            strategy=strategy,
            late_weight=late_weight,
            start_ns=None if start_ns is None else _clamped(start_ns),
            poisson_seed=poisson_seed,
        )

    def sleep(self, cancel: Optional[Cancel] = None) -> Tick:
        """Waits for the next slot, or raises `Cancelled`; that slot is still to come then."""
        return _finish(self._rate.begin(cancel), self._rate.try_tick)

    def try_tick(self) -> Optional[Tick]:
        """The next slot if it has passed, without waiting."""
        return self._rate.try_tick()

    def remaining(self) -> float:
        """Seconds to the next slot."""
        return self._rate.remaining()

    def reset(self) -> None:
        """Begins anew: the next slot is now."""
        self._rate.reset()

    @property
    def hz(self) -> float:
        """The rate in hertz, which `set_hz` changes."""
        return self._rate.hz

    def set_hz(self, hz: float) -> None:
        """Changes the rate, in phase."""
        self._rate.set_hz(hz)

    def statistics(self) -> Statistics:
        """What was seen of its ticks, as late as Python saw them."""
        return self._rate.statistics()

    def counts(self) -> SlotCounts:
        """What became of all slots: `due` is `ticks` and `missed` and `owed` together."""
        return self._rate.counts()

    def __iter__(self) -> Rate:
        return self

    def __next__(self) -> Tick:
        return self.sleep()


def timer_resolution(seconds: float) -> Guard:
    """Windows: the interval between clock interrupts, while it is held."""
    return Guard("timer_resolution", seconds)


def honoured_requests() -> Guard:
    """Windows 11: the same also while nobody sees or hears this process."""
    return Guard("honoured_requests")


def timer_slack(seconds: float) -> Guard:
    """Linux: how much later than asked other sleeps of this thread may end."""
    return Guard("timer_slack", seconds)


def wakeup_latency(seconds: float) -> Guard:
    """Linux, root: how long CPUs may take to leave their idle states."""
    return Guard("wakeup_latency", seconds)


def thread_priority(priority: str) -> Guard:
    """This thread's: background, utility, normal, interactive or real-time."""
    return Guard("thread_priority", priority=priority)
