"""One layer of sigmoids behind decisions: directions far out, then all else from boundary points near the origin."""

from __future__ import annotations

import numpy as np

from ...activations import Activation, OddForm
from ...certificate import DECIDED
from ...errors import NotIdentifiable
from ...geometry import normalize_rows
from .boundary import Classes, Crossings, Decider, joined
from .decision_fit import DecisionLayer, FittedLayer, joint_fit, layer_of, sharpened
from .far_units import FarUnits, find_units, more_places
from .settings import DecisionPolicy
from .small_fit import FitPoints, small_fit


def usual_crossings(
    decider: Decider, n: int, width: float, rng: np.random.Generator, scale: float = 1.0
) -> Crossings | None:
    """Return n crossings between typical inputs of different classes; None where all are of one class."""
    decider.step, d = "boundary", decider.n_features
    X = scale * rng.standard_normal((max(24, n), d))
    classes = decider.ask(X)
    for _ in range(3):  # a rare class is worth more inputs
        if np.bincount(classes).max() < len(classes):
            break
        more = scale * rng.standard_normal((len(X), d))
        X, classes = np.concatenate([X, more]), np.concatenate([classes, decider.ask(more)])
    if np.bincount(classes).max() == len(classes):
        return None
    # As many lines start in each class; in one that is rare, where it was seen before.
    known = decider.seen_at
    lost = np.setdiff1d(np.flatnonzero(known.any(axis=1)), classes) if len(known) > 2 else classes[:0]
    X, classes = np.concatenate([X, known[lost]]), np.concatenate([classes, lost])
    present = np.unique(classes)
    wanted = present[(np.arange(n) + rng.integers(len(present))) % len(present)]
    first = np.array([rng.choice(np.flatnonzero(classes == c)) for c in wanted], dtype=np.intp)
    second = np.array([rng.choice(np.flatnonzero(classes != c)) for c in wanted], dtype=np.intp)
    ways = X[second] - X[first]
    lengths = np.linalg.norm(ways, axis=1)
    return decider.halve(
        X[first], ways / lengths[:, None], np.zeros(n), lengths, classes[first], classes[second], width
    )


def read_sigmoids(
    decider: Decider, names: tuple[Activation, ...], policy: DecisionPolicy, accuracy: float, scale: float,
    rng: np.random.Generator,
) -> tuple[FittedLayer, Crossings, Activation]:  # fmt: skip
    """Return the layer, all crossings, and which sigmoid it is; raises NotIdentifiable with the step that failed."""
    far = FarUnits(decider, policy, rng)
    why = find_units(far)
    if not far.directions:
        raise NotIdentifiable(
            f"Far out ({policy.far:g} times usual inputs) the decision changes at no hyperplane ({why}): no unit of "
            "one layer of sigmoids decides there. A boundary that closes (a ball), a tree, or a function that grows."
        )
    k = len(far.directions)
    n_far = (10 + 6 * k) * (len(decider.values) - 1)
    rows = policy.far * normalize_rows(rng.standard_normal((n_far, decider.n_features)))
    far.rows.append(rows)
    far.classes.append(decider.ask(rows))
    n_rows = 1 if len(decider.values) == 2 else len(decider.values)
    near: list[Crossings] = []
    n_more = 3 * k + 4 + 2 * (n_rows - 1) * (k + 1)
    for number in range(policy.rounds):
        if number == 1:
            more_places(far)
        elif number == policy.rounds // 2:
            find_units(far)
        if number % 2 == 0:  # other starts first, more boundary points then
            found = usual_crossings(decider, n_more, policy.first_width, rng, scale)
            if found is None:
                raise NotIdentifiable("All usual inputs are of one class, though classes change far out.")
            near.append(found)
            n_more = k + 4
        kinds = names[:1] if number % 2 == 0 and number < policy.rounds - 2 else names
        best = _best_start(far, joined(near), kinds, n_rows, policy, rng)
        if best is None:
            continue
        (layer, f), at = best, joined([*far.crossings, *near])
        fit = joint_fit(layer, at, f)
        if fit.worst > DECIDED.residuals:
            continue
        fit, at = sharpened(fit, at, f, decider, policy, accuracy, rng, scale=scale)
        if fit.worst < DECIDED.residuals and np.isfinite(fit.root).all():
            return fit, at, f
    raise NotIdentifiable(
        f"{k} hyperplanes are seen far out{', where ' + why + ' remain' if why else ''}, but no slopes, offsets and "
        f"weights of {' or '.join(f.name for f in names)} units that were tried explain the boundary near the origin: "
        "units of another kind, a further unit or layer; or a search that failed, which another random_state may mend."
    )


def _best_start(
    far: FarUnits, near: Crossings, names: tuple[Activation, ...], n_rows: int, policy: DecisionPolicy,
    rng: np.random.Generator,
) -> tuple[DecisionLayer, Activation] | None:  # fmt: skip
    """Return the layer that explains anchors and near points best; None where none of any kind does."""
    at = joined([*(anchor.at for anchor in far.anchors), near])
    data = FitPoints(
        at, np.arange(len(far.anchors)), np.array([anchor.unit for anchor in far.anchors], dtype=np.intp),
        far.normals, np.array([w.free for w in far.directions]), np.concatenate(far.rows), np.concatenate(far.classes),
    )  # fmt: skip
    fits = [(small_fit(data, f, n_rows, policy, rng), f) for f in names]
    start, f = min(fits, key=lambda pair: pair[0].error)
    # Directions are off by so much at the anchors.
    return (layer_of(start), f) if start.error < far.error * policy.inner else None


def canonical(layer: DecisionLayer, form: OddForm | None) -> DecisionLayer:
    """Return the layer with positive largest weights, where units are odd about a centre, by decreasing weight."""
    A, b, U, c, linear = layer
    largest = U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])]
    turned = (largest < 0) & (form is not None)
    signs = np.where(turned, -1.0, 1.0)
    order = np.argsort(-np.linalg.norm(U, axis=0), kind="stable")
    c = c if form is None else c + 2 * form.center * U[:, turned].sum(axis=1)  # f(-z) = 2 center - f(z)
    A, b, U = A * signs[:, None], b * signs, U * signs
    return DecisionLayer(A[order], b[order], U[:, order], c, linear)


def reordered(layer: DecisionLayer, order: Classes) -> DecisionLayer:
    """Return the layer with its outputs in another order; of two classes, with its sign if they change places."""
    A, b, U, c, linear = layer
    if len(c) == 1:
        sign = 1.0 if order[0] < order[1] else -1.0
        return DecisionLayer(A, b, sign * U, sign * c, None if linear is None else sign * linear)
    return DecisionLayer(A, b, U[order], c[order], None if linear is None else linear[order])
