"""A candidate run held against its theorem."""

import numpy as np
import pytest

from gradsift.paper.theory import CandidateRun, Problem, check_theorem, parameters
from gradsift.paper.theory.gaussian_fields import mean_gradient, projected_mean_gradient

DELTA, RHO = 0.1, 0.5
UNITS, WEIGHTS = np.eye(3)[:2], np.array([0.8, -0.6])
PARAMETERS = parameters(Problem(3, 2, 1.0, 1.0, 0.5), DELTA, RHO)


def exact_run(points, **changes):
    means = mean_gradient(UNITS, WEIGHTS, 1.0, points)
    fields = dict(
        units=UNITS, weights=WEIGHTS, beta=1.0, points=points, estimates=means, parameters=PARAMETERS,
        delta=DELTA, rho=RHO,
    )  # fmt: skip
    return CandidateRun(**{**fields, **changes})


def points(n, seed=0, scale=None):
    return (scale or PARAMETERS.xi0) * np.random.default_rng(seed).standard_normal((n, 3))


@pytest.mark.paper("maintheorem")
def test_exact_gradients_at_the_theorems_parameters_keep_every_promise():
    report = check_theorem(exact_run(points(5000)))
    assert report.holds
    assert report.label == "maintheorem"
    assert len(report.claims) == 5
    assert "holds on this run" in str(report)
    sizes = report.partition.sizes(2)
    # Slabs of width 2 Delta: chance erf(Delta/(xi0 sqrt 2)) each, the inner half at least is kept.
    assert (sizes[1:] >= PARAMETERS.gamma * 5000 / 2).all()
    assert sizes.sum() == (report.partition.cluster >= 0).sum()


def test_points_that_are_too_close_break_the_promise_of_few_spurious_candidates():
    report = check_theorem(exact_run(points(5000, scale=PARAMETERS.Delta)))
    assert not report.holds
    assert not report.claims[-1].holds
    assert "FAILS" in str(report)


def test_estimates_that_are_off_are_spurious_not_members():
    where = points(5000)
    means = mean_gradient(UNITS, WEIGHTS, 1.0, where)
    report = check_theorem(exact_run(where, estimates=means + 1.0))
    assert report.partition.sizes(2)[0] == 5000
    assert not report.partition.good.any()
    assert not report.holds


def test_candidates_alone_with_m0_give_the_same_report():
    whole = check_theorem(exact_run(points(5000)))
    kept = whole.partition.cluster >= 0
    part = check_theorem(exact_run(points(5000)[kept], m0=5000))
    assert part.claims == whole.claims


def test_the_wrong_sign_of_a_weight_is_noticed():
    report = check_theorem(exact_run(points(5000)))
    where = points(5000)
    flipped = CandidateRun(
        UNITS, -WEIGHTS, 1.0, where, -mean_gradient(UNITS, WEIGHTS, 1.0, where), PARAMETERS, DELTA, RHO
    )
    assert report.holds
    assert check_theorem(flipped).holds  # flipping everything is the mirror image
    mixed = exact_run(where, estimates=-mean_gradient(UNITS, WEIGHTS, 1.0, where))
    assert not check_theorem(mixed).holds


@pytest.mark.paper("dimredtheorem")
def test_projected_runs_are_held_against_the_second_theorem():
    c, s = np.cos(0.01), np.sin(0.01)
    basis = np.array([[c, 0, s], [0, 1.0, 0]])
    where, weights = points(5000), np.array([0.5, 0.5])
    means = projected_mean_gradient(UNITS, weights, 1.0, where, basis)
    report = check_theorem(exact_run(where, weights=weights, estimates=means, basis=basis))
    assert report.label == "dimredtheorem"
    assert report.holds
    assert report.claims[0].claimed == pytest.approx(7 * DELTA)
