"""The parts of the method for several layers, each against a second way of getting its numbers."""

from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.certificate import DEEP, DEEP_COARSE
from gradsift.fit.gauss_newton import descend
from gradsift.fit.jacobian import layer_values, stack_jacobian, to_vector, with_vector
from gradsift.reading.layers.crossings import find_planes, read_slopes
from gradsift.reading.layers.hyperplanes import ask_signs, known_signs, no_planes, read_plane
from gradsift.reading.layers.layer_certificate import cause_of, near_points
from gradsift.reading.layers.layer_fit import (
    canonical,
    fit_by_descent,
    fit_layers,
    merge_units,
    most_informative,
    roundings,
    standard_errors_at,
    to_network,
    with_faint_raised,
)
from gradsift.reading.layers.reader import _Answered, _fitted
from gradsift.reading.layers.settings import EXACT_READING
from gradsift.reading.layers.upper_layers import (
    FirstLayerScale,
    StudentNet,
    judged_by,
    n_unknowns,
    start_from_half,
    start_student,
    thin_out,
    train,
    units_alike,
)
from gradsift.reading.ledger import EPS, Ledger
from gradsift.reading.odd_form import link_of
from gradsift.reading.searches import search_all

TANH = get_activation("tanh")


def two_layers(d=5, widths=(6, 3), seed=0, activation="tanh"):
    norms = [(1.0, 3.0), *[1.5] * (len(widths) - 1)]
    return gs.simulate.random_network(d, widths, row_norms=norms, activation=activation, rng=seed)


def first_layer(net, seed=0):
    """Return the planes found, the ledger, and the radius of the circles."""
    ledger, radius = Ledger(gs.Oracle(net.predict, net.n_features)), 2e4
    return find_planes(ledger, no_planes(net.n_features, 60.0), radius, np.random.default_rng(seed)), ledger, radius


@pytest.mark.parametrize("widths", [(4,), (4, 3), (4, 3, 2)])
def test_derivatives_by_every_parameter_are_differences(widths):
    layers = [(W.copy(), b.copy()) for W, b in two_layers(3, widths).layers]
    X = np.random.default_rng(1).standard_normal((5, 3))
    J, theta = stack_jacobian(layer_values(layers, X, TANH)), to_vector(layers)
    assert J.shape == (5, len(theta)) == (5, n_unknowns(3, widths))
    for i in range(len(theta)):
        step = 1e-6 * np.eye(len(theta))[i]
        up, down = (layer_values(with_vector(layers, theta + s), X, TANH).values for s in (step, -step))
        np.testing.assert_allclose(J[:, i], (up - down) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("activation", ["tanh", "logistic", "erf"])
def test_layers_over_the_odd_sigmoid_are_the_same_function(activation):
    link = link_of(activation)
    layers = [(W.copy(), b.copy()) for W, b in two_layers(4, (5, 3, 2)).layers]
    X = np.random.default_rng(2).standard_normal((20, 4))
    inside = layer_values(layers, X, link.odd).values
    np.testing.assert_allclose(to_network(layers, link).predict(X), inside, atol=1e-13)


def test_descent_reaches_what_linear_least_squares_reaches():
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    found = descend(lambda theta: (A @ theta - y, lambda: A), np.zeros(4), 100, 0.0, 3e-2)
    np.testing.assert_allclose(found.parameters, np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-8)
    assert found.rms == pytest.approx(np.sqrt(np.mean((A @ found.parameters - y) ** 2)))


def test_descent_follows_a_bent_valley_to_its_end():
    def valley(theta):  # Rosenbrock's, ten times as narrow
        x, y = theta
        return np.array([100 * (y - x**2), 1 - x]), lambda: np.array([[-200 * x, 100.0], [-1.0, 0.0]])

    found = descend(valley, np.array([-1.2, 1.0]), 100, 1e-10, 3e-2)
    np.testing.assert_allclose(found.parameters, [1.0, 1.0], atol=1e-8)


def test_a_descent_whose_equations_overflow_stays_where_it_is():
    steep = np.full((3, 2), 1e25, dtype=np.float32)
    found = descend(
        lambda theta: (np.ones(3, dtype=np.float32), lambda: steep), np.zeros(2, dtype=np.float32), 10, 0.0, 3e-2
    )
    np.testing.assert_array_equal(found.parameters, 0)
    assert found.rms == 1


def test_searches_that_run_together_get_the_answers_they_asked_for():
    ledger = Ledger(gs.Oracle(lambda X: X[:, 0], 2))

    def search(start, n):
        total = 0.0
        for i in range(n):
            reply = yield np.array([[start + i, 0.0]])
            assert ledger.y[reply.rows[0]] == reply.answers[0] == start + i
            total += reply.answers[0]
        return total

    assert search_all(ledger, [search(0, 1), search(10, 3), search(20, 2)], "test") == [0.0, 33.0, 41.0]
    assert ledger.n_queries == 6


@pytest.mark.parametrize("widths", [(6, 3), (8, 4)])
def test_all_planes_of_the_first_layer_are_found_and_no_others(widths):
    net = two_layers(5, widths, seed=4)
    first, ledger, _ = first_layer(net)
    match = gs.match_units(first.normals, net.layers[0].weights)
    assert match.max_error < 1e-6
    assert ledger.n_queries < 75 * widths[0]


def test_a_unit_between_many_known_crossings_is_found():
    net = two_layers(30, (30, 4), seed=4)
    first, ledger, radius = first_layer(net)
    assert len(first) == 30
    for seed in range(3):  # each unit in turn is unknown at first
        fewer = replace(first, planes=first.planes[:seed] + first.planes[seed + 1 :], margin=30.0)
        again = find_planes(ledger, fewer, radius, np.random.default_rng(seed))
        assert gs.match_units(again.normals, net.layers[0].weights).max_error < 1e-6


def test_planes_of_one_unit_become_one_where_it_stands_still_only_further_away():
    first, _, _ = first_layer(two_layers())
    plane = first.planes[0]
    tilt = plane.normal + 2e-4 * np.roll(plane.normal, 1)
    aside = replace(plane, normal=tilt / np.linalg.norm(tilt), point=plane.point + 1.5 * first.margin * plane.normal)
    both = replace(first, planes=(*first.planes, aside))
    assert len(both.joined([aside])) == len(both)  # known by now
    assert len(first.joined([aside])) == len(first) + 1
    assert len(both.wider()) == len(first)
    assert both.wider().margin == 2 * first.margin


def test_a_bent_level_set_is_no_plane():
    ledger = Ledger(gs.Oracle(lambda X: np.tanh(X[:, 0] + 0.05 * X[:, 1] ** 2), 3))
    read = read_plane(np.zeros(3), np.eye(3)[0], 2.0, 1e4, EXACT_READING, np.random.default_rng(0))
    assert search_all(ledger, [read], "test") == [None]


def test_vertices_are_the_second_layer_alone():
    net = two_layers()
    first, ledger, radius = first_layer(net)
    seen = known_signs(ledger, first, 0.5 * radius)
    assert seen.apart < 1e-13
    vertices = ask_signs(ledger, first, radius, 10, seen, np.random.default_rng(1))
    assert len(vertices) == len(np.unique(vertices.signs, axis=0)) == len(seen) + 10
    match = gs.match_units(first.normals, net.layers[0].weights)
    signs = np.stack([vertices.signs[:, f] * s for f, s in zip(match.order, match.signs)], axis=1)
    upper = [(W.copy(), b.copy()) for W, b in net.layers[1:]]
    np.testing.assert_allclose(layer_values(upper, signs, TANH).values, vertices.answers, atol=1e-13)


def test_a_missing_plane_shows_as_different_answers_to_equal_signs():
    net = two_layers()
    first, ledger, radius = first_layer(net)
    fewer = type(first)(first.planes[1:], first.margin, first.n_features)
    assert known_signs(ledger, fewer, 0.5 * radius).apart > 1e-3


def test_slopes_and_offsets_are_read_on_edges():
    net = two_layers(seed=5)
    first, ledger, radius = first_layer(net)
    match = gs.match_units(net.layers[0].weights, first.normals)  # truth in the order and signs of what was found
    aligned = net.reordered(0, match.order, match.signs)
    scale = read_slopes(ledger, first, [*aligned.layers[1:]], TANH, 0.3 * radius, np.random.default_rng(2))
    weights, offsets = aligned.layers[0]
    np.testing.assert_allclose(np.exp(scale.log_slopes), np.linalg.norm(weights, axis=1), rtol=1e-5)
    shifts = scale.offsets - np.exp(scale.log_slopes) * first.offsets
    np.testing.assert_allclose(shifts, offsets, atol=1e-2)  # planes are read 2e4 away: the joint fit does the rest


def test_rows_that_leave_a_slope_open_are_not_trusted():
    net = two_layers(seed=5)
    first, _, radius = first_layer(net)
    match = gs.match_units(net.layers[0].weights, first.normals)
    aligned = net.reordered(0, match.order, match.signs)
    ledger = Ledger(gs.Oracle(net.predict, net.n_features))
    for plane in first.planes:  # one answer in the middle of each step, the others on a plateau
        heights = plane.width * np.append(0.0, np.linspace(40, 60, 9))
        ledger.ask(plane.point + heights[:, None] * plane.normal, "test")
    n_before = ledger.n_queries
    scale = read_slopes(ledger, first, [*aligned.layers[1:]], TANH, 0.3 * radius, np.random.default_rng(2))
    assert ledger.n_queries > n_before
    lengths = np.linalg.norm(aligned.layers[0].weights, axis=1)
    np.testing.assert_allclose(np.exp(scale.log_slopes), lengths, rtol=1e-5)


def test_a_student_with_units_to_spare_thins_out_to_the_network():
    rng = np.random.default_rng(6)
    upper = [(W.copy(), b.copy()) for W, b in two_layers(7, (3,), seed=7).layers]
    signs = np.unique(rng.choice([-1.0, 1.0], (300, 7)), axis=0)
    y = layer_values(upper, signs, TANH).values
    students = [start_from_half(signs, y, (6,), TANH, 1e-13, rng) for _ in range(6)]
    best = thin_out(min(students, key=lambda p: p.rms), signs, y, TANH, 1e-11, loose=3.0)
    assert best.rms < 1e-11
    assert best.widths == (3,)


def test_a_student_with_a_front_learns_slopes_and_offsets_too():
    rng = np.random.default_rng(8)
    net = two_layers(4, (3, 2), seed=9)
    weights, offsets = net.layers[0]
    slopes = np.linalg.norm(weights, axis=1)
    X = rng.standard_normal((200, 4))
    heights = X @ (weights / slopes[:, None]).T
    start = FirstLayerScale(np.log(slopes) + 0.05, offsets - 0.05)
    found = train([*net.layers[1:]], heights, net.predict(X), TANH, 200, 1e-14, start)
    np.testing.assert_allclose(np.exp(found.scale.log_slopes), slopes, rtol=1e-6)
    np.testing.assert_allclose(found.scale.offsets, offsets, atol=1e-6)


def test_the_whole_fit_ends_at_rounding_and_says_what_it_does_not_know():
    net = two_layers(4, (4, 3), seed=1)
    rng = np.random.default_rng(10)
    truth = [(W.copy(), b.copy()) for W, b in net.layers]
    X = near_points(truth, 200, 1.5, rng)
    start = with_vector(truth, to_vector(truth) + 1e-5 * rng.standard_normal(net.n_parameters))
    fit = fit_layers(start, X, net.predict(X), TANH)
    assert fit.worst < 2
    off = np.abs(to_vector(fit.layers) - to_vector(truth))
    assert (off < 10 * fit.errors).all()
    fresh = near_points(truth, 50, 1.5, rng)
    passed = layer_values(fit.layers, fresh, TANH)
    allowed = 10 * roundings(passed, fit.layers) + 6 * standard_errors_at(fit, fresh, TANH)
    assert (np.abs(passed.values - net.predict(fresh)) < allowed).all()


def test_the_valley_leads_to_the_answers_from_where_gauss_newton_stops():
    truth = [(W.copy(), b.copy()) for W, b in two_layers(4, (4, 3), seed=1).layers]
    X = near_points(truth, 200, 1.5, np.random.default_rng(10))
    y = layer_values(truth, X, TANH).values
    start = with_vector(truth, to_vector(truth) + 0.1 * np.random.default_rng(6).standard_normal(len(to_vector(truth))))
    assert fit_layers(start, X, y, TANH).worst > 1e6
    fit = fit_layers(fit_by_descent(start, X, y, TANH), X, y, TANH)
    assert fit.worst < 2
    np.testing.assert_allclose(to_vector(fit.layers), to_vector(truth), atol=1e-9)


def resting(offset):
    """Return layers whose second upper unit has this offset, answers, and where they were given."""
    (W, b), (V, c), last = ((a.copy(), e.copy()) for a, e in two_layers(4, (4, 3), seed=1).layers)
    c[1] = offset
    layers = [(W, b), (V, c), last]
    rng = np.random.default_rng(12)
    X = np.concatenate([near_points(layers, 400, spread, rng) for spread in (1.5, 20.0)])
    return layers, X, layer_values(layers, X, TANH).values


def test_a_unit_at_rest_is_set_aside_and_the_others_keep_their_errors():
    layers, X, y = resting(9.0)
    fit = fit_layers(layers, X, y, TANH)
    assert fit.open_units(1e-8) == [1]
    assert max(e.max() for e in fit.relative_errors) > 1e-8
    assert max(e.max() for e in fit.errors_beside([1])) < 1e-8
    moving = fit_layers(*resting(1.0), TANH)
    assert moving.open_units(1e-8) == []
    for one, other in zip(moving.errors_beside([]), moving.relative_errors):
        np.testing.assert_array_equal(one, other)


def test_errors_beside_a_unit_at_rest_are_those_of_the_network_in_which_it_is_known():
    layers, X, y = resting(9.0)
    fit = fit_layers(layers, X, y, TANH)
    passed = layer_values(layers, X, TANH)
    J = stack_jacobian(passed) / roundings(passed, layers)[:, None]
    kept = np.delete(np.arange(J.shape[1]), [20 + 4 + 1, 20 + 4 + 5, 20 + 12 + 1, 35 + 1])  # some of its own parameters
    fixed = np.sqrt(np.diag(np.linalg.inv(J[:, kept].T @ J[:, kept])))
    assert (fit.errors[kept][:20] >= 0.99 * fixed[:20]).all()
    assert (fit.errors[kept][:20] <= 10 * fixed[:20]).all()


def test_a_faint_unit_with_too_small_a_weight_is_raised_to_its_tail():
    layers, X, y = resting(9.0)
    (W, b), (V, c), (v, k) = layers
    less = 1e-5  # at 1e-6 the fit finds its own way back
    offsets = c + np.array([0.0, 0.5 * np.log(less), 0.0])
    start = [(W, b), (V, offsets), (v * [1.0, less, 1.0], k + v[0, 1] * (1 - less))]
    missed = fit_layers(start, X, y, TANH)
    raised = with_faint_raised(start, X, y, TANH, 1 / less)
    np.testing.assert_allclose(layer_values(raised, X, TANH).values, y, atol=1e-12)
    assert fit_layers(raised, X, y, TANH).worst < 2 < missed.worst
    assert with_faint_raised(resting(1.0)[0], X, y, TANH, 1000.0) is None


def test_a_faint_miss_is_laid_to_a_unit_at_rest_and_a_large_one_is_not():
    assert "at rest" in cause_of(1e-11)
    assert "at rest" not in cause_of(1e-2)


def test_layers_in_canonical_order_are_those_of_the_canonical_network():
    net = two_layers(5, (4, 3, 2), seed=3)
    layers = canonical([(W.copy(), b.copy()) for W, b in net.layers])
    for (W, b), right in zip(layers, net.canonical().layers):
        np.testing.assert_allclose(W, right.weights)
        np.testing.assert_allclose(b, right.offsets)


def test_a_superfluous_unit_has_an_infinite_or_huge_error():
    net = two_layers(4, (4, 3), seed=1)
    X = np.random.default_rng(11).standard_normal((300, 4))
    (W, b), (V, c), (v, k) = ((a.copy(), e.copy()) for a, e in net.layers)
    twice = [
        (W, b),
        (np.concatenate([V, V[:1]]), np.append(c, c[0])),
        (np.concatenate([v[:, :1] / 2, v[:, 1:], v[:, :1] / 2], axis=1), k),
    ]
    fit = fit_layers(twice, X, net.predict(X), TANH)
    assert max(e.max() for e in fit.relative_errors) > 1e-3


def student(units, offsets):
    return StudentNet([(np.array(units), np.array(offsets)), (np.ones((1, len(offsets))), np.zeros(1))], 0.1, None, 0.0)


def test_units_that_several_students_found_are_agreed_on_whatever_their_signs():
    rng = np.random.default_rng(5)
    X = np.sign(rng.standard_normal((200, 6)))
    right, alone = rng.standard_normal((2, 6)), rng.standard_normal((4, 6))
    students = [
        student([right[0], alone[0], right[1]], [0.1, 0.0, -0.2]),
        student([alone[1], -1.01 * right[1], 1.02 * right[0]], [0.3, 0.2, 0.1]),
        student([alone[2], right[0], alone[3]], [0.0, 0.1, 0.5]),
    ]
    weights, offsets = units_alike(students, X, TANH, 5)
    assert gs.match_units(weights[:2], right).max_error < 1e-9
    assert len(offsets) <= 3  # two that are agreed on, and at most one that resembles another by chance
    assert len(units_alike(students, X, TANH, 1)[1]) == 1


def test_the_points_that_tell_most_shrink_the_errors_more_than_any_others():
    net, rng = two_layers(4, (5, 3)), np.random.default_rng(7)
    layers = [(W.copy(), b.copy()) for W, b in net.layers]
    X, offered = near_points(layers, 60, 1.5, rng), near_points(layers, 120, 3.0, rng)
    eps = 2.0**-52
    fit = fit_layers(layers, X, net.predict(X), TANH, eps)

    def volume(rows):
        there = np.concatenate([X, rows])
        return np.log(fit_layers(layers, there, net.predict(there), TANH, eps).errors).sum()

    told = volume(most_informative(fit, offered, 15, TANH, eps))
    assert told < min(volume(offered[rng.permutation(120)[:15]]) for _ in range(5))


def test_a_unit_too_many_is_merged_away_and_one_that_is_needed_is_not():
    net = two_layers(4, (5, 3))
    layers = [(W.copy(), b.copy()) for W, b in net.layers]
    X = np.random.default_rng(3).standard_normal((400, 4)) * 2
    y = net.predict(X)
    (W, b), (v, c) = layers[1], layers[2]
    twice = [
        layers[0],
        (np.concatenate([W, -W[:1]]), np.append(b, -b[0])),
        (np.concatenate([v, -0.3 * v[:, :1]], axis=1) - 0.3 * np.eye(1, 4) * v[0, 0], c),
    ]
    assert np.abs(layer_values(twice, X, TANH).values - y).max() < 1e-14
    fewer = merge_units(fit_layers(twice, X, y, TANH), X, y, TANH, EPS, 100.0)
    assert [len(b) for _, b in fewer.layers] == [5, 3, 1]
    assert np.abs(to_vector(fewer.layers)).sum() == pytest.approx(np.abs(to_vector(layers)).sum(), rel=1e-9)
    assert merge_units(fewer, X, y, TANH, EPS, 100.0) is None


@pytest.mark.parametrize("faint", [3e-6, 1e-5])
def test_a_faint_unit_that_answers_show_is_not_one_too_many(faint):
    rng = np.random.default_rng(1)
    first = rng.standard_normal((5, 4)), 0.3 * rng.standard_normal(5)
    second = rng.standard_normal((4, 5)), 0.3 * rng.standard_normal(4)
    layers = [first, second, (np.array([[1.0, -0.8, 0.7, faint]]), np.array([0.1]))]
    X = 1.5 * rng.standard_normal((400, 4))
    y = layer_values(layers, X, TANH).values.astype(np.float32).astype(float)
    whole = fit_layers(layers, X, y, TANH, 2.0**-24)
    assert merge_units(whole, X, y, TANH, 2.0**-24, DEEP_COARSE.residuals) is None


def test_a_student_started_whole_is_judged_by_other_rows():
    rng = np.random.default_rng(4)
    X, Z = np.sign(rng.standard_normal((80, 4))), np.sign(rng.standard_normal((60, 4)))
    f = lambda rows: np.tanh(rows @ [0.3, -0.2, 0.1, 0.2])
    student = start_student(X, f(X), (2,), TANH, 1e-12, rng)
    assert student.rms < 1e-6
    judged = judged_by(student, Z, f(Z), TANH)
    assert judged.rms == pytest.approx(np.sqrt(np.mean((layer_values(judged.layers, Z, TANH).values - f(Z)) ** 2)))
    assert judged_by(student, Z, np.sign(f(Z)), TANH).rms > 1e-3


def test_a_larger_weight_of_a_unit_at_rest_excuses_no_missing_unit():
    g, rng = get_activation("tanh"), np.random.default_rng(0)
    W, b = rng.standard_normal((5, 3)), 0.5 * rng.standard_normal(5)
    V, c = rng.standard_normal((5, 5)), 0.3 * rng.standard_normal(5)
    V[3:] *= 0.5
    c[3], c[4] = np.abs(V[3]).sum() + 8, 0.3  # the fourth is at rest everywhere, the fifth moves and is left out
    truth = [(W, b), (V, c), (np.array([[1.0, -0.8, 0.6, 0.5, 1e-10]]), np.array([0.1]))]
    X = np.concatenate([s * rng.standard_normal((200, 3)) for s in (0.5, 1.5, 5.0, 20.0)])
    y = layer_values(truth, X, g).values
    fewer = [(W, b), (V[:4], c[:4]), (truth[2][0][:, :4], truth[2][1] + 1e-10)]
    raised = with_faint_raised(fewer, X, y, g, 1000.0)
    assert np.abs(raised[-1][0]).max() > 400
    before, after = (roundings(layer_values(layers, X, g), layers) for layers in (fewer, raised))
    np.testing.assert_allclose(after, before, rtol=0.01)
    assert _fitted(fewer, _Answered(X, y, g, EPS), DEEP).worst > 100 * DEEP.residuals
    complete = _fitted(truth, _Answered(X, y, g, EPS), DEEP)
    assert complete.worst < DEEP.residuals
