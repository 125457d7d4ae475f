"""The command that the scripts here run: that of `PUNCTUAL`, else one that cargo builds."""

import json
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def punctual() -> str:
    if named := os.environ.get("PUNCTUAL"):
        return str(Path(shutil.which(named) or named).resolve())
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "punctual-cli"], cwd=HERE, check=True)
    meta = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=HERE, check=True, capture_output=True, text=True
    )
    return str(Path(json.loads(meta.stdout)["target_directory"]) / "release/punctual")
