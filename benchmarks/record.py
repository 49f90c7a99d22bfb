"""Writing a benchmark's result where the docs can find it, with what it was measured on."""

from __future__ import annotations

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gradsift

RESULTS = Path(__file__).parent / "results"


def save(name: str, result: dict[str, Any]) -> Path:
    """Write ``results/NAME.json``."""
    packages = ("numpy", "scipy", "scikit-learn")
    context = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {"gradsift": gradsift.__version__, **{p: version(p) for p in packages}},
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"context": context, **result}, indent=1) + "\n")
    return path


def save_parts(name: str, parts: dict[str, Any]) -> Path:
    """Write some parts of ``results/NAME.json``, which are measured one at a time; the others stay."""
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
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
