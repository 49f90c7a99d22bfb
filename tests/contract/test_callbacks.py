"""scikit-learn's callbacks and our own progress reports hear what a fit does."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs

callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
TRUTH = gs.simulate.random_combination(3, 2, slope=3.0, mixture=True, rng=0)
X, Y = TRUTH.sample(3000, 0.1, rng=1)
LABELS = np.where(TRUTH.sample(3000, "labels", rng=1)[1] > 0, "yes", "no")
CASES = [
    (gs.SigmoidCombinationRegressor(max_units=3, random_state=0), Y),
    (gs.SigmoidMixtureClassifier(max_units=3, random_state=0), LABELS),
]


class Heard:
    """A callback that remembers."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        known = fitted_estimator is not None and fitted_estimator.score(X, y) > 0.5
        self.events.append(("end with a model" if known else "end", context.task_name))
        return True  # a wish to stop, which is not granted


@pytest.fixture(autouse=True)
def _doubts_are_no_matter():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        yield


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_a_callback_hears_every_step_and_the_fitted_model_at_the_end(estimator, y):
    heard = Heard()
    fitted = clone(estimator).set_callbacks(heard).fit(X, y)
    assert heard.events[:2] == [("setup", "fit"), ("begin", "fit")]
    assert heard.events[-2:] == [("end with a model", "fit"), ("teardown", "fit")]
    steps = heard.events[2:-2]
    assert steps.count(("begin", "number of units")) >= 2
    assert steps[::2] == [("begin", name) for _, name in steps[::2]]
    assert steps[1::2] == [("end", name) for _, name in steps[::2]]
    np.testing.assert_array_equal(fitted.units_, clone(estimator).set_callbacks().fit(X, y).units_)


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_a_refused_fit_is_torn_down(estimator, y):
    heard = Heard()
    with pytest.raises(ValueError, match="NaN"):
        clone(estimator).set_callbacks(heard).fit(X * np.nan, y)
    assert heard.events == [("setup", "fit"), ("begin", "fit"), ("teardown", "fit")]


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_scikit_learns_own_callbacks_work_through_a_pipeline_and_on_data_frames(estimator, y, capsys):
    pandas = pytest.importorskip("pandas")
    score = "r2" if y is Y else "accuracy"
    monitor = callback.ScoringMonitor(scoring=score)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    alone = clone(estimator).set_callbacks(monitor).fit(frame, y)
    (row,) = monitor.get_logs().data
    assert row["task_name"] == "fit"
    assert row[score] == pytest.approx(alone.score(frame, y))
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).set_callbacks(callback.ProgressBar())
    pipeline.fit(X, y)
    assert type(estimator).__name__ in capsys.readouterr().out


def test_the_progress_parameter_takes_a_function_or_true_for_a_bar():
    heard = []
    gs.SigmoidCombinationRegressor(max_units=2, random_state=0, progress=lambda *told: heard.append(told)).fit(X, Y)
    assert ("number of units", 0, 2) in heard
    assert any(stage == "pass 1, rows" for stage, _, _ in heard)
    gs.SigmoidCombinationRegressor(2, random_state=0, progress=True).fit(X[:300], Y[:300])
    with pytest.raises(TypeError, match="progress must be True, False or a function"):
        gs.SigmoidCombinationRegressor(2, progress="loud").fit(X, Y)


@pytest.mark.parametrize("before", ["", "sys.modules['sklearn.callback'] = None"])
def test_without_scikit_learns_callbacks_a_fit_is_the_same_and_doubts_point_at_the_caller(before):
    """An older scikit-learn is imitated in a process of its own, from which the module is hidden."""
    code = f"""
import sys, warnings
import sklearn.base
{before}
import numpy as np, gradsift as gs
rng = np.random.default_rng(0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit = gs.SigmoidCombinationRegressor(1, random_state=0).fit(rng.standard_normal((99, 2)), rng.standard_normal(99))
print(hasattr(fit, "set_callbacks"), [w.filename for w in caught], fit.units_.tobytes().hex())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert shown[:2] == [str(not before), "['<string>']"]
    X, y = (lambda rng: (rng.standard_normal((99, 2)), rng.standard_normal(99)))(np.random.default_rng(0))
    assert shown[2] == gs.SigmoidCombinationRegressor(1, random_state=0).fit(X, y).units_.tobytes().hex()
