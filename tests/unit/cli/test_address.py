"""Addresses on the command line: what is sent, what is kept secret, and what is printed when it fails."""

from __future__ import annotations

import http.server
import json
import logging
import sys
import threading

import numpy as np
import pytest
from scipy.special import expit
from typer.testing import CliRunner

import gradsift as gs
from gradsift.cli.app import app, main
from gradsift.cli.recover_command import asked_how

W = np.random.default_rng(0).standard_normal((2, 3))


@pytest.fixture
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            allowed = self.headers["Authorization"] == "Bearer s3cret"
            y = expit(np.tanh(np.array(asked["x"]) @ W.T) @ [1.0, -0.7])
            body = json.dumps({"out": {"p": y.tolist()}}).encode()
            self.send_response(200 if allowed else 403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/predict"
        running.shutdown()


def test_an_address_with_headers_body_path_and_link_is_recovered_into_an_onnx_file(server, tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime")
    monkeypatch.setenv("TOKEN", "s3cret")
    out = tmp_path / "net.onnx"
    how = ["--header", "Authorization: Bearer $TOKEN", "--body", '{"x": "{rows}"}', "--answer", "out.p"]
    how += ["--link", "logistic", "--batch", "50", "--jobs", "2", "--rate", "200", "--json"]
    done = CliRunner().invoke(app, ["recover", "--oracle", server, "--features", "3", "--out", str(out), *how])
    assert done.exit_code == 0, done.output
    assert "s3cret" not in done.output
    X = np.random.default_rng(1).standard_normal((20, 3))
    y = runtime.InferenceSession(str(out), providers=["CPUExecutionProvider"]).run(None, {"X": X})[0]
    np.testing.assert_allclose(y.ravel(), np.tanh(X @ W.T) @ [1.0, -0.7], atol=1e-8)


def test_a_refusal_is_json_where_json_was_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gradsift", "recover", "--oracle", "http://127.0.0.1:9/x", "--features", "3"])
    sys.argv += ["--out", str(tmp_path / "net.json"), "--header", "Authorization: $NOT_SET_ANYWHERE", "--json"]
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    told = json.loads(capsys.readouterr().out)
    assert told["certified"] is False
    assert "NOT_SET_ANYWHERE" in told["verdict"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"headers": ["nonsense"]}, 'must be "Name: value"'),
        ({"headers": ["A: b"]}, "--header only makes sense"),
        ({"answer": "out"}, "--answer only makes sense"),
    ],
)
def test_settings_of_addresses_are_refused_elsewhere(given, message):
    settings = {"headers": None, "body": None, "answer": None, "rate": None, **given}
    with pytest.raises(ValueError, match=message):
        asked_how("box:f", **settings)


def test_a_body_may_stand_in_a_file(tmp_path):
    (tmp_path / "body.json").write_text('{"x": "{rows}"}')
    assert asked_how("http://a/b", None, str(tmp_path / "body.json"), None, 2.0) == {
        "body": '{"x": "{rows}"}', "per_second": 2.0,
    }  # fmt: skip


def test_a_retry_says_what_happens_and_no_secret(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gradsift", "version"])
    with pytest.raises(SystemExit):
        main()
    logging.getLogger("gradsift.http").warning("a request got no answer (%s); asking again in %g s.", "status 503", 0.4)
    assert capsys.readouterr().err == "gradsift: a request got no answer (status 503); asking again in 0.4 s.\n"


def test_the_forecast_command_prints_what_the_function_says():
    done = CliRunner().invoke(app, ["forecast", "--features", "20", "--units", "5", "--answers", "float32", "--json"])
    told = gs.forecast(20, 5, "float32")
    assert json.loads(done.stdout) == {"queries": told.queries, "low": told.low, "high": told.high}


def test_the_forecast_command_takes_the_units_of_each_layer():
    asked = ["forecast", "--features", "20", "--activation", "relu", "--json", "--layers"]
    done = CliRunner().invoke(app, [*asked, "20,10"])
    told = gs.forecast(20, layers=[20, 10], activation="relu")
    assert json.loads(done.output)["queries"] == told.queries
    assert "whole numbers" in str(CliRunner().invoke(app, [*asked, "20;10"]).exception)
