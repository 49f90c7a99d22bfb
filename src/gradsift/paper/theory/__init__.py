"""The theory of the paper as numbers; imports none of the algorithms.

`constants` and `bounds` are the paper's (errata applied), `tight` and what is labelled "ours" is not;
`planning` asks them for sample sizes, `partition` holds a run against a theorem, `verify` checks every statement a
second way.
"""

from __future__ import annotations

from . import bounds, constants, partition, planning, tight
from .constants import Problem, RunParameters, exact_parameters, parameters
from .inequality import Bound
from .partition import CandidateRun, check_theorem
from .planning import SamplePlan, plan

__all__ = [
    "Bound",
    "CandidateRun",
    "Problem",
    "RunParameters",
    "SamplePlan",
    "bounds",
    "check_theorem",
    "constants",
    "exact_parameters",
    "parameters",
    "partition",
    "plan",
    "planning",
    "tight",
]  # fmt: skip
