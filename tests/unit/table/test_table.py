"""The stages of the data pipeline, each against a second way of getting its result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit

import gradsift as gs
from gradsift.fit import Coordinates, Family, NormalEquations, Parameters, Prior, from_model
from gradsift.fit.moves import prune, random_starts
from gradsift.sources import ArraySource, Rows
from gradsift.table import search, summary
from gradsift.table.doubts import _overlap, pair_p_value
from gradsift.table.frame import FrameGradient, frame_of
from gradsift.table.lbfgs import _PAIRS, _Memory, descend_batch, start_batch
from gradsift.table.nested_models import better_unit, offsets_p_value, wider_places
from gradsift.table.optimum import equal_slopes, escape, has_steep_unit
from gradsift.table.problem import prepare
from gradsift.table.race import BatchLoss, PolishedStarts, descend_from_random

FAMILIES = [
    Family.of("tanh"),
    Family.of("softsign", offsets=True, intercept=True),
    Family.of("tanh", labels=True),
    Family.of("erf", labels=True, offsets=True),
    Family.of("tanh", labels=True, offsets=True, intercept=True, link="logit"),
]


def _table(n=2000, d=5, k=3, *, noise=0.2, labels=False, seed=0, **options):
    truth = gs.simulate.random_combination(d, k, slope=3.0, mixture=labels, rng=seed, **options)
    X, y = truth.sample(n, noise="labels" if labels else noise, rng=seed + 1000)
    return truth, ArraySource(X, y)


# The race's inner loop


@pytest.mark.parametrize("family", FAMILIES)
def test_the_batched_loss_is_that_of_the_normal_equations(family):
    _, source = _table(300, labels=family.labels)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    rows = Rows(source.X, source.y, weight)
    loss = BatchLoss(rows, family, 3, ridge=0.0)
    starts = random_starts(family, 3, 5, 4, 1.0, np.random.default_rng(2))
    values, gradients = loss(loss.pack(starts))
    for theta, value, gradient in zip(starts, values, gradients):
        peer = NormalEquations(family, theta).chunk(rows)
        assert value == pytest.approx(peer.loss / weight.sum(), rel=1e-5)
        flat = loss.unpack(gradient) if not family.simplex else None
        if flat is not None:
            np.testing.assert_allclose(family.pack(flat), peer.gradient / weight.sum(), atol=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_batched_gradient_matches_differences(family):
    _, source = _table(200, labels=family.labels)
    loss = BatchLoss(Rows(source.X, source.y), family, 3)
    rng = np.random.default_rng(4)
    students = (0.5 * rng.standard_normal((3, loss.width))).astype(np.float32)
    direction = rng.standard_normal(students.shape).astype(np.float32)
    h = np.float32(1e-2)
    slope = (loss(students + h * direction)[0] - loss(students - h * direction)[0]) / (2 * h)
    np.testing.assert_allclose((loss(students)[1] * direction).sum(axis=1), slope, rtol=5e-3, atol=1e-3)


def test_batched_descent_solves_independent_problems_like_scipy():
    rng = np.random.default_rng(0)
    roots = [rng.standard_normal((6, 6)) + 3 * np.eye(6) for _ in range(5)]
    targets = rng.standard_normal((5, 6))

    def objective(points):
        gaps = np.array([r @ p - t for r, p, t in zip(roots, points, targets)])
        values = 0.5 * (gaps**2).sum(axis=1) + 0.1 * (points**4).sum(axis=1)
        return values, np.array([r.T @ g for r, g in zip(roots, gaps)]) + 0.4 * points**3

    state = descend_batch(objective, start_batch(objective, np.zeros((5, 6))), 200)
    for i in range(5):

        def one(p, i=i):
            padded = np.zeros((5, 6))
            padded[i] = p
            value, gradient = objective(padded)
            return value[i], gradient[i]

        peer = minimize(one, np.zeros(6), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
        assert state.values[i] == pytest.approx(peer.fun, rel=1e-6)


def two_loops(g, pairs, gamma):
    """The textbook's -H g from pairs (s, y), oldest first."""
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    q *= gamma
    for (s, y), share in zip(pairs, reversed(shares)):
        q += s * (share - y @ q / (s @ y))
    return -q


def test_the_ring_of_pairs_gives_the_directions_of_the_two_loop_recursion():
    """With refused steps, a step of negative curvature, and a start that stops on the way."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((5, 23, 23))
    bends = factors @ factors.swapaxes(1, 2) + 0.1 * np.eye(23)
    memory, running = _Memory.empty(np.zeros((5, 23))), np.arange(5)
    pushed, gamma = {start: [] for start in range(5)}, np.ones(5)
    for turn in range(30):
        s = rng.standard_normal((len(running), 23))
        y = np.einsum("rij,rj->ri", bends[running], s)
        good = rng.random(len(running)) < 0.7
        y[~good] = np.nan
        y[0] *= -1 if turn % 9 == 3 else 1
        memory.add(good, s, y)
        for start, accepted, step, change in zip(running, good, s, y):
            kept = accepted and step @ change > 0
            pushed[start] = [*pushed[start], (step, change) if kept else None][-_PAIRS:]
            gamma[start] = step @ change / (change @ change) if kept else gamma[start]
        if turn == 17:
            memory, running = memory.keep(running != 1), running[running != 1]
        g = rng.standard_normal((len(running), 23))
        expected = [
            two_loops(one, [pair for pair in pushed[start] if pair], gamma[start]) for start, one in zip(running, g)
        ]
        np.testing.assert_allclose(memory.direction(g), expected, rtol=1e-9, atol=1e-9)


# The frame


@pytest.mark.parametrize("family", [FAMILIES[0], FAMILIES[1]])
def test_a_frame_is_white_and_leads_back(family):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 4)) * [1, 1e-6, 1e6, 1] + [1, 0, 5, 0]
    source = ArraySource(X, 7 + 3 * rng.standard_normal(500))
    frame = frame_of(source.moments, family)
    white = frame.rows(source.take(np.arange(500)))
    np.testing.assert_allclose(np.cov(white.X.T, bias=True), np.eye(4), atol=1e-6)
    theta = Parameters(rng.standard_normal((2, 4)), rng.standard_normal(2), np.zeros(2), 0.0)
    if family.offsets:
        theta = theta._replace(b=rng.standard_normal(2), c=0.3)
    outside = frame.outside(theta)
    inside_values = family.activation.value(white.X @ theta.A.T + theta.b) @ theta.u + theta.c
    outside_values = family.activation.value(X @ outside.A.T + outside.b) @ outside.u + outside.c
    np.testing.assert_allclose(outside_values, inside_values * frame.y_scale + frame.y_shift, rtol=1e-9)
    again = frame.inside(outside)
    np.testing.assert_allclose(again.A, theta.A, atol=1e-6)
    # The derivative of `leave` is that of the flat parameters.
    M, flat = frame.outside_matrix(family, 2), family.pack(theta)
    step = rng.standard_normal(len(flat))
    moved = frame.outside(family.unpack(flat + step, 2, 4))
    np.testing.assert_allclose(family.pack(moved) - family.pack(outside), M @ step, rtol=1e-6, atol=1e-9)


def test_collinear_and_constant_columns_shrink_the_frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    X = np.column_stack((X, X[:, 0] - X[:, 1], np.full(300, 4.0)))
    frame = frame_of(ArraySource(X, X[:, 0]).moments, FAMILIES[1])
    assert frame.basis.shape == (5, 3)


def test_framed_rows_are_white():
    _, source = _table(700)
    frame = frame_of(source.moments, FAMILIES[0])
    np.testing.assert_allclose(_framed(source, frame).moments.covariance, np.eye(5), atol=1e-9)


def _framed(source, frame):
    return ArraySource(*frame.rows(source.take(np.arange(source.n_rows))))


@pytest.mark.parametrize("offset", [0.0, 30.0, 1e5], ids=["centred", "near", "far"])
@pytest.mark.parametrize("family", FAMILIES)
def test_units_turned_out_of_the_frame_have_the_gradient_of_rows_turned_into_it(family, offset):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((900, 4)) @ rng.standard_normal((4, 4)) + offset * np.arange(4)
    X = np.column_stack((X, X[:, 1] - X[:, 2]))  # the frame has a dimension less than the rows
    y = np.sign(rng.standard_normal(900)) if family.labels else rng.normal(7, 3, 900)
    source = ArraySource(X, y, rng.uniform(0.5, 2, 900))
    frame = frame_of(source.moments, family, weight_scale=1.5)
    theta = random_starts(family, 2, frame.basis.shape[1], 1, 1.0, rng)[0]
    ours = source.reduce(FrameGradient(family, theta, frame))
    peer = _framed(source, frame).reduce(NormalEquations(family, theta, curvature=False))
    assert ours.loss == pytest.approx(peer.loss, rel=1e-9)
    assert ours.mass == pytest.approx(peer.mass)
    np.testing.assert_allclose(ours.gradient, peer.gradient, rtol=0, atol=1e-8 * np.abs(peer.gradient).max())


def test_a_gradient_does_not_depend_on_the_layout_of_the_rows_in_any_bit():
    _, source = _table(700)
    family, X = FAMILIES[1], source.X
    theta = random_starts(family, 3, 5, 1, 1.0, np.random.default_rng(2))[0]
    summary = FrameGradient(family, theta, frame_of(source.moments, family))
    by_row, by_column = (summary.chunk(Rows(x, source.y)) for x in (np.ascontiguousarray(X), np.asfortranarray(X)))
    np.testing.assert_array_equal(by_row.gradient, by_column.gradient)
    other = summary.chunk(Rows(X + 1e-9, source.y))  # the comparison can fail
    assert (other.gradient != by_row.gradient).any()


# Finding and judging optima


def test_pruning_keeps_the_units_that_matter():
    truth, source = _table(3000, noise=0.01)
    rows = source.take(np.arange(3000))
    theta = from_model(truth)
    rng = np.random.default_rng(5)
    idle = Parameters(rng.standard_normal((4, 5)), np.full(4, 1e-3), np.zeros(4), 0.0)
    both = Parameters(np.vstack((idle.A, theta.A)), np.r_[idle.u, theta.u], np.zeros(7), 0.0)
    kept = prune(both, FAMILIES[0], rows, 3)
    assert gs.match_units(kept.A, truth.units).max_error < 1e-12
    np.testing.assert_allclose(np.sort(np.abs(kept.u)), np.sort(np.abs(truth.weights)), atol=0.01)


def test_the_race_finds_what_a_start_at_the_truth_finds():
    truth, source = _table(3000)
    problem = prepare(source, FAMILIES[0], np.random.default_rng(0))
    optima = descend_from_random(problem, 3, 4, 1.0, np.random.default_rng(1))
    at_truth = problem.polish(problem.frame.inside(from_model(truth)))
    assert optima.best.objective == pytest.approx(at_truth.objective, abs=1e-2)
    assert optima.hits >= 2


def test_the_better_unit_test_accepts_the_right_fit_and_rejects_a_wrong_one():
    # 30 tables of 2000 rows: at level 0.05 at most 6 rejections (probability 0.003 of more, if the size is right).
    rejected, missed = 0, 0
    for seed in range(30):
        truth, source = _table(2000, seed=seed)
        rng = np.random.default_rng(seed)
        problem = prepare(source, FAMILIES[0], rng)
        right = problem.polish(problem.frame.inside(from_model(truth))).theta
        rejected += better_unit(problem, right, rng).p < 0.05
        if seed < 5:
            part = problem.polish(Parameters(right.A[:2], right.u[:2], right.b[:2], 0.0)).theta
            missed += better_unit(problem, part, rng).p > 0.01
    assert rejected <= 6
    assert missed == 0


def test_a_pair_that_looks_like_one_unit_is_seen_and_a_single_unit_is_not_doubted():
    # 20 tables: at level 0.1 at most 6 doubts (probability 0.002 of more, if the size is right).
    doubted, missed = 0, 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])
        X = rng.standard_normal((1500, 4))
        X[:, 3] = rng.exponential(1.0, 1500) - 1
        noise = 0.4 * np.exp(0.4 * X[:, 0]) * rng.standard_normal(1500)
        for apart in (0.0, 0.35):  # radians from the middle
            pair = 2.0 * np.array([[np.cos(apart), s * np.sin(apart), 0, 0] for s in (-1, 1)])
            problem = prepare(ArraySource(X, np.tanh(X @ pair.T).sum(axis=1) + noise), FAMILIES[0], rng)
            one = problem.polish(
                problem.frame.inside(Parameters(pair.mean(0)[None], np.array([2.0]), np.zeros(1), 0.0))
            )
            p = pair_p_value(problem, one.theta, rng)
            doubted += apart == 0 and p < 0.1
            missed += apart > 0 and p >= 0.1
    assert doubted <= 6
    assert missed <= 2


def test_an_escape_leaves_a_wrong_optimum():
    truth, source = _table(4000, seed=3)
    rng = np.random.default_rng(0)
    problem = prepare(source, FAMILIES[0], rng)
    right = problem.polish(problem.frame.inside(from_model(truth)))
    # Two copies of one unit and none of another: a stationary point with a unit missing.
    twins = right.theta._replace(A=right.theta.A[[0, 1, 1]], u=right.theta.u[[0, 1, 1]] * [1, 0.5, 0.5])
    stuck = problem.polish(twins)
    assert stuck.objective > right.objective + 50
    moved = escape(problem, PolishedStarts([stuck], 1), better_unit(problem, stuck.theta, rng), rng)
    assert moved.best.objective == pytest.approx(right.objective, abs=0.1)


def test_a_spike_among_labels_is_levelled():
    truth, source = _table(8000, d=8, labels=True, seed=11, min_singular_value=0.3)
    problem = prepare(source, FAMILIES[2], np.random.default_rng(0))
    right = problem.polish(problem.frame.inside(from_model(truth)))
    A, u = right.theta.A * [[1], [1], [5]], right.theta.u * [1, 1, 0.3]
    A[2, 0] += 3
    stuck = problem.polish(right.theta._replace(A=A, u=u / u.sum()))
    assert stuck.objective > right.objective + 2
    assert has_steep_unit(stuck.theta)
    assert not has_steep_unit(right.theta)
    assert equal_slopes(problem, PolishedStarts([stuck], 1)).best.objective == pytest.approx(right.objective, abs=0.1)


def test_offsets_are_asked_for_only_when_they_are_there():
    for offsets in (False, True):
        truth, source = _table(4000, offsets=offsets, seed=8)
        fit = search(source, 3, rng=0)
        assert fit.family.offsets is offsets
        assert gs.match_units(fit.model.units, truth.units).max_error < 0.1
    wider = Family.of(offsets=True, intercept=True)
    p_values = []
    for seed in range(20):
        truth, source = _table(1500, seed=seed)
        problem = prepare(source, FAMILIES[0], np.random.default_rng(seed))
        fitted = problem.polish(problem.frame.inside(from_model(truth)))
        p_values.append(offsets_p_value(problem, wider, fitted))
    assert 0.2 < np.mean(p_values) < 0.8  # uniform: mean 0.5, standard error 0.065


@pytest.mark.parametrize(("offsets", "intercept"), [(False, False), (False, True), (True, False), (True, True)])
def test_fitted_parameters_are_found_again_in_a_wider_family(offsets, intercept):
    rng = np.random.default_rng(0)
    narrow = Family.of("logistic", offsets=offsets, intercept=intercept)
    wider = Family.of("logistic", offsets=True, intercept=True)
    theta = Parameters(rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal(2), 0.7)
    np.testing.assert_array_equal(wider.pack(theta)[wider_places(narrow, wider, 2, 3)], narrow.pack(theta))


# The whole walk


@pytest.mark.parametrize("k", [1, 3])
def test_the_number_of_units_is_found(k):
    _, source = _table(3000, k=k, seed=5)
    assert search(source, rng=0).n_units == k


@pytest.mark.parametrize("labels", [False, True])
def test_many_rows_are_polished_beyond_the_sample(labels):
    truth, source = _table(60_000, d=6, k=2, seed=2, labels=labels)
    fit = search(source, 2, rng=0, labels=labels)
    problem = prepare(source, fit.family, np.random.default_rng(0))
    sampled = problem.polish(problem.frame.inside(from_model(truth)))
    everything = _framed(source, fit.frame).reduce(NormalEquations(fit.family, fit.refined.theta, curvature=False))
    variance = 1.0 if labels else 2 * everything.loss / everything.mass
    scaled = everything.gradient / variance + fit.family.pack(Prior().gradient(fit.refined.theta))
    G = Coordinates(fit.family, fit.frame.metric).tangent(fit.refined.theta)  # weights of a mixture add up to one
    # At the optimum over all rows the gradient vanishes, up to the 1e-3 nats that end the polish.
    H = sampled.equations.curvature * 3 / variance
    assert G.T @ scaled @ np.linalg.solve(G.T @ H @ G, G.T @ scaled) < 2e-2
    assert fit.refined.mass == 60_000
    standardised = gs.match_units(fit.model.units, truth.units).errors / fit.standard_errors.angles
    assert standardised.max() < 3


def test_row_order_repetition_and_weights_agree_to_the_last_bit():
    _, source = _table(300, d=3, k=2, seed=1)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 300)
    weighted = search(ArraySource(source.X, source.y, counts), 2, weights="frequency", rng=1)
    order = rng.permutation(int(counts.sum()))
    repeated = search(ArraySource(np.repeat(source.X, counts, 0)[order], np.repeat(source.y, counts)[order]), 2, rng=1)
    assert weighted.model == repeated.model


def test_progress_is_reported():
    heard = []
    _, source = _table(800, k=2)
    search(source, rng=0, max_units=3, progress=lambda *what: heard.append(what))
    assert heard[0] == ("number of units", 0, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_units": 0}, "n_units must be at least 1"),
        ({"n_units": 1, "offsets": "maybe"}, "offsets must be"),
        ({"n_units": 1, "activation": "sine"}, "activation must be one of"),
        ({"n_units": 1, "max_units": 0}, "max_units"),
        ({"n_units": 1, "link": "probit"}, "link must be"),
        ({"n_units": 1, "link": "logit"}, "is for labels"),
    ],
)
def test_bad_options_are_named(options, said):
    _, source = _table(100)
    with pytest.raises(ValueError, match=said):
        search(source, **options)


def test_overlap_is_proved_only_where_a_linear_program_finds_no_plane():
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for trial in range(60):
        d = 1 + trial % 3
        X = np.round(2 * rng.standard_normal((25, d)))
        y = np.where(rng.random(25) < expit([0.2, 2.0, 50.0][trial // 20] * X[:, 0]), 1.0, -1.0)
        signed = np.column_stack((X, np.ones(25))) * y[:, None]
        plane = linprog(-signed.mean(axis=0), -signed, np.zeros(25), bounds=(-1, 1)).x
        separable = bool((signed @ plane > 1e-7).any())
        seen[separable] += 1
        assert not (separable and _overlap(signed, np.zeros(d + 1)))
        if not separable:
            seen["proved"] = seen.get("proved", 0) + _overlap(signed, np.zeros(d + 1))
    assert seen[True] > 10
    assert seen["proved"] > 0.8 * seen[False] > 10
    column = np.zeros((40, 1))
    column[3] = 1.0  # a level that one row has, and with it one class: no maximum
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    assert not _overlap(np.column_stack((column, np.ones(40))) * y[:, None], np.zeros(2))


# The verdict


def _rules(**how):
    """Return the names of the rules that judged a fit to 400 rows, seed 3, and its summary."""
    labels = bool(how.get("labels"))
    truth = gs.SigmoidCombination(np.eye(3)[:2], [0.6, 0.4], 3.0)
    X, y = truth.sample(400, "labels" if labels else 0.2, rng=3)
    fit = search(ArraySource(X, y), rng=0, **how)
    return {check.name for check in fit.checks}, summary(fit)


NUMBER = {"single units", "half as strong", "most units"}  # asked where a criterion chose their number


@pytest.mark.parametrize(
    ("how", "absent", "present"),
    [
        ({"n_units": 2}, {"separation", "shrinkage", *NUMBER}, {"overlap", "finite slopes", "more units"}),
        ({"n_units": 1}, {"separation", "overlap"}, {"finite slopes"}),
        ({}, {"separation", "shrinkage"}, {"half as strong", "most units", "more units"}),
        ({"n_units": 2, "alpha": 1.0}, {"separation"}, {"shrinkage"}),
        ({"n_units": 2, "activation": "relu"}, {"finite slopes", "units seen"}, {"overlap"}),
        ({"n_units": 1, "labels": True}, {"shrinkage", "units of log-odds", *NUMBER}, {"separation"}),
    ],
)
def test_a_rule_that_a_fit_does_not_raise_is_absent_from_its_verdict(how, absent, present):
    names, text = _rules(**how)
    assert present <= names
    assert not absent & names
    assert "inf" not in text.partition("holds")[2].split()
    assert ("o plane parts" in text) == bool(how.get("labels"))
    assert "no ridge" not in text.lower()
