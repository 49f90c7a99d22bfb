"""How many samples the theorems ask for, why, and how far that is from what any method needs (the Cramer-Rao bound)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from ...arguments import Floats
from .. import implements
from .bounds import candidate_points, kernel_samples, mirror_samples, needed_theta, oracle_queries
from .constants import LEAST_SHARE, PRINTED_SLACK, Problem, RunParameters, check_accuracy, exact_parameters, parameters
from .inequality import Bound
from .tight import TightSizes, tight_sizes

SCHEMES = ("oracle", "gaussian", "projected")
FORMS = {
    "repaired": "Delta with the repaired (1 + 2 delta)",
    "printed": "Delta with the printed (1 + delta); the proof of goodclusterlemma does not cover it",
    "exact": "Delta from the exact mean derivative (ours, not the paper's)",
    "tight": "exact mean derivative, Chernoff for independent points, M^2, delta split over its uses (ours)",
}
_SOLVABLE = {"delta": (LEAST_SHARE, 0.5), "rho": (LEAST_SHARE, 1 - LEAST_SHARE)}


@dataclass(frozen=True)
class PlanNumber:
    """One number of a plan.

    Attributes
    ----------
    symbol, meaning : str
    log_value : float
        Natural logarithm; `float()` of the record gives the number, inf where it overflows.
    label : str
        Where it comes from.
    erratum : str
        Which correction was applied ("" for none).
    constants : mapping
        Values given to the absolute constants the paper leaves unnamed.
    """

    symbol: str
    meaning: str
    log_value: float
    label: str
    erratum: str = ""
    constants: Mapping[str, float] | None = None

    def __float__(self) -> float:
        return math.exp(self.log_value) if self.log_value < 709 else math.inf

    @property
    def log10(self) -> float:
        """Decimal logarithm."""
        return self.log_value / math.log(10)

    def __str__(self) -> str:
        return f"{float(self):.4g}" if abs(self.log10) < 15 else f"10^{self.log10:.6g}"


@dataclass(frozen=True)
class SamplePlan:
    """What the theorems ask for, with where each number comes from.

    Attributes
    ----------
    problem : Problem
    scheme : {"oracle", "gaussian", "projected"}
    delta, rho : float
        Accuracy and share of spurious candidates.
    form : {"repaired", "printed", "exact", "tight"}
        Which Delta was used; "tight" also shrinks the sizes.
    constants : mapping
        C, C', C'' and those of sunthm (C1, C2), 1 unless given. A tight plan leaves only those of sunthm open.
    """

    problem: Problem
    scheme: str
    delta: float
    rho: float
    form: str
    constants: Mapping[str, float]

    # The algorithm's parameters

    @cached_property
    def tight(self) -> TightSizes | None:
        """Split, parameters and sizes of a tight plan; None for the other forms."""
        if self.form != "tight":
            return None
        c = {name: self.constants[name] for name in ("C1", "C2") if name in self.constants}
        return tight_sizes(self.problem, self.scheme, self.delta, self.rho, **c)

    @cached_property
    def theta(self) -> float | None:
        """Angle that the subspace must reach; None unless projected."""
        if self.tight is not None:
            return self.tight.split.theta or None
        return needed_theta(self.problem, self.delta) if self.scheme == "projected" else None

    @cached_property
    def parameters(self) -> RunParameters:
        """Delta, w0, xi0 and gamma; after projection kappa/2 replaces kappa.

        The theorem's angle guarantees kappa' >= kappa/2. kappa' itself falls as delta grows (the angle may be larger),
        so that a plan with it could ask for more samples for less accuracy.
        """
        if self.tight is not None:
            return self.tight.parameters
        kappa = None if self.theta is None else self.problem.kappa / 2
        if self.form == "printed":
            return parameters(self.problem, self.delta, self.rho, kappa=kappa, slack=PRINTED_SLACK)
        length = 1.0 if self.theta is None else math.cos(self.theta)  # projected units are shorter
        make = exact_parameters if self.form == "exact" else parameters
        return make(self.problem, self.delta, self.rho, kappa=kappa, length=length)

    def _from_delta(self, symbol: str, meaning: str, log_value: float, erratum: str = "") -> PlanNumber:
        label = "ours" if self.form in ("exact", "tight") and symbol != "gamma" else symbol
        return PlanNumber(symbol, meaning, log_value, label, erratum or FORMS[self.form])

    @cached_property
    def Delta(self) -> PlanNumber:
        """Half-width of the slabs."""
        return self._from_delta("Delta", "half-width of a unit's slab", math.log(self.parameters.Delta))

    @cached_property
    def w0(self) -> PlanNumber:
        """Threshold on the norm of a gradient estimate."""
        return self._from_delta("w0", "least norm of a candidate", self.parameters.log_w0)

    @cached_property
    def xi0(self) -> PlanNumber:
        """Scale of the points."""
        return self._from_delta("xi0", "scale of the points", math.log(self.parameters.xi0))

    @cached_property
    def gamma(self) -> PlanNumber:
        """Guaranteed share of a cluster."""
        return self._from_delta("gamma", "share of a cluster", math.log(self.parameters.gamma), "k, not kappa")

    # The sample sizes

    def _number(self, symbol: str, meaning: str, bound: Bound, erratum: str = "") -> PlanNumber:
        label = "dimredtheorem" if self.scheme == "projected" and self.tight is None else bound.label
        return PlanNumber(symbol, meaning, bound.log_value, label, erratum, bound.constants)

    @cached_property
    def m0(self) -> PlanNumber:
        """Points at which the gradient is estimated."""
        if self.tight is not None:
            return self._number("m0", "points", self.tight.m0)
        bound = candidate_points(self.problem, self.delta, self.rho, self.parameters.gamma, C=self.constants["C"])
        return self._number("m0", "points", bound)

    @cached_property
    def n0(self) -> PlanNumber | None:
        """Queries per point (oracle only)."""
        if self.scheme != "oracle":
            return None
        if self.tight is not None and self.tight.n0 is not None:
            return self._number("n0", "queries per point", self.tight.n0)
        bound = oracle_queries(self.problem, self.delta, self.rho, self.parameters, C1=self.constants["C'"])
        return self._number("n0", "queries per point", bound)

    @cached_property
    def n1(self) -> PlanNumber | None:
        """Rows for the subspace (projected only)."""
        if self.theta is None:
            return None
        if self.tight is not None and self.tight.n1 is not None:
            return self._number("n1", "rows for the subspace", self.tight.n1)
        c = self.constants
        bound = mirror_samples(self.problem.d, self.theta, self.delta, C1=c["C1"], C2=c["C2"])
        return self._number("n1", "rows for the subspace", bound, "d log(1/delta)/theta^2, not d/theta")

    @cached_property
    def n2(self) -> PlanNumber | None:
        """Rows for the gradients (projected only)."""
        return self._kernel_rows("n2", self.problem.k) if self.scheme == "projected" else None

    def _kernel_rows(self, symbol: str, d: int) -> PlanNumber:
        if self.tight is not None and self.tight.n2 is not None:
            return self._number(symbol, "rows for the gradients", self.tight.n2)
        c2 = self.constants["C''"]
        bound = kernel_samples(self.problem, self.delta, self.rho, self.parameters, d=d, C2=c2)
        return self._number(symbol, "rows for the gradients", bound, "C'' inside the power")

    @cached_property
    def n(self) -> PlanNumber:
        """Everything asked for: m0 n0 queries, n rows, or n1 + n2 rows."""
        if self.n0 is not None:
            return PlanNumber("n", "queries in all", self.m0.log_value + self.n0.log_value, "maintheorem")
        if self.n1 is not None and self.n2 is not None:
            larger, smaller = sorted((self.n1.log_value, self.n2.log_value), reverse=True)
            total = larger + math.log1p(math.exp(smaller - larger))
            return PlanNumber("n", "rows in all", total, "dimredtheorem")
        return self._kernel_rows("n", self.problem.d)

    @property
    def radius(self) -> float:
        """Promised distance of a candidate from its unit: 6 delta, 7 delta after projection."""
        return (7 if self.scheme == "projected" else 6) * self.delta

    @cached_property
    def practical(self) -> PlanNumber:
        """Rows at which the Cramer-Rao bound allows a root mean squared direction error equal to `radius`.

        For a reference model with these constants, standard Gaussian rows and +-M responses; see
        :func:`gradsift.paper.theory.planning.cramer_rao`.
        """
        rows = cramer_rao(self.problem).rows(self.radius)
        return PlanNumber("n*", "rows by the Cramer-Rao bound", math.log(max(rows, 1.0)), "ours")

    # Questions

    @property
    def quantities(self) -> tuple[PlanNumber, ...]:
        """All numbers of the plan, without `practical`."""
        every = (self.Delta, self.w0, self.xi0, self.gamma, self.m0, self.n0, self.n1, self.n2, self.n)
        return tuple(q for q in every if q is not None)

    def fits(self, budget: float) -> bool:
        """Say whether the plan asks for at most `budget` queries or rows."""
        if not budget > 0:
            raise ValueError(f"budget must be above 0, got {budget!r}.")
        return self.n.log_value <= math.log(budget)

    def solve_for(self, name: str, *, n: float | None = None, log10_n: float | None = None) -> SamplePlan:
        """Return the plan with the smallest `name` ("delta" or "rho") that `n` queries or rows pay for.

        Give ``log10_n`` where n would overflow. The size falls with either parameter, so the root is unique.
        """
        if name not in _SOLVABLE:
            raise ValueError(f"solve_for must be asked for 'delta' or 'rho', got {name!r}.")
        if (n is None) == (log10_n is None):
            raise ValueError("solve_for needs either n or log10_n, and not both.")
        if n is not None and not n > 0:
            raise ValueError(f"n must be above 0, got {n!r}.")
        budget = math.log(n) if n is not None else float(log10_n or 0.0) * math.log(10)
        low, high = _SOLVABLE[name]

        def changed(value: float) -> SamplePlan:
            return replace(self, delta=value) if name == "delta" else replace(self, rho=value)

        if changed(high).n.log_value > budget:
            least = changed(high).n.log10
            raise ValueError(f"Even {name} = {high:.3g} asks for 10^{least:.6g} samples, more than the n given.")
        if changed(low).n.log_value <= budget:
            return changed(low)
        # In logarithms of both sides, where the size is nearly a straight line over nine decades.
        root = brentq(lambda t: changed(math.exp(t)).n.log_value - budget, math.log(low), math.log(high), xtol=1e-13)
        return changed(float(math.exp(root)))

    def explain(self) -> str:
        """Return the plan as text: each number, where it comes from, and what was assumed."""
        p = self.problem
        lines = [
            f"{self.scheme}: d = {p.d}, k = {p.k}, beta = {p.beta:g}, kappa = {p.kappa:g}, u0 = {p.u0:g}, M = {p.M:g}, "
            f"delta = {self.delta:g}, rho = {self.rho:g}",
            f"promise, but for a chance {self.delta:g}: candidates within {self.radius:g} of their unit"
            + (" (no restriction: unit vectors are never further apart than 2)" if self.radius >= 2 else ""),
            f"form: {FORMS[self.form]}",
        ]
        for q in self.quantities:
            note = f"; {q.erratum}" if q.erratum and q.erratum != FORMS[self.form] else ""
            lines.append(f"{q.symbol:>6} = {q!s:<14} {q.meaning} [{q.label}{note}]")
        given = ", ".join(f"{name} = {value:g}" for name, value in self.constants.items())
        lines.append(f"absolute constants that the paper leaves open: {given or 'none left'}")
        if self.theta is not None:
            kappa = p.kappa / 2 if self.tight is None else p.kappa * math.cos(self.theta) ** 2
            lines.append(f"kappa' taken as {kappa:g}, guaranteed at theta* = {self.theta:.4g}")
        if self.tight is not None:
            split = self.tight.split
            lines.append(f"radius split: far units {split.far:.4g} w0, error of an estimate {split.error:.4g} w0")
        if p.k <= MOST_UNITS:
            lines.append(
                f"{self.practical.symbol:>6} = {self.practical!s:<14} {self.practical.meaning} [ours]: the limit"
            )
        return "\n".join(lines)


@implements("maintheorem", "dimredtheorem")
def plan(
    problem: Problem,
    scheme: str = "oracle",
    *,
    delta: float,
    rho: float,
    form: str = "repaired",
    constants: Mapping[str, float] | None = None,
) -> SamplePlan:
    """Ask the theorems for parameters and sample sizes.

    Parameters
    ----------
    problem : Problem
    scheme : {"oracle", "gaussian", "projected"}
        Value oracle, Gaussian covariates, or Gaussian covariates after SpectralMirror (mixture weights only, but for
        the tight form: the sigmoid is odd, so signs of weights can be given to the units).
    delta : float in (0, 0.5]
        Accuracy, and chance of failure.
    rho : float in (0, 1)
        Share of spurious candidates.
    form : {"repaired", "printed", "exact", "tight"}
        Which Delta to use; "tight" also shrinks the sizes (see ``theory.tight``).
    constants : mapping, optional
        Values of C, C', C'', C1, C2 (default 1 each); ``theory.bounds.THEOREM_CONSTANTS`` are proved.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {type(problem).__name__}.")
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}.")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
    check_accuracy(delta, rho)
    if scheme == "projected" and form != "tight" and problem.k * problem.u0 > 1 + 1e-9:
        raise ValueError(
            f"u0 must be at most 1/k = {1 / problem.k:g} for mixture weights, which the projected scheme needs, "
            f"got {problem.u0:g}."
        )
    values = {"C": 1.0, "C'": 1.0, "C''": 1.0, "C1": 1.0, "C2": 1.0}
    for name, value in (constants or {}).items():
        if name not in values or not value > 0:
            raise ValueError(f"constants must be positive and named {', '.join(values)}, got {name} = {value!r}.")
        values[name] = float(value)
    used = {"oracle": ("C", "C'"), "gaussian": ("C", "C''"), "projected": ("C", "C''", "C1", "C2")}[scheme]
    if form == "tight":
        used = tuple(name for name in used if name in ("C1", "C2"))  # everything else is proved
    return SamplePlan(problem, scheme, float(delta), float(rho), form, {name: values[name] for name in used})


MOST_UNITS = 40  # N k^4 flops; a second or two at this size


def units_at_equal_angles(k: int, kappa: float) -> Floats:
    """Unit rows (k, k) with equal angles and smallest singular value `kappa`: the Gram matrix is a I + (1 - a) 1 1'.

    Its smallest eigenvalue is a = kappa^2, k - 1 times over.
    """
    a = kappa**2 if k > 1 else 1.0
    return np.asarray(np.linalg.cholesky(a * np.eye(k) + (1 - a) * np.ones((k, k))), dtype=np.float64)


@dataclass(frozen=True)
class CramerRao:
    """Least mean squared error of directions, per row.

    Attributes
    ----------
    variance : float
        n times the least mean squared Euclidean error of the direction that is hardest to find.
    n_draws : int
        Quasi-random draws behind it.
    """

    variance: float
    n_draws: int

    def rows(self, rms: float) -> float:
        """Rows at which the root mean squared error can be `rms`."""
        return self.variance / rms**2


def cramer_rao(problem: Problem, n_draws: int = 16_384) -> CramerRao:
    """Bound the direction error for standard Gaussian rows and responses -M or M with mean r(x).

    The reference model has equal weights u0 and equally inclined units of smallest singular value kappa; slopes are
    known and weights are not, as in the paper. Directions across the span decouple from the rest, so the dimension
    d costs nothing. O(n_draws k^4) flops, for k <= 40.
    """
    k = problem.k
    if k > MOST_UNITS:
        raise ValueError(f"The Cramer-Rao bound is computed for k <= {MOST_UNITS}, got k = {k}.")
    from scipy.stats import qmc

    X = qmc.MultivariateNormalQMC(np.zeros(k), rng=np.random.default_rng(0)).random(n_draws)  # (N, k), in the span
    try:
        units = units_at_equal_angles(k, problem.kappa)
    except np.linalg.LinAlgError:
        return CramerRao(math.inf, n_draws)  # units that double precision cannot tell apart
    f = np.tanh(problem.beta * X @ units.T)  # (N, k)
    r = problem.u0 * f.sum(axis=1)
    active = problem.u0 * problem.beta * (1 - f**2)  # d r / d <w_l, x>
    # +-M labels with mean r have information 1/(M^2 - r^2); M^2 = (k u0)^2 is reached only at infinity.
    root = 1 / np.sqrt(problem.M**2 - r**2)
    across = (active * root[:, None]).T @ (active * root[:, None]) / n_draws  # (k, k), per direction out of the span
    # A direction can only move across itself: the Jacobian has derivatives along an orthonormal basis of the tangents.
    tangents = [np.linalg.svd(unit[None])[2][1:] for unit in units]  # (k - 1, k) each
    columns = [active[:, [i]] * (X @ tangents[i].T) for i in range(k)]
    J = np.hstack([*columns, f]) * root[:, None]  # (N, k (k - 1) + k)
    try:
        covariance, inverse = np.linalg.inv(J.T @ J / n_draws), np.linalg.inv(across)
    except np.linalg.LinAlgError:
        return CramerRao(math.inf, n_draws)
    inside = np.diag(covariance)[: k * (k - 1)].reshape(k, -1).sum(axis=1) if k > 1 else np.zeros(1)
    # Each of the d - k directions out of the span adds the same variance, independent of the rest.
    total = inside + (problem.d - k) * np.diag(inverse)
    return CramerRao(float(total.max()) if math.isfinite(total.max()) else math.inf, n_draws)
