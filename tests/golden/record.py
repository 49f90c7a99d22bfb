"""Run all cases and keep what they did: ``cd tests && python -m golden.record``.

The runs are a guard while the house is rebuilt, not a claim: where a change is meant to change numbers, record anew and
say so in the commit.
"""

from __future__ import annotations

import json
import platform
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info, threadpool_limits

from .cases import CASES
from .commands import COMMANDS

__all__ = ["ALL", "RUNS", "machine", "run"]

ALL = {**CASES, **COMMANDS}

RUNS = Path(__file__).with_name("runs.json")


def machine() -> dict[str, str]:
    """Return what decides about last bits: processor, its arithmetic, and the libraries.

    OpenBLAS chooses its kernels by processor; ``OPENBLAS_CORETYPE`` chooses others.
    """
    config = np.show_config(mode="dicts")
    simd = ",".join(config["SIMD Extensions"].get("found", []))
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    return {
        "processor": f"{platform.machine()} {cpu.partition(':')[2].strip()} {simd}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": ",".join(sorted({lib["architecture"] for lib in threadpool_info() if "architecture" in lib})),
    }


def run(name: str) -> dict[str, Any]:
    """Run a case anew, on one thread, and return what must stay the same."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ALL[name]()


def main() -> None:
    runs = {}
    for name in sys.argv[1:] or ALL:
        runs[name] = run(name)
        print(f"{name}: {runs[name]['n_queries']} queries. {runs[name]['verdict']}")
    kept = json.loads(RUNS.read_text())["runs"] if sys.argv[1:] else {}
    RUNS.write_text(json.dumps({"machine": machine(), "runs": {**kept, **runs}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
