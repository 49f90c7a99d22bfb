"""gradsift finds the hidden units of a sum of sigmoids.

From a black box that can be queried, or from a table of samples; see :func:`recover`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Name -> home. Loaded on first use, so that ``import gradsift`` costs no scikit-learn (one second) until it is needed.
_HOMES = {
    "DirectionalKMeans": "paper.method.clustering",
    "KernelGradients": "paper.method.gradients",
    "LocalLinearGradients": "paper.method.gradients",
    "Network": "network",
    "Oracle": "oracle",
    "OracleGradients": "paper.method.gradients",
    "Problem": "paper.theory",
    "ProjectedGradients": "paper.method.gradients",
    "SigmoidCombination": "model",
    "SigmoidCombinationRegressor": "estimators",
    "SigmoidMixtureClassifier": "estimators",
    "SpectralMirror": "paper.method.subspace",
    "forecast": "forecasting",
    "generate_candidates": "paper.method.candidates",
    "match_networks": "network",
    "match_units": "geometry",
    "plan": "paper.theory",
    "recover": "recovery",
}
_MODULES = {
    **{name: name for name in ("errors", "oracle", "paper", "simulate", "sources")},
    "inference": "fit.covariance",
    "plots": "show.plots",
    "theory": "paper.theory",
}

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]

if TYPE_CHECKING:
    from . import errors, oracle, paper, simulate, sources
    from .estimators import SigmoidCombinationRegressor, SigmoidMixtureClassifier
    from .fit import covariance as inference
    from .forecasting import forecast
    from .geometry import match_units
    from .model import SigmoidCombination
    from .network import Network, match_networks
    from .oracle import Oracle
    from .paper import theory
    from .paper.method.candidates import generate_candidates
    from .paper.method.clustering import DirectionalKMeans
    from .paper.method.gradients import KernelGradients, LocalLinearGradients, OracleGradients, ProjectedGradients
    from .paper.method.subspace import SpectralMirror
    from .paper.theory import Problem, plan
    from .recovery import recover
    from .show import plots


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gradsift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
