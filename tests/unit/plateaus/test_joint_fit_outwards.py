"""Fits from near rows to far ones, where the last digits of a unit decide on which side of it a row is."""

from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.certificate import EXACT
from gradsift.reading.ledger import Ledger
from gradsift.reading.odd_form import empty_net, link_of
from gradsift.reading.plateaus.joint_fit import NetFit, _within_reach, solve_jointly
from gradsift.reading.plateaus.large.equations import Changes, compare, replies_to
from gradsift.reading.plateaus.large.suspects import solve_outwards, suspects, unit_errors, within_unit_errors
from gradsift.reading.plateaus.search import Search
from gradsift.reading.plateaus.search_stages import CircleOutcome, SearchState, drop_suspects

ERROR, FAR = 3e-9, 1e10  # the first times the second is an argument of some 30


def found_net(d, k, seed):
    """Return a network as it was found, and the ledger of its search, whose answers the teacher gives."""
    truth = gs.simulate.random_combination(d, k, slope=2.0, rng=np.random.default_rng([seed, 1]))
    search = Search(Ledger(gs.Oracle(truth.predict, d)), np.random.default_rng([seed, 2]))
    search.family("tanh")
    return search.known, search.ledger


def ask_far_out(net, ledger, seed):
    """Ask at a distance of 1e10 and of 1e8 on the hyperplane of every unit, and return the rows' numbers."""
    rng, rows = np.random.default_rng([seed, 3]), []
    for a, b in zip(net.a, net.b):
        along = rng.standard_normal(len(a))
        along -= (along @ a) / (a @ a) * a
        rows += [r * along / np.linalg.norm(along) + (rng.uniform(-1, 1) - b) / (a @ a) * a for r in (FAR, FAR / 100)]
    return ledger.ask_rows(np.array(rows), "scan").rows


def blurred(net, seed):
    """Change every coordinate of every unit by about 3e-9 of the unit's length."""
    rng = np.random.default_rng([seed, 4])
    sizes = ERROR * np.linalg.norm(net.a, axis=1, keepdims=True)
    return replace(net, a=net.a + sizes * rng.standard_normal(net.a.shape))


def missed_by(net, ledger):
    return np.abs(ledger.y - net.predict(ledger.X)) > 1e-3


@pytest.mark.parametrize(("d", "k"), [(6, 4), (60, 9)])  # factored as one, and in blocks
def test_far_rows_that_tiny_errors_turn_over_are_met_after_nearer_ones(d, k):
    net, ledger = found_net(d, k, seed=1)
    far, start = ask_far_out(net, ledger, seed=1), blurred(net, seed=1)
    stuck = solve_jointly(start, ledger)
    assert stuck.chi > 1e6
    off = missed_by(start, ledger)
    assert off[far].any()
    assert within_unit_errors(start, ledger, off)[off].all()
    assert unit_errors(start, ledger, off).max() < 1e-6
    fit = solve_outwards(stuck, ledger, off)
    assert fit.chi < EXACT.residuals
    assert fit.row_chi[far].max() < EXACT.residuals
    assert not ledger.aside
    np.testing.assert_allclose(fit.net.a, net.a, atol=1e-9)


def test_a_missing_unit_is_no_matter_of_last_digits():
    net, ledger = found_net(6, 4, seed=3)
    ask_far_out(net, ledger, seed=3)
    start = blurred(net.only(np.arange(4) != 2), seed=3)
    off = missed_by(start, ledger)
    assert not within_unit_errors(start, ledger, off)[off].all()
    fit = solve_outwards(solve_jointly(start, ledger), ledger, off)
    assert fit.chi > 1e6
    assert not ledger.aside


def test_one_badly_read_unit_of_many_is_suspected_with_few_others():
    net, ledger = found_net(12, 110, seed=4)
    a = net.a.copy()
    a[7] *= 1.5
    start = replace(net, a=a)
    fit = solve_jointly(start, ledger)
    assert fit.chi > 1e6
    left = fit.net.only(~suspects(fit, ledger, EXACT.residuals))
    assert 100 <= left.k < 110
    assert fit.net.u[7] not in left.u


@pytest.mark.parametrize(("chi", "as_read"), [(1e8, True), (300.0, False)])
def test_a_fit_that_misses_by_more_than_reading_does_changes_no_unit(chi, as_read):
    net, ledger = found_net(12, 110, seed=4)
    search, moved = Search(ledger, np.random.default_rng(0)), blurred(net, seed=5)
    out_of_reach = np.arange(110) == 7
    fit = NetFit(moved, chi, np.zeros(len(ledger.X)), np.zeros(110), out_of_reach=out_of_reach)
    left = search.after_a_misfit(net, fit, 0)
    np.testing.assert_array_equal(left.a, np.delete(net.a if as_read else moved.a, 7, axis=0))


def test_only_the_unit_that_would_leave_its_rows_is_held_back_and_dropped():
    net, ledger = found_net(12, 110, seed=4)
    own = 1e-12 * np.random.default_rng(5).standard_normal((110, 13))
    own[7] += np.append(net.a[7], net.b[7])  # twice as steep: on the rows where it bends arguments change by up to 18
    replies = replies_to(net, ledger)
    change, out_of_reach = _within_reach(Changes(own[:, :, None], np.zeros((111, 1))), compare(net, replies), replies)
    assert np.flatnonzero(out_of_reach).tolist() == [7]
    np.testing.assert_array_equal(np.delete(change.own, 7, axis=0)[:, :, 0], np.delete(own, 7, axis=0))
    before = net.arguments(ledger.X)[:, 7]
    moved = ledger.X @ change.own[7, :-1, 0] + change.own[7, -1, 0]
    assert 0.5 < np.abs(moved[np.abs(before) < net.link.flat]).max() <= 1.0 + 1e-9
    fit = NetFit(net, 1e6, np.zeros(len(ledger.X)), np.zeros(110), out_of_reach=out_of_reach)
    assert fit.few_out_of_reach
    assert suspects(fit, ledger, EXACT.residuals).sum() == fit.net.k - 109
    assert not replace(fit, out_of_reach=np.ones(110, dtype=bool)).few_out_of_reach


def test_the_one_unit_that_was_misread_is_dropped_before_all_are_fitted_and_none_for_its_last_digits():
    d, k = 12, 100  # so many that a joint fit cannot tell who spoils it
    truth = gs.simulate.random_combination(d, k, slope=2.0, rng=np.random.default_rng([6, 1]))
    search = Search(Ledger(gs.Oracle(truth.predict, d)), np.random.default_rng([6, 2]))
    net = replace(
        empty_net(link_of("tanh"), d, float(truth.intercept)),
        a=truth.units * truth.slopes[:, None], b=truth.offsets, u=truth.weights, probes=(None,) * k,
    )  # fmt: skip
    ask_far_out(net, search.ledger, seed=6)
    for error, left in ((1e-11, 100), (1e-6, 99)):
        a = net.a.copy()
        a[17] += error * np.linalg.norm(a[17]) * np.random.default_rng([6, 5]).standard_normal(d)
        state, outcome = drop_suspects(SearchState(replace(net, a=a)), search)
        assert outcome is (CircleOutcome.AGAIN if left < k else CircleOutcome.DONE)
        assert (state.known.k, state.n_reread) == (left, k - left)
    assert not (state.known.u == net.u[17]).any()
