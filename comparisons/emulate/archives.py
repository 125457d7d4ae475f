"""What the comparisons here share: programs with a time limit, and packages from public archives."""

import subprocess
import sys
import tarfile
from pathlib import Path

RUN_S = 900


class Failed(Exception):
    """What was to run cannot."""


def run(arguments, within=RUN_S, **options):
    try:
        return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=within, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"still running after {within} s: {' '.join(map(str, arguments))}")
    except FileNotFoundError as why:
        raise Failed(why)


def prepared(*arguments, **options) -> str:
    """The output of a step that must succeed."""
    done = run(arguments, within=1800, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path, interpreter=sys.executable) -> Path:
    """The Python of a new virtual environment."""
    prepared(interpreter, "-m", "venv", "--without-pip", folder)
    return folder / "bin/python"


def installed(python: Path, *packages: str):
    """Installs packages from PyPI, and pytest."""
    prepared(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile", "pytest", *packages)


def unpacked(archive: Path, into: Path, parts=("",)) -> Path:
    """The parts of an archive, without its first level."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = member.name.partition("/")[2]
            if member.isfile() and member.name.startswith(tuple(parts)) and ".." not in member.name:
                tar.extract(member, into)
    return into


def source(package: str, into: Path, parts=("",)) -> Path:
    """The parts of the source archive of a package on PyPI, given as `name==version`."""
    prepared(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package.partition("==")[0], package, "-d", into)
    return unpacked(next(into.glob("*.tar.gz")), into, parts)
