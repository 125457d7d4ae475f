"""What an interpreter does around a wait: signals, threads, its end, its children, other loops."""

import ast
import asyncio
import concurrent.futures
import contextlib
import copy
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import typing
from typing import AsyncIterator

import pytest

import punctual_time as pt

unix = pytest.mark.skipif(os.name == "nt", reason="signals of Unix")


def python(program: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", textwrap.dedent(program)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        # It says where it hangs.
        run.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGABRT)
        _, err = run.communicate(timeout=10)
        pytest.fail(err)
    return subprocess.CompletedProcess(command, run.returncode, out, err)


@unix
def test_ctrl_c_ends_every_wait() -> None:
    for wait in (
        lambda: pt.sleep(3600),
        lambda: pt.sleep_until_ns(2**64 - 1),
        lambda: pt.Waiter("system").sleep(3600),
        lambda: pt.Waiter("spin").sleep(3600),
        lambda: pt.Waiter("yield-spin").sleep(3600, pt.Cancel()),
        lambda: pt.Waiter().sleep(3600, pt.Cancel()),
        lambda: pt.Rate(1e-3, start_ns=pt.now_ns() + 10**13).sleep(),
        lambda: pt.Rate(1e-3, start_ns=pt.now_ns() + 10**13).sleep(pt.Cancel()),
    ):
        # Again and again: one that comes before the thread sleeps does not end the wait. Only the
        # first is an interrupt, as a later one may come after the wait.
        stop = threading.Event()
        handled: "list[bool]" = []

        def interrupt(*_: object) -> None:
            handled.append(True)
            if len(handled) == 1:
                raise KeyboardInterrupt

        def press() -> None:
            while not stop.wait(0.01):
                os.kill(os.getpid(), signal.SIGINT)

        presses = threading.Thread(target=press)
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                presses.start()
                wait()
        finally:
            stop.set()
            presses.join()
            signal.signal(signal.SIGINT, before)


STRATEGIES = (
    ["adaptive-balanced", "adaptive:budget=5%", "adaptive:late=50us/1%", "quantile:weight=10", "system", "max-nap"]
    + ["precise", "timer", "fixed-margin", "fixed-margin:margin=100ms", "fixed-margin:margin=3600s"]
    + ["spin", "yield-spin"]
)


@unix
def test_a_signal_that_ends_no_nap_ends_every_wait() -> None:
    # The other thread takes it: as if it came while this one does not sleep.
    ended = python(
        f"""
        import signal, threading, time, punctual_time as pt
        def other():
            time.sleep(0.005)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        waits = [pt.sleep] + [pt.Waiter(strategy).sleep for strategy in {STRATEGIES}]
        waits += [lambda length: pt.Waiter("precise").sleep(length, pt.Cancel())]
        waits += [lambda length: pt.Rate(1 / length, start_ns=pt.now_ns() + 10**13).sleep()]
        for wait in waits:
            thread = threading.Thread(target=other)
            try:
                thread.start()
                wait(3600)
            except KeyboardInterrupt:
                print("ended")
            thread.join()
        """
    )
    assert ended.stdout.split() == ["ended"] * (len(STRATEGIES) + 3), ended.stderr


@unix
def test_doctor_ends_for_a_signal() -> None:
    class Stop(Exception):
        pass

    handled = []

    def handle(*_: object) -> None:
        handled.append(1)
        # The first of them would do if it ran once, at the end.
        if len(handled) == 3:
            raise Stop

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(Stop):
            pt.doctor()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_long_waits_in_pieces_are_not_early(strategy: str) -> None:
    for waiter, cancel in ((pt.Waiter(strategy), None), (pt.Waiter(strategy), pt.Cancel())):
        deadline = time.monotonic_ns() + 110_000_000
        outcome = waiter.sleep_until_ns(deadline, cancel)
        assert time.monotonic_ns() >= deadline
        assert outcome.slept_ns + outcome.spun_ns <= 110_000_000 + outcome.lateness_ns
        assert waiter.statistics().waits == 1


@unix
def test_a_handler_that_uses_what_it_interrupts_is_told_so() -> None:
    waiter, rate = pt.Waiter(), pt.Rate(1e-3, start_ns=pt.now_ns() + 10**13)
    for wait, use in (
        (lambda: waiter.sleep(3600), waiter.statistics),
        (lambda: waiter.sleep(3600), lambda: waiter.sleep(0)),
        (rate.sleep, rate.counts),
    ):
        # A signal before the wait raises nothing; the timer sends more.
        before = signal.signal(signal.SIGALRM, lambda *_: use() and None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            with pytest.raises(RuntimeError, match="signal handler interrupted: give the handler its own"):
                wait()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    # It has no owner again.
    waiter.sleep(0)


@unix
def test_a_storm_of_signals_ends_no_wait_early() -> None:
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(50):
            deadline = time.monotonic_ns() + 3_000_000
            outcome = pt.sleep_until_ns(deadline)
            assert time.monotonic_ns() >= deadline
            assert outcome.lateness_ns >= 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled


@unix
def test_a_handler_that_waits_too() -> None:
    waiter = pt.Waiter()
    for wait in (pt.sleep_until_ns, waiter.sleep_until_ns):
        waited = []

        def handle(*_: object) -> None:
            try:
                waited.append(wait(time.monotonic_ns() + 10_000))
            except RuntimeError:
                pass  # In the middle of the nap the waiter is somebody's.

        before = signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0001)
        try:
            # Waits of 50 us pass in Python, in whose middle a handler may run.
            for length in [5_000_000] * 2 + [50_000] * 200:
                deadline = time.monotonic_ns() + length
                wait(deadline)
                assert time.monotonic_ns() >= deadline
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert waited


def test_a_thousand_threads() -> None:
    early = []

    def wait() -> None:
        deadline = time.monotonic_ns() + 20_000_000
        pt.sleep_until_ns(deadline)
        if time.monotonic_ns() < deadline:
            early.append(1)

    threads = [threading.Thread(target=wait) for _ in range(1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not early


def test_others_run_during_a_wait_and_one_handle_is_of_one() -> None:
    waiter, cancel, counted = pt.Waiter(), pt.Cancel(), []

    def wait() -> None:
        with pytest.raises(pt.Cancelled):
            waiter.sleep(3600, cancel)
        counted.append(1)

    thread = threading.Thread(target=wait)
    thread.start()
    with pytest.raises(RuntimeError, match="give each its own"):
        while True:
            waiter.sleep(0)
    assert not counted
    cancel.cancel()
    thread.join()
    assert counted


def test_the_end_of_the_interpreter_during_waits() -> None:
    ended = python(
        """
        import asyncio, threading, punctual_time as pt
        for seconds in (0.001, 0.01, 0.05, 3600):
            threading.Thread(target=pt.sleep, args=(seconds,), daemon=True).start()
        async def task():
            asyncio.ensure_future(pt.async_sleep_until_ns(pt.now_ns() + 10**12))
            await pt.async_sleep_until_ns(pt.now_ns() + 10**6)
        asyncio.run(task())
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@unix
def test_a_child_of_fork_has_its_own_thread_for_loops() -> None:
    ended = python(
        """
        import asyncio, os, sys, punctual_time as pt
        soon = lambda: pt.async_sleep_until_ns(pt.now_ns() + 10**6)
        asyncio.run(soon())
        child = os.fork()
        asyncio.run(soon())
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no way to make one that is like this")
def test_a_subinterpreter_is_refused_or_works() -> None:
    ended = python(
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        one = interpreters.create()
        interpreters.run_string(one, "try:\\n import punctual_time as pt; pt.sleep(0.001)\\nexcept ImportError: pass")
        """
    )
    assert ended.returncode == 0, ended.stderr


def test_the_loop_goes_on() -> None:
    async def both() -> "tuple[int, int]":
        ran = 0
        deadline = pt.now_ns() + 30_000_000

        async def other() -> None:
            nonlocal ran
            while True:
                ran += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        await pt.async_sleep_until_ns(deadline)
        task.cancel()
        return ran, pt.now_ns() - deadline

    ran, late = asyncio.run(both())
    assert ran > 1 and late >= 0


def test_a_task_that_is_cancelled_and_a_rate() -> None:
    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pt.async_sleep_until(time.monotonic() + 3600), 0.01)
        rate = pt.AsyncRate(500)
        ticks = []
        async for tick in rate:
            assert pt.now_ns() >= tick.scheduled_ns
            ticks.append(tick)
            if len(ticks) == 5:
                break
        counts = rate.counts()
        assert counts.due == counts.ticks + counts.missed + counts.owed
        assert rate.statistics().waits == 5 and rate.remaining() >= 0

    asyncio.run(main())


def late_ticks(by_for: bool) -> "AsyncIterator[int]":
    """Ticks that are all due already; so many take far longer than 100 us."""
    rate = pt.AsyncRate(1e6, "burst", start_ns=pt.now_ns() - 10**9)

    async def looped() -> "AsyncIterator[int]":
        if by_for:
            async for tick in rate:
                yield tick.number
        else:
            while True:
                yield (await rate.sleep()).number

    return looped()


@pytest.mark.parametrize("by_for", [True, False])
def test_a_rate_that_is_always_late_gives_way(by_for: bool) -> None:
    async def main() -> None:
        turns = []

        async def other() -> None:
            while True:
                turns.append(1)
                await asyncio.sleep(0)

        async def hog() -> None:
            async for number in late_ticks(by_for):
                assert number < 100_000, "it lets nobody run"

        # The actions of another task arrive, ...
        beside = asyncio.ensure_future(other())
        task = asyncio.ensure_future(hog())
        while len(turns) < 5:
            await asyncio.sleep(0)
        # ... a cancellation, ...
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        beside.cancel()
        # ... and a time-out.
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(hog(), 0.001)

    asyncio.run(main())


@unix
def test_a_rate_that_is_always_late_hears_ctrl_c() -> None:
    async def main() -> None:
        pressed = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, pressed.set)
        async for number in late_ticks(True):
            if number == 0:
                os.kill(os.getpid(), signal.SIGINT)
            if pressed.is_set():
                return
            assert number < 100_000, "it lets nobody run"

    asyncio.run(main())


def test_a_tick_that_is_cancelled_is_still_to_come() -> None:
    async def main() -> None:
        rate = pt.AsyncRate(1e6, "burst", start_ns=pt.now_ns() - 10**9)
        seen = []

        async def loop() -> None:
            while len(seen) < 100_000:
                seen.append((await rate.sleep()).number)

        for _ in range(3):
            task = asyncio.ensure_future(loop())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
        assert seen == list(range(seen[0], seen[0] + len(seen)))

    asyncio.run(asyncio.wait_for(main(), 60))


def test_an_async_sleep_of_a_length() -> None:
    async def main() -> None:
        begin = pt.now_ns()
        await pt.async_sleep(0.002)
        assert pt.now_ns() - begin >= 2_000_000
        await pt.async_sleep(0)
        for bad in (-1.0, float("nan")):
            with pytest.raises(ValueError):
                await pt.async_sleep(bad)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pt.async_sleep(float("inf")), 0.001)

    asyncio.run(main())


def test_a_rate_of_a_task_has_what_another_has() -> None:
    def options(of: type) -> "set[str]":
        return set(inspect.signature(of).parameters)

    assert options(pt.Rate) - options(pt.AsyncRate) == {"strategy", "late_weight"}
    public = {name for name in vars(pt.Rate) if not name.startswith("_")}
    assert public <= set(vars(pt.AsyncRate))
    with pytest.raises(TypeError, match="strategy"):
        pt.AsyncRate(10, strategy="spin")  # type: ignore[call-arg]
    rate = pt.AsyncRate(10, "burst", start_ns=pt.now_ns(), poisson_seed=1)
    assert rate.hz == 10
    rate.set_hz(1e-3)
    assert rate.hz == 1e-3
    rate.reset()
    # Its first slot is now.
    assert rate.try_tick() and rate.remaining() > 0


STUB = pathlib.Path(pt.__file__).with_name("_native.pyi")


def documented(of: object) -> "dict[str, object]":
    """What `help` shows of an object, and how it is called."""
    members = {f"{of.__name__}.{name}": member for name, member in vars(of).items()} if inspect.isclass(of) else {}
    return {of.__name__: of, **{name: member for name, member in members.items() if not name.split(".")[1].startswith("_")}}


@pytest.mark.parametrize("name", pt.__all__)
def test_help_explains_all_that_is_public(name: str) -> None:
    for member, of in documented(getattr(pt, name)).items():
        assert inspect.getdoc(of), member


def test_all_types_that_are_returned_can_be_named() -> None:
    for name in pt.__all__:
        for member, of in documented(getattr(pt, name)).items():
            if inspect.isfunction(of):
                returned = typing.get_type_hints(of)["return"]
                for one in typing.get_args(returned) or (returned,):
                    if getattr(one, "__module__", "").startswith("punctual_time"):
                        assert one.__name__ in pt.__all__, member


def test_help_and_the_stub_say_the_same() -> None:
    compared = 0
    for stub in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if not isinstance(stub, ast.ClassDef) or stub.name not in pt.__all__ or stub.name in ("Rate", "Waiter"):
            continue
        native = getattr(pt, stub.name)
        assert ast.get_docstring(stub) == inspect.getdoc(native), stub.name
        for member in stub.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                said = inspect.getdoc(getattr(native, member.name))
                assert ast.get_docstring(member) == said, f"{stub.name}.{member.name}"
                compared += 1
    assert compared > 30


def test_a_program_whose_clock_is_another() -> None:
    ended = python(
        """
        import asyncio, subprocess, sys, time
        clock, system = time.monotonic_ns, (sys.platform, sys.version_info)
        time.monotonic_ns = lambda: clock() - 10**9
        sys.platform, sys.version_info = "win32", (3, 9)
        import punctual_time as pt
        sys.platform, sys.version_info = system

        soon = pt.now_ns() + 10**6
        asyncio.run(pt.async_sleep_until_ns(soon))
        assert pt.now_ns() >= soon
        soon = pt.now_ns() + 10**6
        asyncio.run(pt.AsyncRate(1000, start_ns=soon).sleep())
        assert pt.now_ns() >= soon
        tick = pt.Rate(1000).sleep()
        assert tick.scheduled_ns <= tick.actual_ns <= pt.now_ns()
        queue, soon = pt.TimerQueue(), pt.now_ns() + 10**6
        queue.insert(soon, lambda at: None)
        while not queue.advance():
            pass
        assert pt.now_ns() >= soon
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_limits_of_spinning_are_those_of_python_too() -> None:
    for strategy in ("adaptive:budget=100us", "adaptive-exact:budget=5%", "adaptive:spin=5%", "system"):
        native = pt.Waiter(strategy)._waiter
        deadline = pt.now_ns() + 2_000_000
        # Nothing is left to spin here.
        assert not native.begin_ns(deadline) and pt.now_ns() >= deadline


def test_guards_hold_or_say_why_not() -> None:
    for guard in (
        pt.timer_resolution(0.001),
        pt.honoured_requests(),
        pt.timer_slack(1e-6),
        pt.wakeup_latency(0.0001),
        pt.thread_priority("background"),
    ):
        try:
            with guard as held:
                assert held.granted_ns is None or held.granted_ns > 0
                with pytest.raises(RuntimeError):
                    guard.__enter__()
        except (NotImplementedError, PermissionError) as why:
            assert str(why)
    with pytest.raises(ValueError, match="interactive"):
        pt.thread_priority("highest")


RUNS = sorted((pathlib.Path(__file__).parents[3] / "runs").rglob("*.json"))


def test_the_version_of_runs_is_that_of_the_command() -> None:
    source = pathlib.Path(__file__).parents[3] / "crates/record/src/run.rs"
    from punctual_time import _runs

    assert f'pub const SCHEMA: &str = "{_runs._SCHEMA}";' in source.read_text(encoding="utf-8")
    schema = json.loads((source.parents[3] / "docs/run.schema.json").read_text(encoding="utf-8"))
    assert {"schema", *_runs._FIELDS} == set(schema["required"])


@pytest.mark.parametrize("kept", RUNS, ids=[run.stem for run in RUNS])
def test_runs_that_are_kept_are_read(kept: pathlib.Path) -> None:
    run = pt.read_run(kept)
    assert run.rows and run.data["schema"] == "punctual-run/2"


def a_run(**changes: object) -> "dict[str, object]":
    """A Run of the last file, with a row of its own; a field that is None is left out."""
    head = json.loads(RUNS[-1].read_text(encoding="utf-8"))
    row = {"experiment": "zero-<b>", "subject": "<i>", "n": 1, "late": [1]}
    data = {**head, "results": [row], **changes}
    return {name: value for name, value in data.items() if value is not None}


RUN = a_run()


@pytest.mark.parametrize(
    ["data", "says"],
    [
        ({"results": []}, "it has no `schema`.*punctual-run/2"),
        ({"schema": "other/1", "results": [{"x": 1}]}, "`other/1`.*reads `punctual-run/2`"),
        (a_run(schema=None), "it has no `schema`.*punctual-run/2"),
        (a_run(schema="punctual-run/99"), "`punctual-run/99`.*reads `punctual-run/2`"),
        (a_run(schema="punctual-run/1"), "older.*measure again"),
        (a_run(schema=2), "schema `2`.*reads `punctual-run/2`"),
        (a_run(machine=None), "cannot be read.*machine"),
        (a_run(results={}), "cannot be read"),
        (a_run(results=[{"subject": "<i>"}]), "cannot be read.*experiment"),
        ({"schema": "punctual-run/2", "results": []}, "cannot be read"),
        ([], "no Run file"),
        (None, "no Run file"),
    ],
)
def test_what_the_command_refuses_is_refused(data: object, says: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=f"run.json: .*{says}"):
        pt.read_run(file)
    with pytest.raises(pt.RunError, match=says):
        pt.Run(data)  # type: ignore[arg-type]


DEEP = b'{"schema": ' + b"[" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        b'{"schema": "punctual-run/2"',
        pytest.param(DEEP, id="deep"),
        pytest.param(b"9" * 10_000, id="a long number"),
    ],
)
def test_what_is_not_json_is_refused(text: bytes, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(text)
    with pytest.raises(pt.RunError, match="run.json"):
        pt.read_run(file)


def test_runs_and_what_is_shown_of_them(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(a_run()), encoding="utf-8-sig")
    run = pt.read_run(file)
    assert run.data == a_run()
    assert run.rows == [{"experiment": "zero-<b>", "subject": "<i>", "n": 1}]
    assert "<i>" not in run._repr_html_() and "&lt;i&gt;" in run._repr_html_()
    waiter = pt.Waiter()
    waiter.sleep(0)
    assert "<td>1</td>" in waiter.statistics()._repr_html_()


def waited(*behind: float) -> pt.Statistics:
    """Statistics of waits, each so many seconds late; and of slots that were missed."""
    rate = pt.Rate(100, start_ns=pt.now_ns() - 10**8)
    rate.sleep()
    waiter = pt.Waiter()
    for seconds in behind:
        waiter.sleep_until_ns(pt.now_ns() - round(seconds * 1e9))
    return waiter.statistics() + rate.statistics()


def test_statistics_of_worker_processes_come_back_and_add_up() -> None:
    # Both ways to have workers: what they return is pickled.
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as workers:
        parts = list(workers.map(waited, [0.0, 1.0, 2.0]))
    whole = sum(parts)
    assert isinstance(whole, pt.Statistics)
    for name, total in whole.asdict().items():
        each = [part.asdict()[name] for part in parts]
        assert getattr(whole, name) == total
        if name == "max_ns":
            assert total == max(each) >= 2e9
        elif name in ("mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns"):
            assert min(each) <= total <= max(each)
        else:
            assert total == sum(each)
    assert whole.waits == 6 and whole.missed >= 3


def test_a_pickle_is_the_same_again() -> None:
    rate = pt.Rate(1000, start_ns=pt.now_ns() - 10**8)
    tick = rate.sleep()
    for one in (waited(0.5, 1.5), pt.Statistics(), tick, tick.outcome, rate.counts(), pt.sleep(0)):
        for again in [copy.copy(one), copy.deepcopy(one)] + [
            pickle.loads(pickle.dumps(one, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ]:
            assert again == one and again is not one and repr(again) == repr(one)
            assert type(again) is type(one)
    assert len({tick, pickle.loads(pickle.dumps(tick)), rate.sleep()}) == 2
    run = pickle.loads(pickle.dumps(pt.Run(a_run())))  # type: ignore[arg-type]
    assert run.data == a_run()
    # A waiting handle belongs to its process.
    for handle in (pt.Waiter(), pt.Rate(1), pt.AsyncRate(1), pt.Cancel(), pt.TimerQueue()):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(handle)


def test_statistics_are_merged() -> None:
    one, other = waited(0.5), waited(1.5, 0.0)
    both = one + other
    assert both == other + one != one
    assert sum([one, other], pt.Statistics()) == both
    one.merge(other)
    assert one == both
    one.merge(one)
    assert one.waits == 2 * both.waits and one.p50_ns == both.p50_ns
    for no_statistics in (lambda: one + 1, lambda: 1 + one, lambda: one.merge(1)):
        with pytest.raises(TypeError):
            no_statistics()


def test_doctor_is_the_answer_of_the_command() -> None:
    found = pt.doctor(quick=True)
    assert "1 ms" in repr(found) and found.data["doctor"]
    assert found.rows and "<pre>" in found._repr_html_()


def test_doctor_without_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="install the package punctual-cli"):
        pt.doctor(quick=True)
    fails = tmp_path / "punctual"
    fails.write_text("#!/bin/sh\necho no such thing >&2; exit 2\n")
    fails.chmod(0o755)
    with pytest.raises(OSError, match="exit code 2.*no such thing"):
        pt.doctor(quick=True)
    again = subprocess.run([sys.executable, "-m", "punctual_time", "doctor"], capture_output=True, text=True)
    assert again.returncode == 2 and again.stderr.startswith("error: ") and "Traceback" not in again.stderr


@pytest.mark.parametrize(
    ["answer", "code", "says"],
    [
        pytest.param(json.dumps(RUN), 3, None, id="interrupted"),
        pytest.param(json.dumps(RUN), 0, None, id="whole"),
        ("", 0, "exit code 0.*cannot be read.*run.json"),
        ("{", 2, "exit code 2.*cannot be read.*run.json.*why so"),
        ('{"schema": "punctual-run/99"}', 0, "`punctual-run/99`.*reads `punctual-run/2`"),
        pytest.param(DEEP.decode(), 0, "nested too deeply|run.json", id="deep"),
    ],
)
@unix
def test_an_answer_of_doctor_counts_and_its_exit_code_does_not(
    answer: str, code: int, says: "typing.Optional[str]", monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr("punctual_time._runs._command", lambda: str(tmp_path / "punctual"))
    (tmp_path / "answer").write_text(answer)
    program = tmp_path / "punctual"
    program.write_text(f"#!/bin/sh\ncp '{tmp_path}/answer' \"$3\"; echo words; echo why so >&2; exit {code}\n")
    program.chmod(0o755)
    if says is None:
        run = pt.doctor()
        assert (run.data, run.words, run.exit_code) == (RUN, "words", code)
    else:
        with pytest.raises(pt.RunError, match=says):
            pt.doctor()


def test_bench() -> None:
    rows = pt.bench([1000], rounds=1, seconds=0.02)["rows"]
    assert {row["way"] for row in rows} >= {"time.sleep", "punctual_time", "asyncio.sleep"}
    # Conversions by hand may be early by a rounding; this library is not.
    assert all(row["early"] == 0 for row in rows if "punctual" in row["way"])


def programs(readme: pathlib.Path) -> "list[str]":
    return re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)


def test_the_programs_of_the_readmes() -> None:
    here = pathlib.Path(__file__).parents[1]
    names: "dict[str, typing.Any]" = {}
    for program in programs(here / "README.md"):
        exec(program, names)
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(asyncio.wait_for(names["control"](contextlib.nullcontext()), 0.01))
    steps = []

    def step(missed: int) -> None:
        steps.append(missed)
        if len(steps) == 20:
            raise StopIteration

    with pytest.raises(StopIteration):
        exec(programs(here.parents[1] / "README.md")[0], {"step": step})
    assert len(steps) == 20


def test_no_wait_spins_with_the_lock_where_others_want_it() -> None:
    native = pt.Waiter()._waiter

    def is_spun_with_the_lock() -> bool:
        deadline = pt.now_ns() + 5_000_000
        is_begun_early = native.begin_ns(deadline, None)
        while native.end_ns(deadline) is None:
            pass
        return is_begun_early

    spun = 0
    for _ in range(20):
        stop = threading.Event()

        def compute() -> None:
            while not stop.is_set():
                pass

        busy = threading.Thread(target=compute)
        busy.start()
        # It wakes while the other thread has the lock.
        is_spun_with_the_lock()
        stop.set()
        busy.join()
        spun += is_spun_with_the_lock()
    # A computer that stops for a quarter of a second forgets it.
    assert spun < 10
