"""Which arithmetic a number comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import gradsift as gs
from gradsift.oracle.output_links import LINKS
from gradsift.reading.precision import rounding_of, rounding_of_share
from gradsift.reading.scouts import measure_precision

Y = np.random.default_rng(0).standard_normal(12)


def bfloat16(y):
    return (y.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (Y, "exact"),
        (Y.astype(np.float32).astype(np.float64), "float32"),
        (Y.astype(np.float16).astype(np.float64), "float16"),
        (bfloat16(Y), "bfloat16"),
        (np.round(Y, 4), "rounded"),
        (np.round(Y, 6), "rounded"),
        (np.full(12, 0.5), "exact"),
    ],
)
def test_the_arithmetic_of_an_output_is_told_from_its_numbers(y, kind):
    assert rounding_of(y).kind == kind


def test_a_projection_of_float32_outputs_is_known_for_what_it_is():
    W = np.random.default_rng(1).standard_normal((3, 4))
    oracle = gs.Oracle(lambda X: np.tanh(X @ W.T).astype(np.float32), 4)
    view = oracle.single_output(3)
    precision = measure_precision(view, np.random.default_rng(0))
    assert precision.kind == "float32"
    assert [r.kind for r in precision.outputs] == ["float32"] * 3
    answers = view(np.random.default_rng(2).standard_normal((5, 4)))
    assert rounding_of(answers).kind == "exact"  # the projection alone would not have told


def test_last_bits_of_float32_that_depend_on_the_batch_are_no_noise():
    rng, w = np.random.default_rng(6), np.random.default_rng(3).standard_normal(4)

    def box(X):
        y = np.tanh(X @ w).astype(np.float32)
        return y + rng.integers(-3, 4, len(y)).astype(np.float32) * np.spacing(y)

    assert measure_precision(gs.Oracle(box, 4), np.random.default_rng(0)).kind == "float32"
    noisy = gs.Oracle(lambda X: (np.tanh(X @ w) + 1e-4 * rng.standard_normal(len(X))).astype(np.float32), 4)
    assert measure_precision(noisy, np.random.default_rng(0)).kind == "noisy"


def test_each_output_has_its_own_rounding():
    W = np.random.default_rng(4).standard_normal((2, 3))

    def box(X):
        z = np.tanh(X @ W.T)
        return np.stack([np.round(z[:, 0], 6), z[:, 1].astype(np.float32).astype(np.float64)], axis=1)

    precision = measure_precision(gs.Oracle(box, 3).single_output(1), np.random.default_rng(0))
    assert [r.kind for r in precision.outputs] == ["rounded", "float32"]
    assert precision.absolute == pytest.approx(1e-6 * abs(np.random.default_rng(1).standard_normal(2)[0]))


def test_what_another_probability_leaves_of_one_has_lost_digits_that_its_own_spacing_does_not_tell():
    p = np.append(expit(np.random.default_rng(3).standard_normal(12)), expit(-16.0))
    other = 1 - p[::-1]
    assert rounding_of_share(p).grid == 0.0
    assert rounding_of_share(other).grid == 2.0**-53
    assert rounding_of_share(other[[0]]) == replace(rounding_of(other[[0]]), grid=2.0**-53)  # one number may be so
    z = 16.0
    lost = abs(np.log(expit(-z)) - np.log(1 - expit(z)))  # by undoing both
    left = 1 - np.array([[expit(z)], [0.5]])
    assert 0.1 * lost < LINKS["softmax"].errors(left, rounding_of_share(left[:, 0]).errors(left))[0, 0]
