"""Normal equations against differences and double loops, charts against their constraints, the polish against scipy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

import gradsift as gs
from gradsift.fit import NO_PRIOR, Coordinates, Family, NormalEquations, Parameters, Prior, from_model, polish
from gradsift.sources import ArraySource, Rows

FAMILIES = [
    Family.of("tanh"),
    Family.of("erf", offsets=True, intercept=True),
    Family.of("logistic", offsets=True, intercept=True),
    Family.of("softsign", slopes="common"),
    Family.of("arctan", slopes=2.0, offsets=True),
    Family.of("tanh", labels=True),
    Family.of("tanh", labels=True, offsets=True, slopes="common"),
]


def _table(family, n=400, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = gs.simulate.random_combination(d, k, slope=2.0, mixture=family.labels, activation="tanh", rng=rng)
    X, y = truth.sample(n, noise="labels" if family.labels else 0.3, rng=rng)
    theta = Coordinates(family).nearest(
        Parameters(rng.standard_normal((k, d)), rng.uniform(0.2, 1, k), rng.standard_normal(k), 0.1)
    )
    return truth, ArraySource(X, y, rng.uniform(0.5, 2, n)), theta


def _named(family):
    return f"{family.activation.name}-{family.slopes}-{'labels' if family.labels else 'squares'}"


@pytest.mark.parametrize("family", FAMILIES, ids=_named)
def test_the_gradient_is_that_of_the_loss_along_the_family(family):
    _, source, theta = _table(family)
    chart, k, d = Coordinates(family), *theta.A.shape
    G = chart.tangent(theta)
    assert G.shape == (family.size(k, d), family.n_parameters(k, d))
    local = G.T @ source.reduce(NormalEquations(family, theta, single=False)).gradient
    h = 1e-5
    for j in range(G.shape[1]):
        up, down = (
            source.reduce(NormalEquations(family, chart.moved(theta, s * h * G[:, j]), curvature=False)).loss
            for s in (1, -1)
        )
        assert (up - down) / (2 * h) == pytest.approx(local[j], abs=1e-5 * max(1, np.abs(local).max()))


@pytest.mark.parametrize("family", FAMILIES, ids=_named)
def test_curvature_matches_a_double_loop_over_rows(family):
    _, source, theta = _table(family, n=60)
    equations = source.reduce(NormalEquations(family, theta, single=False))
    H = np.zeros_like(equations.curvature)
    for x, w in zip(source.X, source.weight):
        j = NormalEquations(family, theta, single=False).jacobian(x[None])[0]
        r = float(family.activation.value(theta.A @ x + theta.b) @ theta.u + theta.c)
        information = w / (1 - r * r) if family.labels else w
        H += information * np.outer(j, j)
    np.testing.assert_allclose(equations.curvature, H, rtol=1e-10, atol=1e-10)
    single = source.reduce(NormalEquations(family, theta))
    np.testing.assert_allclose(single.curvature, H, rtol=1e-4, atol=1e-4 * np.abs(H).max())


def test_any_split_of_the_rows_gives_the_same_equations():
    family = FAMILIES[1]
    _, source, theta = _table(family)
    summary = NormalEquations(family, theta, single=False)
    whole = summary.chunk(Rows(source.X, source.y, source.weight))
    cuts = [0, 17, 150, 151, 400]
    parts = [summary.chunk(Rows(source.X[a:b], source.y[a:b], source.weight[a:b])) for a, b in pairwise(cuts)]
    merged = summary.merge(summary.merge(parts[2], parts[0]), summary.merge(parts[3], parts[1]))
    for left, right in zip(whole, merged):
        if left is not None:
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES, ids=_named)
def test_a_retraction_stays_in_the_family_and_follows_the_step(family):
    _, _, theta = _table(family)
    chart = Coordinates(family)
    G = chart.tangent(theta)
    step = 1e-6 * G @ np.random.default_rng(3).standard_normal(G.shape[1])
    moved = chart.moved(theta, step)
    if family.labels:
        assert moved.u.sum() == pytest.approx(1)
        assert (moved.u > 0).all()
    if family.slopes == "common":
        np.testing.assert_allclose(chart.slopes(moved.A), chart.slopes(moved.A)[0])
    elif family.slopes != "each":
        np.testing.assert_allclose(chart.slopes(moved.A), family.slopes)
    np.testing.assert_allclose(family.pack(moved) - family.pack(theta), step, atol=1e-10)


def test_the_polish_agrees_with_scipys_least_squares():
    family = Family.of("tanh", offsets=True, intercept=True)
    truth, source, _ = _table(family)
    start = from_model(truth)
    root = np.sqrt(source.weight)

    def residuals(flat):
        A, u, b, c, _ = family.unpack(flat, 3, 4)
        return root * (np.tanh(source.X @ A.T + b) @ u + c - source.y)

    peer = least_squares(residuals, family.pack(start), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    own = polish(
        lambda t, c: source.reduce(NormalEquations(family, t, curvature=c)),
        family,
        start,
        prior=NO_PRIOR,
        tolerance=1e-12,
        max_iterations=200,
    )
    assert own.converged
    assert own.loss == pytest.approx(peer.cost, rel=1e-10)
    np.testing.assert_allclose(family.pack(own.theta), peer.x, atol=1e-4)


def test_the_polish_of_labels_agrees_with_scipys_bfgs():
    family = Family.of("tanh", labels=True)
    truth, source, _ = _table(family, n=1500)
    start = from_model(truth)

    def minus_log_likelihood(flat):
        A, v = flat[:12].reshape(3, 4), flat[12:]
        u = np.exp(v - v.max())
        r = np.tanh(source.X @ A.T) @ (u / u.sum())
        return -float(source.weight @ np.log((1 + source.y * r) / 2))

    peer = minimize(minus_log_likelihood, np.concatenate((start.A.ravel(), np.log(start.u))), options={"gtol": 1e-4})
    own = polish(
        lambda t, c: source.reduce(NormalEquations(family, t, curvature=c)), family, start, prior=NO_PRIOR,
        tolerance=1e-8, max_iterations=100,
    )  # fmt: skip
    assert own.loss == pytest.approx(peer.fun, abs=1e-3)


@pytest.mark.parametrize("prior", [Prior(), Prior(0.0, 0.1, 0.2, 4.0, typical=1.5, drag=0.6)])
def test_the_priors_gradient_is_that_of_its_value(prior):
    family = FAMILIES[1]
    _, _, theta = _table(family)
    flat = family.pack(theta)
    gradient, h = family.pack(prior.gradient(theta)), 1e-6
    for j in range(len(flat)):
        step = h * np.eye(len(flat))[j]
        up, down = (prior.loss(family.unpack(flat + s * step, 3, 4)) for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(gradient[j], abs=1e-6)
    curvature = prior.curvature(theta, family.layout(3, 4))
    assert np.linalg.eigvalsh(curvature).min() >= -1e-12
    along = theta.A[1] / np.linalg.norm(theta.A[1])
    block = family.layout(3, 4).a(1)
    expected = prior.arguments + prior.along(theta.A)[1]
    assert along @ curvature[block, block] @ along == pytest.approx(expected)


def test_a_borrowed_curvature_leaves_only_gradient_passes():
    family = Family.of("tanh")
    truth, source, _ = _table(family, n=4000)
    asked = []

    def evaluate(theta, curvature):
        asked.append(curvature)
        return source.reduce(NormalEquations(family, theta, curvature=curvature))

    H = source.rows(0, 1000).reduce(NormalEquations(family, from_model(truth))).curvature * 4
    fit = polish(evaluate, family, from_model(truth), prior=Prior(), curvature=H)
    assert fit.converged
    assert not any(asked)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slopes": "both"}, "slopes must be"),
        ({"slopes": -1.0}, "slopes must be"),
        ({"activation": "arctan", "labels": True}, "between -1 and 1"),
        ({"labels": True, "intercept": True}, "without an intercept"),
    ],
)
def test_a_family_refuses_what_it_cannot_mean(options, said):
    with pytest.raises(ValueError, match=said):
        Family.of(**options)
