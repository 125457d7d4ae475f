"""`punctual sweep` by itself, on Ray with a worker that is killed, and in DuckDB.

A cluster on one computer shows faults and sameness, not how fast several are.
"""

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import fsspec
import pytest
import ray

import punctual_sweep

PUNCTUAL = os.environ["PUNCTUAL"]
QUERIES = Path(__file__).parents[2] / "queries"

PLAN = """
title = "a plan for tests"
on = ["linux", "macos"]
strategies = ["adaptive:weight={weight}", "fixed-margin", "spin"]
waits = ["200Hz", "1000Hz"]
load = [0, 1]
weight = [1, 10, 100]
warm_up = 100
count = 200
seeds = 6

[model]
cpus = 1
wake = ["8us", "30us", "60us"]
jitter = ["10% of wake", "90% of wake"]
"""

# Kills the worker that runs shard 2, and its command, once some of it is done.
KILLER = """#!{python}
import os, pathlib, signal, subprocess, sys, time
real, log, arguments = {real!r}, pathlib.Path({log!r}), sys.argv[1:]
shard = arguments[arguments.index("--shard") + 1] if "--shard" in arguments else "none"
with open(log, "a") as file:
    file.write(shard + " " + str(os.getppid()) + "\\n")
if shard == "2/6" and log.read_text().count("2/6 ") == 1:
    parts = pathlib.Path(arguments[arguments.index("--out") + 1], "parts")
    command = subprocess.Popen([real, *arguments])
    while not any(file.stat().st_size for file in parts.glob("*.unfinished")):
        assert command.poll() is None, "it was over before it could be killed"
        time.sleep(0.002)
    command.kill()
    os.kill(os.getppid(), signal.SIGKILL)
    command.wait()
else:
    os.execv(real, [real, *arguments])
"""


def files(folder):
    """What is in a folder."""
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def whole(plan):
    """What one run on this computer comes to."""
    out = plan.parent / "whole"
    subprocess.run([PUNCTUAL, "sweep", plan, "--out", out], check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_run_that_is_killed_goes_on_to_the_same_bytes(plan, whole, tmp_path):
    out = tmp_path / "killed"
    command = subprocess.Popen([PUNCTUAL, "sweep", plan, "--out", out, "--jobs", "2"], stderr=subprocess.DEVNULL)
    journal = out / "parts" / "all.unfinished"
    while not journal.exists() or journal.stat().st_size == 0:
        assert command.poll() is None
        time.sleep(0.002)
    command.send_signal(signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    done = journal.read_bytes()
    assert 0 < done.count(b"\n") < sum(it.count(b"\n") for name, it in files(whole).items() if "model=" in name)
    # As if it had been in the middle of a line, too.
    journal.write_bytes(done + done[: len(done) // 3].rpartition(b"\n")[2])
    refused = subprocess.run([PUNCTUAL, "sweep", plan, "--out", out], capture_output=True, text=True)
    assert refused.returncode == 2 and "--resume" in refused.stderr
    subprocess.run([PUNCTUAL, "sweep", plan, "--out", out, "--resume", "--jobs", "1"], check=True, capture_output=True)
    assert files(out) == files(whole)


def test_ray_ends_in_the_same_bytes_though_a_worker_is_killed(plan, whole, tmp_path, cluster):
    log, command = tmp_path / "log", tmp_path / "punctual"
    command.write_text(KILLER.format(python=sys.executable, real=PUNCTUAL, log=str(log)))
    command.chmod(0o755)
    out = tmp_path / "rows"
    summary = punctual_sweep.run(str(plan), f"file://{out}", shards=6, punctual=str(command))
    runs = [line.split() for line in log.read_text().splitlines()]
    shards = sorted(shard for shard, _ in runs if shard != "none")
    assert shards == sorted([f"{k}/6" for k in range(1, 7)] + ["2/6"]), "only what was lost is run again"
    workers = {worker for shard, worker in runs if shard == "2/6"}
    assert len(workers) == 2, "another worker ran it"
    assert files(out) == files(whole)
    assert summary == (whole / "summary.txt").read_text()


def test_ray_runs_only_what_is_missing_and_tells_of_bad_plans(plan, whole, tmp_path, cluster):
    out = tmp_path / "rows"
    for k in (1, 3):
        shard = [PUNCTUAL, "sweep", plan, "--out", out, "--shard", f"{k}/3"]
        subprocess.run(shard, check=True, capture_output=True)
    with pytest.raises(FileExistsError):
        punctual_sweep.run(str(plan), str(out), shards=3, punctual=PUNCTUAL)
    punctual_sweep.run(str(plan), str(out), shards=3, punctual=PUNCTUAL, resume=True)
    assert files(out) == files(whole)

    bad = tmp_path / "bad.toml"
    bad.write_text(PLAN.replace("cpus = 1", "cpus = 0"))
    with pytest.raises(ray.exceptions.RayTaskError, match="cpus=0"):
        punctual_sweep.run(str(bad), str(tmp_path / "none"), shards=1, punctual=PUNCTUAL)


def test_parts_and_results_go_through_an_object_store(plan, whole, cluster):
    # The memory of this process, which workers do not see: so the parts are put there first.
    for k in (1, 2):
        punctual_sweep._shard(k, PUNCTUAL, "plan.toml", {"plan.toml": PLAN}, 2, "memory://rows")
    punctual_sweep.run(str(plan), "memory://rows", shards=2, punctual=PUNCTUAL, resume=True)
    store = fsspec.filesystem("memory")
    stored = {name[len("/rows/") :]: store.cat(name) for name in store.find("/rows")}
    assert stored == files(whole)


def query(name, folder):
    connection = duckdb.connect()
    before = os.getcwd()
    os.chdir(folder)
    try:
        return connection.execute((QUERIES / f"{name}.sql").read_text()).fetchall()
    finally:
        os.chdir(before)


def test_the_queries_say_what_the_summary_says(whole):
    summary = " ".join((whole / "summary.txt").read_text().split())
    cells = int(re.search(r"of (\d+) cells", summary)[1])
    assert cells == 2 * 3 * 2 * 2 * 2 * 3
    cheapest = query("cheapest", whole)
    assert {row[0] for row in cheapest} == {"adaptive", "fixed-margin", "spin"}
    assert all(row[2] == cells for row in cheapest) and sum(row[1] for row in cheapest) >= cells

    ratios = query("ratio", whole)
    assert {row[0]: row[1] for row in ratios} == {"200Hz": cells // 2, "1000Hz": cells // 2}
    assert sum(row[2] for row in ratios) == int(re.search(r"is dearer in (\d+)", summary)[1])
    mean = math.exp(sum(math.log(row[3]) for row in ratios) / 2)
    told = re.search(r"geometric mean it costs ([\d.]+) times", summary)[1]
    assert f"{mean:.{len(told.split('.')[1])}f}" == told

    tail = query("tail", whole)
    assert {(row[0], row[1]) for row in tail} == {(it, load) for it in ("adaptive", "fixed-margin", "spin") for load in (0, 1)}


def test_the_rows_become_parquet(whole, tmp_path):
    rows = tmp_path / "rows"
    for name, content in files(whole).items():
        (rows / name).parent.mkdir(parents=True, exist_ok=True)
        (rows / name).write_bytes(content)
    query("parquet", rows)
    counts = duckdb.sql(
        f"SELECT model, count(*), count(DISTINCT key) FROM read_parquet('{rows}/parquet/*/*.parquet',"
        " hive_partitioning = true) GROUP BY model ORDER BY model"
    ).fetchall()
    assert counts == [("linux", 24 * 9, 24), ("macos", 24 * 9, 24)]
