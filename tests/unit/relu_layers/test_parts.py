"""The parts of the reader of several ReLU layers: lines, maps, surfaces, signs, the fit."""

from itertools import pairwise

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading.ledger import Ledger
from gradsift.reading.relu_layers.box import Box
from gradsift.reading.relu_layers.deep_fit import Deep, fit_deep, pass_through
from gradsift.reading.relu_layers.feature_map import FeatureMap
from gradsift.reading.relu_layers.first_layer import read_first_layer
from gradsift.reading.relu_layers.line_scan import StraightLine, find_kinks
from gradsift.reading.relu_layers.surfaces import complete, surface_at
from gradsift.reading.relu_layers.unit_signs import signs_from_linear_term, signs_from_rows
from gradsift.reading.searches import search_all


def layers_of(widths, seed):
    """Return random layers with rows of length one."""
    rng = np.random.default_rng([5021, *widths, seed])
    found = []
    for d, k in pairwise(widths):
        W = rng.standard_normal((k, d))
        found.append((W / np.linalg.norm(W, axis=1, keepdims=True), 0.3 * rng.standard_normal(k)))
    return found


def value(layers, X, slope=0.0):
    h = np.atleast_2d(X)
    for W, b in layers[:-1]:
        z = h @ W.T + b
        h = np.maximum(z, slope * z)
    return (h @ layers[-1][0].T + layers[-1][1])[:, 0]


def box_of(layers, seed=0, slope=0.0):
    box = Box(Ledger(gs.Oracle(lambda X: value(layers, X, slope), layers[0][0].shape[1])), np.random.default_rng(seed))
    box.find_reach()
    return box


def kinks_on(layers, line):
    """Return the times at which a unit of any layer switches, to the spacing of a grid."""
    t = np.linspace(0, 1, 400_001)
    h, switches = line.points(t), np.zeros(len(t) - 1, dtype=bool)
    for W, b in layers[:-1]:
        z = h @ W.T + b
        # A unit above that switches shows; its weight is never zero here.
        switches |= ((z[1:] > 0) != (z[:-1] > 0)).any(axis=1)
        h = np.maximum(z, 0)
    return t[:-1][switches]


@pytest.mark.parametrize("seed", range(3))
def test_a_scan_finds_the_kinks_of_a_line_to_rounding(seed):
    layers = layers_of((6, 8, 1), seed)
    box = box_of(layers)
    ends = 20 * np.random.default_rng(seed).standard_normal((2, 6))
    line = StraightLine.between(*ends)
    before = box.ledger.n_queries
    (kinks,) = find_kinks(box, [line], [(0, 0.0, 1.0)], "kinks").kinks
    W, b = layers[0]
    z = ends @ W.T + b
    true = np.sort((z[0] / (z[0] - z[1]))[(z[0] > 0) != (z[1] > 0)])
    assert len(kinks) == len(true)
    np.testing.assert_allclose([kink.t for kink in kinks], true, atol=1e-12)
    assert box.ledger.n_queries - before <= 10 * len(true) + 10


def test_a_scan_finds_no_kink_where_there_is_none():
    layers = layers_of((6, 8, 1), 0)
    box = box_of(layers)
    far = 1e3 * np.ones(6)
    (kinks,) = find_kinks(box, [StraightLine.between(far, far + 1e-3)], [(0, 0.0, 1.0)], "kinks").kinks
    assert not kinks


@pytest.mark.parametrize("signed", [True, False])
def test_the_map_about_an_input_foretells_features_nearby(signed):
    layers = layers_of((5, 7, 6, 1), 3)
    phi = FeatureMap(layers[:2], signed=signed)
    rng = np.random.default_rng(1)
    x = rng.standard_normal(5)
    here = phi.at(x)
    moved = x + 1e-3 * min(here.room(), 1.0) * rng.standard_normal(5)
    foretold = here.features + here.jacobian @ (moved - x)
    np.testing.assert_allclose(phi.features(moved[None])[0], foretold, atol=1e-14)
    np.testing.assert_allclose(here.arguments, phi.arguments(x[None])[0], atol=1e-14)
    assert here.jacobian.shape == (phi.n_features_of(5), 5)


@pytest.mark.parametrize("signed", [True, False])
def test_bends_of_the_map_are_what_crossing_a_kink_changes(signed):
    layers = layers_of((5, 7, 6, 1), 4)
    phi = FeatureMap(layers[:2], signed=signed)
    line = StraightLine.between(*np.random.default_rng(2).standard_normal((2, 5)))
    breaks = phi.breaks(line)
    assert len(breaks.times) > 2
    grid = np.concatenate([[0.0], breaks.times, [1.0]])
    for i, unit in enumerate(breaks.units):
        before, after = (phi.at(line.points(0.5 * (grid[j] + grid[j + 1]))) for j in (i, i + 1))
        change = after.jacobian - before.jacobian
        bend = np.outer(before.bends[:, unit], before.gradients[unit])
        size = np.linalg.norm(bend)
        # The same up to a factor: one direction of the features, by the gradient of the unit's argument.
        assert abs(abs((change * bend).sum()) - np.linalg.norm(change) * size) <= 1e-9 * np.linalg.norm(change) * size


def test_breaks_are_where_units_of_all_layers_switch():
    layers = layers_of((5, 7, 6, 1), 5)
    line = StraightLine.between(*np.random.default_rng(3).standard_normal((2, 5)))
    times = FeatureMap(layers[:2]).breaks(line).times
    np.testing.assert_allclose(times, kinks_on(layers, line), atol=1e-5)


def test_the_first_layer_is_read_and_deeper_kinks_are_not_taken_for_it():
    layers = layers_of((8, 6, 6, 1), 1)
    box = box_of(layers)
    first = read_first_layer(box, 30 * box.reach)
    assert first.complete
    assert first.k == 6
    cosines = np.abs(first.A @ layers[0][0].T)
    assert sorted(cosines.argmax(axis=1)) == list(range(6))
    assert cosines.max(axis=1).min() > 1 - 1e-12
    assert first.n_deeper > 0


@pytest.mark.parametrize("signed", [True, False])
def test_a_surface_followed_over_bends_gives_the_whole_row(signed):
    layers = layers_of((4, 7, 3, 1), 2)
    box = box_of(layers)
    phi = FeatureMap(layers[:1], signed=signed)
    (A, b), (W, c) = layers[:2]
    rng = np.random.default_rng(4)
    while True:  # an input at which unit 0 of the second layer switches
        line = StraightLine.between(*2 * rng.standard_normal((2, 4)))
        grid = np.concatenate([[0.0], FeatureMap(layers[:1]).breaks(line).times, [1.0]])
        z = (np.maximum(line.points(grid) @ A.T + b, 0) @ W.T + c)[:, 0]
        at = np.flatnonzero((z[1:] > 0) != (z[:-1] > 0))
        if len(at):
            break
    i = int(at[0])
    point = line.points(grid[i] + z[i] / (z[i] - z[i + 1]) * (grid[i + 1] - grid[i]))
    # The jump of the gradient is along that of the unit's argument.
    active = point @ A.T + b > 0
    surface = surface_at(phi, point, (W[0] * active) @ A, 1e-14)
    assert surface is not None
    assert surface.open.shape[1] > 0
    (found,) = search_all(box.ledger, [complete(phi, surface, box)], "bends")
    assert found is not None
    true = W[0] if signed else np.concatenate([W[0], W[0] @ A])  # 2 relu(z) = |z| + z
    cosine = abs(found.theta @ true) / np.linalg.norm(found.theta) / np.linalg.norm(true)
    assert cosine > 1 - 1e-12


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_rows_above_tell_the_signs_and_the_slope_of_a_layer(slope):
    rng = np.random.default_rng(6)
    W, s = rng.standard_normal((9, 4)), rng.choice([-1.0, 1.0], 9)
    V = rng.standard_normal((8, 9))
    rho = (1 + slope) / (1 - slope)
    rows = np.concatenate([V, V @ (rho * s[:, None] * W)], axis=1)
    rows[7, 9:] += rng.standard_normal(4)  # a false row
    found = signs_from_rows(rows, W, rng)
    assert found is not None
    np.testing.assert_array_equal(found.signs.signs, s)
    assert found.signs.slope == pytest.approx(slope, abs=1e-6)
    np.testing.assert_array_equal(found.agree, [True] * 7 + [False])
    assert signs_from_rows(rows[:2], W, rng) is None


def test_the_linear_term_tells_the_signs_of_the_last_layer_and_units_that_are_always_active():
    rng = np.random.default_rng(7)
    rows, alpha, s = rng.standard_normal((4, 6)), rng.standard_normal(4), np.array([1.0, -1.0, -1.0, 1.0])
    gamma = (s * alpha) @ rows
    signs, rest = signs_from_linear_term(alpha, rows, gamma)
    np.testing.assert_array_equal(signs.signs, s)
    assert not rest.any()
    always = 3 * np.abs(rng.standard_normal(6))
    signs, rest = signs_from_linear_term(alpha, rows, gamma + always)
    assert (rest > 0).all() or (rest < 0).all()
    np.testing.assert_allclose((signs.signs * alpha) @ rows + rest, gamma + always, atol=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_fit_of_all_layers_reaches_rounding(slope):
    layers = layers_of((5, 4, 3, 1), 11)
    rng = np.random.default_rng(9)
    X = 3 * rng.standard_normal((400, 5))
    start = [
        (W * (1 + 1e-7 * rng.standard_normal(W.shape)), b + 1e-7 * rng.standard_normal(b.shape)) for W, b in layers
    ]
    net = Deep(start, slope=slope * (1 + 1e-6))
    fit = fit_deep(net, X, value(layers, X, slope), 1e-7)
    assert fit.worst < 4
    assert fit.net.slope == pytest.approx(slope, abs=1e-13)
    fresh = rng.standard_normal((200, 5))
    np.testing.assert_allclose(pass_through(fit.net, fresh).values, value(layers, fresh, slope), atol=1e-13)
    assert fit.bound < 1e-11
