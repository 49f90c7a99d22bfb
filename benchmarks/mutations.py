"""Do the tests notice? Formulas of paper/method/ and theory/ changed one at a time, in a copy of the tree.

    python benchmarks/mutations.py [--only TEXT] [--jobs N] [--save]

Each mutation is one replacement in one file, run against the tests that concern the file, quickest first, until one
fails. A mutation that no test notices has survived; those that cannot be noticed are in EQUIVALENT, with the reason.
"""

# ruff: noqa: E501  (a replacement is one line)
from __future__ import annotations

import argparse
import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tree_copies import Replaced, in_fork, inside, is_loaded_from, source_of, spread

PINS = "tests/paper/test_pins.py"
TESTS = {
    "paper/theory/": (PINS, "tests/unit/paper/test_planning.py", "tests/unit/paper/test_partition.py",
                "tests/paper/test_statements.py", "tests/paper/test_errata.py"),
    "paper/method/gradients": ("tests/unit/paper/test_gradients.py",),
    "paper/method/kernel": ("tests/unit/paper/test_gradients.py",),
    "paper/method/subspace": (PINS, "tests/unit/paper/test_subspace.py"),
    "paper/method/weights": ("tests/unit/paper/test_weights.py",),
    "paper/method/clustering": (PINS, "tests/unit/paper/test_clustering.py"),
    "paper/method/theorem_run": ("tests/unit/paper/test_theorem_run.py",),
    "paper/method/": (PINS, "tests/unit/paper/test_candidates.py", "tests/recovery/test_paper_method.py"),
}  # fmt: skip


class Mutation(NamedTuple):
    """One replacement; `old` occurs exactly once in the file."""

    file: str  # inside src/gradsift
    old: str
    new: str

    @property
    def tests(self) -> tuple[str, ...]:
        """Test files that concern the file, quickest first."""
        return next(tests for start, tests in TESTS.items() if self.file.startswith(start))


_B, _K = "paper/theory/bounds.py", "paper/theory/constants.py"
_P, _F, _I = "paper/theory/partition.py", "paper/theory/gaussian_fields.py", "paper/theory/tight.py"
_G, _L, _D = "paper/method/gradients.py", "paper/method/literal.py", "paper/method/clustering.py"
_A, _R, _N = "paper/method/candidates.py", "paper/method/literal.py", "paper/theory/planning.py"

MUTATIONS = (
    Mutation(_K, "math.log(beta) + float(log_ndtr(-2 * beta)) + 2 * beta**2", "math.log(beta) + float(log_ndtr(-beta)) + 2 * beta**2"),
    Mutation(_K, "return math.log(8 * beta) + 2 * beta**2", "return math.log(4 * beta) + 2 * beta**2"),
    Mutation(_K, "ratio = math.log(8) - float(log_ndtr(-2 * problem.beta))", "ratio = math.log(4) - float(log_ndtr(-2 * problem.beta))"),
    Mutation(_K, "REPAIRED_SLACK, PRINTED_SLACK = 2.0, 1.0", "REPAIRED_SLACK, PRINTED_SLACK = 1.0, 1.0"),
    Mutation(_K, "+ math.log(problem.k / problem.u0) - math.log(delta)", "+ math.log(problem.k / problem.u0)"),
    Mutation(_K, "- 2 * math.log1p(slack * delta) - log_c2", "- math.log1p(slack * delta) - log_c2"),
    Mutation(_K, "return 2 * math.sqrt(2 * math.e / math.pi) * k / kappa * (k / rho + 1)", "return 2 * math.sqrt(2 * math.e / math.pi) * k / kappa * (k / rho)"),
    Mutation(_K, "return 2 * math.sqrt(2 * math.e / math.pi) * k / kappa", "return 2 * math.sqrt(2 / math.pi) * k / kappa"),
    Mutation(_K, "* t - 2 * k / (kappa * math.pi) * t * t", "* t - k / (kappa * math.pi) * t * t"),
    Mutation(_K, "return kappa * rho / (4 * math.e * (rho + k) ** 2)", "return kappa * rho / (4 * math.e * (rho + kappa) ** 2)"),
    Mutation(_K, "(4 * k * math.sin(theta / 2)) ** 2))", "(2 * k * math.sin(theta / 2)) ** 2))"),
    Mutation(_K, "(log_delta_argument(problem, delta, slack) - math.log(length)) / beta", "(log_delta_argument(problem, delta, slack) + math.log(length)) / beta"),
    Mutation(_K, "math.log(k / delta) + log_c2(beta) - 2 * beta * Delta", "math.log(k / delta) + log_c2(beta) - beta * Delta"),
    Mutation(_B, "base = math.log(beta) - 2 * beta * abs(x)", "base = math.log(beta) - beta * abs(x)"),
    Mutation(_B, "decay = -2 * beta * abs(z)", "decay = -2 * beta * z"),
    Mutation(_B, "0.5 * math.log(2 / (math.e * math.pi))", "0.5 * math.log(1 / (math.e * math.pi))"),
    Mutation(_B, "- 2 * math.log(sigma) - 0.5 * math.log1p(-(c**2))", "- math.log(sigma) - 0.5 * math.log1p(-(c**2))"),
    Mutation(_B, "- 2 * math.log(sigma) - 0.5 * math.log1p(-(c**2))", "- 2 * math.log(sigma) - math.log1p(-(c**2))"),
    Mutation(_B, "+ math.log(Delta2 / xi0) - math.log(kappa)", "+ math.log(Delta2 / xi0)"),
    Mutation(_B, "shrunk = kappa_prime(k, kappa, theta)", "shrunk = kappa"),
    Mutation(_B, "return 2 * math.sin(theta / 2)", "return math.sin(theta / 2)"),
    Mutation(_B, "return math.sin(theta) ** 2", "return math.sin(theta)"),
    Mutation(_B, "max(0.0, c3 * reach - c4 * math.sqrt(d)) ** 2", "(c3 * reach - c4 * math.sqrt(d)) ** 2"),
    Mutation(_B, "exponent = min(c2 * reach**2 / d", "exponent = max(c2 * reach**2 / d"),
    Mutation(_B, "reach = math.sqrt(n0) * delta / M", "reach = math.sqrt(n0) * delta"),
    Mutation(_B, "common = math.log(n) + xi**2 / 2\n", "common = math.log(n) + xi**2\n"),
    Mutation(_B, "common = 2 * xi**2 - math.log(n) - 2 * math.log(delta)", "common = xi**2 - math.log(n) - 2 * math.log(delta)"),
    Mutation(_B, "spread, size = math.log(d + 4 * xi**2)", "spread, size = math.log(d + xi**2)"),
    Mutation(_B, "return b**2 * delta / (a + b + b * delta)", "return b**2 * delta / (a + b)"),
    Mutation(_B, "math.log(2 * mean_xr + 2 + delta)", "math.log(mean_xr + 2 + delta)"),
    Mutation(_B, "return 2 * math.log(n) + xi**2 + math.log(delta)", "return math.log(n) + xi**2 + math.log(delta)"),
    Mutation(_B, "math.log(9 * M**2 * xi**2) + square", "math.log(3 * M**2 * xi**2) + square"),
    Mutation(_B, "math.log(3 * (M**2 + d + 4 * xi**2) * factor)", "math.log(3 * (d + 4 * xi**2) * factor)"),
    Mutation(_B, "second = (3 * M**2 + 3 * d", "second = (2 * M**2 + 3 * d"),
    Mutation(_B, "10 * M**2 * d + 49 * M**2 * xi**2 + 17", "10 * M**2 * d + 40 * M**2 * xi**2 + 17"),
    Mutation(_B, "+ 4 * math.log(M) + 2 * math.log(d + xi**2)", "+ 4 * math.log(M) + math.log(d + xi**2)"),
    Mutation(_B, "same = gaussian_tail(n, delta, k, M, xi, C=C)", "same = gaussian_tail(n, delta, k + 1, M, xi, C=C)"),
    Mutation(_B, "return math.log(problem.k) + log_c2(problem.beta) - 2 * problem.beta * Delta", "return log_c2(problem.beta) - 2 * problem.beta * Delta"),
    Mutation(_B, "math.log(problem.u0) - 2 * problem.beta * Delta", "math.log(problem.u0) - problem.beta * Delta"),
    Mutation(_B, 'Bound(math.log(6 * delta), "clusterlemma",', 'Bound(math.log(4 * delta), "clusterlemma",'),
    Mutation(_B, "if alpha < 4 * d:", "if alpha < 2 * d:"),
    Mutation(_B, 'return chance_of(-alpha / 7, "GCbound"', 'return chance_of(-alpha / 6, "GCbound"'),
    Mutation(_B, "- 4 * math.log(M) - 2 * math.log(d)", "- 2 * math.log(M) - 2 * math.log(d)"),
    Mutation(_B, "reach = (1 + 2 / d) * xi0**2", "reach = (1 + 1 / d) * xi0**2"),
    Mutation(_B, "log_x / (1 + 7 * reach)", "log_x / (1 + 4 * reach)"),
    Mutation(_B, "if log_x <= 4 * d * (1 / 7 + reach):", "if log_x <= 2 * d * (1 / 7 + reach):"),
    Mutation(_B, "value = log_add(off.log_value, -c5 * m0 * gamma * rho)", "value = log_add(off.log_value, -c5 * m0 * gamma)"),
    Mutation(_B, "value = log_add(off.log_value, -c5 * m0 * gamma)\n", "value = -c5 * m0 * gamma\n"),
    Mutation(_B, "math.log(C / (gamma * rho)) + math.log(math.log(problem.k / delta))", "math.log(C / gamma) + math.log(math.log(problem.k / delta))"),
    Mutation(_B, "+ 2 * math.log(problem.M) - 2 * (math.log(delta) + params.log_w0)\n        + math.log", "+ 2 * math.log(problem.M) - (math.log(delta) + params.log_w0)\n        + math.log"),
    Mutation(_B, "power = (1 + 7 * reach) * (math.log(C2) + ", "power = math.log(C2) + (1 + 7 * reach) * ("),
    Mutation(_B, "front + max(power, 4 * d * (1 / 7 + reach))", "front + min(power, 4 * d * (1 / 7 + reach))"),
    Mutation(_B, "math.log(C1) - C2 * n * theta**2 / d", "math.log(C1) - C2 * n * theta / d"),
    Mutation(_B, "2 * math.asin(delta**2 / (4 * problem.k))", "2 * math.asin(delta / (4 * problem.k))"),
    Mutation(_B, "problem.u0 * problem.kappa,\n", "problem.kappa,\n"),
    Mutation(_B, "math.log(d / C2) - 2 * math.log(theta)", "math.log(d / C2) - math.log(theta)"),
    Mutation(_B, "-0.5 * d * (q - 1 - log_q)", "-0.5 * d * (q - 1)"),
    Mutation(_B, "if delta > M:", "if delta > 2 * M:"),
    Mutation(_B, "kappa * math.cos(theta) ** 2)", "kappa * math.cos(theta))"),
    Mutation(_B, "return min(math.pi / 4, math.asin(delta), u0 * kappa)", "return min(math.asin(delta), u0 * kappa)"),
    Mutation(_P, "near = np.abs(points @ units.T) < Delta", "near = np.abs(points @ units.T) <= Delta"),
    Mutation(_P, "good = np.linalg.norm(estimates - means, axis=1) <= delta * w0", "good = np.linalg.norm(estimates - means, axis=1) <= w0"),
    Mutation(_P, "kept = np.linalg.norm(estimates, axis=1) >= w0", "kept = np.linalg.norm(estimates, axis=1) > w0"),
    Mutation(_P, ">= (1 - delta) * w0)", ">= w0)"),
    Mutation(_P, 'label, factor = "maintheorem", 6', 'label, factor = "maintheorem", 7'),
    Mutation(_P, 'label, factor = "dimredtheorem", 7', 'label, factor = "dimredtheorem", 6'),
    Mutation(_P, "params.gamma * m0 / 2", "params.gamma * m0"),
    Mutation(_P, "most = 2 * run.rho * params.gamma * m0", "most = run.rho * params.gamma * m0"),
    Mutation(_P, "target = np.copysign(1.0, run.weights[i]) * unit", "target = unit"),
    Mutation(_P, "flat = run.units @ run.basis.T @ run.basis", "flat = run.units"),
    Mutation(_F, "logs = math.log(4 * beta) - 2 * beta * z + 2 * beta**2", "logs = math.log(4 * beta) - 2 * beta * z"),
    Mutation(_F, "flat = points @ basis.T @ basis  # (m, d)", "flat = points  # (m, d)"),
    Mutation(_F, "second - np.exp(xi**2) * gaussian_mean(g, xi) ** 2", "second - np.exp(2 * xi**2) * gaussian_mean(g, xi) ** 2"),
    Mutation("paper/theory/constants.py", "- math.log1p(2 * delta)", "- math.log1p(delta)"),
    Mutation("paper/theory/constants.py", "ratio = log_mean_derivative(Delta / 2, problem.beta)", "ratio = log_mean_derivative(Delta / 3, problem.beta)"),
    Mutation(_I, "return math.asin(min(1.0, self.far + self.error)) + self.theta", "return math.asin(min(1.0, self.far + self.error))"),
    Mutation(_I, "math.log1p(split.far + split.error)", "math.log1p(split.far)"),
    Mutation(_I, "0.2, 0.6, 0.1, 0.01", "0.2, 0.5, 0.1, 0.01"),
    Mutation(_I, "front = 2 * (math.log(problem.M) + math.log(d)", "front = 2 * (2 * math.log(problem.M) + math.log(d)"),
    Mutation(_N, "self.m0.log_value + self.n0.log_value", "self.n0.log_value"),
    Mutation(_N, "length = 1.0 if self.theta is None else math.cos(self.theta)", "length = 1.0 if self.theta is None else 1 / math.cos(self.theta)"),
    Mutation("paper/theory/planning.py", "problem.u0 * problem.beta * (1 - f**2)", "problem.u0 * (1 - f**2)"),
    Mutation(_G, "return _mean_of(z * y[:, None])", "return _mean_of(2 * z * y[:, None])"),
    Mutation(_G, "(0.5 * (y[:pairs] - y[pairs : 2 * pairs]))", "(y[:pairs] - y[pairs : 2 * pairs])"),
    Mutation("paper/method/kernel.py", "comoment=xy_mean - x_mean * y_mean[:, None]", "comoment=xy_mean"),
    Mutation("paper/method/kernel.py", "support = state.mass**2 / state.mass2", "support = state.mass / state.mass2"),
    Mutation(_G, "within = xi @ components.T", "within = 2 * xi @ components.T"),
    Mutation(_A, "points = point_scale * rng.standard_normal", "points = rng.standard_normal"),
    Mutation(_A, "supported & (estimates.norms >= threshold)", "supported & (estimates.norms > threshold)"),
    Mutation(_A, "supported = estimates.support >= min_support", "supported = estimates.support >= 0"),
    Mutation(_D, "nearest = np.argmax(cosines, axis=1)", "nearest = np.argmax(np.abs(cosines), axis=1)"),
    Mutation(_D, "np.maximum(2 - 2 * rows @ rows[chosen[-1]], 0.0)", "np.sqrt(np.maximum(2 - 2 * rows @ rows[chosen[-1]], 0.0))"),
    Mutation(_D, "np.argpartition(-fit, keep - 1)", "np.argpartition(fit, keep - 1)"),
    Mutation(_D, "best = max(runs, key=lambda run: run.score)", "best = min(runs, key=lambda run: run.score)"),
    Mutation(_R, "math.sqrt(2 * math.log(max(n_rows, 2)))", "math.sqrt(math.log(max(n_rows, 2)))"),
    Mutation(_R, "1 - idle**n_units", "1 - idle"),
    Mutation(_R, "reach=2.0,", "reach=1.0,"),
    Mutation(_L, "source, 150 * k, 40.0 * k / 3, 0.05, {})", "source, 150 * k, 40.0 * k, 0.05, {})"),
    Mutation(_L, "*row_options(rest.n_rows, k, k), facts)", "*row_options(rows.n_rows, rows.n_features, k), facts)"),
    Mutation(_L, "int(np.sum(fit.weights < 0))", "int(np.sum(fit.weights < -1))"),
    Mutation("paper/method/subspace.py", "distance = np.abs(eigenvalues - np.median(eigenvalues))", "distance = np.abs(eigenvalues)"),
    Mutation("paper/method/subspace.py", "source.rows(half, source.n_rows).reduce(Mirror", "source.rows(0, half).reduce(Mirror"),
    Mutation("paper/method/subspace.py", "mirrored = rows.y * np.sign(rows.X @ self.reflector)", "mirrored = rows.y * (rows.X @ self.reflector)"),
    Mutation("paper/method/weights.py", "inner = gram - moment[:, None] - moment[None, :] + y_square", "inner = gram - moment[:, None] - moment[None, :]"),
    Mutation("paper/method/weights.py", "residual = state.y_square - 2 * weights @ moment", "residual = state.y_square - weights @ moment"),
    Mutation("paper/method/theorem_run.py", "min_norm=params.w0", "min_norm=2 * params.w0"),
    Mutation("paper/method/theorem_run.py", "weights = problem.u0 * rng.choice", "weights = 2 * problem.u0 * rng.choice"),
)  # fmt: skip

SURVIVED = "SURVIVED"

# Mutations that no test can notice, each with the reason.
EQUIVALENT: dict[tuple[str, str], str] = {}


def mutated(mutation: Mutation) -> str:
    """Return the text of the file with the mutation."""
    text = source_of(mutation.file)
    if text.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.file}: {mutation.old!r} occurs {text.count(mutation.old)} times")
    return text.replace(mutation.old, mutation.new)


def noticed(file: str, tree: Path) -> bool:
    """Return whether a test of the file fails, in a fork that has gradsift from the tree."""
    outcome = in_fork(_run_tests, file, tree)
    return bool(outcome.exit_code or outcome.value)


def _run_tests(file: str, tree: Path) -> int:
    inside(tree)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file])
    return int(code) if is_loaded_from(tree) else 0  # a run of the wrong sources would notice nothing, and says so


_GREEN: set[str] = set()  # test files that were seen to pass without a mutation


def fate(mutation: Mutation, tree: Path) -> str:
    """Apply a mutation, look whether it is noticed, and take it back.

    A test file that notices must pass without the mutation.
    """
    with Replaced(tree, mutation.file, mutated(mutation)):
        test = next((file for file in mutation.tests if noticed(file, tree)), "")
    if test and test not in _GREEN:
        if noticed(test, tree):
            return f"{SURVIVED}: {test} fails without it, too"
        _GREEN.add(test)
    reason = EQUIVALENT.get((mutation.file, mutation.old), "")
    return f"noticed by {test}" if test else f"equivalent: {reason}" if reason else SURVIVED


def keep(fates: dict[Mutation, str]) -> None:
    """Write all fates that are known: these, and of other mutations those of the file."""
    from record import RESULTS, save  # imports gradsift, which the forks must load from their own tree

    path = RESULTS / "mutations.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    known = {Mutation(row["file"], row["from"], row["to"]): row for row in rows}
    known |= {m: {"file": m.file, "from": m.old, "to": m.new, "fate": fate} for m, fate in fates.items()}
    rows = [known[m] for m in MUTATIONS if m in known]
    survived = sum(row["fate"].startswith(SURVIVED) for row in rows)
    print(save("mutations", {"mutations": len(rows), "survived": survived, "rows": rows}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="mutations whose file or text contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if options.only in m.file or options.only in m.old]
    fates: dict[Mutation, str] = {}
    for number, (mutation, what) in enumerate(spread(chosen, fate, options.jobs), 1):
        fates[mutation] = what
        print(f"{number}/{len(chosen)} {mutation.file}: {mutation.old!r} -> {mutation.new!r}: {what}", flush=True)
    survived = sum(what.startswith(SURVIVED) for what in fates.values())
    print(f"{len(chosen)} mutations, {survived} survived")
    if options.save:
        keep(fates)
    if survived:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
