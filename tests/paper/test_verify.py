"""`gradsift paper verify` covers every lemma and theorem, and fails on the forms as printed."""

import json

import pytest
from typer.testing import CliRunner

from gradsift.cli.app import app
from gradsift.paper.statements import STATEMENTS
from gradsift.theory import verify


@pytest.fixture(scope="module")
def report():
    run = CliRunner().invoke(app, ["paper", "verify", "--json"])
    return run.exit_code, json.loads(run.output)


def test_everything_holds(report):
    code, checks = report
    assert code == 0
    assert [c["label"] for c in checks if not c["holds"]] == []


def test_every_lemma_and_theorem_is_covered(report):
    checked = {c["label"] for c in report[1]}
    formal = {s.label for s in STATEMENTS.values() if s.kind in ("lemma", "theorem", "corollary")}
    for label in formal:
        assert set(verify.COVERED_BY.get(label, (label,))) <= checked, label
    assert checked <= set(STATEMENTS)


def test_both_theorems_are_watched_on_runs_for_two_and_three_units(report):
    claims = {(c["label"], c["claim"]) for c in report[1]}
    for label in ("maintheorem", "dimredtheorem"):
        for k in (2, 3):
            assert (label, f"runs that break a promise, k = {k}") in claims


def test_every_printed_form_fails_and_the_command_says_so():
    run = CliRunner().invoke(app, ["paper", "verify", "--printed"])
    assert run.exit_code == 1
    assert f"0 of {len(verify.printed_checks())} hold." in run.output
    assert "FAILS gamma" in run.output
    assert "ok " not in run.output


@pytest.mark.paper("voebound")
def test_the_variance_proxy_is_the_maximum_of_its_explicit_function():
    # sup over lambda > 0 and thresholds r of 1 + 2 (log(1 + A) - lambda m) / lambda^2; see the derivation page.
    import numpy as np
    from scipy.stats import norm

    from gradsift.theory.bounds import VARIANCE_PROXY

    t, r = np.meshgrid(np.linspace(0.05, 12, 600), np.linspace(0, 15, 751), indexing="ij")
    cut = norm.cdf(r - t) - norm.cdf(-t) - norm.cdf(r + t) + norm.cdf(t)
    A = 2 * norm.cdf(t) - 1 - 2 * cut
    m = np.sqrt(2 / np.pi) - 4 * (norm.pdf(0) - norm.pdf(r))
    assert 1.6085 < (1 + 2 * (np.log1p(A) - t * m) / t**2).max() < VARIANCE_PROXY
    # The closed forms by Monte Carlo at one place: n = 1,000,000, seed 9, four standard errors.
    z = np.abs(np.random.default_rng(9).standard_normal(1_000_000))
    y = np.where(z > 2.0, 1.0, -1.0)
    i = (np.abs(t[:, 0] - 1.5).argmin(), np.abs(r[0] - 2.0).argmin())
    lam = t[i]
    sample = y * np.sinh(lam * z) * np.exp(-(lam**2) / 2)
    assert A[i] == pytest.approx(sample.mean(), abs=4 * sample.std() / 1000)
    assert m[i] == pytest.approx((y * z).mean(), abs=4 * (y * z).std() / 1000)
