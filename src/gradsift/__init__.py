"""gradsift finds the hidden units of a sum of sigmoids.

From a black box that can be queried, or from a table of samples; see :func:`recover`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Name -> home. Loaded on first use, so that ``import gradsift`` costs no scikit-learn (one second) until it is needed.
_HOMES = {
    "DirectionalKMeans": "paper_method.clustering",
    "GradientSubspace": "paper_method.companions",
    "HermiteSubspace": "paper_method.companions",
    "KernelGradients": "paper_method.gradients",
    "LocalLinearGradients": "paper_method.gradients",
    "Network": "network",
    "Oracle": "oracle",
    "OracleGradients": "paper_method.gradients",
    "Problem": "theory",
    "ProjectedGradients": "paper_method.gradients",
    "SigmoidCombination": "model",
    "SigmoidCombinationRegressor": "estimators",
    "SigmoidMixtureClassifier": "estimators",
    "SpectralMirror": "paper_method.subspace",
    "forecast": "forecasting",
    "generate_candidates": "paper_method.candidates",
    "match_networks": "network",
    "match_units": "geometry",
    "plan": "theory",
    "recover": "recovery",
}
_MODULES = ("errors", "inference", "oracle", "paper", "plots", "simulate", "sources", "theory")

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]

if TYPE_CHECKING:
    from . import errors, inference, oracle, paper, plots, simulate, sources, theory
    from .estimators import SigmoidCombinationRegressor, SigmoidMixtureClassifier
    from .forecasting import forecast
    from .geometry import match_units
    from .model import SigmoidCombination
    from .network import Network, match_networks
    from .oracle import Oracle
    from .paper_method.candidates import generate_candidates
    from .paper_method.clustering import DirectionalKMeans
    from .paper_method.companions import GradientSubspace, HermiteSubspace
    from .paper_method.gradients import KernelGradients, LocalLinearGradients, OracleGradients, ProjectedGradients
    from .paper_method.subspace import SpectralMirror
    from .recovery import recover
    from .theory import Problem, plan


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gradsift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
