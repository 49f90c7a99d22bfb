"""ONNX files, made from trained scikit-learn models, as oracles."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs
from gradsift.oracle import from_onnx, from_sklearn

pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType  # noqa: E402

NET = dict(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=2000, random_state=0)


def trained(load, net):
    X, y = load(return_X_y=True)
    return X, make_pipeline(StandardScaler(), net).fit(X, y)


def written(model, path, kind, shape, **options):
    onnx = skl2onnx.to_onnx(model, initial_types=[("X", kind(shape))], options=options or None)
    path.write_bytes(onnx.SerializeToString())
    return path


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, make_pipeline(StandardScaler(), MLPRegressor(**NET)).fit(X, y / 100)


def test_a_double_model_answers_to_the_last_digits(tmp_path, diabetes):
    X, model = diabetes
    oracle = from_onnx(written(model, tmp_path / "m.onnx", DoubleTensorType, [None, 10]), batch_size=50)
    assert oracle.n_features == 10
    np.testing.assert_allclose(oracle(X), model.predict(X), rtol=1e-12)


def test_a_single_precision_model_answers_in_its_own_precision(tmp_path, diabetes):
    X, model = diabetes
    answers = from_onnx(written(model, tmp_path / "m.onnx", FloatTensorType, [None, 10]))(X)
    assert 1e-9 < np.abs(answers - model.predict(X)).max() < 1e-4


@pytest.mark.parametrize("n_fixed", [1, 7])
def test_a_fixed_number_of_rows_is_met_by_cutting_and_filling(tmp_path, diabetes, n_fixed):
    X, model = diabetes
    oracle = from_onnx(written(model, tmp_path / "m.onnx", DoubleTensorType, [n_fixed, 10]))
    np.testing.assert_allclose(oracle(X[:25]), model.predict(X[:25]), rtol=1e-12)
    assert oracle.n_queries == 25


def test_the_link_of_a_classifier_is_undone(tmp_path):
    X, model = trained(load_breast_cancer, MLPClassifier(**{**NET, "alpha": 10.0}))
    path = written(model, tmp_path / "m.onnx", DoubleTensorType, [None, 30], zipmap=False)
    logit = from_sklearn(model)(X)
    near = np.abs(logit) < 8
    assert near.sum() > 100
    np.testing.assert_allclose(from_onnx(path)(X[near]), logit[near], atol=1e-10)
    p = from_onnx(path, link="identity")(X)
    np.testing.assert_allclose(p, model.predict_proba(X), atol=1e-12)


def test_several_classes_give_one_output_fewer(tmp_path):
    X, model = trained(load_iris, MLPClassifier(**{**NET, "alpha": 10.0}))
    path = written(model, tmp_path / "m.onnx", DoubleTensorType, [None, 4], zipmap=False)
    Z = from_sklearn(model)(X)
    np.testing.assert_allclose(from_onnx(path)(X), Z[:, 1:] - Z[:, :1], atol=1e-10)


def test_what_cannot_be_an_oracle_is_refused(tmp_path, diabetes):
    _, model = trained(load_breast_cancer, MLPClassifier(**NET))
    with pytest.raises(ValueError, match=r"no floating-point tensor among its outputs .* export it without ZipMap"):
        from_onnx(written(model, tmp_path / "zip.onnx", FloatTensorType, [None, 30]))
    path = written(diabetes[1], tmp_path / "m.onnx", DoubleTensorType, [None, 10])
    with pytest.raises(ValueError, match=r"output must be one of the model's floating-point outputs \['variable'\]"):
        from_onnx(path, output="z")
    with pytest.raises(ValueError, match="link must be None or one of logistic"):
        from_onnx(path, link="probit")
    (tmp_path / "bad.onnx").write_bytes(b"this is not a model")
    with pytest.raises(ValueError, match="not a model that onnxruntime can run"):
        from_onnx(tmp_path / "bad.onnx")
    with pytest.raises(FileNotFoundError, match="There is no ONNX file"):
        from_onnx(tmp_path / "none.onnx")


def test_a_model_that_leaves_its_width_open_needs_to_be_told(tmp_path):
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, [None, None])
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None, 1])
    graph = helper.make_graph([helper.make_node("ReduceSum", ["x", "axes"], ["y"])], "g", [x], [y])
    graph.initializer.append(helper.make_tensor("axes", TensorProto.INT64, [1], [1]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="does not say how many inputs it has: give n_features"):
        from_onnx(tmp_path / "m.onnx")
    np.testing.assert_array_equal(from_onnx(tmp_path / "m.onnx", n_features=3)([[1.0, 2.0, 4.0]]), [7.0])


def test_a_journal_knows_the_file_it_was_recorded_from(tmp_path, diabetes):
    X, model = diabetes
    path = written(model, tmp_path / "m.onnx", DoubleTensorType, [None, 10])
    with from_onnx(path, journal=tmp_path / "c.db") as oracle:
        oracle(X)
    other = written(model, tmp_path / "n.onnx", FloatTensorType, [None, 10])
    with pytest.raises(gs.errors.GradsiftError, match="was recorded with model 'onnx variable"):
        from_onnx(other, journal=tmp_path / "c.db")
