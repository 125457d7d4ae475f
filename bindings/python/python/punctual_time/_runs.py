"""Files that the command `punctual` writes, and what `doctor` finds."""

from __future__ import annotations

import html
import importlib
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from typing import Any, Dict, List, Optional, Union

# The version of the Runs that this package reads.
_SCHEMA = "punctual-run/2"
# The fields that every Run has, with their types.
_FIELDS = {"punctual_version": str, "command": str, "machine": dict, "results": list}


class RunError(ValueError):
    """A file, or an answer of the command, that is no Run of the version that this package reads."""


def _check(data: object) -> None:
    if not isinstance(data, dict):
        raise RunError("this is no Run file: `punctual ... --json FILE` writes one")
    schema = data.get("schema")
    if schema is None:
        raise RunError(f"this is no Run file: it has no `schema` (expected `{_SCHEMA}`)")
    if schema == "punctual-run/1":
        raise RunError(f"this Run file was written by an older punctual; measure again: `{_SCHEMA}` is read")
    if schema != _SCHEMA:
        raise RunError(f"this Run file has schema `{schema}`; this package reads `{_SCHEMA}`")
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise RunError(f"this Run file cannot be read: its `{name}` is missing or no {kind.__name__}")
    for row in data["results"]:
        if not isinstance(row, dict) or not isinstance(row.get("experiment"), str):
            raise RunError("this Run file cannot be read: a result does not name its `experiment`")


class Run:
    """A Run: `data` is the whole of it, `rows` its results, a dictionary each.

    `exit_code` is that of the command, and None of a file. Raises `RunError`, a `ValueError`, if `data` is not a Run of the
    version that this package reads.
    """

    def __init__(self, data: Dict[str, Any], words: str = "", exit_code: Optional[int] = None) -> None:
        _check(data)
        self.data = data
        self.words = words
        self.exit_code = exit_code

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """The results, without what is nested in them."""
        nested = (dict, list)
        return [
            {name: value for name, value in row.items() if not isinstance(value, nested)}
            for row in self.data["results"]
        ]

    def to_pandas(self) -> Any:
        """A DataFrame of the rows (needs pandas)."""
        return importlib.import_module("pandas").DataFrame(self.rows)

    def to_polars(self) -> Any:
        """A DataFrame of the rows (needs polars)."""
        return importlib.import_module("polars").DataFrame(self.rows, infer_schema_length=None)

    def __repr__(self) -> str:
        return self.words or f"<Run of {self.data.get('command', '?')!r}: {len(self.rows)} rows>"

    def _repr_html_(self) -> str:
        if self.words:
            return f"<pre>{html.escape(self.words)}</pre>"
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(row.get(name, '')))}</td>" for name in names) + "</tr>"
            for row in self.rows
        )
        return f"<table><tr>{head}</tr>{body}</table>"


def read_run(path: Union[str, "os.PathLike[str]"]) -> Run:
    """Reads what `punctual ... --json FILE` has written.

    Raises `RunError`, a `ValueError`, for what is no JSON, another `schema`, or none, and for what lacks what every Run has.
    The message says what was found, and what is read. Raises `OSError` if the file cannot be read.
    """
    # The command reads files that begin with a byte order mark, too.
    with open(path, encoding="utf-8-sig") as file:
        try:
            return Run(json.load(file))
        except ValueError as why:
            raise RunError(f"{os.fspath(path)}: {why}") from None
        except RecursionError:
            raise RunError(f"{os.fspath(path)}: this is no Run file: its JSON is nested too deeply") from None


def _command() -> str:
    """The command `punctual` of this environment, or else the one on the PATH."""
    own = shutil.which("punctual", path=sysconfig.get_path("scripts"))
    found = own or shutil.which("punctual")
    if found is None:
        raise FileNotFoundError(
            "doctor() runs the command `punctual`, which is not installed: install the package punctual-cli, "
            "or put the command on the PATH"
        )
    return found


def doctor(*, quick: bool = False) -> Run:
    """Which timer rule is in force, what it predicts, what is measured, and what would help.

    Takes about 10 s, or quick under 4. `print` the result for the answer; `.data` is all of it.
    It runs the command `punctual`. An answer is returned whatever the command's exit code is, which `.exit_code` has: 0, or
    3 of an examination that was interrupted. Raises `FileNotFoundError` if the command is not installed, `OSError` if it ends
    without an answer, and `RunError` if another version of it wrote the answer.
    """
    command = _command()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.json")
        asked = [command, "doctor", "--json", file] + ["--quick"] * quick
        # An exception of a signal handler, such as KeyboardInterrupt, ends the command too.
        done = subprocess.run(
            asked, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
        ended = f"`{command} doctor` ended with exit code {done.returncode}"
        said = done.stderr.strip()
        if not os.path.exists(file):
            raise OSError(f"{ended} and no answer" + (f": {said}" if said else ""))
        try:
            run = read_run(file)
        except RunError as why:
            raise RunError(f"{ended} and an answer that cannot be read: {why}" + (f" ({said})" if said else "")) from None
    run.words = done.stdout.strip()
    run.exit_code = done.returncode
    return run
