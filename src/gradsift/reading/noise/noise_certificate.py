"""What may be claimed about a network found through imperfect answers, and the record of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arguments import Floats
from ...certificate import LABELS, NOISY, Check, Evidence, Verdict, n_of
from ...certificate import noise_rules as imperfect
from ...certificate import shared_rules as shared
from ...certificate.limits import UnitLimits
from ...fit import Fitted, Parameters
from ...network import Network
from ..odd_form import Link
from ..precision import Precision
from ..result import Reading
from .beside_planes import SecondUnitTest
from .missing_unit import weight_in_question
from .noise_tests import Variance, noise_checks
from .other_shapes import ComparedShape
from .state import CircleTest


class NoisyEvidence(NamedTuple):
    """The numbers a verdict rests on.

    precision, variance : what limits the answers, and their noise; uneven: whether it depends on the function
    gap : BIC's, to the next best number of units
    test, partners, bounded : the tests for a further unit and for units that are two (None: not made), for which a
        box has no room
    accuracy, shortage : what was asked for, and what ran out
    misfit : mean square of the residuals over the noise's
    one_more, n_stray : nats that one more unit is worth, and answers set aside (None: not looked at)
    shape : how the units' shape compares with others, for additive noise
    mean : how well the mean is known, for labels
    cancelling : two units that cancel far out (None: there are no such units)
    surely : widest cone of the surest claim
    blind : angle in radians up to which a second unit beside a found one would not have shown
    """

    precision: Precision
    variance: Variance
    gap: float
    test: CircleTest | None
    accuracy: float | None
    stopped_by: str
    misfit: float
    bounded: bool = False
    one_more: float | None = None
    n_stray: int | None = None
    uneven: bool = False
    shape: ComparedShape | None = None
    mean: imperfect.KnownMean | None = None
    cancelling: imperfect.Cancelling | None = None
    surely: float = np.inf
    partners: SecondUnitTest | None = None
    blind: float = 0.0

    @property
    def blind_angle(self) -> float:
        """Degrees up to which a second unit beside a found one would not have shown."""
        return float(np.degrees(self.blind))


def judge(fitted: Fitted, cones: Floats, evidence: NoisyEvidence, predictions: Floats, studentised: Floats) -> Verdict:
    """Weigh the evidence; `predictions` are the fitted values, and `studentised` their residuals over their spread."""
    labels, widest = evidence.precision.is_label, float(cones.max())
    limits: UnitLimits = LABELS if labels else NOISY
    checks = [shared.finished(evidence.stopped_by)]
    if evidence.accuracy is not None:
        checks.append(imperfect.accuracy(widest, evidence.accuracy))
    if evidence.test is not None or not evidence.bounded:
        checks += _no_other_unit(evidence.test, fitted, limits, widest)
    if not (evidence.bounded or labels):
        checks += _single_units(evidence.partners, fitted)
    checks.append(imperfect.cancelling_pair(evidence.cancelling, limits))
    if evidence.n_stray is not None and not labels:  # no label is impossible
        checks.append(imperfect.far_answers(evidence.n_stray))
    more, shape_first = [], False
    if evidence.one_more is not None:
        # Units too few look like another shape, and units of another shape like too few: what explains more is first.
        more = [imperfect.one_more_unit(evidence.one_more, widest)]
        shape_first = evidence.shape is not None and evidence.shape.rival.gain > evidence.one_more
    checks += [] if shape_first else more
    if evidence.precision.has_noise:
        if evidence.precision.n_equal is not None:
            checks.append(imperfect.equal_answers(evidence.precision.n_equal))
        checks += noise_checks(studentised, predictions)
    if evidence.mean is not None:
        checks += [imperfect.label_link(evidence.mean, LABELS), imperfect.known_mean(evidence.mean, LABELS, widest)]
    if evidence.shape is not None:
        checks = _with_shape(checks, evidence.shape, more if shape_first else [])
    if not labels:
        checks.append(imperfect.misfit(evidence.misfit, NOISY))
    parts = n_of(len(fitted.theta.u), "unit")
    return Verdict(
        tuple(checks),
        found=f"{parts} fitted",
        claim=f"{parts}, directions within {widest:.2g} (99% for all at once) and {evidence.surely:.2g} (99.9%); "
        f"{_floor(evidence)}; {_hidden_units(evidence)}{_undecided(evidence)}",
    )


def _with_shape(checks: list[Check], shape: ComparedShape, more: list[Check]) -> list[Check]:
    """Add the checks of the units' shape; `more`, on one more unit, follows them where another shape explains more."""
    name, rival, paired, bend = shape
    pair = imperfect.parallel_pair(paired.name, paired.gain, NOISY)
    instead = pair.advice if paired.gain > rival.gain - NOISY.activation else ""
    family = imperfect.activation(rival.name, rival.gain, NOISY, rival.beside, rival.is_known, instead)
    if more and not family.holds and not instead:
        checks = [checks[0], family, *checks[1:], pair]  # nothing else is worth following before
    else:
        checks = [*checks, pair, family]
    return [*checks, imperfect.shape(bend, name, NOISY), *more]


def _hidden_units(evidence: NoisyEvidence) -> str:
    """Say which units might be there all the same."""
    unseen = "units that are flat inside the box cannot be seen"
    if evidence.test is not None:
        level = max(evidence.test.level, 0.0 if evidence.partners is None else evidence.partners.weight)
        unseen = f"a further unit with a weight above {level:.2g} would have shown"
    if evidence.blind:
        second = ", unless" if evidence.test is not None else "; a second unit would not have shown"
        unseen += f"{second} within {evidence.blind_angle:.2g} degrees of a found one or parallel to it"
    return unseen


def _undecided(evidence: NoisyEvidence) -> str:
    """Say that the answers cannot tell two activations apart, if so."""
    if evidence.shape is None or not evidence.shape.rival.untold:
        return ""
    return f"; {' or '.join(evidence.shape.rival.untold)} units with other slopes would explain the answers as well"


def _no_other_unit(test: CircleTest | None, fitted: Fitted, limits: UnitLimits, reached: float) -> list[Check]:
    """Return what far circles say about a further unit: that there is none, and that it would have shown."""
    shows = imperfect.another_unit(np.nan if test is None else test.statistic, limits, reached)
    if test is None or not shows.holds:
        return [shows]
    return [shows, imperfect.weight_shown(test.level, weight_in_question(fitted.theta.u), limits, reached)]


def _single_units(test: SecondUnitTest | None, fitted: Fitted) -> list[Check]:
    """Return what answers beside all hyperplanes say about units that are two."""
    u = fitted.theta.u
    if fitted.theta.A.shape[1] < 2:
        return []
    if test is None or len(test.log_ratios) != len(u) or np.isinf(test.weight):
        return [imperfect.single_units(np.nan, 0, NOISY)]
    rank = np.argsort(np.argsort(-np.abs(u), kind="stable"))  # as units are numbered in the end
    suspect, largest = 1 + int(rank[int(np.argmax(test.log_ratios))]), float(test.log_ratios.max())
    return [
        imperfect.single_units(largest, suspect, NOISY),
        imperfect.blind_angle(float(np.degrees(test.blind)), NOISY),
    ]


def _floor(evidence: NoisyEvidence) -> str:
    if evidence.precision.has_noise:
        uneven = " on average, and uneven" if evidence.uneven else ""
        return f"answers have noise of standard deviation {evidence.variance.sd:.2g}{uneven}"
    if evidence.mean is not None and evidence.mean.gain >= -LABELS.told_apart:
        return "answers are -1 or +1 with the function as their mean or, which they do not tell, as their log-odds"
    return str(evidence.precision)


def result(
    fitted: Fitted, cones: Floats, link: Link, judgement: Verdict, n_queries: int, evidence: NoisyEvidence,
    facts: dict[str, Any], spent: dict[str, int],
    moved: Parameters | None = None,
) -> Reading:  # fmt: skip
    """Return the public record, units in canonical order; `moved` are the parameters in the oracle's coordinates."""
    theta, C = fitted.theta, np.diag(fitted.covariance)
    public = theta if moved is None else moved
    stretch = np.linalg.norm(public.A, axis=1) / np.linalg.norm(theta.A, axis=1)
    layout = theta.layout
    order = np.argsort(-np.abs(theta.u), kind="stable")
    errors: dict[str, Any] = {
        "units": fitted.angles[order],
        "slopes": (np.sqrt(C[layout.first]) * stretch)[order] / link.stretch,
        "offsets": np.sqrt(C[layout.b])[order] / link.stretch,
        "weights": np.sqrt(C[layout.weights])[order] / link.gain,
        "intercept": np.sqrt(C[layout.c]),
    }
    diagnostics = {
        "floor": evidence.precision.kind,
        "noise": evidence.variance.sd,
        "bic_gap": evidence.gap,
        "another_unit": None if evidence.test is None else evidence.test.statistic,
        "weight_level": None if evidence.test is None else evidence.test.level,
        "blind_angle": evidence.blind_angle,
        "misfit": evidence.misfit,
        **({} if evidence.mean is None else {"known_mean": evidence.mean.error}),
        **facts,
    }
    network = Network.of(link.to_model(public.A, public.b, public.u, public.c))
    own = Evidence(
        judgement.found, len(fitted.residuals), own=judgement.checks, errors=errors, bounds=cones[order],
        noise=evidence.variance.sd, mean_error=None if evidence.mean is None else evidence.mean.error,
        blind_angle=evidence.blind_angle, spent=spent, notes=diagnostics,
    )  # fmt: skip
    return Reading(network, judgement, own, evidence.precision).of_all(n_queries)
