"""The committed benchmarks still run, on one tiny setting each."""

from __future__ import annotations

import json

from benchmarks.tables import data_fit, data_inference


def test_the_fit_benchmark_runs_and_compares_peers(tmp_path):
    out = tmp_path / "fit.json"
    data_fit.main(["--seeds", "1", "--first-seed", "7", "--cells", "5,3,1e3", "--out", str(out)])
    (cell,) = json.loads(out.read_text())["cells"]
    assert cell["gradsift"]["success"] == 1
    assert set(data_fit.PEERS) <= set(cell)


def test_the_inference_benchmark_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(data_inference, "COUNTED", data_inference.COUNTED[:1])
    monkeypatch.setattr(data_inference, "COVERED", data_inference.COUNTED[:1])
    out = tmp_path / "inference.json"
    data_inference.main(["--units", "1", "--replications", "1", "--rows", "0", "--first-seed", "7", "--out", str(out)])
    assert json.loads(out.read_text())["number_of_units"][0]["right"] == 1
