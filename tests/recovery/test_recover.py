"""recover(): which method answers, budgets, several outputs, journals."""

import warnings

import numpy as np
import pytest

import gradsift as gs


def network(d=8, k=3, rng=0, m=None):
    rng = np.random.default_rng(rng)
    A, b = 2 * gs.simulate.random_units(d, k, rng=rng), rng.standard_normal(k)
    u = rng.uniform(0.4, 1.0, (k,) if m is None else (k, m))
    return A, lambda X: np.tanh(np.atleast_2d(X) @ A.T + b) @ u + 0.3


def test_a_black_box_is_identified_exactly_without_being_told_the_number_of_units():
    A, f = network()
    found = gs.recover(gs.Oracle(f, 8), random_state=0)
    assert found.certified
    assert found.n_units == 3
    assert gs.match_units(found.model.units, A).max_error < 1e-10
    assert found.n_queries - found.diagnostics["spent"]["verify"] < 3 * found.model.n_parameters


def test_a_given_number_of_units_that_is_wrong_is_contradicted():
    _, f = network()
    with pytest.warns(gs.errors.UncertifiedWarning, match="3 units where n_units=5 was given"):
        found = gs.recover(gs.Oracle(f, 8), 5, random_state=0)
    assert not found.certified


def test_every_output_of_a_network_with_several_gets_its_own_weights():
    A, f = network(m=4)
    oracle = gs.Oracle(f, 8)
    found = gs.recover(oracle, random_state=1)
    assert found.certified
    assert len(found.outputs) == oracle.n_outputs == 4
    X = np.random.default_rng(5).standard_normal((50, 8))
    together = np.column_stack([model.predict(X) for model in found.outputs])
    np.testing.assert_allclose(together, f(X), atol=1e-10)
    assert gs.match_units(found.outputs[2].units, A).max_error < 1e-10
    assert found.diagnostics["largest_output_misfit"] < 1e-10


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_a_budget_is_never_overspent_and_the_oracle_s_own_is_left_alone(method):
    _, f = network()
    oracle = gs.Oracle(f, 8, max_queries=1000)
    with pytest.raises(gs.errors.BudgetSpent):
        gs.recover(oracle, 3, method=method, random_state=0, max_queries=30)
    assert oracle.n_queries <= 30
    assert oracle.max_queries == 1000


def test_a_journaled_campaign_without_a_seed_resumes_by_itself(tmp_path):
    _, f = network()
    path = tmp_path / "campaign.db"
    first = gs.recover(gs.Oracle(f, 8, journal=path))
    again = gs.Oracle(f, 8, journal=path)
    second = gs.recover(again)
    assert again.n_queries == again.n_rechecked == 12
    assert second.model == first.model
    assert second.n_queries == first.n_queries


def test_a_noisy_black_box_is_recognised_and_identified_to_the_accuracy_asked_for():
    A, f = network(d=6, k=2, rng=3)
    noise = np.random.default_rng(11)
    box = gs.Oracle(lambda X: f(X) + 0.1 * noise.standard_normal(len(X)), 6)
    found = gs.recover(box, random_state=0, accuracy=0.1)
    assert found.n_units == 2
    assert gs.match_units(found.model.units, A).max_error < 0.1
    assert "noise" in found.diagnostics["answers"]


def test_a_box_is_never_left():
    A, f = network(d=6, k=2, rng=3)
    asked = []

    def watched(X):
        asked.append(np.abs(X).max())
        return f(X)

    found = gs.recover(gs.Oracle(watched, 6, bounds=(-5, 5)), random_state=0)
    assert max(asked) <= 5
    assert gs.match_units(found.model.units, A).max_error < 1e-7


@pytest.mark.parametrize("kind", ["exact", "float32", "rounded", "noise", "labels", "bounds", "noise in bounds"])
def test_no_activation_and_auto_mean_the_same(kind):
    def box():
        f, noise = network(4, 2, rng=3)[1], np.random.default_rng(9)
        answers = {
            "float32": lambda X: f(X).astype(np.float32),
            "rounded": lambda X: np.round(f(X), 4),
            "labels": lambda X: np.where(2 * noise.random(len(X)) < 1 + 0.5 * f(X), 1.0, -1.0),
        }
        plain = answers.get(kind, f)
        sd = 0.05 if kind.startswith("noise") else 0.0
        return gs.Oracle(
            lambda X: plain(X) + sd * noise.standard_normal(len(X)) if sd else plain(X), 4,
            bounds=(-3, 3) if "bounds" in kind else None, max_queries=1500,
        )  # fmt: skip

    def outcome(activation):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
            try:
                found = gs.recover(box(), activation=activation, random_state=0)
            except gs.errors.GradsiftError as refused:
                return str(refused)
        return found.verdict, found.n_queries

    assert outcome(None) == outcome("auto")


def test_a_table_is_fitted_with_standard_errors_and_the_number_of_units():
    truth = gs.simulate.random_combination(5, 2, slope=3.0, min_singular_value=0.8, rng=3)
    found = gs.recover(truth.sample(3000, 0.2, rng=4), random_state=0)
    assert found.n_units == 2
    match = gs.match_units(found.model.units, truth.units)
    assert match.max_error < 0.1
    angles = found.standard_errors["units"]
    assert (match.errors[np.argsort(match.order)] < 5 * angles * np.sqrt(5)).all()
    assert found.diagnostics["n_passes"] >= 1
    assert "unit" in found.summary()


def test_the_steps_of_a_black_box_add_up_to_its_queries():
    truth = gs.simulate.random_combination(4, 2, slope=2.0, rng=1)
    for oracle in (gs.Oracle(truth.predict, 4), gs.Oracle(truth.predict, 4, bounds=(-2.0, 2.0))):
        found = gs.recover(oracle, random_state=0)
        assert sum(found.diagnostics["spent"].values()) == found.n_queries == oracle.n_queries


def test_progress_reports_reach_a_function():
    _, f = network()
    stages = []
    gs.recover(gs.Oracle(f, 8), random_state=0, progress=lambda stage, done, total: stages.append(stage))
    assert len(set(stages)) > 2
    truth = gs.simulate.random_combination(4, 2, slope=3.0, rng=3)
    stages.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        gs.recover(truth.sample(1000, 0.2, rng=4), 2, random_state=0, progress=lambda *r: stages.append(r[0]))
    assert stages
