"""
A mixture of logistic classifiers on real data
==============================================

Three data sets that come with statsmodels and scikit-learn, fitted as mixtures of logistic classifiers and compared
with three common classifiers by their log loss on rows that no fit has seen.
"""

# %%
# The data
# --------
# ``randhie``: did a person see a doctor (20,190 rows, 9 columns). ``fair``: did a person have an affair (6,366 rows, 8
# columns). ``digits``: is the digit even (1,797 images, 8 principal components).

import warnings

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs

fair, health = sm.datasets.fair.load_pandas().data, sm.datasets.randhie.load_pandas().data
digits = load_digits()
tables = {
    "randhie": (health.drop(columns="mdvis").to_numpy(), (health["mdvis"] > 0).to_numpy()),
    "fair": (fair.drop(columns="affairs").to_numpy(), (fair["affairs"] > 0).to_numpy()),
    "digits": (PCA(8, random_state=0).fit_transform(digits.data), digits.target % 2 == 0),
}
models = {
    "mixture (gradsift)": gs.SigmoidMixtureClassifier(max_units=4, offsets=True, random_state=0),
    "logistic regression": LogisticRegression(),
    "MLP": MLPClassifier((16,), alpha=1.0, solver="lbfgs", max_iter=2000, random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(learning_rate=0.05, random_state=0),
}

# %%
# Held-out log loss
# -----------------
# Three folds; every model sees standardised columns. Smaller is better.

_, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), sharey=True, layout="constrained")
for ax, (name, (X, y)) in zip(axes, tables.items()):
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for place, (label, model) in enumerate(models.items()):
        losses, sizes = [], []
        for train, test in folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
                fitted = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
            losses.append(log_loss(y[test], fitted.predict_proba(X[test])))
            sizes.append(getattr(fitted[-1], "n_units_", None))
        shown = f"  components {sizes}" if sizes[0] else ""
        loss, spread = np.mean(losses), np.std(losses) / np.sqrt(3)
        print(f"{name:14s} {label:20s} {loss:.4f} +- {spread:.4f}{shown}")
        ax.errorbar(loss, place, xerr=spread, fmt="o", capsize=3)
    ax.set(title=name, xlabel="held-out log loss")
    ax.set_yticks(range(len(models)), models)
axes[0].invert_yaxis()
plt.show()

# %%
# One component is a logistic regression, and BIC says where that is enough. Where it asks for more, the mixture gains
# on it; boosting and the MLP, which need no story about the rows, are the ones to beat.
