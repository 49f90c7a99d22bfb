"""The page of evidence shows what was measured: corrupted results are refused, losses marked, stopped runs taken up."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import bench, campaign, evidence
from benchmarks.record import COMMITTED, Corrupted, load, write_sealed

SOUND = {"context": {"date": "2026-11-16"}, "rows": [{"n": 100, "k": 1, "tables": 2, "ours": 2}]}


def test_what_is_committed_is_sound():
    for path in COMMITTED.glob("*.json"):
        assert load(path)


def changed(text):
    return text.replace('"ours": 2', '"ours": 1')


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda text: text[: len(text) // 2], "corrupted"),
        (lambda text: text.replace("100", "NaN"), "holds NaN"),
        (changed, "checksum belongs to other numbers"),
        (lambda text: "[1, 2]", "no named results"),
        (lambda text: text.replace("date", "day"), "when it was measured"),
    ],
)
def test_a_corrupted_result_is_refused_by_name_and_so_is_its_page(harm, told, tmp_path):
    path = write_sealed(tmp_path / "phase_table.json", SOUND)
    assert load(path)["rows"] == SOUND["rows"]
    path.write_text(harm(path.read_text()))
    with pytest.raises(Corrupted, match=r"phase_table\.json is corrupted") as refused:
        evidence.page(tmp_path, tmp_path / "out")
    assert told in str(refused.value)


def test_what_is_no_number_is_written_as_nothing(tmp_path):
    path = write_sealed(tmp_path / "x.json", SOUND | {"errors": [float("inf"), 1.0, float("nan")]})
    assert load(path)["errors"] == [None, 1.0, None]


@pytest.mark.parametrize(
    ("ours", "best", "shown"),
    [(2.0, 1.0, "**2.00 (loss)**"), (1.0, 2.0, "0.50"), (1.001, 1.0, "1.00"), (None, 1.0, "-"), (1.0, 0.0, "-")],
)
def test_a_ratio_above_one_is_marked_as_a_loss(ours, best, shown):
    assert evidence.ratio(ours, best) == shown


def test_the_page_has_ratios_of_a_win_and_of_a_loss_and_names_what_is_missing(tmp_path):
    def rows(box, ours, peer, success="2 of 2"):
        shared = {"box": box, "unknowns": 15, "worst error": 1e-15, "CPU seconds": 0.1}
        best = {"best peer": "student", "method": "ours", "success": "2 of 2", "queries per unknown": ours}
        return [shared | {"method": "student", "success": success, "queries per unknown": peer}, shared | best]

    table = [*rows("tanh 5-2-1", 4.0, 2.0), *rows("tanh 9-2-1", 1.5, 3.0), *rows("relu 9-2-1", 1.5, 3.0, "0 of 2")]
    write_sealed(tmp_path / "peer_boxes.json", {"context": {"date": "2026-11-16"}, "rows": table})
    text = evidence.write_page(tmp_path, tmp_path / "out").read_text(encoding="utf-8")
    lost, won, alone = (
        next(line for line in text.splitlines() if line.startswith(f"| {row['box']}")) for row in table[::2]
    )
    assert "| **2.00 (loss)** |" in lost
    assert "| 0.50 |" in won
    assert "| peer fails |" in alone
    assert text.count("Not measured.") == 5  # all but boxes, and certificates, of which there are none
    assert (tmp_path / "out" / "boxes.svg").exists()


def test_every_step_of_the_benchmark_is_a_script_that_knows_its_options():
    harness = Path(campaign.__file__).read_text(encoding="utf-8")
    for step in bench.STEPS:
        source = Path(find_spec(bench.module_of(step.script or step.name)).origin).read_text(encoding="utf-8")
        for word in f"{step.quick} {step.full}".split():
            if word.startswith("--") and not ("campaign.arguments" in source and f'"{word}"' in harness):
                assert f'"{word}"' in source, (step.name, word)


SCRIPT = """
import os, sys
from pathlib import Path
here = Path(os.environ["GRADSIFT_RESULTS"])
with (here / "calls.txt").open("a") as stream:
    stream.write(sys.argv[1] + "\\n")
sys.exit(sys.argv[1] == "bad" and not (here / "mended").exists())
"""


def test_a_stopped_run_goes_on_where_it_failed_and_does_nothing_twice(tmp_path, monkeypatch, capsys):
    (tmp_path / "step.py").write_text(SCRIPT)
    monkeypatch.setattr(bench, "HERE", tmp_path)
    steps = bench.Step("fine", "good", "full", script="step"), bench.Step("failing", "bad", "full", script="step")
    monkeypatch.setattr(bench, "STEPS", steps)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--folder", str(tmp_path / "bench")])
    results = tmp_path / "bench" / "quick" / "results"
    codes = []
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            bench.main()
        codes.append(ended.value.code)
        (results / "mended").touch()
    assert codes == [1, 0]
    assert (results / "calls.txt").read_text().split() == ["good", "bad", "bad"]
    assert "failing: FAILED (1)" in capsys.readouterr().out
    assert "Not measured." in (results.parent / "evidence.md").read_text()
    assert json.loads((results.parent / "failing.json").read_text())["code"] == 0
