"""Is the network the box? Fresh inputs, asked for nothing else, and the share of such inputs that may differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from ..activations import get_activation
from ..arguments import Floats, as_generator, finite_matrix, whole
from ..certificate import VERIFY, Verdict
from ..certificate import method_rules as any_method
from ..certificate import noise_rules as imperfect
from ..model import SigmoidCombination
from ..network import Network
from ..oracle import InputFrame, Oracle
from .check_inputs import column_scales, fresh_inputs
from .ledger import EPS, n_affordable
from .precision import Precision
from .result import Identification, Verification

_HALVINGS = 40  # of the way between two inputs whose means have different signs


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
    for _ in range(_HALVINGS):
        middle = (a + b) / 2
        up = (model.predict(middle) > 0)[:, None]
        a, b = np.where(up, middle, a), np.where(up, b, middle)
    return np.asarray((a + b) / 2)


@dataclass(frozen=True)
class Allowance:
    """How far an answer may be from a network before it differs.

    Attributes
    ----------
    precision : Precision
        What limits the answers; its `sd` is the noise as the answers have shown it.
    relative : float
        Largest relative error of any parameter, for exact answers.
    errors : dict
        Standard errors of the parameters, for imperfect ones.
    frame : InputFrame or None
        Centre and scale of the inputs that these errors are measured in.
    mean : float or None
        Error of the mean, for labels.
    """

    precision: Precision
    relative: float
    errors: dict[str, Floats]
    frame: InputFrame | None = None
    mean: float | None = None

    @property
    def unsure(self) -> float:
        """Errors of the directions, in radians; 0 for exact answers."""
        return 0.0 if self.precision.is_exact else float(np.max(self.errors.get("units", 0.0), initial=0.0))

    def of_function(self, model: SigmoidCombination | Network, X: Floats) -> Floats:
        """Return how well the function is known at the rows of X, (n,): an error that the parameters' own explain."""
        if self.mean is not None:
            return np.full(len(X), self.mean)
        return self._of_parameters(model, X)

    def _of_parameters(self, model: SigmoidCombination | Network, X: Floats) -> Floats:
        if self.frame is not None:
            model, X = inside(model, self.frame), (X - self.frame.center) / self.frame.scale
        if isinstance(model, Network) or self.precision.is_exact:
            return VERIFY.errors * max(self.relative, VERIFY.rounding * EPS) * _sensitivity(model, X)
        return VERIFY.errors * _standard_error(model, self.errors, X)

    def differs(self, model: SigmoidCombination | Network, X: Floats, y: Floats, lost: Floats | float = 0.0) -> Floats:
        """Say which answers (n,) differ from the network at the rows of X, beyond its errors and theirs.

        `lost` is what undoing the link of several outputs has done to each.
        """
        off = np.abs(y - model.predict(X))
        n = len(y)
        if self.precision.is_label:
            means = np.clip(y * model.predict(X) + self._of_parameters(model, X), -1.0, 1.0)
            return np.asarray(1 + means < 2 * VERIFY.level / n)
        known = self.of_function(model, X)
        if self.precision.has_noise:
            return np.asarray(off > self.unseen(n) + known)
        rounded = 0.25 * VERIFY.rounding * self.precision.eps * _sensitivity(model, X)
        rounded = rounded + VERIFY.steps * (self.precision.own(y) + lost)
        return np.asarray(off > known + VERIFY.steps * self.precision.step + rounded)

    def unseen(self, n: int) -> float:
        """Return how large a difference noise may hide from each of n answers; 0 where there is none."""
        return float(-ndtri(VERIFY.level / (2 * n)) * self.precision.sd) if self.precision.has_noise else 0.0


def _sensitivity(model: SigmoidCombination | Network, X: Floats) -> Floats:
    """Return how much the values change if every parameter changes by its own size, inputs in sizes of their own."""
    if isinstance(model, Network):
        return model.sensitivity(X)
    scales = column_scales(model)
    lengths = np.linalg.norm(model.units * model.slopes[:, None] * scales, axis=1)
    terms = np.linalg.norm(X / scales, axis=1)[:, None] * lengths + np.abs(model.offsets)
    active = np.abs(model.weights * get_activation(model.activation).derivative(model.arguments(X)))  # (n, k)
    linear = np.abs(X) @ np.abs(model.linear)
    return np.asarray(abs(model.intercept) + np.abs(model.weights).sum() + linear + (active * terms).sum(axis=1))


def _standard_error(model: SigmoidCombination, errors: dict[str, Floats], X: Floats) -> Floats:
    """Return the standard error of the values, as if those of the parameters were independent."""
    f, z = get_activation(model.activation), model.arguments(X)  # (n, k)
    along = X @ model.units.T
    across = np.sqrt(np.maximum((X**2).sum(axis=1)[:, None] - along**2, 0.0))
    moved = (across * model.slopes * errors["units"]) ** 2 + (along * errors["slopes"]) ** 2 + errors["offsets"] ** 2
    squares = (model.weights * f.derivative(z)) ** 2 * moved + (f.value(z) * errors["weights"]) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=1) + float(np.sum(errors["intercept"] ** 2))))


def inside(model: SigmoidCombination | Network, frame: InputFrame) -> SigmoidCombination | Network:
    """Return a model of x as one of ``(x - center) / scale``."""
    if isinstance(model, Network):
        return model.reframed(-frame.center / frame.scale, 1 / frame.scale)
    a = model.units * model.slopes[:, None]
    return SigmoidCombination(
        a * frame.scale, model.weights, 1.0, model.offsets + a @ frame.center,
        model.intercept + float(model.linear @ frame.center), model.activation, model.linear * frame.scale,
    )  # fmt: skip


def outside(found: Identification, frame: InputFrame) -> Identification:
    """Return what was found in ``(x - center) / scale`` as a result in x, error bounds included.

    A direction's error may grow by the ratio of the largest to the typical entry of ``1 / scale``: the bounds are those
    of the worst case.
    """
    scale, model = frame.scale, found.model
    if isinstance(model, Network):
        return replace(found, model=model.reframed(frame.center, scale).canonical())
    a = model.units * model.slopes[:, None] / scale
    lengths = np.linalg.norm(a, axis=1)
    worse = model.slopes / scale.min() / lengths  # of an error across, over the same in the frame
    shift = a @ frame.center
    moved = SigmoidCombination(
        a, model.weights, 1.0, model.offsets - shift,
        model.intercept - float((model.linear / scale) @ frame.center), model.activation, model.linear / scale,
    )  # fmt: skip
    errors = dict(found.standard_errors)
    if "units" in errors:
        away = np.linalg.norm(frame.center / scale)
        errors["offsets"] = np.hypot(
            errors["offsets"], away * np.hypot(model.slopes * errors["units"], errors["slopes"])
        )
        errors["units"] = errors["units"] * worse
        errors["slopes"] = errors["slopes"] * lengths / model.slopes * np.maximum(worse, 1.0)
    if "linear" in errors:
        errors["linear"] = errors["linear"] / scale
    return replace(found, model=moved, standard_errors=errors, error_bounds=found.error_bounds * np.maximum(worse, 1.0))


def allowance_of(found: Identification, frame: InputFrame | None = None) -> Allowance:
    """Return how far answers may be off what was found, in the coordinates that it was found in."""
    precision = found.precision or Precision()
    noise = found.diagnostics.get("noise")
    if precision.has_noise and noise:
        precision = replace(precision, sd=max(float(noise), precision.sd if found.diagnostics.get("uneven") else 0.0))
    bounds = found.error_bounds
    if found.diagnostics.get("at_rest"):  # of such a unit only its output is known
        bounds = bounds[np.isfinite(bounds)]
    relative = float(np.max(bounds, initial=0.0))
    return Allowance(precision, relative, found.standard_errors, frame, found.diagnostics.get("known_mean"))


def compare(
    models: tuple[SigmoidCombination | Network, ...],
    allowance: Allowance,
    X: Floats,
    answers: Floats,
    lost: Floats | float = 0.0,
) -> Verification:
    """Compare answers, (n,) or one column for each model, with what was foretold at the rows of X."""
    columns = answers.reshape(len(X), -1).T
    pairs = list(zip(models, columns))
    off = np.max([np.abs(y - model.predict(X)) for model, y in pairs], axis=0)
    different = np.any([allowance.differs(model, X, y, lost) for model, y in pairs], axis=0)
    n, m = len(X), int(different.sum())
    at = int(np.argmax(np.where(different, off, -1.0) if m else off))
    share = 1.0 if m == n else float(betaincinv(m + 1, n - m, 0.95))
    known = max(float(allowance.of_function(model, X).max()) for model in models)
    return Verification(n, m, float(off[at]), X[at].copy(), share, known, allowance.unseen(n))


def verify(
    models: tuple[SigmoidCombination | Network, ...],
    allowance: Allowance,
    oracle: Oracle,
    X: ArrayLike | None,
    n: int,
    rng: Any,
) -> Verification:
    """Ask an oracle at the rows of X or, without any, at n fresh inputs; one model for each of its outputs."""
    if X is None:
        whole("n", n)
        points = fresh_inputs(models[0], oracle, n, as_generator(rng), allowance.unsure)
    else:
        points = finite_matrix("X", X, oracle.n_features)
    return compare(models, allowance, points, oracle(points))


def verified(found: Identification, oracle: Oracle, n: int, rng: np.random.Generator) -> Identification:
    """Ask n fresh inputs, or as many as the budget allows, and let the result say how they were answered."""
    found = _with_chance(found, oracle, rng)
    n = n_affordable(oracle, n)
    if not n:
        return with_verification(found, None, oracle.frame)
    points = fresh_inputs(found.model, oracle, n, rng, allowance_of(found).unsure)
    spent: dict[str, Any] = dict(found.diagnostics.get("spent", {}))
    spent["verify"] = spent.get("verify", 0) + n
    points, answers, lost = _answered(oracle, points, found.precision)
    checked = compare((found.model,), allowance_of(found), points, answers, lost) if len(points) else None
    found = replace(found, n_queries=found.n_queries + n, diagnostics={**found.diagnostics, "spent": spent})
    return with_verification(found, checked, oracle.frame)


def _with_chance(found: Identification, oracle: Oracle, rng: np.random.Generator) -> Identification:
    """Ask some inputs of a box of labels twice, where that could take a certificate back or say what the mean lacks."""
    doubts = {check.name for check in found.judgement.failed} - {"label link", "known mean"}
    if found.precision is None or not found.precision.is_label or doubts:
        return found
    enough = n_affordable(oracle, 2 * VERIFY.asked_twice) == 2 * VERIFY.asked_twice
    twice = asked_twice(found.model, oracle, VERIFY.asked_twice, rng) if enough else NOT_ASKED
    spent = dict(found.diagnostics.get("spent", {}))
    spent["verify"] = spent.get("verify", 0) + 2 * twice.n
    judgement = found.judgement
    check = imperfect.labels_by_chance(twice.n, twice.n_different, twice.chance)
    checks = (*judgement.checks, check) if check.holds else (check, *judgement.checks)
    return replace(
        found, n_queries=found.n_queries + 2 * twice.n, judgement=replace(judgement, checks=checks),
        diagnostics={**found.diagnostics, "spent": spent},
    )  # fmt: skip


def _answered(oracle: Oracle, points: Floats, precision: Precision | None) -> tuple[Floats, Floats, Floats | float]:
    """Return the points whose answers a link has not swallowed, the answers, and what it has done to each."""
    if oracle.link is None or precision is None or len(precision.outputs) < 2:
        return points, oracle(points), 0.0
    outputs = oracle.outputs(points)
    kept = oracle.link.keeps(outputs)
    points, outputs = points[kept], outputs[kept]
    sizes = np.stack([r.errors(column) for r, column in zip(precision.outputs, outputs.T)], axis=1)
    lost = oracle.link.errors(outputs, sizes) @ np.abs(oracle.weights)
    return points, oracle.seen(outputs, points), lost


def with_verification(found: Identification, checked: Verification | None, frame: InputFrame | None) -> Identification:
    """Return the result with what fresh inputs, asked in a frame, say about it, or with the word that none were."""
    judgement = found.judgement
    if checked is None:
        return replace(found, judgement=replace(judgement, claim=f"{judgement.claim}; nothing was verified on fresh "
                                                                 "inputs"))  # fmt: skip
    if frame is not None:
        checked = replace(checked, where=frame.center + frame.scale * checked.where)
    labels = found.precision is not None and found.precision.is_label
    check = any_method.fresh_inputs(checked.n, checked.n_different, checked.worst, checked.share, checked.where, labels)
    hidden = f"unless by less than {checked.unseen:.2g}, which noise hides, " if checked.unseen else ""
    known = f"{hidden}and the function is known to {checked.known:.1g} there"
    if labels:
        known = f"and the mean is known to {checked.known:.2g} at usual inputs"
    checks = (*judgement.checks, check) if check.holds else (check, *judgement.checks)
    claimed = Verdict(checks, judgement.found, f"{judgement.claim}; {check.says}, {known}")
    return replace(found, judgement=claimed, verification=checked)
