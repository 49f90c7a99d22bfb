"""Writing a benchmark's result where the docs can find it, with what it was measured on; reading it back unharmed."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import gradsift

COMMITTED = Path(__file__).parent / "results"
RESULTS = Path(os.environ.get("GRADSIFT_RESULTS") or COMMITTED)  # elsewhere for a quick run, which is no evidence


class Corrupted(ValueError):
    """A result file is not what its script wrote."""


def save(name: str, result: dict[str, Any]) -> Path:
    """Write ``results/NAME.json``, sealed with a checksum; rows that name no commit are of the present one."""
    here = commit()
    stamped = {part: _stamped(rows, here) for part, rows in result.items()}
    return write_sealed(RESULTS / f"{name}.json", {"context": context(), **stamped})


def _stamped(rows: Any, here: str) -> Any:
    """Return a list of rows in which each names its commit, anything else as it is."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return rows
    return [{**row, "commit": row.get("commit") or here} for row in rows]


def context() -> dict[str, Any]:
    """Return what a result was measured on."""
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {"gradsift": gradsift.__version__, **{p: version(p) for p in packages}},
    }


def commit() -> str:
    """Return the commit that is checked out, shortened; "unknown" outside of a checkout."""
    asked = subprocess.run(
        ["git", "-C", str(COMMITTED), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )  # fmt: skip
    return asked.stdout.strip() or "unknown"


def write_sealed(path: Path, content: dict[str, Any]) -> Path:
    """Write a result with the checksum of its content; what is not a number, or infinite, becomes nothing."""
    plain = {name: value for name, value in content.items() if name != "checksum"}
    content = json.loads(json.dumps(plain), parse_constant=lambda _: None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**content, "checksum": checksum(content)}, indent=1) + "\n", encoding="utf-8")
    return path


def checksum(content: dict[str, Any]) -> str:
    """Return the checksum of a result, whatever the order and layout of its text."""
    plain = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def load(path: Path) -> dict[str, Any]:
    """Return what a result file holds, without its checksum.

    Raises
    ------
    Corrupted
        If it is no JSON object with finite numbers and a date, or not what was sealed.
    """

    def refuse(why: object) -> NoReturn:
        raise Corrupted(f"{path.name} is corrupted: {why}. Run benchmarks/{path.stem}.py again, or restore the file.")

    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda text: refuse(f"it holds {text}"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        refuse(error)
    if not isinstance(content, dict) or len(content) < 2:
        refuse("it holds no named results")
    if not (content.get("context") or content).get("date"):
        refuse("it does not say when it was measured")
    if "checksum" in content and content["checksum"] != checksum(content):
        refuse("its checksum belongs to other numbers")
    return {name: value for name, value in content.items() if name != "checksum"}


def save_parts(name: str, parts: dict[str, Any]) -> Path:
    """Write some parts of ``results/NAME.json``, which are measured one at a time; the others stay."""
    path = RESULTS / f"{name}.json"
    kept = load(path) if path.exists() else {}
    return save(name, {part: value for part, value in kept.items() if part != "context"} | parts)


def machine() -> str:
    """Name the machine that this runs on."""
    return f"{platform.machine()}, {_processor()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def log_log_slope(x: Any, y: Any) -> float:
    """Least-squares slope of log y against log x."""
    import numpy as np

    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
