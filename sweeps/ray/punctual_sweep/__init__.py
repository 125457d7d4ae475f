"""Runs the shards of `punctual sweep` on a Ray cluster.

Each shard is a task, which runs the command and puts its part into the shared folder,
whole or not at all. Ray runs it again elsewhere when its worker is lost. When all parts
are there, the command puts them together here: the bytes are those of one computer.
"""

from __future__ import annotations

import contextlib
import posixpath
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Sequence

import fsspec
import ray

__all__ = ["run"]


def run(
    plan: str,
    out: str,
    *,
    shards: int,
    punctual: str = "punctual",
    files: Sequence[str] = (),
    retries: int = 3,
    resume: bool = False,
) -> str:
    """Sweeps `plan` in so many `shards`, on the cluster that Ray is connected to.

    `out` is a folder or an object store, as fsspec names it, which all nodes reach;
    `punctual` is the command on them, and `files` are the scenarios beside the plan. A shard whose
    worker is lost is run again up to `retries` times. With `resume` those whose parts are there are not run.
    Returns the summary.
    """
    store, root = fsspec.core.url_to_fs(out)
    parts = posixpath.join(root, "parts")
    if not resume and store.exists(root) and store.ls(root, detail=False):
        raise FileExistsError(f"there is something in {out} already: resume, or name another")
    texts = {Path(file).name: Path(file).read_text("utf-8") for file in (plan, *files)}
    task = ray.remote(num_cpus=1, max_retries=retries)(_shard)
    arguments = (punctual, Path(plan).name, texts, shards, out)
    pending = [task.remote(number, *arguments) for number in range(1, shards + 1)]
    began = time.monotonic()
    while pending:
        done, pending = ray.wait(pending)
        ray.get(done)
        left = (time.monotonic() - began) * len(pending) / (shards - len(pending))
        print(f"{shards - len(pending)} of {shards} shards, about {left:.0f} s left", file=sys.stderr)

    with tempfile.TemporaryDirectory() as here:
        whole = Path(here, "whole")
        (whole / "parts").mkdir(parents=True)
        for number in range(1, shards + 1):
            name = _name(number, shards)
            store.get_file(posixpath.join(parts, name), str(whole / "parts" / name))
        _punctual(punctual, _written(texts, here, plan), whole, "--resume")
        for file in sorted(path for path in whole.rglob("*") if path.is_file()):
            _put(store, file, posixpath.join(root, file.relative_to(whole).as_posix()))
        for number in range(1, shards + 1):
            store.rm_file(posixpath.join(parts, _name(number, shards)))
        # Unless others have something there too.
        with contextlib.suppress(OSError):
            store.rmdir(parts)
        return (whole / "summary.txt").read_text("utf-8")


def _shard(number: int, punctual: str, plan: str, texts: dict, of: int, out: str) -> None:
    """Runs one shard, unless its part is there."""
    store, root = fsspec.core.url_to_fs(out)
    name = _name(number, of)
    target = posixpath.join(root, "parts", name)
    if store.exists(target):
        return
    with tempfile.TemporaryDirectory() as here:
        rows = Path(here, "rows")
        # A task has one CPU.
        _punctual(punctual, _written(texts, here, plan), rows, "--shard", f"{number}/{of}", "--jobs", "1")
        _put(store, rows / "parts" / name, target)


def _name(number: int, of: int) -> str:
    return f"{number}-of-{of}.ndjson"


def _written(texts: dict, folder: str, plan: str) -> Path:
    for name, text in texts.items():
        Path(folder, name).write_text(text, "utf-8")
    return Path(folder, Path(plan).name)


def _punctual(punctual: str, plan: Path, out: Path, *options: str) -> None:
    command = [shutil.which(punctual) or punctual, "sweep", str(plan), "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def _put(store: fsspec.AbstractFileSystem, file: Path, target: str) -> None:
    """Nobody sees half of it, whoever is killed."""
    store.makedirs(posixpath.dirname(target), exist_ok=True)
    unfinished = f"{target}.{uuid.uuid4().hex}.unfinished"
    store.put_file(str(file), unfinished)
    store.mv(unfinished, target)
