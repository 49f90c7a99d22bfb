"""Words of the command line become oracles."""

import os
import sys

import joblib
import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

import gradsift as gs
from gradsift import runtime as extras
from gradsift.oracle import from_spec

from .boxes import points, smooth

X = points(5)
BOX = """
import numpy as np
import gradsift as gs

def f(X):
    return np.tanh(X[:, 0])

class Holder:
    f = staticmethod(f)

wrapped = gs.Oracle(f, 3)
number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "box_for_spec.py").write_text(BOX)
    yield tmp_path
    sys.modules.pop("box_for_spec", None)


def test_a_function_of_a_module_in_the_current_directory(here):
    before = list(sys.path)
    for word in ("box_for_spec:f", "box_for_spec:Holder.f"):
        oracle = from_spec(word, 3, max_queries=10)
        np.testing.assert_array_equal(oracle(X), np.tanh(X[:, 0]))
        assert oracle.max_queries == 10
    assert sys.path == before
    assert from_spec("box_for_spec:wrapped") is sys.modules["box_for_spec"].wrapped


def test_a_file_here_does_not_take_the_place_of_an_installed_module(here):
    (here / "colorsys.py").write_text("def f(X): return X[:, 0]")
    sys.modules.pop("colorsys", None)
    with pytest.raises(ValueError, match="colorsys has no 'f'"):
        from_spec("colorsys:f", 3)


def test_a_journal_knows_which_function_it_was_recorded_from(here):
    with from_spec("box_for_spec:f", 3, journal="c.db") as oracle:
        oracle(X)
    with pytest.raises(gs.errors.GradsiftError, match="recorded with model 'box_for_spec:f, source"):
        from_spec("box_for_spec:Holder.f", 3, journal="c.db")


def test_estimators_and_modules_inside_a_module(here):
    torch = pytest.importorskip("torch")
    module = type(sys)("box_for_spec")
    module.net = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", random_state=0).fit(X, X[:, 0])
    module.layers = torch.nn.Linear(3, 1)
    sys.modules["box_for_spec"] = module
    np.testing.assert_array_equal(from_spec("box_for_spec:net")(X), module.net.predict(X))
    assert from_spec("box_for_spec:layers")(X).shape == (5,)


def test_a_joblib_file_is_opened_only_with_trust(here):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, ("exploded",)

    joblib.dump(Bomb(), "bomb.joblib")
    with pytest.raises(ValueError, match=r"Loading bomb\.joblib runs code stored in it.*trust=True"):
        from_spec("bomb.joblib")
    assert not os.path.exists("exploded")
    net = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", random_state=0).fit(X, X[:, 0])
    joblib.dump(net, "net.joblib")
    np.testing.assert_array_equal(from_spec("net.joblib", trust=True)(X), net.predict(X))
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_spec("none.joblib", trust=True)


def test_tables_and_journals(here):
    (here / "t.csv").write_text("a,b,y\n1,2,3\n")
    assert from_spec("t.csv")([[1, 2]]) == [3]
    with gs.Oracle(smooth, 3, journal="c.db") as oracle:
        oracle(X)
    np.testing.assert_array_equal(from_spec("c.db", 3)(X), smooth(X))


def test_an_address(httpserver):
    httpserver.expect_request("/p").respond_with_json([1.5])
    with from_spec(httpserver.url_for("/p"), 3) as oracle:
        assert oracle(X[:1]) == [1.5]
    with pytest.raises(ValueError, match="give n_features"):
        from_spec("https://localhost/p")


@pytest.mark.parametrize(
    ("word", "n_features", "error", "message"),
    [
        ("nosuch:f", 3, ValueError, "nosuch:f cannot be loaded: No module named 'nosuch'"),
        ("box_for_spec:g", 3, ValueError, "box_for_spec has no 'g'"),
        ("box_for_spec:", 3, ValueError, "module and a function"),
        (":f", 3, ValueError, "module and a function"),
        ("box_for_spec:f", None, ValueError, "give n_features"),
        ("box_for_spec:wrapped", 4, ValueError, "has 3 inputs, not 4"),
        ("box_for_spec:number", 3, TypeError, "must be a function, got int"),
        ("model.pt", 3, ValueError, "must be module:function, an http"),
        ("none.onnx", 3, FileNotFoundError, "There is no ONNX file"),
        ("none.csv", 3, FileNotFoundError, "There is no table"),
        ("none.db", 3, FileNotFoundError, "There is no journal"),
    ],
)
def test_bad_words_get_one_sentence(here, word, n_features, error, message):
    with pytest.raises(error, match=message):
        from_spec(word, n_features)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(extras.importlib, "import_module", _absent)
    with pytest.raises(gs.errors.MissingExtra, match=r"needs the package onnxruntime: pip install 'gradsift\[onnx\]'"):
        gs.oracle.from_onnx("m.onnx")


def _absent(name):
    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
