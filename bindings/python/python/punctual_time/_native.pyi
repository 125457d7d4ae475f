import sys
from types import TracebackType
from typing import Any, Callable, Optional, Type, final

__all__ = [
    "Cancel",
    "Cancelled",
    "Guard",
    "Outcome",
    "Rate",
    "SlotCounts",
    "Statistics",
    "Tick",
    "TimerQueue",
    "TimerThread",
    "Waiter",
    "begin_ns",
    "end_ns",
    "loop_ns",
    "now_ns",
    "show_on",
]

if sys.platform != "win32":
    __all__ += ["Mailbox"]

class Cancelled(Exception):
    """The wait was cancelled."""

def now_ns() -> int: ...
def show_on(clock: Callable[[], int]) -> None: ...
def begin_ns(deadline: int) -> bool: ...
def end_ns(deadline: int) -> Optional[Outcome]: ...
def loop_ns(period: int, waits: int) -> list[int]: ...

@final
class Outcome:
    """The result of one wait: how late it was, and what it cost."""
    @property
    def lateness_ns(self) -> int:
        """How long after its deadline Python continued."""
    @property
    def slept_ns(self) -> int:
        """The time in calls that sleep."""
    @property
    def spun_ns(self) -> int:
        """The time spent spinning, which is CPU time."""
    @property
    def naps(self) -> int:
        """How often the thread slept."""
    @property
    def hit_budget(self) -> bool:
        """Whether the wait would have spun more without its budget."""

@final
class Statistics:
    """The lateness and cost of many waits. Quantiles are up to an eighth too high.

    Statistics of several threads or processes add up: `+`, `sum()` or `merge`. They can be pickled.
    """
    def __new__(cls) -> Statistics: ...
    @property
    def waits(self) -> int:
        """The number of waits that reached their deadline."""
    @property
    def already_late(self) -> int:
        """The number of those whose deadline had passed when they began."""
    @property
    def missed(self) -> int:
        """The number of slots that never got a tick."""
    @property
    def naps(self) -> int:
        """How often threads slept in these waits."""
    @property
    def slept_ns(self) -> int:
        """The time in calls that sleep."""
    @property
    def spun_ns(self) -> int:
        """The time spent spinning, which is CPU time."""
    @property
    def budget_hits(self) -> int:
        """The number of waits that would have spun more without their budget."""
    @property
    def mean_ns(self) -> int:
        """The mean lateness."""
    @property
    def p50_ns(self) -> int:
        """The median lateness."""
    @property
    def p90_ns(self) -> int:
        """The 90th percentile of lateness."""
    @property
    def p99_ns(self) -> int:
        """The 99th percentile of lateness."""
    @property
    def p999_ns(self) -> int:
        """The lateness that 999 of 1000 waits do not exceed."""
    @property
    def max_ns(self) -> int:
        """The largest lateness, which is exact."""
    def merge(self, other: Statistics) -> None:
        """Adds the waits of another."""
    def asdict(self) -> dict[str, int]:
        """Returns all numbers by name, as a row of a table."""
    def __add__(self, other: Statistics, /) -> Statistics: ...
    def __radd__(self, other: int, /) -> Statistics: ...
    def _repr_html_(self) -> str: ...

@final
class Cancel:
    """Ends waits before their deadline, from any thread: they raise `Cancelled`."""
    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None:
        """Ends all waits that use it, and those that begin later."""
    def reset(self) -> None:
        """Lets waits that begin later wait again."""
    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called since the last `reset`."""

@final
class Waiter:
    def __new__(
        cls, strategy: Optional[str] = None, late_weight: Optional[float] = None
    ) -> Waiter: ...
    def begin_ns(self, deadline: int, cancel: Optional[Cancel] = None) -> bool: ...
    def end_ns(self, deadline: int) -> Optional[Outcome]: ...
    def statistics(self) -> Statistics: ...

@final
class Tick:
    """A slot of a rate that was waited for."""
    @property
    def number(self) -> int:
        """The number of the slot, from 0. Missed slots have numbers too."""
    @property
    def scheduled_ns(self) -> int:
        """The time at which the slot was due, as of `time.monotonic_ns`."""
    @property
    def actual_ns(self) -> int:
        """The time at which Python continued, as of `time.monotonic_ns`; never before it was due."""
    @property
    def lateness_ns(self) -> int:
        """How long after the slot was due Python continued."""
    @property
    def missed(self) -> int:
        """The number of slots missed since the tick before, and because of this one."""
    @property
    def outcome(self) -> Outcome:
        """The wait for it."""

@final
class SlotCounts:
    """A count of all slots of a rate: `due` equals `ticks`, `missed` and `owed` together."""
    @property
    def due(self) -> int:
        """The slots that were due until the last tick or change."""
    @property
    def ticks(self) -> int:
        """The slots that had a tick."""
    @property
    def missed(self) -> int:
        """The slots that never get a tick."""
    @property
    def owed(self) -> int:
        """The slots that were due and still get a tick."""
    @property
    def shifts(self) -> int:
        """How often the schedule moved: by a late tick with `delay`, a new rate or a reset."""
    @property
    def shift_ns(self) -> int:
        """How far these moved the next slot in all; less than zero if earlier."""

@final
class Rate:
    def __new__(
        cls,
        hz: float,
        missed: str = "skip",
        *,
        strategy: Optional[str] = None,
        late_weight: Optional[float] = None,
        start_ns: Optional[int] = None,
        poisson_seed: Optional[int] = None,
    ) -> Rate: ...
    def begin(self, cancel: Optional[Cancel] = None) -> bool: ...
    def try_tick(self) -> Optional[Tick]: ...
    @property
    def next_ns(self) -> int: ...
    def remaining(self) -> float: ...
    def reset(self) -> None: ...
    @property
    def hz(self) -> float: ...
    def set_hz(self, hz: float) -> None: ...
    def statistics(self) -> Statistics: ...
    def counts(self) -> SlotCounts: ...

@final
class TimerQueue:
    """Many timers in a loop of the caller's, without a thread.

    Times are nanoseconds on any clock; without a time `advance` reads `time.monotonic_ns`.
    """
    def __new__(cls) -> TimerQueue: ...
    def insert(
        self, earliest_ns: int, callback: Callable[[int], object], tolerance_ns: int = 0
    ) -> int:
        """Adds a timer that calls `callback` with its time, from `earliest_ns` to `tolerance_ns` later.

        Returns a key to cancel it with.
        """
    def cancel(self, key: int) -> bool:
        """Removes a timer. Returns whether it was still waiting."""
    @property
    def next_wake_ns(self) -> Optional[int]:
        """The time at which to call `advance` next; `None` if no timer waits."""
    def advance(self, now_ns: Optional[int] = None) -> int:
        """Calls the callbacks that are due. Returns how many it called."""
    def __len__(self) -> int:
        """The number of timers that wait."""

@final
class TimerThread:
    def __new__(cls) -> TimerThread: ...
    def call_at_ns(self, deadline: int, callback: Callable[[], object]) -> int: ...
    if sys.platform != "win32":
        def post_at_ns(self, deadline: int, mailbox: Mailbox, value: object) -> int: ...
    def cancel(self, key: int) -> bool: ...
    def shutdown(self) -> None: ...

if sys.platform != "win32":
    @final
    class Mailbox:
        def __new__(cls) -> Mailbox: ...
        def fileno(self) -> int: ...
        def take(self) -> list[Any]: ...

@final
class Guard:
    """A change of how the system treats waiting, for as long as a `with` block lasts.

    `timer_resolution`, `timer_slack` and others return one. Only the thread that made it may
    use it, as the change may be that thread's.
    """
    def __new__(cls, kind: str, seconds: float = 0.0, priority: str = "normal") -> Guard: ...
    def __enter__(self) -> Guard:
        """Makes the change."""
    def __exit__(
        self,
        _kind: Optional[Type[BaseException]],
        _value: Optional[BaseException],
        _trace: Optional[TracebackType],
    ) -> None:
        """Takes the change back."""
    @property
    def granted_ns(self) -> Optional[int]:
        """The length that the system granted, if it says so; `None` outside of the `with` block."""
