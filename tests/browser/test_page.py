"""The report's text: what it says, what it leaves out, what it escapes. (Its behaviour: test_report.py.)"""

import json
import re
import warnings
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

import gradsift as gs
from gradsift.certificate import Evidence
from gradsift.recovery import Recovery
from gradsift.show.report import make_report, report_notes, summary_html

from .cases import HOSTILE, UNCHECKED, black_box, paper, table


def of(units, weights):
    return gs.Network.of(gs.SigmoidCombination(units, weights))


def titles(page):
    return re.findall(r"<figure[^>]*><h3>(.*?)</h3>", page)


@pytest.fixture(scope="module")
def pages():
    X = np.random.default_rng(0).standard_normal((500, 4))
    fitted = table()
    return {
        "black box": make_report(black_box()),
        "paper": make_report(paper()),
        "table": make_report(fitted, data=(X, fitted.model.predict(X) + 0.1)),
    }


def test_each_kind_of_run_shows_the_figures_whose_numbers_it_has(pages):
    common = ["Units and their uncertainty", "How alike the units are"]
    assert titles(pages["black box"]) == [*common, "The black box on a large half circle", "Where the queries went"]
    assert titles(pages["paper"]) == [*common, "Length of the gradient estimates", "Eigenvalues of the spectral mirror"]
    assert titles(pages["table"]) == [*common, "Number of units", "Residuals"]


def test_the_verdict_comes_first_and_certified_differs_from_not(pages):
    for name, word in (("black box", "Certified"), ("paper", "Not certified"), ("table", "Certified")):
        first = re.search(r'<span class="badge">(.*?)</span>', pages[name])
        assert first[1] == word
        assert pages[name].index("badge") < pages[name].index("<table")


def test_nothing_is_loaded_from_anywhere_and_the_file_is_small(pages):
    for page in pages.values():
        assert len(page.encode()) < 2e6
        loads = re.findall(r'(?:src|href)="([^"#][^"]*)"', page)
        assert all(address.startswith("data:") for address in loads)
        assert "default-src 'none'" in page


def test_labels_get_a_calibration_plot_instead_of_residuals():
    X = np.random.default_rng(0).standard_normal((300, 4))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    assert titles(make_report(table(), data=(X, y)))[-1] == "Calibration"


def test_a_plane_gets_its_gradient_field_and_a_line_no_cloud():
    plane = Recovery(of(np.eye(2), [1.0, 0.5]), UNCHECKED)
    assert "Gradient field of the found model" in titles(make_report(plane))
    line = Recovery(of([[1.0]], [1.0]), UNCHECKED)
    page = make_report(line)
    assert titles(page) == ["Units and their uncertainty"]
    assert '<canvas id="cloud"' not in page


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_hostile_names_and_verdicts_stay_text():
    names = HOSTILE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = make_report(table(d=len(names), hostile=True), feature_names=names, settings={"<i>": "</td><script>"})
    harmless = Tags()
    harmless.feed(make_report(table(d=len(names)), settings={"a": "b"}))
    tags = Tags()
    tags.feed(page)
    count = lambda parser, tag: sum(t == tag for t, _ in parser.seen)
    for tag in ("script", "img", "b", "i"):
        # The legend's dots are made by script, so a harmless page has none of img, b and i.
        assert count(tags, tag) == count(harmless, tag)
    assert not [a for _, attributes in tags.seen for a in attributes if a.startswith("on")]
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
    assert payload["columns"] == names


def test_ten_thousand_features_render_and_stay_small():
    model = gs.simulate.random_combination(10_000, 3, rng=0).canonical()
    page = make_report(
        Recovery(gs.Network.of(model), UNCHECKED), feature_names=[f"<column {i}>" for i in range(10_000)]
    )
    assert len(page.encode()) < 2e6
    assert "and 9994 more" in page


def test_several_outputs_are_listed_with_their_weights():
    rng = np.random.default_rng(0)
    A, U = rng.standard_normal((2, 3)), rng.standard_normal((2, 4))
    found = gs.recover(gs.Oracle(lambda X: np.tanh(X @ A.T) @ U, 3), random_state=0)
    page = make_report(found)
    assert "Weights by output (4)" in page
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
    sizes = np.sort(np.abs([output["weights"] for output in payload["outputs"]]), axis=1)
    np.testing.assert_allclose(sizes, np.sort(np.abs(U.T), axis=1), atol=1e-8)


def test_wrong_feature_names_are_refused():
    with pytest.raises(ValueError, match="feature_names must have 5 entries, got 2"):
        make_report(black_box(), feature_names=["a", "b"])


def test_the_downloaded_json_is_a_model_file(tmp_path, pages):
    payload = re.search(r'id="payload">(.*?)</script>', pages["black box"], re.S)[1]
    (tmp_path / "found.json").write_text(payload)
    assert gs.SigmoidCombination.load(tmp_path / "found.json") == black_box().model


def test_to_html_writes_all_or_nothing(tmp_path):
    black_box().to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(FileNotFoundError):
        black_box().to_html(tmp_path / "no" / "page.html")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_a_notebook_shows_verdict_and_units_escaped():
    view = table(hostile=True)._repr_html_()
    assert "<script" not in view
    assert "&lt;script&gt;" in view
    assert view.count("<tr>") == 3
    many = Recovery(gs.Network.of(gs.simulate.random_combination(3, 30, rng=0)), UNCHECKED)
    assert "and 10 more units" in summary_html(many)


def listed(page):
    """Return (level, text) of every item under "What was checked"."""
    items = re.search(r'<ul class="findings">(.*?)</ul>', page, re.S)[1]
    found = re.findall(r'<li class="(\w+)">(.*?)</li>', items, re.S)
    return [(level, " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())) for level, text in found]


@pytest.mark.parametrize("make", [black_box, paper, table])
def test_the_page_lists_every_check_those_that_fail_first_and_with_their_advice(make):
    found = make()
    shown = [item for item in listed(make_report(found)) if item[0] != "note"]
    expected = [
        ("good", f"Holds. {c.sentence}") if c.holds else ("doubt", f"Fails. {c.sentence} What to do: {c.advice}")
        for c in sorted(found.checks, key=lambda check: check.holds)
    ]
    assert shown == expected
    assert (shown[0][0] == "good") == found.certified


def test_the_pages_data_hold_the_same_checks(pages):
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', pages["paper"], re.S)[1])
    assert payload["checks"] == [check.as_dict() for check in paper().checks]


def test_what_was_not_checked_is_not_vouched_for():
    page = make_report(Recovery(of([[1.0]], [1.0]), UNCHECKED))
    assert listed(page) == [("doubt", "Fails. Nothing was checked.")]


@pytest.mark.parametrize(
    ("facts", "says"),
    [({"attempts": 3}, "It took 3 circles"), ({"attempts": 1}, ""), ({"notes": ["once"]}, "once"), ({"notes": []}, "")],
)
def test_notes_tell_what_happened_on_the_way(facts, says):
    one = Recovery(of(np.eye(3)[:1], [1.0]), UNCHECKED, Evidence(notes=facts))
    told = report_notes(one)[1:]  # after the lack of checks
    assert [f.level for f in told] == ["note"] * bool(says)
    assert all(says in f.says for f in told)


def test_every_sentence_and_figure_rests_on_numbers_that_some_real_run_provides():
    from gradsift.show.pictures import _SKETCHES
    from gradsift.show.report import _REPORT_NOTES

    truth = gs.SigmoidCombination(np.eye(3)[:2], [0.6, 0.5], 3.0)
    rows = truth.sample(4000, 0.1, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the paper's method doubts itself; only its numbers matter here
        runs = [
            gs.recover(gs.Oracle(truth.predict, 3), random_state=0),
            gs.recover(rows, random_state=0),
            gs.recover(rows, 2, method="paper", access="projected", random_state=0),
        ]
    provided = {name for run in runs for name in run.diagnostics} | {"units", "candidates", "data"}
    needed = {name for name, _ in _REPORT_NOTES} | {name for s in _SKETCHES for name in s.needs}
    assert needed <= provided
    assert "n_rows" in runs[1].diagnostics  # a tile of the report
