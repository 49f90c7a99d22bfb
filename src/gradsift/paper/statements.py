"""All statements by LaTeX label, in the order of the paper: what each says, and where it is wrong.

Formulas are plain text; sums run over the hidden units l = 1..k. w_l units, u_l weights, beta slope, X ~ N(xi, I)
under E_xi, f(x) = tanh(beta x), r(x) the regression function.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PRINTED = "gradsift.paper.theory.printed."  # where printed forms are kept, to be shown failing


@dataclass(frozen=True)
class Erratum:
    """A slip of the paper.

    Attributes
    ----------
    name : str
        Short name; a test marked ``paper(label, erratum=name)`` shows the printed form failing.
    printed, right : str
        The two forms, in our words.
    form : str
        Dotted name of the printed form as a function, where it is one ("" otherwise).
    """

    name: str
    printed: str
    right: str
    form: str = ""

    def printed_form(self) -> Callable[..., Any]:
        """Return the printed form itself, to be tried out."""
        if not self.form:
            raise ValueError(f"The erratum {self.name!r} is a matter of words: its printed form is no function.")
        module, name = self.form.rsplit(".", 1)
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found


@dataclass(frozen=True)
class Statement:
    """One equation, lemma, theorem, algorithm or figure.

    Attributes
    ----------
    label : str
        LaTeX label.
    kind : str
    place : str
        Section of the paper.
    says : str
        The statement in our own words.
    errata : tuple of Erratum
    """

    label: str
    kind: str
    place: str
    says: str
    errata: tuple[Erratum, ...] = ()


S = Statement
_SIGN = Erratum(
    "sign of u", "distance to w_l, whatever the sign of u_l", "distance to sign(u_l) w_l", PRINTED + "unit_sign"
)

MAIN_TEXT = (
    S("eq:Model", "equation", "1 Introduction", "E[y|x] = r(x) = sum u_l tanh(beta <w_l, x>)."),
    S("gradient", "equation", "3.2 Intuition", "grad r(xi) = sum u_l f'(<w_l, xi>) w_l: a combination of the units."),
    S("fig:vectorfield", "figure", "3.2 Intuition",
      "Kernel gradient estimates over the plane: d = 2, n = 20000 Gaussian rows, beta = 1, u = (1/2, 1/2), "
      "units = standard basis."),
    S("voestimate", "equation", "3.3 Gradient Estimation",
      "Value oracle: w(xi) = mean of (x_i - xi) y_i over n0 queries x_i ~ N(xi, I)."),
    S("eq:Slope", "equation", "3.3 Gradient Estimation",
      "Gaussian covariates: w(xi) = covariance of x and y under weights proportional to exp(<xi, x_i>)."),
    S("algo:Candidates", "algorithm", "3.4 Candidate Generation",
      "Draw m0 points N(0, xi0^2 I), estimate the gradient at each, keep those of norm at least w0, normalise."),
    S("fig:execution", "figure", "3.4 Candidate Generation",
      "One run under Gaussian covariates: d = 3, n = m0 = 5000, xi0 = 2 sqrt(d), units = standard basis, equal weights;"
      " all estimates, the 50 longest normalised, their k-means centres."),
    S("maintheorem", "theorem", "4.1 Main Results",
      "For delta in (0, 1/2] and rho in (0, 1), with w0, xi0, gamma as chosen, m0 > (C/(gamma rho)) log(k/delta) and "
      "n0 > C' (d M^2/(delta w0)^2) log(k/(gamma rho delta)) queries per point, or n > (M^4 d^2/(delta w0)^2) times "
      "the larger of (C'' k/(gamma rho delta))^(1 + 7(1+2/d) xi0^2) and exp(4d(1/7 + (1+2/d) xi0^2)) rows: but for a "
      "chance delta, the candidates split into C_0..C_k, those of C_l within 6 delta of the unit, |C_l| >= gamma m0/2, "
      "|C_0| <= 2 rho gamma m0.",
      (_SIGN,
       Erratum("orders after it", "m0 of order log k, n of order d log k",
               "m0 of order k^2/(kappa rho^2) log(k/delta); n0 of order k^2, hence n = m0 n0 of order d k^4 log^2"),
       Erratum("Theta hides beta", "w0 and xi0 up to constants free of beta",
               "both depend on log(c2/c1) ~ 2 beta^2: c2/c1 = 8/Phi(-2 beta)"),
       Erratum("constant outside the power", "C'' (k/(gamma rho delta))^p", "(C'' k/(gamma rho delta))^p",
               PRINTED + "kernel_samples_power"))),
    S("sunthm", "theorem", "4.2 Dimensionality Reduction",
      "SpectralMirror, mixture weights: the largest principal angle to the span of the units exceeds theta <= u0 kappa "
      "with chance at most C1 exp(-C2 n theta^2/d), where C2 depends on the slope.",
      (Erratum("absolute constants", "C1 and C2 are the same for every slope",
               "C2 falls to zero with beta (like beta^6 for two units or more): a flat sigmoid is linear, and linear "
               "answers know one direction only", PRINTED + "mirror_slope_factor"),)),
    S("projectedestimate", "equation", "4.2 Dimensionality Reduction",
      "eq:Slope on the last n2 rows, projected on a subspace found from the first n1 rows."),
    S("dimredtheorem", "theorem", "4.2 Dimensionality Reduction",
      "maintheorem for the projected estimate and mixture weights, within 7 delta, from "
      "n1 > C' d log(1/delta)/theta*^2 rows for the subspace and n2 rows as in maintheorem with d replaced by k; "
      "theta* = min(2 asin(sqrt(3) kappa/(8k)), 2 asin(delta^2/(4k)), u0 kappa).",
      (Erratum("power of the angle", "n1 > C' d/theta*", "n1 > C' d log(1/delta)/theta*^2",
               PRINTED + "mirror_samples"),
       Erratum("order of n1", "n1 of order d k", "n1 of order d k^2", PRINTED + "mirror_samples"))),
    S("population", "equation", "5.1 Concentration",
      "wbar(xi) = E_xi grad r(X) = sum u_l w_l E_xi f'(<w_l, X>): the mean of voestimate, and the limit of eq:Slope.",
      (Erratum("bias at finite n", "it is the expectation of both estimates",
               "eq:Slope is a ratio: at xi = 0 its mean is (1 - 1/n) wbar, from one row it is 0; unbiased only as n "
               "grows", PRINTED + "kernel_mean_shrinkage"),)),
    S("assympboundsvoestimate", "lemma", "5.1 Concentration", "The value-oracle estimate obeys voebound."),
    S("voebound", "equation", "5.1 Concentration",
      "P(|w - wbar| >= delta) <= c1 exp(-min(c2 n0 delta^2/(d M^2), (c3 sqrt(n0) delta/M - c4 sqrt(d))^2))."),
    S("assympboundscor", "lemma", "5.1 Concentration", "The Gaussian-covariates estimate obeys candidatebound."),
    S("candidatebound", "equation", "5.1 Concentration",
      "P(|w - wbar| >= delta) <= C e^{|xi|^2} M^4 (d + |xi|^2)^2/(n delta^2), for M >= 1 and delta <= 1.",
      (Erratum("range of M and delta", "for every M > 0 and delta > 0",
               "the collapse of `final` needs M >= 1 and bounded delta; then C = 1735 will do",
               PRINTED + "gaussian_tail"),
       Erratum("power of M", "M^4", "M^2, for every M and delta <= M: the estimate is linear in the responses",
               PRINTED + "gaussian_tail"))),
    S("lemma:coeffboundssimple", "lemma", "5.2 Coefficients", "The smoothed derivative obeys lowerupperbound."),
    S("lowerupperbound", "equation", "5.2 Coefficients",
      "beta Phi(-2 beta) e^{2 beta^2 - 2 beta |z|} <= E f'(z + Z) <= 8 beta e^{2 beta^2 - 2 beta |z|}."),
    S("anglelemma", "lemma", "5.2 Coefficients",
      "For a point N(0, xi0^2 I): P(|<w_l, .>| < Delta) >= sqrt(2/(e pi)) Delta/xi0 for Delta < xi0; both of two "
      "units: P <= 2 Delta1 Delta2/(pi kappa xi0^2)."),
    S("Delta", "equation", "5.3 Partitioning", "Delta = (1/beta) log((1 + 2 delta) c2 k/(c1 u0 delta)).",
      (Erratum("slack", "(1 + delta)", "(1 + 2 delta): a good estimate is another delta w0 shorter than its mean",
               PRINTED + "Delta"),)),
    S("w0", "equation", "5.3 Partitioning",
      "w0 = (k/delta) c2 e^{-2 beta Delta} = c1^2 u0^2 delta/((1 + 2 delta)^2 c2 k)."),
    S("xi0", "equation", "5.3 Partitioning", "xi0 = 2 sqrt(2e/pi) (k/kappa) (k/rho + 1) Delta."),
    S("gamma", "equation", "5.3 Partitioning",
      "gamma = t/sqrt(2 e pi) - 2 k t^2/(kappa pi) at t = Delta/xi0, which is kappa rho/(4 e (rho + k)^2).",
      (Erratum("k for kappa", "kappa rho/(4 e (rho + kappa)^2)", "kappa rho/(4 e (rho + k)^2)", PRINTED + "gamma"),)),
    S("rhoeq", "equation", "5.3 Partitioning",
      "xi0 is chosen so that 2 k^2 t^2/(pi kappa) = rho gamma at t = Delta/xi0."),
    S("Rsets", "equation", "5.3 Partitioning",
      "R_0: every |<w_l, xi>| >= Delta. R_l: only unit l is nearer than Delta. R_*: two or more are."),
    S("eq:InR0", "equation", "5.3 Partitioning", "On R_0: |wbar| <= k c2 e^{-2 beta Delta} = delta w0."),
    S("allbutone", "equation", "5.3 Partitioning",
      "On R_l: |wbar - u_l E_xi f' w_l| <= k c2 e^{-2 beta Delta} = delta w0.", (_SIGN,)),
    S("albounds", "equation", "5.3 Partitioning", "On R_l: c1 u0 e^{-2 beta Delta} <= |u_l| E_xi f' <= c2."),
    S("clusterlemma", "lemma", "5.3 Partitioning", "Candidates of C_l are within 6 delta of sign(u_l) w_l.",
      (_SIGN,
       Erratum("minus signs", "the two terms of each step of the proof are subtracted", "they add; the bound is right"),
       Erratum("nothing above a third", "stated for delta up to 1/2",
               "6 delta >= 2 is no restriction for delta >= 1/3"))),
    S("spuriouslemma", "lemma", "5.3 Partitioning",
      "|C_0| <= 2 gamma rho m0 but for a chance (share of estimates off) + e^{-c m0 gamma rho}; from Gaussian rows "
      "the first term is (c1/(gamma rho)) (M^4 d^2/(n (delta w0)^2))^(1/(1 + 7(1+2/d) xi0^2)).",
      (Erratum("exponent", "1/(1 + 4(1+2/d) xi0^2)", "1/(1 + 7(1+2/d) xi0^2), as the proof derives",
               PRINTED + "spurious_off"),)),
    S("goodclusterlemma", "lemma", "5.3 Partitioning",
      "|C_l| >= gamma m0/2 but for a chance (share of estimates off) + e^{-c m0 gamma}.",
      (Erratum("slack", "(1 + delta) in Delta", "(1 + 2 delta): C'_l asks the mean to reach w0, C_l the estimate",
               PRINTED + "Delta"),)),
)  # fmt: skip


_A, _B, _C, _D = "A Concentration", "B Coefficients", "C Sizes of the Partition", "D Dimensionality Reduction"

APPENDIX = (
    S("stein", "equation", _A, "Cov(X, h(X')) = Cov(X, X') E grad h(X') for jointly Gaussian X, X'."),
    S("dropmean", "equation", _A, "Cov(X, r(X)) = E_xi (X - xi) r(X)."),
    S("expectationsandbounds", "lemma", _A,
      "Means (expectations) and deviations (bounds) of z = sum K, u = sum K x, s = sum K y, v = sum K y x, "
      "K = exp(<xi, x_i>)."),
    S("expectations", "equation", _A, "zexpuexp and sexpvexp together."),
    S("zexpuexp", "equation", _A, "E z = n e^{|xi|^2/2}; E u = n e^{|xi|^2/2} xi."),
    S("sexpvexp", "equation", _A, "E s = n e^{|xi|^2/2} E_xi r(X); E v = n e^{|xi|^2/2} E_xi X r(X)."),
    S("bounds", "equation", _A, "zboundubound and sboundvbound together."),
    S("zboundubound", "equation", _A,
      "P(|z - E z| >= n delta) <= e^{2|xi|^2}/(n delta^2); for u the same times (d + 4|xi|^2)."),
    S("sboundvbound", "equation", _A, "For s and v the bounds of z and u times M^2."),
    S("expectation", "equation", _A, "E_0 e^{<xi,X>} g(X) = e^{|xi|^2/2} E_xi g(X)."),
    S("covariance", "equation", _A,
      "Cov e^{<xi,X>} g(X) = e^{2|xi|^2} E_{2 xi} g g' - e^{|xi|^2} E_xi g E_xi g'."),
    S("fractionlemma", "lemma", _A,
      "a within t of a0 and b within t of b0 > 0, t = b0^2 delta/(|a0| + b0 + b0 delta): a/b within delta of a0/b0."),
    S("deltaprime", "equation", _A,
      "delta' = n e^{|xi|^2/2} delta/(2 |E_xi X r| + 2 + delta), for v/z within delta/2."),
    S("deltaprimeprime", "equation", _A,
      "delta'' = n^2 e^{|xi|^2} delta/(2 |xi| |E_xi r| + 2 + delta), for us/z^2 within delta/2."),
    S("splitproducts", "equation", _A,
      "us is off by delta'' only if E u (s - E s), E s (u - E u) or (s - E s)(u - E u) exceeds a third of it."),
    S("final", "equation", _A,
      "P(|w - wbar| >= delta) <= e^{|xi|^2}/(n delta^2) (10 M^2 d + 49 M^2 |xi|^2 + 17)(2 M sqrt(d + |xi|^2) + 2 + "
      "delta)^2 + e^{|xi|^2}/(n delta) (3 M^2 + 3 d + 12 |xi|^2 + 2)(2 M |xi| + 2 + delta).",
      (Erratum("sum of the parts", "2 M^2 in the last bracket", "3 M^2", PRINTED + "gaussian_tail_final"),)),
    S("eq:BoundsFprime", "equation", _B, "beta e^{-2 beta |x|} <= f'(x) <= 4 beta e^{-2 beta |x|}.",
      (Erratum("strict at zero", "the lower bound is strict", "at x = 0 both sides are beta"),)),
    S("parallelogramlemma", "lemma", _B,
      "Gaussian pair, standard deviation sigma, correlation c: P(|Z1| < e1, |Z2| < e2) <= "
      "2 e1 e2/(pi sigma^2 sqrt(1 - c^2))."),
    S("eq:CoInclusion", "equation", _C,
      "C_0 lies in G^c + B_0 + B_*, the two numbered lines after it: good estimates with mean at least (1 - delta) w0, "
      "in R_0 (none, for delta < 1/2) and in R_*.",
      (Erratum("one half excluded", "that B_0 is empty is read off eq:InR0, for delta up to 1/2",
               "that line, delta w0 against (1 - delta) w0, decides for delta < 1/2 only; at 1/2 B_0 is empty too, but "
               "because the bound of eq:InR0 is never attained: a gap in the argument, not in the statement",
               PRINTED + "far_is_empty"),)),
    S("GCboundvo", "equation", _C, "P(|G^c| >= m0 eps) <= voebound at delta w0, divided by eps."),
    S("GCbound", "equation", _C,
      "P(|G^c| >= m0 eps) <= (C/eps) (M^4 d^2/(n (delta w0)^2))^(1/(1 + 7(1+2/d) xi0^2)), by a cut of |xi|^2 at "
      "alpha xi0^2 and P(chi^2_d > alpha) <= e^{-alpha/7} for alpha >= 4d.",
      (Erratum("sign of the tail", "chi-square tail e^{+alpha/7}, twice", "e^{-alpha/7}",
               PRINTED + "chi_square_tail"),)),
    S("basisangles", "equation", _D,
      "Two subspaces at largest principal angle theta have orthonormal bases with <e_l, e'_l> >= cos theta.",
      (Erratum("direction", "<= cos theta", ">= cos theta"),)),
    S("basisnorms", "equation", _D, "Such bases have |e_l - e'_l| <= 2 sin(theta/2)."),
    S("projectionlemma", "lemma", _D,
      "For unit w, w' of one subspace, P the projection on the other: <w, x> - <Pw, Px> = <w - Pw, x>, "
      "|w - Pw| <= sin theta, |<w, w'> - <Pw, Pw'>| <= sin^2 theta.",
      (Erratum("loose", "4 k sin(theta/2)", "sin theta, and sin^2 theta for inner products; both are attained",
               PRINTED + "projected_error"),)),
    S("anglecor", "corollary", _D, "|w - Pw| <= sin theta for unit w of the other subspace.",
      (Erratum("loose", "2 sqrt(k sin(theta/2)), so that n1 grows like delta^-4",
               "sin theta, so that delta^-2 suffices", PRINTED + "projected_error_by_angle"),)),
    S("subspace", "lemma", _D, "The projected estimate obeys candidatebounddim about populationdim."),
    S("candidatebounddim", "equation", _D, "candidatebound with k for d and the projected point for xi."),
    S("populationdim", "equation", _D, "sum u_l P w_l E f'(<w_l, X>), X about the projected point."),
    S("anglelemma2", "lemma", _D,
      "anglelemma for the projected point: one unit as before; two units with kappa' = sqrt(kappa^2 - "
      "(4 k sin(theta/2))^2) for kappa.",
      (Erratum("length of projected units", "the proof takes |P w| = 1, 2 k for 4 k and (w_l, w_l) for (w_l, w_l')",
               "|P w| < 1: the Gram determinant is at least kappa^2 cos^4 theta, so kappa cos^2 theta serves as kappa'",
               PRINTED + "projected_slab_pair_unit_length"),
       Erratum("cross term", "<Pw, Pw'>^2 is bounded by <w, w'>^2 plus the square of the change e",
               "the product 2 <w, w'> e is dropped; the step holds all the same because e is at most sin^2 theta, "
               "not 4 k sin(theta/2)", PRINTED + "inner_gap"))),
    S("kappaprime", "equation", _D, "kappa' = sqrt(kappa^2 - (4 k sin(theta/2))^2)."),
    S("clusterlemma2", "lemma", _D,
      "Candidates of C_l are within 6 delta of P w_l, where theta <= theta* (mixture weights).",
      (Erratum("needs the angle", "for every subspace",
               "P w_l may be as short as cos theta, so no unit vector is nearer than 1 - cos theta: theta <= theta*",
               PRINTED + "projected_angle"),
       Erratum("projected points", "the regions are those of Rsets, cut by <w_l, xi>",
               "the estimate sees a point through its projection: cut by <P w_l, xi>; a point far from w_l can be near "
               "P w_l when theta xi0 exceeds Delta", PRINTED + "projected_region_units"))),
    S("spuriouslemma2", "lemma", _D, "spuriouslemma with k for d and kappa' for kappa.",
      (Erratum("exponent", "1/(1 + 4(1+2/k) xi0^2)", "1/(1 + 7(1+2/k) xi0^2)", PRINTED + "spurious_off"),)),
    S("goodclusterlemma2", "lemma", _D, "goodclusterlemma with k for d and kappa' for kappa.",
      (Erratum("slack", "(1 + delta) in Delta", "(1 + 2 delta)", PRINTED + "Delta"),
       Erratum("shorter units", "the own part is as long as before the projection",
               "it shrinks by |P w_l| >= cos theta, which goes into Delta: (1 + 2 delta)/cos theta",
               PRINTED + "projected_length"))),
)  # fmt: skip


STATEMENTS: dict[str, Statement] = {s.label: s for s in (*MAIN_TEXT, *APPENDIX)}

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
