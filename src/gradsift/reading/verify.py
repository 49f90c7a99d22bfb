"""Is the network the box? Fresh inputs, asked for nothing else, and the share of such inputs that may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from ..activations import get_activation
from ..arguments import Floats, as_generator, finite_matrix, whole
from ..certificate import VERIFY, Verdict
from ..certificate import noise_rules as imperfect
from ..certificate import shared_rules as shared
from ..model import SigmoidCombination
from ..network import Network
from ..oracle import InputFrame, Oracle
from .check_inputs import fresh_inputs, scale_of_inputs
from .ledger import EPS, n_affordable
from .precision import Precision
from .result import Reading, Verification
from .scouts import HALVINGS


class Repeats(NamedTuple):
    """Inputs that were asked twice."""

    n: int
    n_different: int  # inputs with two labels
    chance: float  # that a sum as found would change so few labels


NOT_ASKED = Repeats(0, 0, 0.0)  # no evidence that there is any chance


def asked_twice(model: SigmoidCombination, oracle: Oracle, n: int, rng: np.random.Generator) -> Repeats:
    """Ask n inputs twice each, those where the model's mean is closest to zero."""
    points = _undecided(model, oracle, n, rng)
    first, second = oracle(np.vstack([points, points])).reshape(2, n)
    n_different = int(np.sum(first != second))
    p = (1 - np.clip(model.predict(points), -1.0, 1.0) ** 2) / 2  # that two labels of one input differ
    counts = np.ones(1)  # probability of each number of inputs with two labels
    for one in p:
        counts = np.convolve(counts, (1 - one, one))
    return Repeats(n, n_different, float(counts[: n_different + 1].sum()))


def _undecided(model: SigmoidCombination, oracle: Oracle, n: int, rng: np.random.Generator) -> Floats:
    """Return n inputs, (n, d), on the way from positive means to negative ones; without both, the least certain."""
    points = fresh_inputs(model, oracle, 20 * n, rng)
    means = model.predict(points)
    positive, negative = points[means > 0], points[means <= 0]
    if not (len(positive) and len(negative)):
        return np.asarray(points[np.argsort(np.abs(means))[:n]])
    a, b = positive[rng.integers(len(positive), size=n)], negative[rng.integers(len(negative), size=n)]
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        up = (model.predict(middle) > 0)[:, None]
        a, b = np.where(up, middle, a), np.where(up, b, middle)
    return np.asarray((a + b) / 2)


def direction_error(found: Reading) -> float:
    """Return the largest error of a direction, in radians; 0 for exact answers."""
    if found.precision is None or found.precision.is_exact:
        return 0.0
    return float(np.max(found.evidence.errors.get("units", 0.0), initial=0.0))


def value_errors(found: Reading, model: SigmoidCombination | Network, X: Floats) -> Floats:
    """Return how well the values of a model are known at the rows of X, (n,); of labels, how well their mean is."""
    mean_error = found.evidence.mean_error
    return _by_parameters(found, model, X) if mean_error is None else np.full(len(X), mean_error)


def _by_parameters(found: Reading, model: SigmoidCombination | Network, X: Floats) -> Floats:
    """Return what the errors of the parameters do to the values, (n,), in the coordinates of these errors."""
    if found.frame is not None:
        model, X = found.frame.inside(model), (X - found.frame.center) / found.frame.scale
    bounds = found.evidence.bounds
    if isinstance(model, Network):
        bounds = bounds[np.isfinite(bounds)]  # of a unit at rest only its output is known
    elif found.precision is not None and not found.precision.is_exact:
        return VERIFY.errors * _standard_error(model, found.evidence.errors, X)
    known = max(float(np.max(bounds, initial=0.0)), VERIFY.errors * VERIFY.rounding * EPS)
    return known * _sensitivity(model, X)


def differs(
    found: Reading, model: SigmoidCombination | Network, X: Floats, y: Floats, lost: Floats | float = 0.0
) -> Floats:
    """Say which answers (n,) differ from a model at the rows of X, beyond its errors and theirs.

    `lost` is what undoing the link of several outputs has done to each.
    """
    precision, n = found.precision or Precision(), len(y)
    if precision.is_label:
        means = np.clip(y * model.predict(X) + _by_parameters(found, model, X), -1.0, 1.0)
        return np.asarray(1 + means < 2 * VERIFY.level / n)
    off, known = np.abs(y - model.predict(X)), value_errors(found, model, X)
    if precision.has_noise:
        return np.asarray(off > noise_limit(found, n) + known)
    # Arithmetic inside the box errs by a few spacings of each term, beside what rounds the answer itself.
    rounded = 0.25 * VERIFY.rounding * precision.eps * _sensitivity(model, X)
    rounded = rounded + VERIFY.steps * (precision.own(y) + lost)
    return np.asarray(off > known + VERIFY.steps * precision.step + rounded)


def noise_limit(found: Reading, n: int) -> float:
    """Return how large a difference noise may hide from each of n answers; 0 where there is none."""
    if found.precision is None or not found.precision.has_noise:
        return 0.0
    return float(-ndtri(VERIFY.level / (2 * n)) * (found.evidence.noise or found.precision.sd))


def _sensitivity(model: SigmoidCombination | Network, X: Floats) -> Floats:
    """Return how much the values change if every parameter changes by its own size, inputs in sizes of their own."""
    if isinstance(model, Network):
        return model.sensitivity(X)
    scales = scale_of_inputs(model)
    lengths = np.linalg.norm(model.units * model.slopes[:, None] * scales, axis=1)
    terms = np.linalg.norm(X / scales, axis=1)[:, None] * lengths + np.abs(model.offsets)
    active = np.abs(model.weights * get_activation(model.activation).derivative(model.arguments(X)))  # (n, k)
    linear = np.abs(X) @ np.abs(model.linear)
    return np.asarray(abs(model.intercept) + np.abs(model.weights).sum() + linear + (active * terms).sum(axis=1))


def _standard_error(model: SigmoidCombination, errors: Mapping[str, Floats], X: Floats) -> Floats:
    """Return the standard error of the values, as if those of the parameters were independent."""
    f, z = get_activation(model.activation), model.arguments(X)  # (n, k)
    along = X @ model.units.T
    across = np.sqrt(np.maximum((X**2).sum(axis=1)[:, None] - along**2, 0.0))
    moved = (across * model.slopes * errors["units"]) ** 2 + (along * errors["slopes"]) ** 2 + errors["offsets"] ** 2
    squares = (model.weights * f.derivative(z)) ** 2 * moved + (f.value(z) * errors["weights"]) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=1) + float(np.sum(errors["intercept"] ** 2))))


def compare(
    found: Reading,
    X: Floats,
    answers: Floats,
    lost: Floats | float = 0.0,
    models: Sequence[SigmoidCombination | Network] = (),
) -> Verification:
    """Compare answers, (n,) or one column for each model, with what these or the one found foretell at rows of X."""
    models = models or (found.model,)
    pairs = list(zip(models, answers.reshape(len(X), -1).T))
    off = np.max([np.abs(y - model.predict(X)) for model, y in pairs], axis=0)
    different = np.any([differs(found, model, X, y, lost) for model, y in pairs], axis=0)
    n, m = len(X), int(different.sum())
    at = int(np.argmax(np.where(different, off, -1.0) if m else off))
    share = 1.0 if m == n else float(betaincinv(m + 1, n - m, 0.95))
    known = max(float(value_errors(found, model, X).max()) for model in models)
    return Verification(n, m, float(off[at]), X[at].copy(), share, known, noise_limit(found, n))


def verify(
    found: Reading,
    oracle: Oracle,
    X: ArrayLike | None,
    n: int,
    rng: Any,
    models: Sequence[SigmoidCombination | Network] = (),
) -> Verification:
    """Ask an oracle at the rows of X or, without any, at n fresh inputs; one model for each of its outputs."""
    if X is None:
        whole("n", n)
        first = (models or (found.model,))[0]
        points = fresh_inputs(first, oracle, n, as_generator(rng), direction_error(found))
    else:
        points = finite_matrix("X", X, oracle.n_features)
    return compare(found, points, oracle(points), models=models)


def verified(found: Reading, oracle: Oracle, n: int, rng: np.random.Generator) -> Reading:
    """Ask n fresh inputs, or as many as the budget allows, and let the result say how they were answered."""
    found = _with_chance(found, oracle, rng)
    n = n_affordable(oracle, n)
    if not n:
        return with_verification(found, None, oracle.frame)
    points = fresh_inputs(found.model, oracle, n, rng, direction_error(found))
    points, answers, lost = _answered(oracle, points, found.precision)
    checked = compare(found, points, answers, lost) if len(points) else None
    return with_verification(found.spending("verify", n), checked, oracle.frame)


def _with_chance(found: Reading, oracle: Oracle, rng: np.random.Generator) -> Reading:
    """Ask some inputs of a box of labels twice, where that could take a certificate back or say what the mean lacks."""
    doubts = {check.name for check in found.judgement.failed} - {"label link", "known mean"}
    if found.precision is None or not found.precision.is_label or doubts:
        return found
    enough = n_affordable(oracle, 2 * VERIFY.asked_twice) == 2 * VERIFY.asked_twice
    twice = asked_twice(found.model, oracle, VERIFY.asked_twice, rng) if enough else NOT_ASKED
    judgement = found.judgement
    check = imperfect.labels_by_chance(twice.n, twice.n_different, twice.chance)
    checks = (*judgement.checks, check) if check.holds else (check, *judgement.checks)
    return replace(found.spending("verify", 2 * twice.n), judgement=replace(judgement, checks=checks))


def _answered(oracle: Oracle, points: Floats, precision: Precision | None) -> tuple[Floats, Floats, Floats | float]:
    """Return the points whose answers a link has not swallowed, the answers, and what it has done to each."""
    if oracle.link is None or precision is None or len(precision.outputs) < 2:
        return points, oracle(points), 0.0
    outputs = oracle.outputs(points)
    kept = oracle.link.holds(outputs)
    points, outputs = points[kept], outputs[kept]
    sizes = np.stack([r.errors(column) for r, column in zip(precision.outputs, outputs.T)], axis=1)
    lost = oracle.link.errors(outputs, sizes) @ np.abs(oracle.weights)
    return points, oracle.seen(outputs, points), lost


def with_verification(found: Reading, checked: Verification | None, frame: InputFrame | None) -> Reading:
    """Return the result with what fresh inputs, asked in a frame, say about it, or with the word that none were."""
    judgement = found.judgement
    if checked is None:
        return replace(found, judgement=replace(judgement, claim=f"{judgement.claim}; nothing was verified on fresh "
                                                                 "inputs"))  # fmt: skip
    if frame is not None:
        checked = replace(checked, where=frame.center + frame.scale * checked.where)
    labels = found.precision is not None and found.precision.is_label
    check = shared.fresh_inputs(checked.n, checked.n_different, checked.worst, checked.share, checked.where, labels)
    hidden = f"unless by less than {checked.unseen:.2g}, which noise hides, " if checked.unseen else ""
    known = f"{hidden}and the function is known to {checked.known:.1g} there"
    if labels:
        known = f"and the mean is known to {checked.known:.2g} at usual inputs"
    checks = (*judgement.checks, check) if check.holds else (check, *judgement.checks)
    claimed = Verdict(checks, judgement.found, f"{judgement.claim}; {check.says}, {known}")
    return replace(found, judgement=claimed, verification=checked)
