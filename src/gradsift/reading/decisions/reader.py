"""Reader of boxes that only decide: one hidden layer, two classes or several, up to one positive factor."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ...activations import Activation, get_activation
from ...arguments import Floats
from ...certificate import DECIDED
from ...errors import NotIdentifiable
from ...network import Network
from ...tuned import SCATTER, TRIES
from ..ledger import Ledger
from ..precision import SPACING, Precision
from ..question import PLATEAUS, SHARP, Narrowing, Question, attempted
from ..result import Reading
from ..scouts import REPEATED
from .bend_pairs import read_bends
from .boundary import Crossings, Decider, joined, lines_beside, orthogonal_direction
from .decision_certificate import certificate_of, test_crossings, typical_inputs
from .decision_fit import DecisionLayer, FittedLayer, joint_fit, linear_layer, sharpened
from .kink_boundary import of_length_one, plain_form, read_kinks, with_slope
from .settings import DECISIONS, SINGLE, DecisionPolicy
from .sigmoid_boundary import canonical, read_sigmoids, reordered, usual_crossings

_SINGLE_ACCURACY = 1e-4  # where none is asked for, of a box in single precision
_TWO_CLASSES = (1.0, 4.0, 16.0, 64.0)  # of usual inputs, until two classes are seen
_SHORT_WAYS = (2e-2, 2e-3)  # lengths along which the boundary between kinks is flat; guess
_SHORTEST_WAYS = (1e-5, 1e-5)  # along which every boundary is flat but one of rounded inputs; guess
_LONG_WAY = (30.0,)  # and that of a hyperplane; guess


class Read(NamedTuple):
    """A layer in canonical form as it was read, with all crossings and its activation."""

    fit: FittedLayer
    at: Crossings
    f: Activation


def read_decisions(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read one layer behind decisions: units with kinks first where the boundary is flat at a typical point."""
    decider = Decider(ledger, question.precision.values)
    goal = question.goal
    first, scale = _first_crossing(decider, rng)
    policy = _steady(decider, first, scale, question, rng)
    wanted = _Goals(goal.accuracy or DECIDED.error_bound, goal.n_verify, first, scale)
    if policy is DECISIONS:
        found = _with_all_classes(question, decider, wanted, rng)
        # Any smooth boundary, and any flat one, is flat along so short a way; one of rounded inputs is a staircase.
        short = partial(_is_flat, decider, first, _SHORTEST_WAYS, rng, policy.digits**0.5)
        if not isinstance(found, NotIdentifiable) or short():
            return _returned(found)
    decider.eps = SPACING["float32"]
    coarse = wanted._replace(policy=SINGLE, accuracy=goal.accuracy or _SINGLE_ACCURACY)
    found = _with_all_classes(question, decider, coarse, rng)
    if isinstance(found, NotIdentifiable):
        found = NotIdentifiable(
            f"Along ways of {_SHORTEST_WAYS[0]:g} the boundary is neither flat nor smooth: the box rounds inputs or "
            "units (single precision, few decimals), or its threshold moves. Let it calculate in double precision: "
            f"decisions are read from the 10th digit of the inputs. In single precision: {found}"
        )
    return _returned(found)


def _with_all_classes(
    question: Question, decider: Decider, wanted: _Goals, rng: np.random.Generator
) -> Reading | NotIdentifiable:
    """Return what was read, from the beginning where a further class comes to light; or why nothing was."""
    for _ in range(TRIES):
        n_classes, decider.is_complete = len(decider.values), True
        found = attempted(partial(_read_boundary, question, decider, wanted, rng))
        if len(decider.values) == n_classes:
            break
    return found


def _returned(found: Reading | NotIdentifiable) -> Reading:
    """Return what was read, or raise why nothing was."""
    if isinstance(found, NotIdentifiable):
        raise found
    return found


def _read_boundary(question: Question, decider: Decider, wanted: _Goals, rng: np.random.Generator) -> Reading:
    """Read a layer of the kind that the boundary looks like; then of the other kind, if both are possible."""
    kinds = [kind for kind in (PLATEAUS, SHARP) if question.of_kinds(kind)]
    refusals: list[str] = []
    if _is_flat(decider, wanted.first, _SHORT_WAYS, rng):
        kinds.reverse()
        # A face of several classes ends where a third one begins, so that its length tells nothing.
        worth = len(decider.values) > 2 or _is_flat(decider, wanted.first, _LONG_WAY, rng)
        linear = _linear(decider, wanted, rng) if worth else None
        if linear is not None:
            return _finished(question, decider, linear, wanted, rng)
    for kind in kinds:
        names = [get_activation(name) for name in question.of_kinds(kind)]
        best: Reading | None = None
        for _ in ("first", "once more, where fresh lines contradict what was read"):
            found = attempted(partial(_READERS[kind], decider, names, wanted, rng))
            if isinstance(found, NotIdentifiable):
                break
            best = _finished(question, decider, found, wanted, rng)
            if best.certified:
                break
        if best is not None:
            return best
        refusals.append(str(found))
    raise NotIdentifiable(" ".join(refusals))


class _Goals(NamedTuple):
    """The accuracy wanted, fresh inputs to ask, a first crossing, and the size of inputs."""

    accuracy: float
    n_verify: int
    first: Crossings
    scale: float
    policy: DecisionPolicy = DECISIONS


def _sigmoids(decider: Decider, names: list[Activation], wanted: _Goals, rng: np.random.Generator) -> Read:
    odd = tuple(_odd(f) for f in names)
    fit, at, f = read_sigmoids(decider, odd, wanted.policy, wanted.accuracy, wanted.scale, rng)
    return _in_form(fit.layer, at, f, next(g for g in names if _odd(g) is f))


def _kinks(decider: Decider, names: list[Activation], wanted: _Goals, rng: np.random.Generator) -> Read:
    relu = get_activation("relu")
    how = (relu, wanted.policy, wanted.accuracy, wanted.scale, rng)
    found = attempted(partial(read_kinks, decider, *how)) if len(decider.values) == 2 else None
    fit, at = read_bends(decider, *how) if found is None or isinstance(found, NotIdentifiable) else found
    return _in_form(fit.layer, at, relu, names[0])


def _in_form(layer: DecisionLayer, at: Crossings, f: Activation, asked: Activation) -> Read:
    """Return a layer as one of units with the activation that was asked for, with the errors of their parameters."""
    if asked.homogeneous:
        if asked is not f:  # relu as leaky relu
            layer = plain_form(layer, asked.left.slope) or with_slope(layer, asked.left.slope)
    elif asked is not f and asked.odd_form is not None:
        # f(z) = center + gain g(stretch z), so that g(y) = (f(y / stretch) - center) / gain.
        form, (A, b, U, c, linear) = asked.odd_form, layer
        U = U / form.gain
        layer = DecisionLayer(A / form.stretch, b / form.stretch, U, c - form.center * U.sum(axis=1), linear)
    layer = of_length_one(canonical(layer, asked.odd_form))
    return Read(joint_fit(layer, at, asked, unit_rows=asked.homogeneous, floors=(0.0,)), at, asked)


_READERS = {PLATEAUS: _sigmoids, SHARP: _kinks}


def _linear(decider: Decider, wanted: _Goals, rng: np.random.Generator) -> Read | None:
    tanh = get_activation("tanh")
    found = read_linear(decider, tanh, wanted.policy, wanted.accuracy, wanted.scale, rng)
    return None if found is None else Read(*found, tanh)


def _is_flat(
    decider: Decider, first: Crossings, steps: tuple[float, ...], rng: np.random.Generator,
    width: float = DECISIONS.digits,
) -> bool:  # fmt: skip
    """Say whether the boundary is flat along a random way at a typical point: between kinks it is, of sigmoids not."""
    decider.step = "boundary"
    for step in steps:
        way = orthogonal_direction(first.ways, decider.n_features, rng)
        if lines_beside(decider, first, way[None], step, width) is not None:
            return True
    return False


def _odd(f: Activation) -> Activation:
    return f if f.odd_form is None else f.odd_form.g


def _first_crossing(decider: Decider, rng: np.random.Generator) -> tuple[Crossings, float]:
    """Return one boundary point, and the size of inputs at which two classes are seen."""
    for scale in _TWO_CLASSES:
        found = usual_crossings(decider, 1, 1e-9 * scale, rng, scale)
        if found is not None:
            return found, scale
    raise NotIdentifiable(
        f"All {decider.ledger.n_queries} inputs that were asked are of one class, up to {_TWO_CLASSES[-1]:g} times "
        "usual ones: there is no boundary to read. Give typical rows of both classes with inputs=."
    )


def _steady(
    decider: Decider, first: Crossings, scale: float, question: Question, rng: np.random.Generator
) -> DecisionPolicy:
    """Return how finely a boundary is read, where both its sides keep their class when they are asked again and again.

    Single precision rounds the same input otherwise from batch to batch; drawn labels change further off, too.
    """
    for policy, apart in ((DECISIONS, 3 * first.widths[:, None]), (SINGLE, SINGLE.first_width * scale)):
        beside = apart * first.ways
        rows = np.concatenate([first.points - beside, first.points + beside])
        seen = decider.ask(np.repeat(rows, REPEATED, axis=0)).reshape(2, REPEATED)
        if (seen == seen[:, :1]).all() and seen[0, 0] != seen[1, 0]:
            return policy
    refused = NotIdentifiable(
        f"Beside a boundary, {SINGLE.first_width * scale:.1g} away, the same input gets different answers, though "
        "others keep theirs: the box draws answers near its threshold, or its threshold moves. Only decisions that "
        "never change are read."
    )
    # Where labels are drawn everywhere, with a network as their mean, typical inputs change theirs, too.
    X = np.repeat(scale * rng.standard_normal((SCATTER, decider.n_features)), 2, axis=0)
    seen = decider.ask(X).reshape(-1, 2)
    if set(question.precision.values) == {-1.0, 1.0} and (seen[:, 0] != seen[:, 1]).any():
        refused.rules_out = Narrowing(precision=Precision("labels", 1.0))
    raise refused


def _finished(question: Question, decider: Decider, read: Read, wanted: _Goals, rng: np.random.Generator) -> Reading:
    """Certify a layer, and return its network with the classes in their order."""
    fit, at, f = read
    tested = test_crossings(fit, f, decider, rng, wanted.scale)
    checked = typical_inputs(fit, f, decider, DECISIONS.typical * wanted.n_verify, rng, wanted.scale)
    oracle = decider.ledger.oracle
    named = oracle.names_of(np.array(decider.values), decider.seen_at)
    order = np.argsort(named, kind="stable")
    layer = as_units(reordered(fit.layer, order))
    network = _network(layer, f, named[order].tolist())
    evidence, judgement = certificate_of(
        fit,
        at,
        tested,
        checked,
        wanted.accuracy,
        network,
        dict(decider.ledger.spent),
        f.homogeneous,
        wanted.policy is not SINGLE,
    )  # fmt: skip
    precision = replace(question.precision, values=tuple(np.array(decider.values)[order].tolist()))
    return Reading(network, judgement, evidence, precision, oracle.frame, checked)


def _network(layer: DecisionLayer, f: Activation, classes: list[object]) -> Network:
    """Return the network, whose last layer has length one."""
    A, b, U, c, linear = layer
    # Of linear outputs alone the linear term is the last layer.
    size = float(np.sqrt((U**2).sum() + (c**2).sum() if U.any() else (linear**2).sum() + (c**2).sum()))  # type: ignore[operator]
    skip: Floats | float = 0.0 if linear is None else linear / size
    return Network([(A, b), (U / size, c / size)], f, skip, classes)


_TWO_SCALES = (1.0, 8.0)  # of boundary points, in usual inputs; guess


def read_linear(
    decider: Decider, f: Activation, policy: DecisionPolicy, accuracy: float, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings] | None:
    """Return the linear term that decides as the box does, and all crossings; None where none does."""
    d, m = decider.n_features, 1 if len(decider.values) == 2 else len(decider.values)
    n = -(-(max(m - 1, 1) * (d + 1) + TRIES) // len(_TWO_SCALES))
    parts = [usual_crossings(decider, n, policy.first_width, rng, size * scale) for size in _TWO_SCALES]
    at = joined([part for part in parts if part is not None])
    if len(decider.values) != max(m, 2):  # another class came to light
        return None
    fit = joint_fit(linear_layer(at, np.empty((0, d)), np.empty(0), m), at, f)
    if fit.worst > DECIDED.residuals:
        return None
    fit, at = sharpened(fit, at, f, decider, policy, accuracy, rng, scale=scale)
    return (fit, at) if fit.worst < DECIDED.residuals else None


def as_units(layer: DecisionLayer) -> DecisionLayer:
    """Return a layer with one unit that decides as linear outputs do: along a single one, whose slope does not matter,
    or of weight zero beside several."""
    if len(layer.b) or layer.linear is None:
        return layer
    if len(layer.c) > 1:
        first = layer.linear[:1] / np.linalg.norm(layer.linear[0])
        return layer._replace(A=first, b=np.zeros(1), U=np.zeros((len(layer.c), 1)))
    return DecisionLayer(layer.linear, layer.c, np.ones((1, 1)), np.zeros(1))
