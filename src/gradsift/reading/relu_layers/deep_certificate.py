"""What may be claimed of several layers of ReLU, and what was found when a reading breaks off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import leaky_relu
from ...arguments import Floats
from ...certificate import BOUND, DEEP_KINKS, Evidence, Fresh, Verdict, certify
from ...certificate import shared_rules as shared
from ...fit.design import independent_rows
from ...fit.jacobian import Layers
from ...network import Network
from ...tuned import PRIOR, SCATTER, TRIES
from ..ledger import Ledger
from ..result import Reading
from .box import Box
from .deep_fit import Deep, DeepFit, fit_deep, jacobian_of, pass_through
from .feature_map import FeatureMap
from .next_layer import NextLayer
from .settings import RELU_LAYERS

RANDOM = "kinks at random inputs"  # name of a step


class _Ordered(NamedTuple):
    """A network with rows of length one in canonical order, its linear term in the features below the last layer, and
    the relative errors of its rows, layer by layer; that of the linear term last."""

    layers: Layers
    linear: Floats | None
    errors: list[Floats]


def certified(box: Box, fit: DeepFit, scale: float) -> Reading:
    """Ask fresh inputs near and far, and judge the fit by all answers."""
    X = candidates(box, SCATTER, scale)
    answers = box.ask(X, "fresh")
    passed = pass_through(fit.net, X)
    known = passed.rounding + BOUND * fit.errors_at(X)
    worst = float((np.abs(passed.values - answers) / known).max())
    ordered = _with_always_active(_canonical(fit), fit.net.slope)
    always = len(ordered.layers[-2][1]) - len(fit.net.layers[-2][1])
    name = "relu" if not fit.net.slope else leaky_relu(fit.short_slope()).name
    network = Network(ordered.layers, name)
    n_random = box.ledger.spent.get(RANDOM, 0)  # answers on lines are no random sample
    n_looked = len(X) + (n_random or len(box.anchors(box.ledger.n_stored)))
    share = 3 / n_looked  # of n inputs none shows what more than 3 / n of such inputs would show, in 95% of cases
    bounds = [BOUND * e for e in ordered.errors]
    what = f"{' and '.join(map(str, network.widths))} {name} units in {len(network.widths)} hidden layers"
    told = f", {always} of them always active, of which only the sum is known" if always else ""
    evidence = Evidence(
        what + told, fit.n, fit.worst, Fresh(len(X), worst), max(float(b.max(initial=0.0)) for b in bounds),
        spare=fit.n - len(fit.free), limit="rounding", cause="a further unit or layer, or another kind of function",
        rest=f"; a unit that is active, or at rest, at less than {share:.1g} of the inputs looked at may be missing",
        errors={f"layer {i + 1}": e for i, e in enumerate(ordered.errors)}, bounds=np.concatenate(bounds),
        spent=dict(box.ledger.spent),
        notes={
            "chi": fit.chi, "layers": len(network.widths), "widths": list(network.widths), "always_active": always,
            "slope": fit.net.slope, "unseen_share": share,
        },
    )  # fmt: skip
    return Reading(network, certify(evidence, DEEP_KINKS), evidence)


def _canonical(fit: DeepFit) -> _Ordered:
    """Return the layers with rows of length one, the units with the longest output weights first."""
    layers, linear = [(W.copy(), b.copy()) for W, b in fit.net.layers], fit.net.linear
    errors = fit.row_errors()
    below = fit.net.n_hidden - 2  # the layer that the linear term sees
    for number in range(fit.net.n_hidden):  # from the inputs on: lengths of rows change with the layer below
        (W, b), (V, c) = layers[number], layers[number + 1]
        lengths = np.linalg.norm(W, axis=1)
        # A unit's row may be divided by its length where its output weights are multiplied by it.
        layers[number], layers[number + 1] = (W / lengths[:, None], b / lengths), (V * lengths, c)
        linear = linear * lengths if linear is not None and number == below else linear
    for number in reversed(range(fit.net.n_hidden)):
        (W, b), (V, c) = layers[number], layers[number + 1]
        order = np.argsort(-np.linalg.norm(V, axis=0), kind="stable")
        layers[number], layers[number + 1] = (W[order], b[order]), (V[:, order], c)
        errors[number] = errors[number][order]
        linear = linear[order] if linear is not None and number == below else linear
    return _Ordered(layers, linear, errors)


def _with_always_active(ordered: _Ordered, slope: float) -> _Ordered:
    """Write the linear term as units without offset, and the relative error of each is that of the term.

    Features of ReLU units are never negative, so that ``t = relu(t)`` for rows t of one sign; for leaky units
    ``(1 + a) t = active(t) - active(-t)``.
    """
    rest, layers, errors = ordered.linear, list(ordered.layers), list(ordered.errors)
    if rest is None:
        return ordered
    rows, weights = np.stack([rest, -rest]), np.array([1.0, -1.0]) / (1 + slope)
    if not slope:
        rows = np.maximum(rows, 0.0)
        rows, weights = rows[rows.any(axis=1)], weights[rows.any(axis=1)]
    lengths = np.linalg.norm(rows, axis=1)
    (W, b), (V, c) = layers[-2:]
    layers[-2] = np.vstack([W, rows / lengths[:, None]]), np.append(b, np.zeros(len(rows)))
    layers[-1] = np.column_stack([V, (weights * lengths)[None]]), c
    errors[-2] = np.append(errors[-2], np.full(len(rows), errors.pop()[0] if len(errors) > len(layers) else 0.0))
    return _Ordered(layers, rest, errors)


def partial_reading(phi: FeatureMap, layer: NextLayer, ledger: Ledger, reason: str) -> Reading | None:
    """Return the layers read so far, uncertified, with their last features as outputs; None before the first."""
    layers = list(phi.layers) or ([(layer.rows, layer.offsets)] if layer.k else [])
    if not layers:
        return None
    k = len(layers[-1][1])
    network = Network([*layers, (np.eye(k), np.zeros(k))], "relu")
    verdict = Verdict((shared.finished(reason),), f"{len(layers)} layers found", "")
    unknown = [np.full(len(b), np.nan) for _, b in network.layers]
    evidence = Evidence(
        errors={f"layer {i + 1}": e for i, e in enumerate(unknown)}, bounds=np.concatenate(unknown),
        spent=dict(ledger.spent), notes={"layers_read": len(layers), "widths": list(network.widths)},
    )  # fmt: skip
    return Reading(network, verdict, evidence)


RADII = (0.3, 1.0, 5.0, 50.0)  # of inputs that are foretold, over the typical distance of a hyperplane


def fit_with_worst(box: Box, net: Deep, scale: float) -> DeepFit:
    """Fit all layers to all answers; ask up to 20 + k more where they tell most of what is open, and fit again."""
    fit = fit_deep(net, box.ledger.X, box.ledger.y, RELU_LAYERS.spacing)
    for _ in range(TRIES):
        if PRIOR * fit.bound <= DEEP_KINKS.error_bound or fit.missed:
            break
        pool = candidates(box, 40 * (SCATTER + sum(len(b) for _, b in net.layers)), scale)
        wanted = SCATTER + sum(len(b) for _, b in net.layers)
        box.ask(_most_informative(fit, pool, wanted), "weakest answers")
        fit = fit_deep(fit.net, box.ledger.X, box.ledger.y, RELU_LAYERS.spacing)
    return fit


class MisfitInputs(NamedTuple):
    """Random inputs whose answers a fit misses, and those that it meets, (n, d) each."""

    bad: Floats
    good: Floats


def misfit_inputs(box: Box, fit: DeepFit, n: int, scale: float) -> MisfitInputs:
    """Ask n random inputs, and part them by whether the fit foretells their answers.

    They lie far out, where each unit is active in a cone: near the origin offsets hide units.
    """
    X = candidates(box, n, scale, RADII[2:])
    answers = box.ask(X, RANDOM)
    passed = pass_through(fit.net, X)
    off = np.abs(passed.values - answers) > DEEP_KINKS.fresh_points * (passed.rounding + BOUND * fit.errors_at(X))
    return MisfitInputs(X[off], X[~off])


def candidates(box: Box, n: int, scale: float, radii: tuple[float, ...] = RADII) -> Floats:
    """Return n random inputs at several distances from the origin, (n, d)."""
    lengths = scale * np.array(radii)[np.arange(n) % len(radii)]
    return np.asarray(lengths[:, None] * box.rng.standard_normal((n, box.d)))


def _most_informative(fit: DeepFit, X: Floats, n: int) -> Floats:
    """Return the n rows of X that tell most of what the answers so far leave open, each beside the others."""
    if not np.isfinite(fit.root).all():
        return X[:n]
    passed = pass_through(fit.net, X)
    rows = (jacobian_of(fit.net, passed, fit.free) / passed.rounding[:, None]) @ fit.root
    return np.asarray(X[independent_rows(rows, n)])
