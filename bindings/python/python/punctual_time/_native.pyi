import sys
from types import TracebackType
from typing import Any, Callable, Optional, Type, final

__all__ = [
    "Books",
    "Cancel",
    "Cancelled",
    "Guard",
    "Outcome",
    "Rate",
    "Statistics",
    "Tick",
    "TimerQueue",
    "TimerThread",
    "Waiter",
    "begin_ns",
    "check_run",
    "doctor",
    "end_ns",
    "loop_ns",
    "now_ns",
    "show_on",
]

if sys.platform != "win32":
    __all__ += ["Mailbox"]

class Cancelled(Exception): ...

def now_ns() -> int: ...
def show_on(clock: Callable[[], int]) -> None: ...
def begin_ns(deadline: int) -> bool: ...
def end_ns(deadline: int) -> Optional[Outcome]: ...
def loop_ns(period: int, waits: int) -> list[int]: ...
def check_run(text: str) -> None: ...
def doctor(quick: bool) -> tuple[str, str]: ...

@final
class Outcome:
    """What happened in one wait."""
    @property
    def lateness_ns(self) -> int:
        """How long after its deadline Python went on."""
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
        """Whether it would have spun more, had its budget let it."""

@final
class Statistics:
    """What was seen of many waits. Quantiles are up to an eighth too high."""
    @property
    def waits(self) -> int: ...
    @property
    def past(self) -> int: ...
    @property
    def missed(self) -> int: ...
    @property
    def naps(self) -> int: ...
    @property
    def slept_ns(self) -> int: ...
    @property
    def spun_ns(self) -> int: ...
    @property
    def budget_hits(self) -> int: ...
    @property
    def mean_ns(self) -> int: ...
    @property
    def p50_ns(self) -> int: ...
    @property
    def p90_ns(self) -> int: ...
    @property
    def p99_ns(self) -> int: ...
    @property
    def p999_ns(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    def _repr_html_(self) -> str: ...

@final
class Cancel:
    """Ends waits before their time, from any thread."""
    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...
    def reset(self) -> None: ...
    @property
    def is_cancelled(self) -> bool: ...

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
    """A slot that was waited for."""
    @property
    def number(self) -> int:
        """Which it is: missed ones count too."""
    @property
    def scheduled_ns(self) -> int:
        """When it was due."""
    @property
    def actual_ns(self) -> int:
        """When Python went on: never before."""
    @property
    def lateness_ns(self) -> int: ...
    @property
    def missed(self) -> int:
        """How many were missed since the tick before, and because of this one."""
    @property
    def outcome(self) -> Outcome: ...

@final
class Books:
    """What became of all slots: `due` is `ticks` and `missed` and `owed` together."""
    @property
    def due(self) -> int: ...
    @property
    def ticks(self) -> int: ...
    @property
    def missed(self) -> int: ...
    @property
    def owed(self) -> int: ...
    @property
    def shifts(self) -> int: ...
    @property
    def shift_ns(self) -> int: ...

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
    def set_hz(self, hz: float) -> None: ...
    def statistics(self) -> Statistics: ...
    def books(self) -> Books: ...

@final
class TimerQueue:
    """Many timers in one loop, without a thread. Times are the caller's choice."""
    def __new__(cls) -> TimerQueue: ...
    def insert(
        self, earliest_ns: int, callback: Callable[[int], object], tolerance_ns: int = 0
    ) -> int:
        """A timer that may be served from `earliest_ns` on; returns a key to cancel it with."""
    def cancel(self, key: int) -> bool:
        """Whether it waited still."""
    @property
    def next_wake_ns(self) -> Optional[int]:
        """When it wants to be woken."""
    def advance(self, now_ns: Optional[int] = None) -> int:
        """Calls what is due, with when it was; returns how many that were."""
    def __len__(self) -> int: ...

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
    """A change of how the system treats waiting, for as long as a `with` lasts."""
    def __new__(cls, kind: str, seconds: float = 0.0, priority: str = "normal") -> Guard: ...
    def __enter__(self) -> Guard: ...
    def __exit__(
        self,
        _kind: Optional[Type[BaseException]],
        _value: Optional[BaseException],
        _trace: Optional[TracebackType],
    ) -> None: ...
    @property
    def granted_ns(self) -> Optional[int]:
        """What was granted, if that is told."""
