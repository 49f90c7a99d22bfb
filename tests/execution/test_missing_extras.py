"""Without the optional packages, everything else works, and the feature says which extra to install."""

import os
import subprocess
import sys

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import MissingExtra

ROWS = np.zeros((5, 2)), np.zeros(5)


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("pyarrow", "parquet", lambda: gs.sources.parquet("absent.parquet", target="y")),
        ("dask", "dask", lambda: gs.sources.dask(*ROWS)),
        ("torch", "torch", lambda: gs.sources.tensors(*ROWS)),
    ],
)
def test_the_feature_names_the_extra(package, extra, use, monkeypatch):
    for name in list(sys.modules):
        if name == package or name.startswith(package + "."):
            monkeypatch.delitem(sys.modules, name)

    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(MissingExtra, match=rf"pip install 'gradsift\[{extra}\]'"):
        use()


SCRIPT = """
import sys
BLOCKED = {"dask", "distributed", "torch", "triton", "pyarrow", "polars", "onnx", "onnxruntime", "httpx"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np, gradsift as gs
model = gs.simulate.random_combination(3, 2, slope=2.0, rng=1)
X, y = model.sample(2000, 0.1, rng=2)
found = gs.recover((X, y), 2, random_state=0)
gs.KernelGradients().estimate((X, y), X[:3])
gs.recover((X, y), 2, method="paper", random_state=0, n_points=200, top=50, point_scale=1.0)
assert not BLOCKED & set(sys.modules)
print(gs.match_units(found.model.units, model.units).max_error)
"""


def test_tables_are_fitted_without_any_optional_package():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, env=os.environ, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1
