"""gradsift finds the hidden units of a sum of sigmoids.

From a black box that can be queried, or from a table of samples; see :func:`recover`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Name -> home. Loaded on first use, so that ``import gradsift`` costs no scikit-learn (one second) until it is needed.
_HOMES = {
    "DirectionalKMeans": "clustering",
    "GradientSubspace": "companions",
    "HermiteSubspace": "companions",
    "KernelGradients": "gradients",
    "LocalLinearGradients": "gradients",
    "Oracle": "oracle",
    "OracleGradients": "gradients",
    "Problem": "theory",
    "ProjectedGradients": "gradients",
    "SigmoidCombination": "model",
    "SigmoidCombinationRegressor": "estimators",
    "SigmoidMixtureClassifier": "estimators",
    "SpectralMirror": "subspace",
    "generate_candidates": "candidates",
    "match_units": "geometry",
    "plan": "theory",
    "recover": "recovery",
}
_MODULES = ("errors", "inference", "oracle", "paper", "plots", "simulate", "sources", "theory")

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]

if TYPE_CHECKING:
    from . import errors, inference, oracle, paper, plots, simulate, sources, theory
    from .candidates import generate_candidates
    from .clustering import DirectionalKMeans
    from .companions import GradientSubspace, HermiteSubspace
    from .estimators import SigmoidCombinationRegressor, SigmoidMixtureClassifier
    from .geometry import match_units
    from .gradients import KernelGradients, LocalLinearGradients, OracleGradients, ProjectedGradients
    from .model import SigmoidCombination
    from .oracle import Oracle
    from .recovery import recover
    from .subspace import SpectralMirror
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
