"""Recoveries for the report's tests: made up, one of each kind, so that every figure and sentence has a turn."""

import numpy as np

import gradsift as gs
from gradsift.certificate import EXACT, Check, Evidence, Verdict, table_rules
from gradsift.certificate import exact_rules as exact
from gradsift.certificate import shared_rules as shared
from gradsift.recovery import Recovery

UNCHECKED = Verdict((), "some units", "")
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "ünïcödé 中文 \u202e",
    "</script><b>",
    "$x_{$",
    "=1+1",
    "{{ 7*7 }}",
]


def black_box(d=5, k=4):
    """What the exact pipeline returns: a scan, queries by step, tiny errors."""
    model = gs.simulate.random_combination(d, k, slope=2.0, offsets=True, rng=5).canonical()
    angles = np.linspace(0.0, np.pi, 60)
    circle = np.zeros((60, d))
    circle[:, 0], circle[:, 1] = 80 * np.cos(angles), 80 * np.sin(angles)
    return Recovery(
        gs.Network.of(model),
        Verdict(
            (
                exact.residuals(0.8, 75, EXACT),
                exact.fresh_answers(3, 1e-14, relative=True, limits=EXACT),
                exact.error_bound(3e-12, EXACT),
            ),
            f"{k} units found",
            f"all 75 answers agree with {k} units",
        ),
        Evidence(
            errors={name: np.full(k, 3e-13) for name in ("units", "weights", "slopes", "offsets")},
            spent={"rays": 16, "scan": 27, "probe": 21, "polish": 4, "fresh": 3, "check": 4},
            notes={
                "chi": 0.8, "attempts": 2, "smallest_angle": 0.7, "notes": [], "angles": angles,
                "values": model.predict(circle),
            },
        ),
    )  # fmt: skip


def paper(d=3):
    """What the paper's method returns: candidates, doubts, no certificate."""
    model = gs.simulate.random_combination(d, 3, slope=3.0, min_singular_value=0.8, signed=False, rng=2)
    rng = np.random.default_rng(4)
    with_noise = gs.Oracle(lambda X: model.predict(X) + 0.02 * rng.standard_normal(len(X)), d)
    found = gs.generate_candidates(
        gs.OracleGradients(200), with_noise, n_points=600, point_scale=8.0, min_norm=0.3, rng=1
    )
    facts = {"access": "oracle", "median_support": 12.0, "mean_cosine": 0.82, "n_contradicted": 1}
    facts |= {
        "mirror_eigenvalues": [1.0, 0.6, 0.1],
        "mirror_noise_edge": 0.2,
        "largest_mean": 0.3,
        "covariance_off": 0.1,
    }
    return Recovery(
        gs.Network.of(model.canonical()),
        Verdict(
            (
                shared.not_certified(),
                shared.support(12.0),
                shared.scatter(0.82),
                shared.weight_signs(1),
                shared.slope_in_range(False, 3.0),
                shared.gaussian_rows(0.1, 0.3),
            ),
            "the paper's method returns 3 units from few candidates",
            "",
        ),
        Evidence(errors={"weights": np.array([0.01, 0.02, 0.03])}, spent={"paper's method": 120_000}, notes=facts),
        candidates=found,
    )


def table(d=4, hostile=False):
    """What a fit to rows returns: tests, rivals, a BIC path."""
    model = gs.simulate.random_combination(d, 2, slope=3.0, signed=False, rng=8).canonical()
    facts = {"p_better": 0.4, "hits": 3, "gap": 55.0, "over_constant": 812.0, "over_linear": 90.0}
    facts |= {
        "over_one": 60.0,
        "over_fewer": 60.0,
        "converged": True,
        "n_flat": 0,
        "n_rows": 3000,
        "bic_path": {1: 900.0, 2: 120.0, 3: 131.5},
    }
    hostile_check = ()
    if hostile:
        facts["<img src=x onerror=alert(1)>"] = "<b>&\"'"
        hostile_check = (Check("<i>", 0, 1, "<script>alert(3)</script> <b>holds</b>", "<img src=x>"),)
    return Recovery(
        gs.Network.of(model),
        Verdict(
            (
                table_rules.simpler_models(812.0, 90.0, 60.0, 60.0),
                table_rules.further_unit(0.4),
                table_rules.rival_optimum(55.0, 3),
                *hostile_check,
            ),
            "2 units fitted",
            "2 units <script>alert(2)</script>" if hostile else "2 units",
        ),
        Evidence(
            errors={
                "units": np.full((2, d), 0.004), "angles": np.array([0.008, 0.009]),
                "weights": np.array([0.004, 0.005]), "slopes": np.array([0.04, 0.05]), "offsets": np.zeros(2),
            },
            notes=facts,
        ),
    )  # fmt: skip
