"""What labels tell of their mean, and whether the function is that mean."""

import numpy as np
import pytest
from scipy.special import bdtrc, ndtr

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.certificate import LABELS
from gradsift.certificate import noise_rules as imperfect
from gradsift.fit import fit_jointly, from_model
from gradsift.likelihood import Noise
from gradsift.reading.noise.bias import Replies
from gradsift.reading.noise.label_mean import with_free_link
from gradsift.reading.noise.state import JointFit


def majority_of_seven(r):
    return bdtrc(3, 7, 0.5 * (1 + r))


def probit(r):
    return ndtr(2 * r)


def drawn(r):
    return 0.5 * (1 + r)


def read(chance, seed, **options):
    """Recover two units behind labels drawn with `chance` of their sum; return also how far the mean is off."""
    rng = np.random.default_rng([91, seed, 2, 10])
    units = rng.standard_normal((2, 10))
    weights = rng.choice([-1.0, 1.0], 2) * rng.uniform(0.3, 1, 2)
    truth = gs.SigmoidCombination(units / np.linalg.norm(units, axis=1, keepdims=True), weights / np.abs(weights).sum(),
                                  np.exp(rng.uniform(0, np.log(3), 2)), 0.5 * rng.standard_normal(2))  # fmt: skip

    def function(X):
        return np.where(rng.random(len(X)) < chance(truth.predict(X)), 1.0, -1.0)

    found = gs.recover(gs.Oracle(function, 10, max_queries=20_000), activation="tanh", random_state=seed, **options)
    X = rng.standard_normal((2000, 10))
    return found, np.abs(found.model.predict(X) - 2 * chance(truth.predict(X)) + 1)


@pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")
@pytest.mark.parametrize(("chance", "seed"), [(majority_of_seven, 1), (majority_of_seven, 2), (probit, 1), (probit, 2)])
def test_labels_behind_a_link_are_not_certified_with_the_function_as_their_mean(chance, seed):
    found, _ = read(chance, seed, accuracy=0.2)
    assert not found.certified
    assert {"label link", "known mean"} & {check.name for check in found.judgement.failed}
    assert "log-odds" in found.verdict


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_certificate_of_labels_says_how_well_their_mean_is_known(seed):
    found, off = read(drawn, seed, accuracy=0.1)
    assert found.certified, found.verdict
    known = found.diagnostics["known_mean"]
    assert known <= LABELS.known_mean
    assert f"the mean is known to {known:.2g} at usual inputs" in found.verdict
    assert np.mean(off > known) < 0.05
    assert found.verification.known == known


def test_what_labels_do_not_tell_is_counted_and_said():
    unclear = imperfect.known_mean(imperfect.KnownMean(0.4, -1.0), LABELS, 0.1)
    assert "link" in unclear.says
    assert "accuracy=0.06" in unclear.advice
    assert "link" not in imperfect.known_mean(imperfect.KnownMean(0.4, -9.0), LABELS, 0.1).says


def link_score(chance, seed):
    """Return how surely the link bends, in standard errors, for 4,000 labels at random inputs."""
    rng = np.random.default_rng([92, seed])
    truth = gs.simulate.random_combination(3, 2, slope=1.5, mixture=True, rng=rng)
    X = 2 * rng.standard_normal((4000, 3))
    y = np.where(rng.random(len(X)) < chance(truth.predict(X)), 1.0, -1.0)
    noise, g = Noise(sd=1.0, labels=True), get_activation("tanh")
    fitted = fit_jointly(from_model(truth), X, y, noise, g)
    joint = JointFit(fitted, Replies(X, y, np.zeros(len(X), dtype=bool)), noise, g, biased=False)
    return with_free_link(joint, X[:200])[1]


def test_the_score_of_a_bent_link_is_standard_normal_for_draws_and_large_for_majorities():
    draws = np.array([link_score(drawn, seed) for seed in range(24)])
    assert abs(draws.mean()) < 4 / np.sqrt(24)  # four standard errors
    assert 0.4 < draws.std() < 1.8  # 24 draws, four standard errors of about .15
    majorities = [link_score(majority_of_seven, seed) for seed in range(6)]
    assert np.median(majorities) > 3.2
