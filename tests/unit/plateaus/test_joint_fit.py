"""The joint fit: blocks against a dense factorisation, convergence, error sizes, polish, pruning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gradsift import Oracle
from gradsift.certificate import EXACT, certify
from gradsift.reading.ledger import Ledger
from gradsift.reading.plateaus.joint_fit import DenseEquations, NetFit, parameter_errors, solve_jointly
from gradsift.reading.plateaus.large.blocks import BlockEquations
from gradsift.reading.plateaus.large.equations import at_rows, compare, replies_to
from gradsift.reading.plateaus.large.suspects import with_own_rows, without_cancelling, without_missed_probes
from gradsift.reading.plateaus.plateau_certificate import evidence_of, fresh_points, polish, smallest_angle
from gradsift.reading.plateaus.search import Search

K, D = 4, 6


def verdict_of(fit, errors, ledger, fresh):
    return certify(evidence_of(fit, errors, ledger, fresh), EXACT)


def teacher(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((K, D)), rng.standard_normal(K)
    u, c = np.array([0.9, -0.7, 0.5, 0.3]), 0.25
    return a, b, u, c


@pytest.fixture(scope="module")
def found():
    """A network as the probes leave it, before any joint fit, with its ledger."""
    a, b, u, c = teacher(0)
    ledger = Ledger(Oracle(lambda X: np.tanh(X @ a.T + b) @ u + c, D))
    search = Search(ledger, np.random.default_rng(0))
    assert search.family("tanh").certified
    return search.known, ledger


def blocks_at(net, ledger):
    replies = replies_to(net, ledger)
    seen = compare(net, replies)
    return BlockEquations(seen, replies), seen


def with_shared_core(net, ledger):
    """Ask three rows of the first unit's plane on which it and the second one move, and leave it no others."""
    plane = net.probes[0].frame.plane
    wanted = np.array([[0.3, 0.3], [0.6, -0.4], [-0.5, 0.8]]) - net.b[:2]
    rows = ledger.ask_rows(np.linalg.solve(net.a[:2] @ plane.T, wanted.T).T @ plane, "offset").rows
    return replace(net, probes=(replace(net.probes[0], rows=rows), *net.probes[1:]))


def disturbed(net, size, seed=0):
    rng = np.random.default_rng(seed)
    return replace(net, a=net.a * (1 + size * rng.standard_normal(net.a.shape)), c=net.c + size)


@pytest.mark.parametrize(("shared", "close"), [(False, 1e-4), (True, 1e-3)])
def test_blocks_and_dense_factorisation_give_the_same_newton_change(found, shared, close):
    net, ledger = found
    net = disturbed(with_shared_core(net, ledger) if shared else net, 1e-7)
    system, seen = blocks_at(net, ledger)
    blocks, dense = system.step(seen), DenseEquations(net, ledger).step()
    for mine, other in zip(blocks.own, dense.own):
        np.testing.assert_allclose(mine, other, rtol=close, atol=close * np.abs(other).max())
    np.testing.assert_allclose(blocks.shared, dense.shared, rtol=close, atol=close * np.abs(dense.shared).max())


@pytest.mark.parametrize("shared", [False, True])
def test_blocks_and_dense_factorisation_agree_on_the_errors(found, shared):
    net, ledger = found
    net = with_shared_core(net, ledger) if shared else net
    system, seen = blocks_at(net, ledger)
    blocks = system.errors(seen, np.random.default_rng(0), 400)
    dense = DenseEquations(net, ledger).errors(np.random.default_rng(1), 400)
    # Root mean squares over 400 draws have a relative standard error of 1/sqrt(800) = 3.5% each.
    for name in ("unit", "slope", "offset", "weight"):
        np.testing.assert_allclose(getattr(blocks, name), getattr(dense, name), rtol=0.25)


def test_what_only_the_trace_of_shared_rows_holds_is_open(found):
    net, ledger = found
    net = with_shared_core(net, ledger)
    rows, turning = net.probes[0].rows, at_rows(net, ledger).turning
    alone = np.isin(np.arange(len(ledger.X)), turning.rows[turning.units < 2], invert=True)
    kept = np.flatnonzero(alone | np.isin(np.arange(len(ledger.X)), rows))
    assert np.isin(np.concatenate([probe.rows for probe in net.probes[2:]]), kept).all()
    probes = [replace(probe, rows=np.searchsorted(kept, probe.rows)) for probe in net.probes[2:]]
    shared = [replace(probe, rows=np.searchsorted(kept, rows)) for probe in net.probes[:2]]  # three rows for two units
    system, seen = blocks_at(replace(net, probes=(*shared, *probes)), ledger.only(kept))
    assert system.errors(seen, np.random.default_rng(0)).relative[:2].min() > 1e-6


def test_a_unit_that_was_probed_again_keeps_the_rows_it_has(found):
    net, ledger = found
    shared = with_shared_core(net, ledger)
    again = replace(shared, probes=(replace(shared.probes[0], earlier=net.probes[0]), *net.probes[1:]))
    assert with_own_rows(again, ledger, at_rows(again, ledger).turning) is again


def test_a_unit_without_rows_of_its_own_is_asked_for_them_once(found):
    net, ledger = found
    shared, asked = with_shared_core(net, ledger), ledger.n_queries
    given = with_own_rows(shared, ledger, at_rows(shared, ledger).turning)
    assert ledger.n_queries == asked + 3
    assert [len(probe.rows) for probe in given.probes] == [6, *(len(probe.rows) for probe in net.probes[1:])]
    moving = np.abs(net.arguments(ledger.X[given.probes[0].rows[3:]])) < net.link.flat
    np.testing.assert_array_equal(moving, [[True, False, False, False]] * 3)
    assert with_own_rows(given, ledger, at_rows(given, ledger).turning) is given
    assert ledger.n_queries == asked + 3


def test_the_fit_returns_to_the_teacher_from_a_disturbed_start(found):
    net, ledger = found
    start = disturbed(net, 1e-6)
    fit = solve_jointly(start, ledger)
    assert fit.chi < 2
    truth = teacher(0)[0]
    nearest = np.abs(np.abs(truth[:, None]) - np.abs(fit.net.a[None])).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-11


def test_the_change_of_an_answer_shows_in_chi(found):
    net, ledger = found
    wrong = replace(net, c=net.c + 1e-9)
    assert solve_jointly(wrong, ledger).chi < 2  # the intercept is fitted again
    ledger_y = ledger.y
    ledger_y[5] += 1e-9
    try:
        assert solve_jointly(net, ledger).chi > 100
    finally:
        ledger_y[5] -= 1e-9


def test_a_certificate_names_what_is_wrong(found):
    net, ledger = found
    rng = np.random.default_rng(0)
    fit, errors = polish(solve_jointly(net, ledger), ledger, rng)
    assert verdict_of(fit, errors, ledger, np.zeros(3)).certified
    cases = {
        "residuals": verdict_of(replace(fit, chi=2.5), errors, ledger, np.zeros(3)),
        "fresh points": verdict_of(fit, errors, ledger, np.array([1e-6, 0.0, 0.0])),
        "error bound": verdict_of(fit, replace(errors, relative=np.full(K, 1e-8)), ledger, np.zeros(3)),
        "negligible weight": verdict_of(
            replace(fit, net=replace(net, u=np.array([1e-9, 1.0, 1.0, 1.0]))), errors, ledger, np.zeros(3)
        ),
    }
    for name, verdict in cases.items():
        assert [check.name for check in verdict.failed] == [name]
        assert verdict.failed[0].says in verdict.sentence


def test_polish_asks_nearer_the_origin_where_the_errors_are_too_large():
    # Slopes spread over 1e5 leave steep units probed far out, where their arguments are rounded coarsely.
    rng = np.random.default_rng(3)
    a = rng.standard_normal((3, 5)) * np.array([[0.003], [1.0], [300.0]])
    ledger = Ledger(Oracle(lambda X: np.tanh(X @ a.T + 0.5) @ np.array([1.0, 0.8, 0.6]), 5))
    found = Search(ledger, np.random.default_rng(0)).family("tanh")
    assert found.certified
    assert found.error_bounds.max() < 7.5e-9


def test_fresh_points_lie_where_units_are_active(found):
    net, _ = found
    points = fresh_points(net, 5, np.random.default_rng(0))
    assert (np.abs(net.arguments(points)).min(axis=1) < 3).all()


def test_the_smallest_angle_ignores_signs_and_lengths(found):
    net, _ = found
    turned = np.array([[1.0, 0, 0], [0, 1, 0], [-3.0, 1e-9, 0]])
    assert smallest_angle(replace(net, a=turned, b=np.zeros(3), u=np.ones(3))) == pytest.approx(1e-9 / 3, rel=1e-6)


def test_a_pair_that_adds_up_to_nothing_is_dropped(found):
    net, ledger = found
    ghost = net.only(np.array([True, False, False, False]))
    opposite = replace(ghost, u=-ghost.u)
    turned = replace(ghost, a=-ghost.a, b=-ghost.b)
    for extra in (opposite, turned):
        assert without_cancelling(net.with_units(extra), ledger).k == K - 1
    assert without_cancelling(net, ledger).k == K


def test_a_unit_read_where_another_one_moved_is_dropped(found):
    net, ledger = found
    assert without_missed_probes(net, ledger).k == K
    probe = net.probes[1]
    spoiled = replace(probe, answers=probe.answers + 1e-3 * np.arange(D - 2))
    probes = (net.probes[0], spoiled, *net.probes[2:])
    assert without_missed_probes(replace(net, probes=probes), ledger).k == K - 1


def test_a_constant_from_units_still_missing_is_no_reason_to_drop(found):
    net, ledger = found
    probe = net.probes[1]
    shifted = replace(probe, answers=probe.answers + 0.5)
    assert without_missed_probes(replace(net, probes=(net.probes[0], shifted, *net.probes[2:])), ledger).k == K


def test_open_parameters_have_infinite_errors(found):
    net, ledger = found
    twice = net.with_units(net.only(np.array([True, False, False, False])))
    twice = replace(twice, u=np.append(0.5 * net.u, 0.5 * net.u[0]))
    nothing = np.full(twice.k, np.nan)
    errors = parameter_errors(NetFit(twice, np.nan, nothing, nothing), ledger, np.random.default_rng(0))
    assert errors.relative.max() > 1e-3  # two copies of a unit: only their sum is settled
