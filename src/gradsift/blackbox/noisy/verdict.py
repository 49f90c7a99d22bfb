"""What may be claimed about a network found through imperfect answers, and the record of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checking import Floats
from ...fit import Parameters
from ...geometry import normalize_rows
from ..answers import Floor
from ..links import Link
from ..result import Identification
from .far_circles import ENOUGH, CircleTest, weight_in_question
from .local_fit import Fitted
from .noise import Variance, complaints

__all__ = ["Evidence", "Judgement", "judge", "result"]


class Evidence(NamedTuple):
    """What a verdict rests on: the floor, the noise, BIC's gap, the circle test, the wish, what ran out."""

    floor: Floor
    variance: Variance
    gap: float
    test: CircleTest | None
    accuracy: float | None
    shortage: str
    misfit: float
    bounded: bool = False
    lacking: bool = False
    n_stray: int = 0
    uneven: bool = False


class Judgement(NamedTuple):
    """Whether to vouch for the network, and the sentence."""

    certified: bool
    sentence: str


def judge(fitted: Fitted, cones: Floats, evidence: Evidence, predictions: Floats, studentised: Floats) -> Judgement:
    """Weigh the evidence; `predictions` are the fitted values, and `studentised` their residuals over their spread."""
    doubts = []
    k, widest = len(fitted.theta.u), float(cones.max())
    if evidence.shortage:
        doubts.append(evidence.shortage.rstrip("."))
    if evidence.accuracy is not None and widest > evidence.accuracy:
        doubts.append(f"directions are known to {widest:.2g}, not to the {evidence.accuracy:.2g} asked for")
    if evidence.test is None and not evidence.bounded:
        doubts.append("whether there is another unit was not tested")
    if evidence.test is not None and evidence.test.alarm:
        doubts.append(f"another unit shows on a far circle ({evidence.test.statistic:.1f} standard errors)")
    elif evidence.test is not None and evidence.test.level > ENOUGH * weight_in_question(fitted.theta.u):
        doubts.append(f"another unit would have shown only with a weight above {evidence.test.level:.2g}")
    if _cancel(fitted):
        doubts.append("two parallel units cancel but for a thin slab: a spike that fits a few stray answers")
    if evidence.n_stray:
        doubts.append(f"the noise has outliers ({evidence.n_stray} answers more than six standard deviations off)")
    if evidence.lacking:
        doubts.append("one more unit, perhaps half of a nearly parallel pair, would explain the answers better")
    if evidence.floor.kind == "noisy":
        doubts += complaints(studentised, predictions)
    if evidence.floor.kind != "labels" and evidence.misfit > 1.4:
        doubts.append(f"residuals are {np.sqrt(evidence.misfit):.2g} times the noise")
    if doubts:
        return Judgement(False, f"Not certified: {k} units fitted, but {'; '.join(doubts)}.")
    limit = "units that are flat inside the box cannot be seen"
    if evidence.test is not None:
        limit = f"a further unit with a weight above {evidence.test.level:.2g} would have shown"
    return Judgement(
        True,
        f"Certified: {k} units, directions within {widest:.2g} (99% for all at once); {_floor(evidence)}; {limit}.",
    )


def _cancel(fitted: Fitted) -> bool:
    """Tell whether two nearly parallel units have nearly opposite effects far out."""
    units, u = normalize_rows(fitted.theta.A), fitted.theta.u
    cosines = units @ units.T
    together = np.abs(u[:, None] + np.sign(cosines) * u)  # weight of a pair seen from afar
    apart = np.maximum(np.abs(u)[:, None], np.abs(u))
    return bool((np.triu(np.abs(cosines) > 0.9, 1) & (together < 0.25 * apart)).any())


def _floor(evidence: Evidence) -> str:
    if evidence.floor.kind == "noisy":
        uneven = " on average, and uneven" if evidence.uneven else ""
        return f"answers have noise of standard deviation {evidence.variance.sd:.2g}{uneven}"
    return str(evidence.floor)


def result(
    fitted: Fitted, cones: Floats, link: Link, judgement: Judgement, n_queries: int, evidence: Evidence,
    facts: dict[str, Any],
    moved: Parameters | None = None,
) -> Identification:  # fmt: skip
    """Return the public record, units in canonical order; `moved` are the parameters in the oracle's coordinates."""
    theta, C = fitted.theta, np.diag(fitted.covariance)
    public = theta if moved is None else moved
    stretch = np.linalg.norm(public.A, axis=1) / np.linalg.norm(theta.A, axis=1)
    k, layout = len(theta.u), theta.layout
    order = np.argsort(-np.abs(theta.u), kind="stable")
    errors: dict[str, Any] = {
        "units": np.array([np.sqrt(np.trace(fitted.tangent(unit))) for unit in range(k)])[order],
        "slopes": (np.sqrt(C[layout.first]) * stretch)[order] / link.stretch,
        "offsets": np.sqrt(C[layout.b])[order] / link.stretch,
        "weights": np.sqrt(C[layout.weights])[order] / link.gain,
        "intercept": np.sqrt(C[layout.c]),
    }
    diagnostics = {
        "floor": evidence.floor.kind,
        "noise": evidence.variance.sd,
        "bic_gap": evidence.gap,
        "another_unit": None if evidence.test is None else evidence.test.statistic,
        "weight_level": None if evidence.test is None else evidence.test.level,
        "misfit": evidence.misfit,
        **facts,
    }
    model = link.to_model(public.A, public.b, public.u, public.c)
    return Identification(model, judgement.certified, judgement.sentence, n_queries, errors, cones[order], diagnostics)
