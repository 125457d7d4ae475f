#!/usr/bin/env python3
"""Prints the licences of the crates that are linked into the command for a target, each text once.

    packaging/licences.py TARGET

Needs: cargo, and the sources of the crates, which every build has.
"""

import json
import subprocess
import sys
from pathlib import Path

FILES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT")
# The compiler links these too; no crate has their licences.
STANDARD = """\
The command also has the Rust standard library in it: copyright The Rust Project Contributors, MIT OR Apache-2.0
(texts as below), with compiler-builtins, of which parts are from LLVM: Apache-2.0 WITH LLVM-exception."""
MUSL = """\
The command for musl also has musl libc in it: Copyright (c) 2005-2020 Rich Felker, et al., MIT (text as below)."""


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], check=True, capture_output=True, text=True).stdout


def main(target: str) -> None:
    linked = cargo(
        *("tree", "--locked", "--package", "punctual-cli", "--target", target),
        *("--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"),
    )
    linked = {tuple(line.split()[:2]) for line in linked.splitlines() if line and "(/" not in line}
    described = json.loads(cargo("metadata", "--locked", "--format-version", "1"))
    crates = [
        crate for crate in described["packages"] if (crate["name"], f"v{crate['version']}") in linked and crate["source"]
    ]
    crates.sort(key=lambda crate: (crate["name"], crate["version"]))
    used_by: dict[str, list[str]] = {}
    print("The command `punctual` is licensed under MIT OR Apache-2.0. These crates are linked into it:\n")
    for crate in crates:
        named = f"{crate['name']} {crate['version']}"
        print(f"  {named}: {crate['license']}")
        folder = Path(crate["manifest_path"]).parent
        files = [file for file in sorted(folder.iterdir()) if file.name.upper().startswith(FILES) and file.is_file()]
        if not files:
            sys.exit(f"{named} has no file with its licence")
        for file in files:
            text = "\n".join(line.rstrip() for line in file.read_text().strip().splitlines())
            used_by.setdefault(text, []).append(named)
    print(f"\n{STANDARD}")
    if "musl" in target:
        print(MUSL)
    for text, crates_with in used_by.items():
        print(f"\n{'-' * 80}\n{', '.join(dict.fromkeys(crates_with))}\n\n{text}")


if __name__ == "__main__":
    main(sys.argv[1])
