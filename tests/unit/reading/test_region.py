"""Where a box may be asked: coordinates, draws, and functions of them as functions of the inputs."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.fit import Parameters
from gradsift.reading.ledger import Ledger, Place
from gradsift.reading.region import Region

LOW, HIGH = np.array([-1.0, 0.1, 2.0]), np.array([3.0, 0.7, 2.5])


def region_with(**where):
    return Region.of(gs.Oracle(lambda X: X.sum(axis=1), 3, **where))


@pytest.mark.parametrize(
    ("where", "name"),
    [({}, "open"), ({"link": "logit"}, "linked"), ({"bounds": (LOW, HIGH)}, "bounded"),
     ({"bounds": (LOW, HIGH), "link": "logit"}, "bounded")],
)  # fmt: skip
def test_a_region_is_one_of_three_kinds(where, name):
    region = region_with(**where)
    assert region.name == name
    assert region.is_open == (name == "open")
    assert region.is_bounded == ("bounds" in where)
    assert region.has_link == ("link" in where)


def test_rows_and_inputs_are_each_others_inverse_and_draws_stay_inside():
    region = region_with(bounds=(LOW, HIGH))
    rows = region.draw(500, 1.0, np.random.default_rng(0))
    inputs = region.inputs(rows)
    assert ((inputs >= LOW) & (inputs <= HIGH)).all()
    assert region.holds(rows).all()
    np.testing.assert_allclose(region.rows(inputs), rows, atol=1e-14)
    assert not region.holds(np.array([[0.0, 1.1, 0.0]])).any()
    np.testing.assert_array_equal(region.inputs(np.array([[0.0, 1.1, 0.0]]))[0, 1], HIGH[1])


@pytest.mark.parametrize("where", [{}, {"bounds": (LOW, HIGH)}])
def test_the_entries_of_draws_have_the_spread_that_is_foretold(where):
    region = region_with(**where)
    rows = region.draw(20_000, 0.6, np.random.default_rng(1))
    assert rows.std() == pytest.approx(region.spread(0.6), rel=0.02)


def test_parameters_in_the_region_give_the_same_arguments_at_the_inputs():
    rng = np.random.default_rng(2)
    oracle = gs.Oracle(lambda X: X.sum(axis=1), 3, bounds=(LOW, HIGH))
    place = Place(Ledger(oracle), Region.of(oracle))
    inside = Parameters(rng.standard_normal((2, 3)), np.ones(2), rng.standard_normal(2), 0.3, rng.standard_normal(3))
    outside, rows = place.outside(inside), place.region.draw(20, 1.0, rng)
    X = place.region.inputs(rows)
    np.testing.assert_allclose(X @ outside.A.T + outside.b, rows @ inside.A.T + inside.b, atol=1e-12)
    np.testing.assert_allclose(X @ outside.linear + outside.c, rows @ inside.linear + inside.c, atol=1e-12)


def test_bounds_without_end_are_no_region():
    with pytest.raises(ValueError, match="finite"):
        region_with(bounds=(0, np.inf))
