"""Statements of the appendix."""

from __future__ import annotations

from .statement import PRINTED, Erratum
from .statement import Statement as S

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
