"""Boxes that only decide: one hidden layer read from hard labels, up to one positive factor."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import NotIdentifiable
from gradsift.reading.decisions.boundary import Decider, orthogonal_basis, plane_at
from gradsift.reading.decisions.decision_fit import DecisionLayer, differences
from gradsift.reading.decisions.kink_boundary import plain_form
from gradsift.reading.ledger import Ledger
from gradsift.reading.scouts import measure_precision

ACTIVATIONS = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0.0), "leaky_relu": lambda z: np.maximum(z, 0.01 * z),
               "logistic": lambda z: 1 / (1 + np.exp(-np.clip(z, -700, 700)))}  # fmt: skip


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def layer(d, k, seed, n_outputs=1):
    """Return rows (k, d), offsets, output weights (m, k) and constants of a random layer."""
    rng = np.random.default_rng([4711, seed])
    A = unit(rng.standard_normal((k, d))) * rng.uniform(1, 3, (k, 1))
    U = rng.choice([-1.0, 1.0], (n_outputs, k)) * rng.uniform(0.5, 1.5, (n_outputs, k))
    U[0, :4] = [1.0, -0.8, 0.9, -1.1][:k]  # of relu units each shows where another one has the other sign
    return A, rng.uniform(-1, 1, k), U, rng.uniform(-0.2, 0.2, n_outputs)


def outputs(parts, name):
    A, b, U, c = parts
    return lambda X: ACTIVATIONS[name](np.atleast_2d(X) @ A.T + b) @ U.T + c


def angles(found, A):
    """Return the largest angle between matched rows; none may be missing."""
    W, T = unit(found.network.layers[0][0]), unit(A)
    assert len(W) == len(T)
    cosines = np.abs(W @ T.T)
    assert sorted(cosines.argmax(axis=1)) == list(range(len(T)))
    matched = T[cosines.argmax(axis=1)]
    return np.linalg.norm(W - np.sign((W * matched).sum(axis=1))[:, None] * matched, axis=1).max()


@pytest.mark.parametrize(("name", "d", "k"), [("tanh", 10, 3), ("relu", 10, 4), ("relu", 8, 4)])
def test_one_layer_is_read_from_the_sign_of_its_output(name, d, k):
    parts = layer(d, k, 11)
    f = outputs(parts, name)
    oracle = gs.Oracle(lambda X: np.where(f(X)[:, 0] > 0, 1.0, -1.0), d)
    found = gs.recover(oracle, random_state=0)
    assert found.certified
    assert found.up_to_scale
    assert found.network.activation == name
    assert angles(found, parts[0]) < 1e-6
    X = np.random.default_rng(5).standard_normal((5000, d))
    assert found.network.agreement(oracle, X) == 1.0
    # The last layer has length one, and is the true one up to one positive factor.
    last = found.network.layers[-1]
    assert np.sqrt((last.weights**2).sum() + (last.offsets**2).sum()) == pytest.approx(1.0, abs=1e-12)
    ratio = found.network.predict(X) / f(X)[:, 0]
    assert ratio.min() > 0
    assert np.ptp(ratio[np.abs(f(X)[:, 0]) > 0.1]) < 1e-4 * ratio.mean()
    assert found.n_queries < 110 * k * (d + 2)


def test_classes_may_be_words_and_several():
    parts = layer(8, 4, 3, 3)
    f, words = outputs(parts, "tanh"), np.array(["ant", "bee", "cat"])
    found = gs.recover(gs.Oracle(lambda X: words[f(X).argmax(axis=1)], 8), random_state=1)
    assert found.certified
    assert found.network.classes == ("ant", "bee", "cat")
    assert angles(found, parts[0]) < 1e-6
    np.testing.assert_allclose(found.network.layers[-1].weights.sum(axis=0), 0, atol=1e-8)
    X = np.random.default_rng(5).standard_normal((3000, 8))
    assert (found.network.decide(X) == words[f(X).argmax(axis=1)]).all()
    assert (found.network.to_sklearn().predict(X) == found.network.decide(X)).all()
    assert "ant, bee, cat" in found.summary()
    assert "up to one positive factor" in found.summary()


@pytest.mark.parametrize("seed", [3, 4])
def test_relu_units_between_several_classes_are_read_from_bends_at_two_places(seed):
    parts = layer(8, 4, seed, 3)
    f = outputs(parts, "relu")
    oracle = gs.Oracle(lambda X: f(X).argmax(axis=1), 8)
    found = gs.recover(oracle, random_state=1)
    assert found.certified
    assert found.network.activation == "relu"
    assert not found.network.has_linear_term
    assert angles(found, parts[0]) < 1e-6
    assert found.network.agreement(oracle, np.random.default_rng(5).standard_normal((3000, 8))) == 1.0


@pytest.mark.parametrize("name", ["leaky_relu", "logistic"])
def test_units_have_the_activation_that_was_asked_for_and_errors_of_their_own_parameters(name):
    A, b, U, _ = parts = layer(8, 3, 5)
    shift = -np.median(outputs((A, b, U, np.zeros(1)), name)(np.random.default_rng(1).standard_normal((4000, 8))))
    f = outputs((*parts[:3], np.array([shift])), name)
    found = gs.recover(gs.Oracle(lambda X: f(X)[:, 0] > 0, 8), activation=name, random_state=1)
    assert found.certified
    assert found.network.activation == name
    assert not found.network.has_linear_term
    (rows, offsets), last = found.network.layers
    assert np.sqrt((last.weights**2).sum() + (last.offsets**2).sum()) == pytest.approx(1.0, abs=1e-12)
    order = np.abs(unit(rows) @ unit(A).T).argmax(axis=1)
    signs = np.sign((rows * A[order]).sum(axis=1))
    sizes = np.linalg.norm(A[order], axis=1) if name == "leaky_relu" else 1.0
    wrong = np.abs(offsets - signs * b[order] / sizes)
    assert (wrong < 6 * found.evidence.errors["offsets"]).all()
    assert wrong.max() < 1e-6


def test_a_classifier_in_single_precision_is_read_to_four_digits():
    A, b, U, c = layer(10, 5, 11)
    A, b, U, c = (part.astype(np.float32) for part in (A, b, U, c))

    def decides(X):
        return (np.maximum(X.astype(np.float32) @ A.T + b, 0) @ U.T + c)[:, 0] > 0

    oracle = gs.Oracle(decides, 10)
    found = gs.recover(oracle, random_state=0)
    assert found.certified
    assert 1e-6 < found.evidence.bound < 1e-4
    assert angles(found, A) < 1e-4
    assert found.network.agreement(oracle, np.random.default_rng(5).standard_normal((5000, 10))) > 0.9995


def test_a_box_that_rounds_its_inputs_is_no_smooth_one():
    f = outputs(layer(6, 3, 2), "tanh")
    oracle = gs.Oracle(lambda X: f(np.round(X, 2))[:, 0] > 0, 6, max_queries=20_000)
    with pytest.raises(gs.errors.GradsiftError):
        gs.recover(oracle, random_state=0)


def test_questions_that_no_reader_of_decisions_takes_are_refused_with_what_was_asked():
    f = outputs(layer(6, 3, 2), "tanh")
    for bounds, options, says in ((None, {"layers": 2}, "2 hidden layers"), (None, {"activation": "gelu"}, "gelu"),
                                  ((-1, 1), {}, "inside")):  # fmt: skip
        oracle = gs.Oracle(lambda X: f(X)[:, 0] > 0, 6, bounds=bounds)
        with pytest.raises(NotIdentifiable, match=f"only decides.*got .*{says}"):
            gs.recover(oracle, random_state=0, **options)
        assert oracle.n_queries < 60


def test_a_linear_classifier_is_told_as_a_hyperplane_and_a_logistic_unit_beside_it_is_not():
    w = np.array([1.0, -2.0, 0.5, 0.3])
    oracle = gs.Oracle(lambda X: X @ w > 0.4, 4)
    found = gs.recover(oracle, random_state=0)
    assert found.certified
    assert "a hyperplane" in found.verdict
    assert found.network.classes == (False, True)
    assert np.linalg.norm(unit(found.network.layers[0][0])[0] - unit(w)) < 1e-6
    assert found.n_queries < 900
    bent = gs.recover(gs.Oracle(lambda X: X @ w + np.maximum(X[:, 0] + X[:, 1], 0) - np.maximum(X[:, 2], 0) > 0.4, 4),
                      random_state=0)  # fmt: skip
    assert "a hyperplane" not in bent.verdict


@pytest.mark.parametrize(
    ("decides", "says"),
    [
        (lambda X: np.where((X**2).sum(axis=1) > 5, "out", "in"), "at no hyperplane"),
        (lambda X: np.where(X[:, 0] > 50, 1, 0) + 0, "jumps by 1|one class"),
        (lambda X: np.where(np.floor(3 * X[:, 0]) + np.floor(3 * X[:, 1]) > 0.5, 1, 0), "flat in parts|hyperplanes"),
    ],
)
def test_boxes_that_are_no_such_layer_are_refused_within_20000_queries(decides, says):
    oracle = gs.Oracle(decides, 4, max_queries=20_000)
    with pytest.raises(NotIdentifiable, match=says):
        gs.recover(oracle, random_state=0)


def test_answers_that_are_drawn_near_the_threshold_are_refused_by_that_name():
    rng, f = np.random.default_rng(3), outputs(layer(6, 3, 2), "tanh")
    oracle = gs.Oracle(lambda X: np.where(f(X)[:, 0] + 1e-3 * rng.standard_normal(len(X)) > 0, 1.0, -1.0), 6)
    with pytest.raises(NotIdentifiable, match="same input gets different answers"):
        gs.recover(oracle, random_state=0)
    assert oracle.n_queries < 300


def test_the_scout_tells_decisions_from_random_labels_in_30_queries():
    A, b, U, _ = layer(6, 3, 2)
    f = outputs((A, 0 * b, U, np.zeros(1)), "tanh")  # as many inputs of one class as of the other
    told = []
    for seed in range(20):
        rng = np.random.default_rng([seed, 1])
        random = gs.Oracle(lambda X, rng=rng: np.where(rng.random(len(X)) < 0.5 + 0.3 * np.tanh(X[:, 0]), 1.0, -1.0), 6)
        steady = gs.Oracle(lambda X: np.where(f(X)[:, 0] > 0, 1.0, -1.0), 6)
        kinds = [measure_precision(box, np.random.default_rng(seed)).kind for box in (random, steady)]
        assert max(random.n_queries, steady.n_queries) <= 30
        told.append(kinds == ["labels", "decisions"])
    assert sum(told) >= 19


def test_rounded_answers_are_no_classes_and_ten_classes_are():
    rounded = gs.Oracle(lambda X: np.round(3 * X[:, 0]), 3)
    assert measure_precision(rounded, np.random.default_rng(0)).kind == "rounded"
    U = np.random.default_rng(1).standard_normal((3, 10))
    classes = gs.Oracle(lambda X: (X @ U).argmax(axis=1), 3)
    assert measure_precision(classes, np.random.default_rng(0)).kind == "decisions"


def test_predict_of_a_classifier_is_asked_by_name():
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    y = np.where(X[:, 0] + np.tanh(2 * X[:, 1]) > 0, "yes", "no")
    net = MLPClassifier((3,), activation="tanh", solver="lbfgs", alpha=0.05, random_state=1, max_iter=3000).fit(X, y)
    oracle = gs.oracle.from_sklearn(net, output="predict")
    found = gs.recover(oracle, random_state=0)
    assert found.certified
    assert found.network.classes == ("no", "yes")
    assert found.network.agreement(oracle, rng.standard_normal((2000, 6))) == 1.0
    with pytest.raises(ValueError, match="output must be None or 'predict'"):
        gs.oracle.from_sklearn(net, output="proba")
    with pytest.raises(ValueError, match="no link"):
        gs.oracle.from_sklearn(net, output="predict", link="logistic")


def test_a_killed_campaign_goes_on_to_the_same_network(tmp_path):
    f, words = outputs(layer(6, 3, 5), "tanh"), np.array(["low", "high"])

    def decides(X):
        return words[(f(X)[:, 0] > 0).astype(int)]

    whole = gs.recover(gs.Oracle(decides, 6), random_state=4)
    with pytest.raises(gs.errors.BudgetSpent):
        gs.recover(gs.Oracle(decides, 6, journal=tmp_path / "a.db", max_queries=700), random_state=4)
    with gs.Oracle(decides, 6, journal=tmp_path / "a.db") as oracle:
        again = gs.recover(oracle, random_state=4)
        assert oracle.n_replayed > 500
    assert again.network == whole.network
    assert again.network.classes == ("high", "low")
    whole.network.save(tmp_path / "net.npz")
    assert gs.Network.load(tmp_path / "net.npz").classes == ("high", "low")


def test_a_plane_is_known_from_bisections_and_a_ball_is_no_plane():
    w = unit(np.array([1.0, 2.0, -1.0, 0.5]))
    decider = Decider(Ledger(gs.Oracle(lambda X: (X @ w > 0.3).astype(float), 4)), (0.0, 1.0))
    start, _ = decider.cross(0.3 * w[None], np.eye(4)[:1], 0, 1, 1.0, 1e-9)
    plane = plane_at(decider, start, 0.1, 2.0**-25)
    assert np.linalg.norm(plane.normal - w) < 1e-6
    ball = Decider(Ledger(gs.Oracle(lambda X: ((X**2).sum(axis=1) > 1).astype(float), 4)), (0.0, 1.0))
    start, _ = ball.cross(np.eye(4)[:1], np.eye(4)[:1], 0, 1, 0.5, 1e-9)
    assert plane_at(ball, start, 0.1, 2.0**-25) is None
    basis = orthogonal_basis(w[None])
    np.testing.assert_allclose(basis @ w, 0, atol=1e-12)


def test_derivatives_of_the_boundary_agree_with_differences():
    rng = np.random.default_rng(2)
    one = DecisionLayer(rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((2, 3)),
                        rng.standard_normal(2), rng.standard_normal((2, 4)))  # fmt: skip
    X, ways, Q = rng.standard_normal((5, 4)), rng.standard_normal((5, 4)), np.tile([1.0, -1.0], (5, 1))
    f = gs.activations.get_activation("tanh")
    told = differences(one, f, X, ways, Q)
    theta, step = one.vector, 1e-6
    numeric = np.array([
        (differences(one.with_vector(theta + step * e), f, X, ways, Q).values
         - differences(one.with_vector(theta - step * e), f, X, ways, Q).values) / (2 * step)
        for e in np.eye(len(theta))
    ]).T  # fmt: skip
    np.testing.assert_allclose(told.rows, numeric, atol=1e-8)
    along = (differences(one, f, X + step * ways, ways, Q).values - told.values) / step
    np.testing.assert_allclose(told.slopes, along, atol=1e-4)


def test_units_are_turned_round_until_no_linear_term_is_left():
    A, b, U, c = layer(6, 3, 7)
    # relu(z) = z + relu(-z) for the second unit leaves its weight times z.
    turned = DecisionLayer(A * [[1], [-1], [1]], b * [1, -1, 1], U, c + U[:, 1] * b[1], U[:, 1:2] * A[1:2])
    plain, X = plain_form(turned), np.random.default_rng(1).standard_normal((50, 6))
    relu = gs.activations.get_activation("relu")
    ratio = plain.outputs(X, relu) / turned.outputs(X, relu)
    assert plain.linear is None
    assert np.ptp(ratio) < 1e-9
    assert plain_form(turned._replace(linear=turned.linear + 0.1)) is None


def test_the_command_line_writes_a_network_that_predicts_classes(tmp_path):
    import joblib
    from sklearn.neural_network import MLPClassifier
    from typer.testing import CliRunner

    from gradsift.cli.app import app

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.where(X[:, 0] + np.tanh(2 * X[:, 1]) > 0, "yes", "no")
    net = MLPClassifier((3,), activation="tanh", solver="lbfgs", alpha=0.05, random_state=1, max_iter=3000).fit(X, y)
    joblib.dump(net, tmp_path / "net.joblib")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    box, out, told = (str(tmp_path / name) for name in ("net.joblib", "found.json", "told.csv"))
    report = str(tmp_path / "report.html")
    options = ["--output", "predict", "--trust", "--seed", "0", "--out", out, "--report", report]
    done = CliRunner().invoke(app, ["recover", "--oracle", box, *options])
    assert done.exit_code == 0, done.output
    assert "decides between no, yes" in done.output
    assert "up to one positive factor" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["predict", out, str(tmp_path / "rows.csv"), "--out", told]).exit_code == 0
    assert np.loadtxt(told, skiprows=1, dtype=str).tolist() == net.predict(X).tolist()
