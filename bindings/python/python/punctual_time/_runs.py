"""Files that the command `punctual` writes, and what `doctor` finds."""

from __future__ import annotations

import html
import importlib
import json
import os
from typing import Any, Dict, List, Union

from . import _native


class Run:
    """A Run: `data` is the whole of it, `rows` its results, a dictionary each.

    Raises `ValueError` if `data` is not a Run of the version that this package reads.
    """

    def __init__(self, data: Dict[str, Any], words: str = "") -> None:
        _native.check_run(json.dumps(data))
        self.data = data
        self.words = words

    @classmethod
    def _of(cls, text: str, words: str = "") -> Run:
        _native.check_run(text)
        run = cls.__new__(cls)
        run.data, run.words = json.loads(text), words
        return run

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

    Raises `ValueError` for all that `punctual report` refuses: another `schema`, or none, and
    what is no Run. The message says what was found, and what is read.
    """
    # The command reads files that begin with a byte order mark, too.
    with open(path, encoding="utf-8-sig") as file:
        try:
            return Run._of(file.read())
        except ValueError as why:
            raise ValueError(f"{os.fspath(path)}: {why}") from None


def doctor(*, quick: bool = False) -> Run:
    """Which timer rule is in force, what it predicts, what is measured, and what would help.

    Takes about 10 s, or quick under 4. `print` the result for the answer; `.data` is all of it.
    """
    text, words = _native.doctor(quick)
    return Run._of(text, words)
