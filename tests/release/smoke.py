"""What an installed gradsift must be able to do, without a checkout and without pytest: python smoke.py none | all.

With "none", optional packages are absent, and what needs them says which extra brings it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gradsift as gs


def black_box(X):
    return 0.8 * np.tanh(2 * X[:, 0] + 1) - 0.5 * np.tanh(X[:, 1] - X[:, 2])


def box_and_table(folder: Path) -> gs.Network:
    """Recover a box and fit a table; return the network of the box."""
    found = gs.recover(gs.Oracle(black_box, n_features=3), random_state=0)
    assert found.certified, found.verdict
    assert len(found.model.units) == 2
    found.model.save(folder / "found.json")
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.testing.assert_allclose(gs.SigmoidCombination.load(folder / "found.json").predict(X), black_box(X), atol=1e-9)
    truth = gs.simulate.random_combination(5, 2, slope=3, rng=1)
    X, y = truth.sample(2000, noise=0.2, rng=2)
    fit = gs.SigmoidCombinationRegressor(random_state=0).fit(X, y)
    assert fit.n_units_ == 2, fit.n_units_
    assert gs.match_units(fit.units_, truth.units).max_error < 0.2
    return found.network


def commands(folder: Path) -> None:
    """The command line: a file in, a model out, predictions from it."""
    X = np.random.default_rng(3).standard_normal((300, 2))
    rows = np.column_stack((X, np.tanh(2 * X[:, 0]) + 0.1 * np.random.default_rng(4).standard_normal(300)))
    np.savetxt(folder / "data.csv", rows, delimiter=",", header="a,b,y", comments="")

    program = Path(sys.executable).with_name("gradsift")

    def gradsift(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 3), done.stderr  # 3: done, not certified
        return done.stdout

    assert gs.__version__ in gradsift("version")
    gradsift("fit", "data.csv", "--target", "y", "--out", "model.json")
    gradsift("predict", "model.json", "data.csv", "--out", "predictions.csv")
    assert len((folder / "predictions.csv").read_text().splitlines()) == 301
    assert json.loads((folder / "model.json").read_text())


def without_extras(network: gs.Network, folder: Path) -> None:
    """Say which extra is missing instead of failing somewhere inside."""
    for use, extra in ((lambda: network.to_onnx(folder / "n.onnx"), "onnx"), (network.to_torch, "torch")):
        said = ""
        try:
            use()
        except gs.errors.MissingExtra as missing:
            said = str(missing)
        assert f"gradsift[{extra}]" in said, f"{extra} was there"


def with_extras(network: gs.Network, folder: Path) -> None:
    """Every extra does something."""
    import httpx  # noqa: F401 (asked for by --oracle with an address)
    import pyarrow
    import pyarrow.parquet
    import torch

    X = np.random.default_rng(5).standard_normal((2000, 3))
    network.to_onnx(folder / "network.onnx")
    np.testing.assert_allclose(gs.oracle.from_onnx(folder / "network.onnx")(X[:20]), black_box(X[:20]), atol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(network.to_torch()(torch.as_tensor(X)).numpy().ravel(), black_box(X), atol=1e-6)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": black_box(X) + 0.05 * X[::-1, 0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "data.parquet")
    fit = gs.recover(gs.sources.parquet(folder / "data.parquet", target="y"), 2, random_state=0)
    fit.to_html(folder / "fit.html")
    assert "<svg" in (folder / "fit.html").read_text(encoding="utf-8")


def main() -> None:
    checkout = Path(__file__).parents[2]
    assert not Path(gs.__file__).is_relative_to(checkout / "src"), f"gradsift comes from {gs.__file__}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = box_and_table(folder)
        commands(folder)
        (with_extras if sys.argv[1] == "all" else without_extras)(network, folder)
    import scipy
    import sklearn

    versions = f"Python {sys.version.split()[0]}, numpy {np.__version__}, scipy {scipy.__version__}"
    print(f"gradsift {gs.__version__} works: {versions}, scikit-learn {sklearn.__version__}, extras: {sys.argv[1]}")


if __name__ == "__main__":
    main()
