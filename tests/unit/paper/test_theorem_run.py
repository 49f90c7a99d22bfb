"""Theorem 1 carried out: its sizes, its promises, its refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gradsift.cli.app import app
from gradsift.errors import NotIdentifiable
from gradsift.paper.method.theorem_run import run_theorem, teacher_of
from gradsift.paper.theory import Problem, plan

SMALL = Problem(2, 2, 5.0, 1.0, 0.5)


@pytest.mark.paper("maintheorem")
def test_a_run_asks_for_the_plan_s_queries_and_keeps_every_promise():
    # 4.0e6 queries of labels, seed 2.
    run = run_theorem(SMALL, delta=0.3, rho=0.9, labels=True, seed=2)
    sizes = plan(SMALL, delta=0.3, rho=0.9, form="exact")
    assert run.n_queries == np.ceil(float(sizes.m0)) * np.ceil(float(sizes.n0))
    assert run.holds
    # A threshold twice as high would keep no more than half as many; twelve are within reach of w0.
    within = {claim.what: claim.measured for claim in run.report.claims}
    kept = within["unit 1: candidates at least"] + within["unit 2: candidates at least"]
    assert kept + within["spurious candidates at most"] == run.n_candidates
    assert within["unit 1: distance at most"] < 0.2


def test_the_teacher_has_exactly_the_constants_of_the_problem():
    model = teacher_of(Problem(6, 3, 1.5, 0.4, 0.2), np.random.default_rng(1))
    assert np.linalg.svd(model.units)[1][-1] == pytest.approx(0.4)
    np.testing.assert_allclose(np.abs(model.weights), 0.2)
    np.testing.assert_allclose(model.slopes, 1.5)


def test_a_plan_out_of_reach_is_refused_before_anything_is_asked():
    with pytest.raises(NotIdentifiable, match="raise delta or rho"):
        run_theorem(Problem(3, 2, 1.0, 1.0, 0.5), delta=0.01, rho=0.5)


def test_the_command_prints_sizes_and_promises():
    arguments = ["paper", "run", "--d", "2", "--beta", "5", "--delta", "0.3", "--rho", "0.9", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["holds"]
    assert told["n_queries"] == pytest.approx(told["sizes"]["n"], rel=0.01)
    bad = CliRunner().invoke(app, ["paper", "run", "--form", "printed"])
    assert "must be exact or tight" in str(bad.exception)
