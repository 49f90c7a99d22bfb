"""Students, and several outputs over the same units."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading import solve_output_layer, solve_outputs, train_student


def points(activation, k, d, n, seed):
    rng = np.random.default_rng(seed)
    model = gs.SigmoidCombination(
        2 * rng.standard_normal((k, d)) / np.sqrt(d),
        rng.uniform(0.5, 1, k),
        1.0,
        rng.standard_normal(k),
        0.3,
        activation,
    )
    X = rng.standard_normal((n, d))
    return model, X, model.predict(X)


@pytest.mark.parametrize("activation", ["tanh", "arctan", "softsign"])
def test_a_student_of_the_right_size_fits_to_rounding_and_has_the_teachers_units(activation):
    model, X, y = points(activation, 2, 4, 60, 0)
    student = train_student(X, y, 2, activation, np.random.default_rng(1))
    assert student.misfit < 1e-12
    assert gs.match_units(student.model.units, model.units).max_error < 1e-9


def test_a_student_that_is_too_small_does_not():
    _, X, y = points("tanh", 3, 4, 80, 0)
    student = train_student(X, y, 2, "tanh", np.random.default_rng(1), n_starts=3)
    assert student.misfit > 1e-3
    assert student.n_starts == 3


def test_all_outputs_follow_from_the_units_of_one_projection():
    rng = np.random.default_rng(2)
    model, X, _ = points("tanh", 3, 5, 40, 3)
    weights, intercepts = rng.standard_normal((3, 4)), rng.standard_normal(4)
    Y = np.tanh(model.arguments(X)) @ weights + intercepts
    layer = solve_outputs(model, X, Y)
    np.testing.assert_allclose(layer.weights, weights, atol=1e-11)
    np.testing.assert_allclose(layer.intercepts, intercepts, atol=1e-11)
    assert layer.misfits.max() < 1e-13


def test_outputs_over_other_units_show_a_misfit():
    model, X, _ = points("tanh", 3, 5, 40, 3)
    assert solve_outputs(model, X, np.cos(X)).misfits.min() > 0.1


def test_too_few_rows_for_the_outputs_are_refused():
    model, X, _ = points("tanh", 3, 5, 3, 3)
    with pytest.raises(ValueError, match="more than 3 rows"):
        solve_outputs(model, X, X)


def test_output_weights_are_exact_though_most_answers_are_far_out():
    rng = np.random.default_rng(3)
    truth = gs.simulate.random_network(6, (8, 5), n_outputs=3, activation="relu", rng=rng)
    X = rng.standard_normal((400, 6)) * 10 ** rng.uniform(0, 9, (400, 1))
    unknown = gs.Network([*truth.layers[:-1], (np.ones((1, 5)), np.zeros(1))], "relu")
    found, misfit = solve_output_layer(unknown, X, truth.predict(X))
    rows = rng.standard_normal((100, 6))
    np.testing.assert_allclose(found.predict(rows), truth.predict(rows), rtol=0, atol=1e-12)
    assert misfit.max() < 1e-12
