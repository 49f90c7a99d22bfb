"""Every bound moves in the direction its statement says, over wide ranges and without overflow."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradsift.paper.theory import bounds as b
from gradsift.paper.theory.constants import (
    Problem,
    RunParameters,
    gamma_closed,
    kappa_prime,
    parameters,
    xi0_over_delta,
)
from gradsift.paper.theory.planning import plan

RANGES = {
    "n": (1.0, 1e300), "n0": (1.0, 1e300), "m0": (1.0, 1e12), "delta": (1e-8, 0.5), "rho": (1e-6, 1 - 1e-6),
    "M": (1.0, 1e6), "xi": (1e-3, 1e4), "xi0": (1.0, 1e6), "Delta": (1e-6, 0.99), "Delta1": (1e-6, 1e6),
    "Delta2": (1e-6, 1e6), "kappa": (1e-6, 1.0), "theta": (1e-6, 1.5), "c": (0.0, 0.999999), "sigma": (1e-6, 1e6),
    "eps1": (1e-6, 1e6), "eps2": (1e-6, 1e6), "z": (0.0, 1e6), "beta": (1e-3, 100.0), "far": (0.0, 1e3),
    "u0": (1e-4, 1.0), "share": (1e-9, 1.0), "log_x": (1.0, 1e12), "gamma": (1e-12, 0.02), "alpha": (0.0, 1e6),
    "failure": (1e-12, 0.9), "log_off": (-1e6, 0.0), "log_w0": (-600.0, 0.0), "a": (0.0, 1e6), "bar": (1e-3, 1e6),
    "mean": (0.0, 1e3),
}  # fmt: skip
WHOLE = {"d": (1, 10**6), "k": (1, 1000)}


def problem(d=10**6, k=3, beta=1.0, kappa=0.5, u0=1e-4, M=1.0):
    return Problem(d, k, beta, kappa, u0, max(M, k * u0))


def params(log_w0=-10.0, xi0=100.0, gamma=1e-3):
    return RunParameters(1.0, log_w0, xi0, gamma, "repaired")


def off(log_off):
    return b.chance_of(log_off, "GCbound")


def planned(scheme, form="repaired"):
    def size(delta, rho, kappa, u0, M):
        # The smallest M that these weights allow must not move with them.
        p = Problem(50, 3, 1.0, kappa, min(u0, 1 / 3), max(M, 1.0))
        return plan(p, scheme, delta=delta, rho=rho, form=form).n.log_value

    return size


# Function, and the sign with which it moves in each argument (0: not claimed).
CASES = {
    "value_oracle_tail": (lambda **a: b.value_oracle_tail(**a).log_value, dict(n0=-1, delta=-1, d=1, M=1)),
    "value_oracle_tail_tight": (
        lambda **a: b.value_oracle_tail_tight(**a).log_value, dict(n0=-1, delta=-1, d=1, M=1)),
    **{
        f"moment {kind}": (
            lambda kind=kind, **a: b.moment_tails(**a)[kind].log_value, dict(n=-1, delta=-1, d=1, M=1, xi=1))
        for kind in "zusv"
    },
    "product_tail": (lambda **a: b.product_tail(**a).log_value, dict(n=-1, delta=-1, d=1, M=1, xi=1)),
    "gaussian_tail_final": (
        lambda **a: b.gaussian_tail_final(**a).log_value, dict(n=-1, delta=-1, d=1, M=1, xi=1)),
    "gaussian_tail": (lambda **a: b.gaussian_tail(**a).log_value, dict(n=-1, delta=-1, d=1, M=1, xi=1)),
    "projected_tail": (lambda **a: b.projected_tail(**a).log_value, dict(n=-1, delta=-1, k=1, M=1, xi=1)),
    "ratio_tolerance": (lambda a, bar, delta: b.ratio_tolerance(a, bar, delta), dict(a=-1, bar=1, delta=1)),
    "log_ratio_tolerance": (
        lambda n, xi, mean, delta: b.log_ratio_tolerance(n, xi, mean, delta), dict(n=1, xi=1, mean=-1, delta=1)),
    "log_product_tolerance": (
        lambda n, xi, mean, delta: b.log_product_tolerance(n, xi, mean, delta), dict(n=1, xi=0, mean=-1, delta=1)),
    "slab": (lambda Delta, xi0: b.slab(Delta, xi0).log_value, dict(Delta=1, xi0=-1)),
    "slab_pair": (lambda **a: b.slab_pair(**a).log_value, dict(Delta1=1, Delta2=1, xi0=-1, kappa=-1)),
    "projected_slab_pair": (
        lambda **a: b.projected_slab_pair(**a).log_value, dict(Delta1=1, Delta2=1, xi0=-1, kappa=-1, k=1, theta=1)),
    "projected_slab_pair_tight": (
        lambda **a: b.projected_slab_pair_tight(**a).log_value, dict(Delta1=1, Delta2=1, xi0=-1, kappa=-1, theta=1)),
    "parallelogram": (lambda **a: b.parallelogram(**a).log_value, dict(eps1=1, eps2=1, sigma=-1, c=1)),
    "bases_distance": (lambda theta: b.bases_distance(theta), dict(theta=1)),
    "projected_error": (lambda theta: b.projected_error(theta), dict(theta=1)),
    "inner_gap": (lambda theta: b.inner_gap(theta), dict(theta=1)),
    "derivative floor": (lambda z, beta: b.derivative_bounds(z, beta)[0].log_value, dict(z=-1, beta=0)),
    "coefficient floor": (lambda z, beta: b.mean_derivative_bounds(z, beta)[0].log_value, dict(z=-1, beta=0)),
    "coefficient ceiling": (lambda z, beta: b.mean_derivative_bounds(z, beta)[1].log_value, dict(z=-1, beta=0)),
    "far_field": (lambda far, k, beta: b.far_field(problem(k=k, beta=beta), far).log_value, dict(far=-1, k=1, beta=0)),
    "one_unit_left": (lambda far, k: b.one_unit_left(problem(k=k), far).log_value, dict(far=-1, k=1)),
    "own_part": (
        lambda far, u0, beta: b.own_part(problem(u0=u0, beta=beta), far)[0].log_value,
        dict(far=-1, u0=1, beta=0)),
    "cluster_radius": (lambda delta: b.cluster_radius(delta).log_value, dict(delta=1)),
    "projected_cluster_radius": (lambda delta: b.projected_cluster_radius(delta).log_value, dict(delta=1)),
    "chi_square_tail": (lambda alpha, d: b.chi_square_tail(alpha, d).log_value, dict(alpha=-1, d=0)),
    "estimates_off_oracle": (
        lambda **a: b.estimates_off_oracle(**a).log_value, dict(share=-1, n0=-1, delta=-1, log_w0=-1, d=1, M=1)),
    "estimates_off_gaussian": (
        lambda share, log_x, d, xi0: b.estimates_off_gaussian(share, log_x, d, xi0).log_value,
        dict(share=-1, log_x=-1, d=0, xi0=1)),
    "spurious": (
        lambda log_off, m0, gamma, rho: b.spurious(off(log_off), m0, gamma, rho).log_value,
        dict(log_off=1, m0=-1, gamma=-1, rho=-1)),
    "good_cluster": (
        lambda log_off, m0, gamma: b.good_cluster(off(log_off), m0, gamma).log_value,
        dict(log_off=1, m0=-1, gamma=-1)),
    "spurious_projected": (
        lambda log_off, m0, gamma, rho: b.spurious_projected(off(log_off), m0, params(gamma=gamma), rho).log_value,
        dict(log_off=1, m0=-1, gamma=-1, rho=-1)),
    "good_cluster_projected": (
        lambda log_off, m0, gamma: b.good_cluster_projected(off(log_off), m0, params(gamma=gamma)).log_value,
        dict(log_off=1, m0=-1, gamma=-1)),
    "candidate_points": (
        lambda k, delta, rho, gamma: b.candidate_points(problem(k=k), delta, rho, gamma).log_value,
        dict(k=1, delta=-1, rho=-1, gamma=-1)),
    "oracle_queries": (
        lambda d, k, M, delta, rho, log_w0: b.oracle_queries(
            problem(d=max(d, k), k=k, M=M), delta, rho, params(log_w0)).log_value,
        dict(d=1, k=1, M=1, delta=-1, rho=-1, log_w0=-1)),
    "kernel_samples": (
        lambda k, M, delta, rho, log_w0, xi0: b.kernel_samples(
            problem(k=k, M=M), delta, rho, params(log_w0, xi0)).log_value,
        dict(k=1, M=1, delta=-1, rho=-1, log_w0=-1, xi0=1)),
    "mirror_failure": (lambda n, d, theta: b.mirror_failure(n, d, theta).log_value, dict(n=-1, d=1, theta=-1)),
    "mirror_samples": (
        lambda d, theta, failure: b.mirror_samples(d, theta, failure).log_value, dict(d=1, theta=-1, failure=-1)),
    "needed_theta": (
        lambda k, kappa, u0, delta: b.needed_theta(problem(k=k, kappa=kappa, u0=u0), delta),
        dict(k=-1, kappa=1, u0=1, delta=1)),
    "gamma": (lambda k, kappa, rho: math.log(gamma_closed(k, kappa, rho)), dict(k=-1, kappa=1, rho=1)),
    "xi0_over_delta": (lambda k, kappa, rho: xi0_over_delta(k, kappa, rho), dict(k=1, kappa=-1, rho=-1)),
    "kappa_prime": (lambda k, kappa, theta: kappa_prime(k, kappa, theta), dict(k=-1, kappa=1, theta=-1)),
    "Delta": (
        lambda k, beta, u0, delta: parameters(problem(k=k, beta=beta, u0=u0), delta, 0.5).Delta,
        dict(k=1, beta=0, u0=-1, delta=-1)),
    "w0": (
        lambda k, beta, u0, delta: parameters(problem(k=k, beta=beta, u0=u0), delta, 0.5).log_w0,
        dict(k=-1, beta=0, u0=1, delta=1)),
    "plan oracle": (planned("oracle"), dict(delta=-1, rho=-1, kappa=-1, u0=-1, M=1)),
    "plan gaussian": (planned("gaussian"), dict(delta=-1, rho=-1, kappa=-1, u0=-1, M=1)),
    "plan projected": (planned("projected"), dict(delta=-1, rho=-1, kappa=-1, u0=-1, M=1)),
}  # fmt: skip


def value_of(name):
    if name in WHOLE:
        return st.integers(*WHOLE[name])
    low, high = RANGES[name]
    if low > 0 and high / low > 1e3:
        return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(math.exp(x), low), high))
    return st.floats(low, high)


@pytest.mark.parametrize(("case", "moved"), [(c, m) for c, (_, signs) in CASES.items() for m, s in signs.items() if s])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_the_bound_moves_as_stated(case, moved, data):
    function, signs = CASES[case]
    base = {name: data.draw(value_of(name), label=name) for name in signs}
    low, high = sorted(data.draw(value_of(moved), label=moved) for _ in range(2))
    before, after = function(**{**base, moved: low}), function(**{**base, moved: high})
    assert math.isfinite(before)
    assert math.isfinite(after)
    assert signs[moved] * (after - before) >= -1e-9 * (1 + abs(before))


def test_a_wrong_direction_is_noticed():
    function, _ = CASES["candidate_points"]
    base = dict(k=3, rho=0.5, gamma=1e-3)
    assert function(delta=0.4, **base) < function(delta=0.1, **base)


def test_gaussian_rows_are_not_monotone_in_the_dimension():
    # The power 1 + 7 (1 + 2/d) xi0^2 shrinks with d: projecting on k < d directions can ask for *more* rows.
    def rows(d):
        return b.kernel_samples(Problem(d, 2, 1.0, 0.9, 0.5), 0.25, 0.5, params(xi0=264.0)).log_value

    assert rows(10) < rows(2)
    assert rows(1000) > rows(2)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(beta=st.floats(0.05, 40), k=st.integers(1, 30), u0=st.floats(0.01, 1), delta=st.floats(0.001, 0.5))
def test_exact_parameters_are_never_worse_than_the_papers(beta, k, u0, delta):
    from gradsift.paper.theory.constants import exact_parameters

    p = Problem(30, k, beta, 0.5, u0, M=k * u0)
    ours, theirs = exact_parameters(p, delta, 0.5), parameters(p, delta, 0.5)
    assert ours.Delta <= theirs.Delta + 1e-9
    assert ours.log_w0 >= theirs.log_w0 - 1e-6
