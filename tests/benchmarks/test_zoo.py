"""The zoo reads released files as their owners do, and counts what it opens honestly. Nothing is fetched here."""

import json
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import gradsift as gs
from benchmarks.boxes import deep_networks
from benchmarks.zoo import fetch, released, zoo_run
from benchmarks.zoo.opening import open_box, row
from benchmarks.zoo.specimen import Specimen, comparable, exact_box
from gradsift.cli.app import app

RNG = np.random.default_rng(5)
NET = gs.Network([(RNG.standard_normal((3, 4)), RNG.standard_normal(3)), (RNG.standard_normal((1, 3)), [0.5])])
X = RNG.standard_normal((20, 4))


def lines(*rows):
    return "\n".join(":" * (i > 0) + " ".join(map(str, r)) + f" # N={i}" for i, r in enumerate(rows))


def test_a_radiometer_file_is_read_as_its_owners_run_it(monkeypatch):
    W1, W2 = RNG.standard_normal((5, 3)), RNG.standard_normal((2, 4))  # constants first
    text = f"ND= 3 4\nNP=0.065 # smoothness\nNS= 1 2\n: 3 4\nW1={lines(*W1)}\nW2={lines(*W2)}\nRM= 1.0\n"
    monkeypatch.setattr(
        released, "members", lambda *_: {"mwrpy/site_config/here/coefficients/IWV_NN.ret": text.encode()}
    )
    (found,) = released.radiometers()
    hidden = np.column_stack((np.ones(20), np.tanh(0.065 * np.column_stack((np.ones(20), X)) @ W1)))
    np.testing.assert_allclose(np.tanh(found.truth.predict(X)), np.tanh(0.065 * hidden @ W2.T), atol=1e-14)
    assert found.name == "here IWV 0"


def test_an_ocean_column_is_read_by_columns(monkeypatch):
    (W, b), (V, c), (u, e) = (
        (RNG.standard_normal((n, m)), RNG.standard_normal(n)) for n, m in ((3, 8), (2, 3), (1, 2))
    )
    column = np.concatenate([[3, 2, 0, 0], *(part.ravel(order="F") for part in (W, b, V, c, u, e))])
    text = "\n".join(f"{value!r} 0.0" for value in column.tolist()).encode()
    monkeypatch.setattr(deep_networks, "members", lambda *_: {"canyonbpy/data/weights/wgts_AT.txt": text})
    (found,) = deep_networks.canyon_networks.__wrapped__().values()
    rows = RNG.standard_normal((20, 8))
    expected = np.tanh(np.tanh(rows @ W.T + b) @ V.T + c) @ u[0] + e[0]
    np.testing.assert_allclose(found.predict(rows), expected, atol=1e-14)


@pytest.mark.parametrize("widths", [(3,), (4, 3)])
@pytest.mark.parametrize("activation", ["logistic", "relu", "tanh"])
def test_the_form_in_which_networks_are_compared_is_the_same_function(activation, widths):
    net = gs.simulate.random_network(4, widths, activation=activation, rng=3)
    np.testing.assert_allclose(comparable(net).predict(X), net.predict(X), atol=1e-12)


def test_an_upper_unit_that_no_input_moves_is_a_constant():
    still = gs.Network([*NET.layers[:1], (np.ones((2, 3)), [0.1, -30.0]), (np.ones((1, 2)), [0.2])])
    found = comparable(still)
    assert found.widths == (3, 1)
    np.testing.assert_allclose(found.predict(X), still.predict(X), atol=1e-14)


def test_a_certificate_for_another_network_counts_as_wrong():
    # The box holds NET, the label on it says otherwise.
    other = gs.Network([NET.layers[0], (1.001 * NET.layers[1].weights, NET.layers[1].offsets)])
    right, wrong = (open_box("test", Specimen("net", truth, exact_box(NET))) for truth in (NET, other))
    assert right["certified"]
    assert not right["wrong"]
    assert right["error"] < 1e-9
    assert wrong["certified"]
    assert wrong["wrong"]
    summed = row("test", [right, wrong])
    assert summed["certified but wrong"] == 1
    assert summed["queries per unknown"] == round(right["queries"] / 19, 2)


def test_a_refusal_keeps_its_cause():
    def constant():
        return gs.Oracle(lambda X: np.zeros(len(X)), 4)

    record = open_box("test", Specimen("nothing", NET, constant))
    assert not record["certified"]
    assert "constant" in record["cause"]
    assert sum(row("test", [record])["refusals"].values()) == 1


def test_a_network_that_takes_too_long_is_given_up_with_a_cause():
    def slow(X):
        end = time.process_time() + 10
        while time.process_time() < end:
            pass
        return np.zeros(len(X))

    record = open_box("test", Specimen("slow", NET, lambda: gs.Oracle(slow, 4)), seconds=0.1)
    assert not record["certified"]
    assert "after 0.1 seconds of processor time" in record["cause"]


def test_a_package_that_cannot_be_had_is_named_and_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("GRADSIFT_ZOO", str(tmp_path))
    monkeypatch.setattr(fetch.sys, "executable", "/bin/false")
    zoo_run.specimens.cache_clear()
    (record,) = zoo_run.run(["leaves"], 1.0, 1)
    assert "satellitetools 2.1.6 cannot be downloaded" in record["missing"]
    assert zoo_run.table([record]) == []


def test_the_command_opens_a_family_keeps_its_lines_and_goes_on_from_them(monkeypatch, tmp_path):
    monkeypatch.setitem(zoo_run.FAMILIES, "test", lambda: [Specimen("net", NET, exact_box(NET))])
    kept = tmp_path / "kept.jsonl"
    results = [CliRunner().invoke(app, ["zoo", "test", "--kept", str(kept), "--json"]) for _ in range(2)]
    assert [r.exit_code for r in results] == [0, 0]
    assert results[0].stdout == results[1].stdout
    assert json.loads(results[0].stdout)["rows"][0]["certified"] == 1
    assert len(kept.read_text().splitlines()) == 1  # the second run opened nothing
    shown = CliRunner().invoke(app, ["zoo", "test", "--kept", str(kept)]).stdout
    assert "1 networks, 0 certified but wrong." in shown


@pytest.mark.parametrize("arguments", [["tigers"], ["leaves", "--share", "0"], ["leaves", "--jobs", "0"]])
def test_the_command_refuses_what_it_cannot_do(arguments):
    assert isinstance(CliRunner().invoke(app, ["zoo", *arguments]).exception, ValueError)
