"""A network with several layers in report, notebook and summary."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.certificate import Check, Evidence, Verdict
from gradsift.recovery import Recovery


def recovery():
    network = gs.simulate.random_network(4, (3, 2), rng=1)
    verdict = Verdict((Check("residuals", 0.1, 8.0, "all is met", "nothing"),), "two layers", "two layers <agree>")
    errors = {f"layer {i + 1}": np.full(len(b), 1e-12) for i, (_, b) in enumerate(network.layers)}
    return Recovery(network, verdict, Evidence(errors=errors, spent={"rays": 100}))


def test_the_report_draws_every_layer_and_escapes_names(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    recovery().to_html(tmp_path / "r.html", feature_names=["<a>", "b", "c", "d"])
    page = (tmp_path / "r.html").read_text()
    assert page.count("<svg") == 3
    assert page.count("<rect") == 3 * 5 + 2 * 4 + 3
    assert "&lt;a&gt;" in page
    assert "<a>" not in page
    assert "&lt;agree&gt;" in page
    assert "<script" not in page


def test_summary_and_notebook_have_a_line_per_layer():
    found = recovery()
    assert found.n_units == 5
    assert found.network is found.deep
    assert found.summary().count("1e-12") == 3
    assert "&lt;agree&gt;" in found._repr_html_()
