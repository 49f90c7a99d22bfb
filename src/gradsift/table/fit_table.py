"""The walk from rows to a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ..activations import get_activation
from ..arguments import Floats, as_generator, whole
from ..fit import Family, Parameters, from_model, layer_jacobian, predict
from ..model import SigmoidCombination
from ..runtime import MAX_ROWS, one_thread
from ..sources import ArraySource, Source
from ..sources.arrays import MOST_DENSE
from ..sources.source import LabelSummary
from .cross_validation import CrossValidation, cross_validation
from .nested_models import offsets_needed
from .number_of_units import choose_units, price_of, score_of
from .optimum import Progress, SearchLimits, Settled, settle
from .options import TableOptions
from .problem import TableProblem, prepare
from .table_certificate import Fit, fit_with_certificate


@one_thread()  # its products are small
def search(
    source: Source,
    n_units: int | str | None = None,
    *,
    activation: str = "tanh",
    labels: bool | None = None,
    slopes: str | float = "each",
    offsets: bool | str = "auto",
    intercept: bool | str = "auto",
    link: str = "identity",
    max_units: int = 10,
    n_starts: int | None = None,
    max_rounds: int = 4,
    starts: Sequence[SigmoidCombination] = (),
    alpha: float | str = 0.0,
    weights: str = "sampling",
    covariance: str = "sandwich",
    groups: Any = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit a combination of sigmoids, or of units that grow, to rows.

    Parameters
    ----------
    source : Source
    n_units : int or {"bic", "aic", "cv"}, optional
        k, or what chooses it: BIC (the default), AIC, or five-fold cross-validation (always with ``alpha="auto"``).
    activation : str
    labels : bool, optional
        The target is -1/+1. By default: when y holds nothing else.
    slopes : {"each", "common"} or float
        One slope per unit, one for all, or a known one. ReLU and leaky ReLU have no scale of their own: "each" is 1.
    offsets, intercept : bool or "auto"
        "auto" fits them when that lowers BIC: where a score test at level 0.001 asks for them (or the rows lie far
        from the origin), both families are fitted and compared. With link="logit" it fits them.
    link : {"identity", "logit", "auto"}
        Of labels. "identity": their mean is r(x), weights on the simplex (a mixture of classifiers). "logit": their
        log-odds are r(x), weights free. "auto" takes "logit" unless a mixture predicts left-out rows clearly better (if
        alpha or the number of units is chosen by them), or has the lower BIC.
    max_units : int
        Where the choice of k ends, unless the criterion still falls there: then at three times as many.
    n_starts, max_rounds : int
        Starts raced per round (by default 4, and 6 for labels, whose optima lie closer), and how many rounds at most.
    starts : sequence of SigmoidCombination
        Further starts, in the user's coordinates (an earlier fit, or EM's); used where their number of units fits.
    alpha : float or "auto"
        Strength of a ridge: what each unit adds to the slopes of the function where it is steepest, per standard
        deviation of a column (and of y), ``u_l slope_l w_lj sd_j / sd_y``, has a Gaussian prior of standard deviation
        ``alpha ** -0.5``; for labels ``slope_l w_lj sd_j`` has it. On a straight line that is ridge regression, with
        one component logistic regression with a ridge.
        0 is maximum likelihood; where no maximum exists (separable classes), a standard deviation of 32 keeps the fit
        finite, and nothing is certified. "auto" takes what predicts left-out rows best (labels need a reason for
        less than 12, several components for less than 1, log-odds for less than 12 per unit). It has 8 units, for
        log-odds 5, unless another number clearly predicts better; of a mixture the fewest that none clearly beats.
        Tables with fewer than three rows per parameter get "auto" where 0 was asked for, and are never certified.
    weights : {"sampling", "frequency", "precision"}
        What row weights mean: how many others a row stands for (they are scaled to mean one), how often it was seen, or
        one over its variance (scaled to mean one too).
    covariance : {"sandwich", "model", "cluster"}
        How errors are had: from the scatter of the scores (of the jackknife: HC3), from the noise model, or from the
        scatter of their sums over `groups` (CR3).
    groups : (n,) array, optional
    rng : None, int or Generator
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Fit
    """
    criterion = "bic"
    if isinstance(n_units, str):
        criterion, n_units = n_units, None
    for name, value in (("n_units", n_units), ("max_units", max_units), ("n_starts", n_starts)):
        if value is not None:
            whole(name, value)
    rng = as_generator(rng)
    choices = TableOptions(alpha, weights, covariance, groups, criterion).checked(source.n_rows)
    labels_taken = _has_labels(source) if labels is None else labels
    effort = SearchLimits(n_starts or (6 if labels_taken else 4), max_rounds, tuple(starts))
    walk = _Walk(source, choices, effort, n_units, max_units, rng, progress)
    found, state = [], rng.bit_generator.state
    for one in _link_options(link, labels_taken):
        rng.bit_generator.state = state  # so that all leave out the same rows
        family = _first_family(source, activation, labels_taken, slopes, offsets, intercept, one)
        found.append(walk.best(family, _wider_family(family, offsets, intercept)))
    best = found[0] if len(found) == 1 or found[0].better(found[1]) else found[1]
    return fit_with_certificate(source, best.problem, best.settled, _notes(best.problem, labels), best.validation, rng)


class _Found(NamedTuple):
    """A fit in one family; partial where numbers of units are left that were not tried."""

    problem: TableProblem
    settled: Settled
    validation: CrossValidation | None
    partial: bool

    def better(self, other: _Found) -> bool:
        """Tell whether it predicts left-out rows clearly better; where none were, whether its criterion is as low."""
        if self.validation is not None and other.validation is not None:
            return self.validation.better(other.validation)
        return self.score() <= other.score()

    def score(self) -> float:
        """Return its criterion, comparable between families. One pass with curvature."""
        return score_of(self.problem, self.settled).at(price_of(self.problem))


class _Walk(NamedTuple):
    """What a search in one family or another shares."""

    source: Source
    choices: TableOptions
    effort: SearchLimits
    n_units: int | None
    max_units: int
    rng: np.random.Generator
    progress: Progress | None

    def best(self, family: Family, wider: Family) -> _Found:
        """Fit a family and, where it asks for that, the wider one; return the better of the two."""
        found = self.find(family, None if wider == family else wider)
        if not found.settled.wider:
            return found
        other = self.find(wider, None)
        return other if found.partial or other.score() < found.score() else found

    def find(self, family: Family, wider: Family | None) -> _Found:
        """Fit one family; a score test may ask for the wider one."""
        validation, n_units = None, self.n_units
        by_folds = self.choices.alpha == "auto" or (self.choices.criterion == "cv" and n_units is None)
        if by_folds and wider is not None:  # a ridge prefers neither family: take the one that holds the other
            return self.find(wider, None)
        problem = prepare(self.source, family, self.rng, self.choices)
        if by_folds or problem.room() < (n_units or 1):
            if wider is not None:
                return self.find(wider, None)
            numbers = None if n_units is None else [n_units]
            chosen_ridge = self.choices.alpha == "auto"
            validation = cross_validation(problem, numbers, self.rng, self.progress, for_ridge=chosen_ridge)
            n_units = validation.n_units
            if chosen_ridge or (self.choices.alpha == 0 and problem.room() < n_units):
                problem = problem.with_ridge(validation.alpha)
        if n_units is None:
            settled = choose_units(problem, self.max_units, self.effort, self.rng, wider, self.progress)
            return _Found(problem, settled, validation, settled.wider)
        settled = settle(problem, n_units, self.effort, self.rng, self.progress)
        asked = wider is not None and offsets_needed(problem, wider, settled.optima.best)
        return _Found(problem, settled._replace(wider=asked), validation, False)


def _notes(problem: TableProblem, labels: bool | None) -> list[str]:
    """Say what y was taken for, where that was not said and might surprise."""
    y = problem.observed.rows.y
    if labels is None and problem.family.labels:
        return ["y holds only -1 and +1, so that it was taken for labels; labels=False fits it by least squares"]
    if not problem.family.labels and bool(((y == y.min()) | (y == y.max())).all()):
        return [
            "y holds two values only and was fitted by least squares; for two classes use SigmoidMixtureClassifier, "
            "or labels=True with y -1 and +1"
        ]
    return []


def _link_options(link: str, labels: bool) -> tuple[str, ...]:
    if link not in ("identity", "logit", "auto"):
        raise ValueError(f"link must be 'identity', 'logit' or 'auto', got {link!r}.")
    if link == "identity" or labels:
        return ("identity", "logit") if link == "auto" else (link,)
    raise ValueError(f"link={link!r} is for labels, but y is fitted by least squares.")


def _first_family(
    source: Source,
    activation: str,
    labels: bool,
    slopes: str | float,
    offsets: bool | str,
    intercept: bool | str,
    link: str,
) -> Family:
    moments = source.moments
    if not labels and moments.y_variance <= (1e-12 * abs(moments.y_mean)) ** 2:
        raise ValueError(f"y must vary, but all {source.n_rows} values are {moments.y_mean:g}.")
    for name, value in (("offsets", offsets), ("intercept", intercept)):
        if value not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto', got {value!r}.")
    spread = np.sqrt(np.maximum(np.diag(moments.covariance), 0))
    # without a prior guess of the log-odds at the origin there is no reason to leave them out
    far = link == "logit" or bool((np.abs(moments.mean) > 3 * spread).any())
    record, mixture = get_activation(activation), labels and link == "identity"
    # a logistic unit is odd only about 1/2: it needs the intercept to turn; units that grow have no mean of zero
    odd = record.odd_form is not None and record.middle == 0
    return Family.of(
        activation,
        labels=labels,
        slopes=1.0 if record.homogeneous and slopes == "each" else slopes,
        offsets=far if offsets == "auto" else bool(offsets),
        intercept=not mixture and (far or not odd if intercept == "auto" else bool(intercept)),
        link=link,
    )


def _wider_family(family: Family, offsets: bool | str, intercept: bool | str) -> Family:
    return Family(
        family.activation,
        family.labels,
        family.slopes,
        family.offsets or offsets == "auto",
        family.intercept or (intercept == "auto" and not family.simplex),
        family.link,
    )


def _has_labels(source: Source) -> bool:
    moments = source.moments
    if abs(moments.y_variance + moments.y_mean**2 - 1) > 1e-12:
        return False
    return source.reduce(LabelSummary())


_LARGEST_JACOBIAN = MOST_DENSE  # numbers; beyond, the units stay as the mixture of targets has them


class Joint(NamedTuple):
    """One model per target, all with the same units, and the fit to the mixture of targets that the units come from."""

    models: tuple[SigmoidCombination, ...]
    fit: Fit
    converged: bool


def fit_outputs(
    X: Floats, Y: Floats, weight: Any, n_units: int | str | None, rng: np.random.Generator, **options: Any
) -> Joint:
    """Fit ``Y_m = c_m + sum_l U_lm f(a_l x + b_l)`` to all targets at once; all are given equal importance.

    The units come from the leading principal component of the standardised targets, whose verdict is the verdict. Joint
    least squares then moves units and weights, with all targets in units of their standard deviations. O(n m P) memory
    for P parameters.
    """
    scale = np.maximum(Y.std(axis=0), 1e-300)
    Z = (Y - Y.mean(axis=0)) / scale
    leading = np.linalg.svd(Z[:MAX_ROWS], full_matrices=False)[2][0]
    fit = search(ArraySource(X, Z @ leading, weight), n_units, labels=False, rng=rng, **{**options, "intercept": True})
    rows = np.arange(len(Z)) if len(Z) <= MAX_ROWS else np.sort(rng.choice(len(Z), MAX_ROWS, replace=False))
    root = np.ones(len(rows)) if weight is None else np.sqrt(np.asarray(weight, dtype=np.float64)[rows])
    problem = _Targets(from_model(fit.model), fit.model.activation, X[rows], Z[rows], root, fit.family.offsets)
    start = problem.start()
    converged = True
    if Z[rows].size * len(start) <= _LARGEST_JACOBIAN:
        found = least_squares(problem.residuals, start, problem.jacobian, method="trf", x_scale="jac")
        start, converged = found.x, bool(found.status > 0)
    shift = Y.mean(axis=0)
    thetas = [
        theta._replace(u=theta.u * scale[j], c=theta.c * scale[j] + shift[j])
        for j, theta in enumerate(problem.thetas(start))
    ]
    return Joint(tuple(theta.to_model(fit.model.activation) for theta in thetas), fit, converged)


class _Targets:
    """Residuals and Jacobian of all targets in the flat parameters: [A, b?], and then [weights, intercept] of each."""

    def __init__(self, units: Parameters, activation: str, X: Floats, Z: Floats, root: Floats, offsets: bool) -> None:
        self.units, self.g, self.X, self.Z, self.root = units, get_activation(activation), X, Z, root
        self.layout = Family.of(activation, offsets=offsets, intercept=True).layout(*units.A.shape)
        places = np.arange(self.layout.size)
        self.shared = np.append(places[self.layout.units], places[self.layout.b])
        self.own = np.setdiff1d(places, self.shared)

    def start(self) -> Floats:
        """Return the units of the mixture of targets with the best weights of every target."""
        features = np.column_stack((self.g.value(self.X @ self.units.A.T + self.units.b), np.ones(len(self.X))))
        weights = np.linalg.lstsq(features * self.root[:, None], self.Z * self.root[:, None], rcond=1e-10)[0]
        return np.concatenate((self.layout.pack(self.units)[self.shared], weights.T.ravel()))

    def thetas(self, flat: Floats) -> list[Parameters]:
        """Return the parameters of every target."""
        each = np.empty((self.Z.shape[1], self.layout.size))
        each[:, self.shared] = flat[: len(self.shared)]
        each[:, self.own] = flat[len(self.shared) :].reshape(len(each), -1)
        return [self.layout.unpack(one) for one in each]

    def residuals(self, flat: Floats) -> Floats:
        values = np.array([predict(theta, self.X, self.g) for theta in self.thetas(flat)])  # (m, n)
        return np.asarray(((values - self.Z.T) * self.root).ravel())

    def jacobian(self, flat: Floats) -> Floats:
        thetas = self.thetas(flat)
        rows = np.ascontiguousarray(self.X.T)
        z = thetas[0].A @ rows + thetas[0].b[:, None]
        values, slopes = self.g.value(z), self.g.derivative(z)
        # Targets meet in the units alone: the columns of the units are dense, those of weights block diagonal.
        J = np.zeros((len(thetas), len(self.X), flat.size))
        for j, (block, theta) in enumerate(zip(J, thetas)):
            columns = layer_jacobian(self.layout, rows, values, slopes * theta.u[:, None], scale=self.root).T
            first = len(self.shared) + j * len(self.own)
            block[:, : len(self.shared)] = columns[:, self.shared]
            block[:, first : first + len(self.own)] = columns[:, self.own]
        return J.reshape(-1, flat.size)
