"""Statements of sections 1 to 5."""

from __future__ import annotations

from .statement import PRINTED, Erratum
from .statement import Statement as S

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
