"""`gradsift paper verify` covers every lemma and theorem, and fails on the forms as printed."""

import json

import pytest
from typer.testing import CliRunner

from gradsift.cli.app import app
from gradsift.paper.statements import STATEMENTS
from gradsift.paper.theory import verify


@pytest.fixture(scope="module")
def report():
    run = CliRunner().invoke(app, ["paper", "verify", "--json"])
    return run.exit_code, json.loads(run.output)


def test_everything_holds(report):
    code, rows = report
    assert code == 0
    assert [row["label"] for row in rows if not row["holds"]] == []


def test_every_labelled_statement_is_listed_once_with_a_check_of_its_own(report):
    rows = report[1]
    assert [row["label"] for row in rows] == list(STATEMENTS)
    for row in rows:
        assert row["parts"], row["label"]
        assert {part["label"] for part in row["parts"]} == {row["label"]}


def test_no_check_stands_in_for_a_neighbour(report):
    claims = [(part["label"], part["claim"]) for row in report[1] for part in row["parts"]]
    assert len(claims) == len(set(claims))
    groups = {"expectations", "zexpuexp", "sexpvexp", "bounds", "zboundubound", "sboundvbound", "deltaprime"}
    functions = {}
    for label, held in verify.checks().items():
        for check in held:
            name = getattr(check, "func", check).__name__
            assert functions.setdefault(name, label) == label or label in groups or name.startswith("check_t"), name


def test_both_theorems_are_watched_on_runs_for_two_and_three_units(report):
    claims = {(part["label"], part["claim"]) for row in report[1] for part in row["parts"]}
    for label in ("maintheorem", "dimredtheorem"):
        for k in (2, 3):
            assert (label, f"runs that break a promise, k = {k}") in claims
    assert any(label == "maintheorem" and claim.startswith("promises of a run") for label, claim in claims)
    assert ("dimredtheorem", "promises broken, subspace from rows") in claims


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

    from gradsift.paper.theory.bounds import VARIANCE_PROXY

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
