"""
Look inside an ONNX file
========================

A model arrives as an ``.onnx`` file. Its runtime answers in single precision, so the units come out to about as many
digits as the answers have.
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
network = MLPRegressor(
    hidden_layer_sizes=(3,), activation="tanh", solver="lbfgs", max_iter=2000, random_state=1
).fit(X, truth.predict(X))
path = Path(tempfile.mkdtemp()) / "model.onnx"
size = path.write_bytes(to_onnx(network, X[:1].astype(np.float32)).SerializeToString())

# %%
# Ask it
# ------
# The answers round to seven digits, which is noticed, and so do the units that can be had from them.

print(f"{path.name}: {size} bytes")
oracle = gs.oracle.from_onnx(path)
warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is printed
found = gs.recover(oracle, random_state=0)
print(found.verdict)
match = gs.match_units(found.model.units, network.coefs_[0].T)
print(
    "direction errors against the network inside the file:",
    np.array2string(match.errors, precision=1),
)

fresh = rng.standard_normal((500, 4))
ax = gs.plots.residual_plot(found.model.predict(fresh), oracle(fresh))
ax.set_title("residuals at fresh inputs: rounding of single precision")
plt.show()
