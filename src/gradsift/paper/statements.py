"""All statements, in the order of the paper. Formulas are plain text; sums run over the hidden units l = 1..k.

w_l units, u_l weights, beta slope, X ~ N(xi, I) under E_xi, f(x) = tanh(beta x), r(x) the regression function.
"""

from __future__ import annotations

from . import appendix, main_text
from .statement import Statement

STATEMENTS: dict[str, Statement] = {s.label: s for s in (*main_text.MAIN_TEXT, *appendix.APPENDIX)}

_SECTION = "it names a section"
_COMMENT = "it stands in a comment of the source only"

SKIPPED = {
    **dict.fromkeys(
        ("sec:relatedwork", "sec:Method", "model", "sec:intuition", "sec:gradest", "sec:Mainresult", "sec:Proof",
         "sec:partitioning", "app:concentration", "app:gradnorm", "proofofcoeffbounds", "proofofanglelemma",
         "proofofclusterlemma", "proofofspurious", "proofofgoodclusterlemma"),
        _SECTION,
    ),
    **dict.fromkeys(("eq:PartitionC0Cl", "eq:M0LowerBound", "lowerbound", "simplebded", "eq:InGoodRegion"), _COMMENT),
    "estimateline": "it names one line of algo:Candidates",
}  # fmt: skip
