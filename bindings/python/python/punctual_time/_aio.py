"""Deadlines for asyncio: a thread wakes the loop, which goes on meanwhile."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
from typing import AsyncIterator, Optional
from weakref import WeakKeyDictionary

from . import _native

_lock = threading.Lock()
_thread: Optional[_native.TimerThread] = None


def _timers() -> _native.TimerThread:
    global _thread
    with _lock:
        if _thread is None:
            _thread = _native.TimerThread()
        return _thread


def _end() -> None:
    global _thread
    with _lock:
        thread, _thread = _thread, None
    if thread is not None:
        thread.shutdown()


def _in_child() -> None:
    # Its thread has stayed with the parent, and so what it holds.
    global _thread, _lock
    _lock = threading.Lock()
    if _thread is not None:
        _forgotten.append(_thread)
    _thread = None
    if sys.platform != "win32":
        _mailboxes.clear()


_forgotten: list[_native.TimerThread] = []
atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


if sys.platform == "win32":
    # Its loops wait for no descriptors: so the thread calls, with the interpreter's lock.
    def _at(timers: _native.TimerThread, t: int, future: asyncio.Future[None]) -> int:
        loop = future.get_loop()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(_finish, future)
            except RuntimeError:
                pass  # The loop has been closed: nobody waits.

        return timers.call_at_ns(t, wake)
else:

    def _at(timers: _native.TimerThread, t: int, future: asyncio.Future[None]) -> int:
        loop = future.get_loop()
        mailbox = _mailboxes.get(loop)
        if mailbox is None:
            mailbox = _mailboxes[loop] = _native.Mailbox()
            loop.add_reader(mailbox.fileno(), _deliver, mailbox)
        return timers.post_at_ns(t, mailbox, future)

    def _deliver(mailbox: _native.Mailbox) -> None:
        for future in mailbox.take():
            _finish(future)

    _mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, _native.Mailbox] = WeakKeyDictionary()


# A task that does not suspend for longer keeps others waiting: as long as runtimes want it to run
# between two awaits (Ryhl, "Async: What is blocking?", 2020: 10 to 100 us); punctual-timers too.
_TURN_NS = 100_000


class _Turn(threading.local):
    """When an await of this thread's loop was first ready at once since one suspended."""

    since_ns: Optional[int] = None


_turn = _Turn()


async def _give_way() -> None:
    # Every function that can return without suspending calls it first, so that a cancellation
    # that arrives here takes nothing from the caller.
    since = _turn.since_ns
    if since is not None and _native.now_ns() - since > _TURN_NS:
        _turn.since_ns = None
        await asyncio.sleep(0)


def _was_ready() -> None:
    if _turn.since_ns is None:
        _turn.since_ns = _native.now_ns()


async def _until(deadline: int) -> None:
    _turn.since_ns = None
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timers = _timers()
    key = _at(timers, deadline, future)
    try:
        await future
    finally:
        if not future.done() or future.cancelled():
            timers.cancel(key)


async def sleep(seconds: float) -> None:
    """Waits for so many seconds, as `punctual_time.sleep` does, for a task; the loop goes on."""
    from . import _NEVER, _length

    await _until(min(_native.now_ns() + _length(seconds), _NEVER))


async def sleep_until_ns(t: int) -> None:
    """As `punctual_time.sleep_until_ns`, for a task; the loop goes on."""
    from . import _clamped

    await _until(_clamped(t))


async def sleep_until(t: float) -> None:
    """As `punctual_time.sleep_until`, for a task; the loop goes on."""
    from . import _instant

    await _until(_instant(t))


class AsyncRate:
    """`Rate` for a task: `await rate.sleep()`, or `async for tick in rate`.

    `missed`, `start_ns` and `poisson_seed` mean what they mean for `Rate`. It has no strategy, as
    the thread of all async waits wakes the loop.
    """

    __slots__ = ("_rate",)

    def __init__(
        self,
        hz: float,
        missed: str = "skip",
        *,
        start_ns: Optional[int] = None,
        poisson_seed: Optional[int] = None,
    ) -> None:
        from . import _clamped

        start = None if start_ns is None else _clamped(start_ns)
        self._rate = _native.Rate(hz, missed, start_ns=start, poisson_seed=poisson_seed)

    async def sleep(self) -> _native.Tick:
        """Waits for the next slot.

        Returns at once if the slot has passed, but lets other tasks run after 100 us of such
        ticks. A tick whose wait is cancelled is still to come.
        """
        await _give_way()
        tick = self._rate.try_tick()
        if tick is not None:
            _was_ready()
        while tick is None:
            await _until(self._rate.next_ns)
            tick = self._rate.try_tick()
        return tick

    def try_tick(self) -> Optional[_native.Tick]:
        """Returns the next slot if it has passed, without waiting."""
        return self._rate.try_tick()

    def remaining(self) -> float:
        """Returns the seconds to the next slot."""
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

    def statistics(self) -> _native.Statistics:
        """Returns how late its ticks were when the task got them."""
        return self._rate.statistics()

    def counts(self) -> _native.SlotCounts:
        """Returns a count of all slots: `due` equals `ticks`, `missed` and `owed` together."""
        return self._rate.counts()

    def __aiter__(self) -> AsyncIterator[_native.Tick]:
        return self

    async def __anext__(self) -> _native.Tick:
        return await self.sleep()
