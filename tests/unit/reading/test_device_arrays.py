"""Large arrays: on a device as in memory, threads, probes at a glance, and units that are left to another plane."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import gradsift as gs
from gradsift.geometry import orthonormal_rows
from gradsift.reading import in_plane as plane
from gradsift.reading.device_arrays import IN_MEMORY, TorchArrays
from gradsift.reading.ledger import Ledger
from gradsift.reading.odd_form import Net, link_of
from gradsift.reading.plane_frame import frame_through
from gradsift.reading.plateaus import joint_fit as joint
from gradsift.reading.plateaus.plateau_certificate import _mirror_point
from gradsift.reading.plateaus.search import Search
from gradsift.reading.plateaus.search_stages import SearchState
from gradsift.reading.probe import StepsAcross, placed
from gradsift.runtime import all_threads, one_thread

torch = pytest.importorskip("torch")
D, K = 40, 14  # 589 unknowns: solved in blocks


def teacher(d=D, k=K, seed=0):
    rng = np.random.default_rng(seed)
    return gs.SigmoidCombination(
        rng.standard_normal((k, d)), rng.uniform(0.3, 1, k), rng.uniform(1, 2, k), rng.standard_normal(k), 0.2
    )


def module(truth):
    d, k = truth.units.shape[1], len(truth.weights)
    net = torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Tanh(), torch.nn.Linear(k, 1)).double()
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor(truth.units * truth.slopes[:, None]))
        net[0].bias.copy_(torch.tensor(truth.offsets))
        net[2].weight.copy_(torch.tensor(truth.weights[None]))
        net[2].bias.fill_(float(truth.intercept))
    return net


def oracle_there(truth, **options):
    """An oracle whose questions stay tensors, as on an accelerator."""
    oracle = gs.oracle.from_torch(module(truth), **options)
    oracle.function.device = torch.device("cpu")
    return oracle


def test_what_numpy_and_torch_spell_differently_is_the_same():
    rng, there = np.random.default_rng(0), TorchArrays(torch.device("cpu"))
    rows = rng.standard_normal((7, 5))
    square, mask, numbers = rows.T @ rows, rows > 0.5, np.array([1, 1, 4, 0, 2, 2, 1])

    def several(xp, squares, right):
        factors = xp.cholesky(squares)
        return factors, xp.divide_lower(factors, right), xp.divide_lower(factors, right, transposed=True)

    def each(xp):
        x, s, sums = xp.put(rows), xp.put(square), xp.zeros(5, 5)
        factor = xp.cholesky(xp.put(square.copy()))
        xp.add_rows(sums, xp.put(numbers), x)
        q, r = xp.qr(x)
        return [
            xp.widest(x), xp.spans(x), xp.lengths(x), xp.columns_lengths(x), *xp.where(xp.put(mask)), sums, factor,
            xp.divide_lower(factor, x.T), xp.divide_lower(factor, x.T, transposed=True), q @ r, xp.sign(x),
            xp.solve(s, x.T), xp.join([x, x], axis=1), xp.numbers(3), xp.stack([x, x]), xp.contiguous(x.T),
            *several(xp, xp.stack([s, 2 * s]), xp.stack([x.T, x.T])),
        ]  # fmt: skip

    for mine, other in zip(each(IN_MEMORY), each(there)):
        np.testing.assert_allclose(mine, there.get(other), atol=1e-13)
    with pytest.raises(np.linalg.LinAlgError):
        there.cholesky(there.put(-square))


def test_a_run_beside_the_box_asks_and_finds_what_one_in_memory_does():
    truth = teacher()
    in_memory = gs.recover(gs.oracle.from_torch(module(truth)), random_state=3)
    oracle = oracle_there(truth)
    there = gs.recover(oracle, random_state=3)
    assert there.certified
    assert there.n_queries == in_memory.n_queries == oracle.n_queries
    np.testing.assert_allclose(there.model.units, in_memory.model.units, atol=1e-11)
    np.testing.assert_allclose(there.model.units, truth.canonical().units, atol=1e-10)


def test_questions_stay_beside_the_box_only_where_nothing_else_wants_them(tmp_path):
    truth = teacher(4, 2)

    def device(**options):
        oracle = oracle_there(truth, **options)
        assert oracle.device is None  # before the first answer nobody knows how many outputs there are
        oracle(np.zeros((1, 4)))
        return oracle.device

    assert device() == torch.device("cpu")
    for options in ({"journal": tmp_path / "j"}, {"bounds": (-1, 1)}, {"batch_size": 5}, {"remember": True}):
        assert device(**options) is None
    single = gs.oracle.from_torch(module(truth).float())
    assert single.function.device is None
    assert gs.oracle.from_torch(module(truth)).function.device is None  # no accelerator


def test_a_box_that_answers_nan_there_names_the_input():
    class Broken(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module(teacher(4, 2))

        def forward(self, x):
            return torch.where(x[:, 0] > 50, torch.nan, self.inner(x)[:, 0])

    oracle = gs.oracle.from_torch(Broken(), n_features=4, retry=gs.oracle.Retry(attempts=1))
    oracle.function.device = torch.device("cpu")
    oracle(np.zeros((1, 4)))
    with pytest.raises(gs.errors.OracleFailure, match="NaN"):
        oracle.ask_on_device(torch.tensor([[0.0, 0, 0, 0], [60.0, 1, 2, 3]], dtype=torch.float64))
    assert oracle.ask_on_device(torch.zeros(3, 4, dtype=torch.float64)).shape == (3,)


def test_budgets_hold_beside_the_box_too():
    with pytest.raises(gs.errors.BudgetSpent):
        gs.recover(oracle_there(teacher(), max_queries=200), random_state=0)


def test_a_step_across_the_plane_needs_no_basis():
    rng = np.random.default_rng(1)
    frame = frame_through(*orthonormal_rows(2, 9, rng))
    bases, steps, numbers = rng.standard_normal((3, 9)), rng.standard_normal(5), np.array([0, 3, 6, 2, 2])
    who = np.array([0, 2, 1, 1, 0])
    slow = bases[who] + steps[:, None] * frame.across(numbers)
    np.testing.assert_allclose(frame.step_from(bases, who, numbers, steps), slow, atol=1e-14)


@pytest.mark.parametrize("linear", [None, np.linspace(-1, 1, 9)])
def test_what_a_network_says_after_a_step_is_what_it_says_there(linear):
    rng = np.random.default_rng(2)
    frame = frame_through(*orthonormal_rows(2, 9, rng))
    net = Net(link_of("tanh"), *(rng.standard_normal(n) for n in ((4, 9), 4, 4)), 0.3, (None,) * 4, linear)
    bases, who, numbers = rng.standard_normal((3, 9)), np.array([0, 2, 1, 1, 0]), np.array([0, 3, 6, 2, 2])
    steps = rng.standard_normal(5)
    after = StepsAcross(placed(net, IN_MEMORY), frame, bases, IN_MEMORY)
    rows = after.points(who, numbers, steps)
    np.testing.assert_allclose(after.values(who, numbers, steps, rows), net.predict(rows), atol=1e-13)


def threads():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def test_small_steps_take_one_thread_and_boxes_all():
    with threadpool_limits(2, user_api="blas"):
        outside = threads()
        with one_thread():
            assert threads() == 1
            with all_threads():
                assert threads() == outside
            assert threads() == 1
        assert threads() == outside


def test_callers_that_overlap_leave_as_many_threads_as_they_found():
    entered, may_leave = Event(), Event()

    def other():
        with one_thread():
            entered.set()
            assert may_leave.wait(60)
            with all_threads():
                pass

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        with one_thread(), all_threads():  # the other comes while this one uses all
            second = pool.submit(other)
            assert entered.wait(60)
        may_leave.set()
        second.result(60)
        assert threads() == 2


@pytest.mark.parametrize(
    ("n_known", "n_steps", "few"),
    [(150, 0, False), (150, 1, True), (150, 15, False), (50, 1, False)],
)
def test_a_circle_that_shows_a_few_more_steps_beside_many_units_is_not_idle(n_known, n_steps, few):
    nothing = np.zeros((n_known, D)), *np.zeros((2, n_known))
    known = Net(link_of("tanh"), *nothing, 0.0, (None,) * n_known)
    scan = SimpleNamespace(steps=(None,) * n_steps, unresolved=np.empty((0, 2)))
    assert SearchState(known, scans=(scan,)).few_left == few


def test_equations_are_factored_once_near_the_solution(monkeypatch):
    built = []

    class Counted(joint.BlockEquations):
        def __init__(self, seen, replies):
            built.append(1)
            super().__init__(seen, replies)

    ledger = Ledger(gs.Oracle(teacher().predict, D))
    search = Search(ledger, np.random.default_rng(0))
    assert search.family("tanh").certified
    monkeypatch.setattr(joint, "BlockEquations", Counted)
    net = replace(search.known, a=search.known.a * (1 + 1e-10))
    fit = joint.solve_jointly(net, ledger)
    assert fit.chi < 2
    assert len(built) == 1
    again = joint.parameter_errors(fit, ledger, np.random.default_rng(0))
    assert len(built) == 1  # the bound needs no other ones
    fresh = joint.parameter_errors(replace(fit, factored=None), ledger, np.random.default_rng(0))
    np.testing.assert_allclose(again.relative, fresh.relative, rtol=1e-3)
    joint.solve_jointly(replace(net, a=net.a * (1 + 1e-4)), ledger)
    assert len(built) > 3  # far from it, one system does not do


def test_the_other_side_of_the_foot_settles_an_offset():
    ledger = Ledger(gs.Oracle(teacher().predict, D))
    search = Search(ledger, np.random.default_rng(0))
    search.family("tanh")
    fit = joint.solve_jointly(search.known, ledger)
    before = joint.parameter_errors(fit, ledger, np.random.default_rng(1)).offset
    unit = int(np.argmax(before))
    probe = fit.net.probes[unit]
    point = _mirror_point(fit.net, unit, probe, ledger)
    assert abs(fit.net.a[unit] @ point + fit.net.b[unit]) < 1e-6
    ledger.ask(point[None], "polish")
    assert _mirror_point(fit.net, unit, probe, ledger) is None  # once is enough
    after = joint.parameter_errors(joint.solve_jointly(fit.net, ledger), ledger, np.random.default_rng(1)).offset
    assert after[unit] < 0.8 * before[unit]


def test_units_that_stand_alone_only_far_out_are_left_to_another_plane(monkeypatch):
    truth = teacher(12, 9, seed=4)
    ledger = Ledger(gs.Oracle(truth.predict, 12))
    usual = Search(ledger, np.random.default_rng(2)).family("tanh")
    assert len(usual.diagnostics["notes"]) == 0
    wary = replace(plane.UNITS, many=1, worth_another=1, coarse=4e-14)
    monkeypatch.setattr(plane, "UNITS", wary)
    search = Search(Ledger(gs.Oracle(truth.predict, 12)), np.random.default_rng(2))
    found = search.family("tanh")
    assert found.certified
    assert len(search.state.scans) > usual.diagnostics["attempts"]
    first = {round(abs(float(step.weight)), 6) for step in search.state.scans[0].steps}
    assert {
        round(abs(float(step.weight)), 6) for step in search.state.scans[1].steps
    } < first  # only those that were left
