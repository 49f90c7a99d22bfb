"""
Look inside an ONNX file
========================

A model arrives as an ``.onnx`` file. Its runtime answers in single precision, so a recovery in full precision cannot be
expected from it: the example shows what is said in that case, and how to get the units all the same.
"""

# %%
# A file from somewhere
# ---------------------

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from skl2onnx import to_onnx
from sklearn.neural_network import MLPRegressor

import gradsift as gs

rng = np.random.default_rng(0)
truth = gs.SigmoidCombination(np.eye(4)[:3] + 0.2, [1.0, 0.8, 0.6], 2.0)
X = rng.standard_normal((2000, 4))
network = MLPRegressor(hidden_layer_sizes=(3,), activation="tanh", solver="lbfgs", max_iter=2000, random_state=1).fit(
    X, truth.predict(X)
)
path = Path(tempfile.mkdtemp()) / "model.onnx"
size = path.write_bytes(to_onnx(network, X[:1].astype(np.float32)).SerializeToString())

# %%
# Ask it
# ------
# The exact method refuses what rounds to seven digits, early and with a reason.

print(f"{path.name}: {size} bytes")
oracle = gs.oracle.from_onnx(path)
try:
    print(gs.recover(oracle, random_state=0).verdict)
except gs.errors.NotIdentifiable as refusal:
    print(f"Refused after {oracle.n_queries} queries: {refusal}")

# %%
# Fit its answers
# ---------------
# Answers at random inputs are a table; the likelihood fit takes the rounding for tiny noise. Rounding is no noise,
# however, and the test for a further unit may notice it: then there is no certificate, although the units are right.

warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is printed
rows = rng.standard_normal((1500, 4))
found = gs.recover((rows, oracle(rows)), 3, random_state=0)
print(found.verdict)
match = gs.match_units(found.model.units, network.coefs_[0].T)
print("direction errors against the network inside the file:", np.array2string(match.errors, precision=1))

fresh = rng.standard_normal((500, 4))
ax = gs.plots.residual_plot(found.model.predict(fresh), oracle(fresh))
ax.set_title("residuals at fresh inputs: rounding of single precision")
plt.show()
