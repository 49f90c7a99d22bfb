"""Standard errors of units that grow, held against what was missed through noise."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs

NAMES = ("offsets", "weights", "intercept", "linear")


def truth(activation, seed, d=5, k=3):
    """Return a network with a linear term, in its canonical form."""
    rng = np.random.default_rng([seed, d, k, 5])
    rows, offsets = 1.5 * rng.standard_normal((k, d)), rng.standard_normal(k)
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k)
    model = gs.SigmoidCombination(rows, weights, 1.0, offsets, 0.3, activation, rng.standard_normal(d))
    return model.canonical()


@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_errors_through_noise_are_of_the_right_size_also_where_units_are_turned(activation):
    off = {name: [] for name in NAMES}
    for seed in range(7):
        true, noise = truth(activation, seed), np.random.default_rng([seed, 9])
        box = gs.Oracle(lambda X: true.predict(X) + 0.05 * noise.standard_normal(len(X)), 5)  # noqa: B023
        found = gs.recover(box, activation=activation, random_state=seed)
        model, order = found.model, gs.match_units(found.model.units, true.units).order
        for name in ("offsets", "weights"):
            misses = getattr(model, name)[order] - getattr(true, name)
            off[name] += list(misses / found.standard_errors[name][order])
        for name in ("intercept", "linear"):
            off[name] += list(np.atleast_1d(getattr(model, name) - getattr(true, name)) / found.standard_errors[name])
    for name, misses in off.items():
        assert 0.2 < np.sqrt(np.mean(np.square(misses))) < 1.7, name
        assert np.abs(misses).max() < 5, name
