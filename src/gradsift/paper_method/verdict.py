"""What looks doubtful about a run of the paper's method."""

from __future__ import annotations

from ..checks import Verdict, n_of, published
from .literal import PaperRun

__all__ = ["judge_paper"]


def judge_paper(run: PaperRun) -> Verdict:
    """Weigh the numbers of a run; it is never certified."""
    facts, model = run.diagnostics, run.model
    checks = [
        published.certificate(),
        published.support(facts["median_support"]),
        published.scatter(facts["mean_cosine"]),
        published.contradicted_weights(facts["n_contradicted"]),
        published.slope_in_range(facts["slope_at_edge"], float(model.slopes[0])),
    ]
    if "covariance_off" in facts:  # rows, not an oracle
        checks.append(published.gaussian_rows(facts["covariance_off"], facts["largest_mean"]))
    parts = f"{n_of(model.n_units, 'unit')} from {n_of(facts['n_candidates'], 'candidate')}"
    return Verdict(tuple(checks), f"the paper's method ({facts['access']} access) returns {parts}", claim="")
