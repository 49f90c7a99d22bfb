"""The layers above the first: students that grow until they explain the answers, then lose units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit.gauss_newton import LeastSquares, descend
from ...fit.jacobian import Layers, layer_values, stack_jacobian, to_vector, with_vector
from .settings import POLICY


class FirstLayerScale(NamedTuple):
    """Logarithms of the slopes and the offsets of the first layer, (k,) each: the arguments are slopes * heights +
    offsets."""

    log_slopes: Floats
    offsets: Floats

    def values(self, heights: Floats, g: Activation) -> Floats:
        """Return the values of the first layer, (n, k)."""
        return np.asarray(g.value(np.exp(self.log_slopes) * heights + self.offsets))


@dataclass(frozen=True)
class StudentNet:
    """A student: its layers above the first, the root mean square of what it leaves, its scale if it has one, and the
    multiplications that its training took."""

    layers: Layers
    rms: float
    scale: FirstLayerScale | None
    work: float

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of its hidden layers."""
        return tuple(len(b) for _, b in self.layers[:-1])


def n_unknowns(n_inputs: int, widths: tuple[int, ...]) -> int:
    """Return the number of parameters of a student with these hidden layers and one output."""
    sizes = (n_inputs, *widths, 1)
    return sum((a + 1) * b for a, b in pairwise(sizes))


def train(
    layers: Layers, X: Floats, y: Floats, g: Activation, most_steps: int, target: float,
    scale: FirstLayerScale | None = None, patience: float = POLICY.patience,
) -> StudentNet:  # fmt: skip
    """Fit all parameters from this start; X are signs, or heights where there is a scale.

    On signs, the first part of the way down goes in single precision, which takes half the time.
    """
    if scale is not None:
        return _descend(layers, X, y, g, most_steps, target, scale, patience)
    x32, y32 = np.asarray(X, dtype="f4"), np.asarray(y, dtype="f4")
    begun = _descend(_in(np.float32, layers), x32, y32, g, most_steps, max(POLICY.promising, target), None, patience)
    begun = replace(begun, layers=_in(np.float64, begun.layers), work=0.5 * begun.work)
    if not target < begun.rms <= POLICY.promising:
        return begun
    found = _descend(begun.layers, X, y, g, most_steps, target, None, patience)
    return replace(found, work=found.work + begun.work)


def _in(precision: type[np.floating[Any]], layers: Layers) -> Layers:
    return [(W.astype(precision), b.astype(precision)) for W, b in layers]


def _descend(
    layers: Layers, X: Floats, y: Floats, g: Activation, most_steps: int, target: float, scale: FirstLayerScale | None,
    patience: float,
) -> StudentNet:  # fmt: skip
    """Fit all parameters in the precision of the rows."""

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        passed = layer_values(with_vector(layers, theta), X, g)
        return passed.values - y, lambda: stack_jacobian(passed)

    def with_scale(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        k = X.shape[1]
        log_slopes, offsets, rest = np.clip(theta[:k], -30, 30), theta[k : 2 * k], theta[2 * k :]
        upper = with_vector(layers, rest)
        arguments = np.exp(log_slopes) * X + offsets
        passed = layer_values(upper, g.value(arguments), g)

        def derivatives() -> Floats:
            by_z = (passed.slopes[0] @ upper[0][0]) * g.derivative(arguments)
            return np.concatenate([by_z * X * np.exp(log_slopes), by_z, stack_jacobian(passed)], axis=1)

        return passed.values - y, derivatives

    if scale is None:
        found = descend(problem, to_vector(layers), most_steps, target, patience)
        return StudentNet(with_vector(layers, found.parameters), found.rms, None, _cost(found, len(y)))
    found = descend(with_scale, np.concatenate([*scale, to_vector(layers)]), most_steps, target, patience)
    k = X.shape[1]
    after = FirstLayerScale(np.clip(found.parameters[:k], -30, 30), found.parameters[k : 2 * k])
    return StudentNet(with_vector(layers, found.parameters[2 * k :]), found.rms, after, _cost(found, len(y)))


def _cost(found: LeastSquares, n: int) -> float:
    """Return about how many multiplications a descent on n rows was."""
    return found.n_steps * (n * len(found.parameters) ** 2 + POLICY.step_work)


def start_from_half(
    X: Floats,
    y: Floats,
    widths: tuple[int, ...],
    g: Activation,
    target: float,
    rng: np.random.Generator,
    scale: FirstLayerScale | None = None,
) -> StudentNet:
    """Train a student on the (n, k) rows: half of its units first, then three quarters, then all."""
    inside = X if scale is None else scale.values(X, g)
    half = tuple(max(1, w // 2) for w in widths)
    layers: Layers = []
    sizes = (X.shape[1], *half)
    for n_inputs, n in pairwise(sizes):
        layers.append(_random_units(n, n_inputs, rng))
    student = train(with_output(layers, inside, y, g), X, y, g, POLICY.first_steps, target, scale)
    for part, steps in ((0.75, POLICY.first_steps), (1.0, POLICY.last_steps)):
        if student.rms <= target:
            break
        wanted = tuple(max(h, int(part * w)) for h, w in zip(half, widths))
        grown, inside = student.layers, _inside(student, X, g)
        for number, width in enumerate(wanted):
            grown = widened(grown, number, width - student.widths[number], inside, y, g, rng)
        spent = student.work
        student = train(grown, X, y, g, steps, target, student.scale)
        student = replace(student, work=student.work + spent)
    return student


def start_student(
    X: Floats, y: Floats, widths: tuple[int, ...], g: Activation, target: float, rng: np.random.Generator
) -> StudentNet:
    """Train a student on the (n, k) rows with all its units from the start."""
    layers = [_random_units(n, n_inputs, rng) for n_inputs, n in pairwise((X.shape[1], *widths))]
    return train(with_output(layers, X, y, g), X, y, g, POLICY.last_steps, target)


def judged_by(student: StudentNet, X: Floats, y: Floats, g: Activation) -> StudentNet:
    """Return a student without a scale with the best output for other rows, and what it leaves there."""
    layers = with_output(student.layers[:-1], X, y, g)
    left = layer_values(layers, X, g).values - y
    return StudentNet(layers, float(np.sqrt(np.mean(left**2))), None, student.work)


def _inside(student: StudentNet, X: Floats, g: Activation) -> Floats:
    """Return what the layers above the first receive."""
    return X if student.scale is None else student.scale.values(X, g)


def thin_out(student: StudentNet, X: Floats, y: Floats, g: Activation, target: float, loose: float = 0.0) -> StudentNet:
    """Drop units of any layer as long as the rest, trained again, leaves no more than the target.

    Parameters
    ----------
    loose : float
        What is left may instead grow by this factor: an unfinished fit with units to spare often finishes with fewer.

    Returns
    -------
    student : StudentNet
        Its work is that of all tries.
    """
    for _ in range(sum(student.widths)):
        limit = max(target, loose * student.rms)
        fewer = _without_one(student, X, y, g, target, limit, POLICY.tries if loose else sum(student.widths))
        if fewer.widths == student.widths:
            return fewer
        student = fewer
    return student


def _without_one(
    student: StudentNet, X: Floats, y: Floats, g: Activation, target: float, limit: float, most: int
) -> StudentNet:
    """Return a student with one unit fewer that leaves at most `limit`; the same if none of the `most` least can go."""
    inside = _inside(student, X, g)
    passed = layer_values(student.layers, inside, g)
    # A unit's effect on the next layer is the length of its output weights times its spread.
    order = []
    for number, width in enumerate(student.widths):
        if width > 1:
            active = passed.inputs[number + 1]
            effect = np.linalg.norm(student.layers[number + 1][0], axis=0) * active.std(axis=0)
            order += [(float(e), number, unit) for unit, e in enumerate(effect)]
    work, steps, patience = student.work, POLICY.first_steps, POLICY.patience
    if len(student.widths) > 1 and student.rms <= target:
        steps, patience = POLICY.last_steps, POLICY.patience_deep
    for _, number, unit in sorted(order)[:most]:
        layers = _without(student.layers, number, unit, passed.inputs[number + 1][:, unit].mean())
        fewer = train(with_output(layers[:-1], inside, y, g), X, y, g, steps, target, student.scale, patience)
        work += fewer.work
        if fewer.rms <= limit:
            return replace(fewer, work=work)
    return replace(student, work=work)


def _without(layers: Layers, number: int, unit: int, mean: float) -> Layers:
    """Return the layers without a unit, whose mean moves into the offsets above it."""
    (W, b), (V, c) = layers[number], layers[number + 1]
    kept = np.delete(np.arange(len(b)), unit)
    return [*layers[:number], (W[kept], b[kept]), (V[:, kept], c + V[:, unit] * mean), *layers[number + 2 :]]


def with_output(hidden: Layers, X: Floats, y: Floats, g: Activation) -> Layers:
    """Return hidden layers with the best output weights for them."""
    # Given the hidden layers the output is linear: its best weights are one least squares solution.
    active = X
    for W, b in hidden:
        active = g.value(active @ W.T + b)
    v = np.linalg.lstsq(np.concatenate([active, np.ones((len(X), 1))], axis=1), y, rcond=1e-10)[0]
    return [*hidden, (v[None, :-1], v[-1:])]


def _random_units(
    n: int, n_inputs: int, rng: np.random.Generator, longest: float = POLICY.lengths[1]
) -> tuple[Floats, Floats]:
    lengths = np.exp(rng.uniform(np.log(POLICY.lengths[0]), np.log(longest), n))
    W = rng.standard_normal((n, n_inputs))
    W *= (lengths / np.linalg.norm(W, axis=1))[:, None]
    return W, 0.5 * lengths * rng.standard_normal(n)


def widened(
    layers: Layers, number: int, n: int, X: Floats, y: Floats, g: Activation, rng: np.random.Generator,
    longest: float = POLICY.lengths[1],
) -> Layers:  # fmt: skip
    """Add units to a hidden layer; to the last one those of several random ones that explain most of what is left."""
    if n < 1:
        return layers
    W, b = layers[number]
    if number < len(layers) - 2:
        more, offsets = _random_units(n, W.shape[1], rng)
        V, c = layers[number + 1]
        links = 0.3 * rng.standard_normal((len(c), n)) / np.sqrt(n)
        wider = (np.concatenate([W, more]), np.append(b, offsets))
        return [*layers[:number], wider, (np.concatenate([V, links], axis=1), c), *layers[number + 2 :]]
    passed = layer_values(layers, X, g)
    left, inputs = y - passed.values, passed.inputs[number]
    # Greedy: of several random units the one whose correlation with what is left is largest, which it then explains.
    for _ in range(n):
        more, offsets = _random_units(POLICY.candidates, W.shape[1], rng, longest)
        active = g.value(inputs @ more.T + offsets)
        active = active - active.mean(axis=0)
        sizes = np.linalg.norm(active, axis=0) + 1e-12
        scores = left @ active / sizes
        best = int(np.argmax(np.abs(scores)))
        left = left - scores[best] / sizes[best] * active[:, best]
        W, b = np.concatenate([W, more[best : best + 1]]), np.append(b, offsets[best])
    return with_output([*layers[:number], (W, b)], X, y, g)


_SAME_UNIT = 0.97  # correlation of two units that are one


def units_alike(students: Sequence[StudentNet], X: Floats, g: Activation, most: int) -> tuple[Floats, Floats]:
    """Return weights (m, k) and offsets (m,) of units that occur in several students, the surest first, m <= most.

    A unit counts by how closely the best unit of every other student follows it over the rows of X; with nothing in
    common, one unit is returned.
    """
    weights = np.concatenate([p.layers[0][0] for p in students])
    offsets = np.concatenate([p.layers[0][1] for p in students])
    owner = np.repeat(np.arange(len(students)), [len(p.layers[0][1]) for p in students])
    active = g.value(X @ weights.T + offsets)
    active = active - active.mean(axis=0)
    active = active / (np.linalg.norm(active, axis=0) + 1e-12)
    # Correlations of all units over the rows; a unit has a vote of every other student, by its closest unit there.
    alike = np.abs(active.T @ active)
    votes = np.zeros(len(owner))
    for number in range(len(students)):
        closest = alike[:, owner == number].max(axis=1)
        votes += np.where(owner == number, 0.0, np.maximum(0.0, closest - POLICY.alike) / (1 - POLICY.alike))
    chosen: list[int] = []
    for unit in np.argsort(-votes, kind="stable"):
        if len(chosen) >= most or (chosen and votes[unit] <= 0):
            break
        if (alike[unit, chosen] < _SAME_UNIT).all():
            chosen.append(int(unit))
    return weights[chosen], offsets[chosen]


def raise_student(
    students: Sequence[StudentNet],
    X: Floats,
    y: Floats,
    width: int,
    g: Activation,
    target: float,
    rng: np.random.Generator,
) -> StudentNet:
    """Train a student with one hidden layer from what some of the others agree on, and new units beside it.

    Every other one is smaller than `width`: where all but one unit are agreed on, a few more are enough, and a crowd of
    new ones would share the last one between them.
    """
    n_asked = max(min(3, len(students)), 2 * len(students) // 3)
    asked = [students[i] for i in rng.permutation(len(students))[:n_asked]]
    share = rng.uniform(*POLICY.kept)
    layer = units_alike(asked, X, g, max(1, int(share * width)))
    size = width if rng.random() < 0.5 else int(rng.integers(min(len(layer[1]) + 1, width), width + 1))
    longest = POLICY.lengths[1] if size == width else POLICY.longest_raised
    layers, work = with_output([layer], X, y, g), 0.0
    for part, steps in ((0.5, POLICY.first_steps), (1.0, POLICY.last_steps)):
        n_more = int(np.ceil(part * (size - len(layers[0][1]))))
        wider = widened(layers, 0, n_more, X, y, g, rng, longest)
        student = train(wider, X, y, g, steps, target)
        layers, work = student.layers, work + student.work
        if student.rms <= target:
            break
    return StudentNet(student.layers, student.rms, None, work)
