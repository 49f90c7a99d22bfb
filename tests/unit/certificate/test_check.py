"""Checks: limits from both sides, verdicts, the one place for limits, and the same list wherever it is shown."""

import ast
import contextlib
import inspect
import json
import math
import re
import warnings
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import gradsift as gs
from gradsift import certificate as checks
from gradsift.certificate import (
    COARSE,
    COARSE_KINKS,
    DECIDED,
    DEEP,
    DEEP_COARSE,
    EXACT,
    EXACT_IN_A_BOX,
    KINKED_UNITS,
    LABELS,
    NOISY,
    OUTPUTS,
    PAPER,
    TABLE,
    VERIFY,
    Check,
    Evidence,
    Verdict,
    table_rules,
)
from gradsift.certificate import exact_rules as exact
from gradsift.certificate import noise_rules as imperfect
from gradsift.certificate import shared_rules as shared
from gradsift.cli.console import as_options
from gradsift.cli.results import finish
from gradsift.fit import Parameters
from gradsift.reading.noise.beside_planes import SecondUnitTest
from gradsift.reading.noise.noise_certificate import NoisyEvidence, judge
from gradsift.reading.noise.noise_tests import Variance
from gradsift.reading.noise.state import CircleTest
from gradsift.reading.precision import Precision
from gradsift.recovery import Recovery
from gradsift.show.report import make_report

PACKAGE = Path(gs.__file__).parent
MODEL = gs.SigmoidCombination(np.eye(3)[:2], [1.0, 0.5])
PAIR = table_rules.Overlap(0, 1, 0.3, 0.1)


def tails(p):
    return imperfect.Tails(p, 2, 4.4, 1.0, 500)


# One line per check and kind of answers: what makes it, a number that it takes, and one just beyond its limit.
SIDES = [
    (lambda n: shared.number_of_units(n, 3), 3, 4),
    (lambda n: shared.number_of_units(n, 3), 3, 2),
    (shared.finished, "", "the budget is spent"),
    (lambda n: shared.fresh_inputs(30, n, 0.5, 0.1, np.zeros(3)), 0, 1),
    (shared.nothing_left, 0.0, 1e-4),
    (lambda n: exact.close_to(n, 80, 1e-4), 0, 1),
    (lambda n: exact.crossings_as_foretold(n, 30, 8, 1e-6), 0, 1),
    (lambda n: exact.crossings_as_foretold(0, n, 8, 1e-6), 8, 7),
    (lambda singular: exact.determined(singular, 12), False, True),
    (lambda n: exact.decided_alike(120, n, 0.03), 0, 1),
    (lambda x: imperfect.activation("erf", x, NOISY), 3.0, 3.1),
    (lambda p: imperfect.shape(imperfect.OddBend(p, 0), "tanh", NOISY), 1e-3, 9e-4),
    (imperfect.rounded_kinks, 0.0, 0.1),
    (lambda x: imperfect.parallel_pairs("relu", x, COARSE_KINKS.pairs, 0.4), 8.0, 8.1),
    (lambda x: imperfect.parallel_pairs("relu", x, -4.0, 0.4), -4.0, -3.9),
    (imperfect.known_offsets, 3.0, 3.1),
    (lambda p: imperfect.labels_by_chance(12, 1, p), 1e-3, 9e-4),
    (lambda x: imperfect.known_mean(imperfect.KnownMean(x, -9.0), LABELS, 0.2), 0.3, 0.31),
    (lambda x: imperfect.label_link(imperfect.KnownMean(0.1, x), LABELS), 3.0, 3.1),
    (lambda x: imperfect.label_link(imperfect.KnownMean(0.1, -99.0, x), LABELS), 3.0, 3.1),
    (imperfect.equal_answers, 0, 1),
    (lambda x: exact.residuals(x, 60, EXACT), 1.99, 2.0),
    (lambda x: exact.residuals(x, 60, EXACT_IN_A_BOX), 7.99, 8.01),
    (lambda x: exact.fresh_answers(3, x, relative=True, limits=EXACT), 1e-8, 1.01e-8),
    (lambda x: exact.fresh_answers(3, x, relative=True, limits=EXACT_IN_A_BOX), 1e-5, 1.01e-5),
    (lambda x: exact.fresh_answers(30, x, limits=COARSE), 4.0, 4.01),
    (lambda x: exact.output(2, x, 60), 3.99, 4.01),
    (lambda x: exact.fresh_answers(4, x, limits=KINKED_UNITS), 11.9, 12.1),
    (lambda x: exact.residuals(x, 60, KINKED_UNITS), 11.9, 12.1),
    (lambda x: exact.error_bound(x, KINKED_UNITS), 1e-8, 1.01e-8),
    (lambda x: exact.error_bound(x, EXACT), 7.5e-9, 7.6e-9),
    (lambda x: exact.error_bound(x, COARSE), 1.25e-2, 1.26e-2),
    (lambda x: exact.error_bound(x, EXACT_IN_A_BOX), 1.5e-7, 1.51e-7),
    (lambda x: exact.linear_term_error(x, EXACT), 7.5e-9, 7.6e-9),
    (lambda n: exact.spare_answers(n, EXACT), 3, 2),
    (lambda x: exact.smallest_weight(x, EXACT), 1.05e-7, 0.95e-7),
    (lambda x: imperfect.accuracy(x, 0.1), 0.1, 0.101),
    (lambda x: imperfect.another_unit(x, NOISY), 4.2, 4.21),
    (lambda x: imperfect.another_unit(x, LABELS), 4.2, 4.21),
    (lambda x: imperfect.weight_shown(x, 0.5, NOISY), 0.4, 0.41),
    (lambda x: imperfect.weight_shown(x, 0.5, LABELS), 0.4, 0.41),
    (lambda x: imperfect.single_units(x, 1, NOISY), 9.2, 9.3),
    (lambda x: imperfect.parallel_pair("tanh", x, NOISY), 7.0, 7.1),
    (lambda x: imperfect.blind_angle(x, NOISY), 45.0, 45.1),
    (lambda n: imperfect.cancelling_pair(imperfect.Cancelling(n, 0.5, 0.1), NOISY), 8, 7),
    (lambda x: imperfect.cancelling_pair(imperfect.Cancelling(50, 0.8, x), NOISY), 0.2, 0.21),
    (imperfect.far_answers, 0, 1),
    (imperfect.one_more_unit, 0.0, 0.1),
    (lambda p: imperfect.tails(tails(p), NOISY), 0.01, 0.0099),
    (lambda p: imperfect.drift(imperfect.Drift(p, 30.0, 1.0), NOISY), 1e-3, 9e-4),
    (lambda p: imperfect.alike_errors(0.2, p, NOISY), 1e-3, 9e-4),
    (lambda p: imperfect.uneven_noise(p, True, NOISY), 0.001, 0.00099),
    (lambda x: imperfect.misfit(x, NOISY), 1.4, 1.41),
    (lambda x: table_rules.simpler_models(x, 5.0, 5.0, math.inf), 0.1, 0.0),
    (lambda x: table_rules.simpler_models(5.0, x, 5.0, math.inf), 0.1, -0.1),
    (lambda x: table_rules.simpler_models(5.0, 5.0, x, math.inf), 0.1, -0.1),
    (lambda x: table_rules.simpler_models(5.0, 5.0, math.inf, x), 0.1, -0.1),
    (lambda x: table_rules.directions(np.array([0.01, x])), 0.4, 0.41),
    (lambda x: table_rules.faint_weights(np.array([9.0, x])), 2.5, 2.49),
    (lambda x: table_rules.overlap([PAIR, PAIR._replace(angle=x)]), 0.1, 0.099),
    (table_rules.flat_inputs, 0, 2),
    (table_rules.further_unit, 0.01, 0.0099),
    (lambda x: table_rules.rival_optimum(x, 2), 3.0, 2.9),
    (lambda n: table_rules.rival_optimum(0.1, n), 3, 2),
    (table_rules.finished_polish, True, False),
    (table_rules.enough_rows, 3.0, 2.9),
    (table_rules.split_by_plane, 0.0, 0.01),
    (table_rules.finite_slopes, 2.0, 1.9),
    (table_rules.finite_slopes, 2.0, -math.inf),
    (lambda x: table_rules.more_units(x, math.inf), 0.1, 0.0),
    (lambda x: table_rules.more_units(9.0, x), 0.1, 0.0),
    (table_rules.most_units, 0, 30),
    (table_rules.single_units, 0.1, 0.09),
    (table_rules.half_weight, 2.3, 2.1),
    (table_rules.log_odds, False, True),
    (table_rules.lines, False, True),
    (table_rules.shrinkage, 0.5, 0.51),
    (shared.support, 30.0, 29.9),
    (shared.scatter, 0.9, 0.89),
    (shared.weight_signs, 0, 1),
    (lambda x: shared.gaussian_rows(x, 0.1), 0.2, 0.21),
    (lambda x: shared.gaussian_rows(0.1, x), 0.2, 0.21),
    (lambda edge: shared.slope_in_range(edge, 3.0), False, True),
]


@pytest.mark.parametrize(("make", "right", "wrong"), SIDES)
def test_a_check_holds_on_one_side_of_its_limit_only_and_says_so(make, right, wrong):
    good, bad = make(right), make(wrong)
    assert good.holds
    assert not bad.holds
    assert good.name == bad.name
    assert bad.advice[0].isupper()
    assert bad.advice.endswith(".")
    for check in (good, bad):
        assert check.says
        assert not check.says.endswith(".")
        assert check.sentence.endswith(".")


def test_every_check_has_a_line_above():
    modules = {"shared": shared, "exact": exact, "imperfect": imperfect, "table_rules": table_rules}
    makers = {
        f"{alias}.{name}"
        for alias, module in modules.items()
        for name, maker in vars(module).items()
        if getattr(maker, "__module__", "") == module.__name__
        and getattr(maker, "__annotations__", {}).get("return") == "Check"
    }
    source = inspect.getsource(inspect.getmodule(tails))
    listed = {name for name in makers if name in source}
    assert listed == makers
    assert not shared.not_certified().holds  # the one that never does


@pytest.mark.parametrize(
    "check",
    [
        exact.residuals(math.nan, 60, EXACT),
        exact.residuals(math.nan, 60, EXACT_IN_A_BOX),
        exact.error_bound(math.nan, EXACT),
        imperfect.another_unit(math.nan, NOISY),
        imperfect.misfit(math.nan, NOISY),
        table_rules.simpler_models(math.nan, 1.0, 1.0, 1.0),
        table_rules.directions(np.array([math.nan, 0.1])),
        table_rules.faint_weights(np.array([math.nan, 9.0])),
        table_rules.overlap([table_rules.Overlap(0, 1, math.nan, 0.1)]),
        table_rules.further_unit(math.nan),
    ],
)
def test_a_number_that_could_not_be_had_fails(check):
    assert not check.holds


def test_what_was_not_tested_is_told_from_what_was_found():
    assert "not tested" in imperfect.another_unit(math.nan, NOISY).says
    assert "too few rows" in table_rules.further_unit(math.nan).says
    assert table_rules.further_unit(math.nan).advice != table_rules.further_unit(1e-5).advice


def test_the_first_simpler_model_that_does_as_well_is_named():
    assert "constant" in table_rules.simpler_models(-2.0, -5.0, -9.0, -9.0).says
    assert "linear" in table_rules.simpler_models(2.0, -5.0, -9.0, -9.0).says
    assert table_rules.simpler_models(2.0, -5.0, -9.0, -9.0).number == -5.0
    assert table_rules.simpler_models(8.0, 7.0, math.inf, 6.0).number == 6.0


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts

GOOD = exact.residuals(0.5, 60, EXACT)
BAD, WORSE = exact.fresh_answers(3, 1.0, relative=True, limits=EXACT), exact.error_bound(1.0, EXACT)


def test_a_verdict_is_certified_if_and_only_if_every_check_holds():
    for made, certified in (((GOOD,), True), ((GOOD, GOOD), True), ((GOOD, BAD), False), ((BAD,), False), ((), False)):
        assert Verdict(made, "2 units found", "2 units").certified == certified
    assert Verdict((GOOD, BAD, WORSE), "", "").failed == (BAD, WORSE)


def test_a_verdict_says_what_is_claimed_or_what_speaks_against_it_and_what_to_do_first():
    assert Verdict((GOOD,), "2 units found", "2 units").sentence == "Certified: 2 units."
    said = Verdict((GOOD, BAD, WORSE), "2 units found", "2 units").sentence
    assert said == f"Not certified: 2 units found, but {BAD.says}; {WORSE.says}. {BAD.advice}"
    assert Verdict((), "2 units found", "").sentence == "Not certified: 2 units found, but nothing was checked."


def test_a_check_that_is_added_later_can_take_a_certificate_away():
    verdict = Verdict((GOOD,), "2 units found", "2 units")
    assert verdict.add(shared.number_of_units(2, 2)).certified
    assert not verdict.add(shared.number_of_units(2, 5)).certified
    assert verdict.certified


def test_checks_are_json_even_where_numbers_are_not_finite():
    made = Verdict((GOOD, imperfect.another_unit(math.nan, NOISY), table_rules.rival_optimum(math.inf, 5)), "units", "")
    told = json.loads(json.dumps(made.as_dict(), allow_nan=False))
    assert [check["holds"] for check in told["checks"]] == [True, False, True]
    assert told["checks"][1]["number"] is None
    assert told["certified"] is False
    assert told["verdict"] == made.sentence


RECORDS = (
    COARSE,
    COARSE_KINKS,
    DECIDED,
    DEEP,
    DEEP_COARSE,
    EXACT,
    EXACT_IN_A_BOX,
    KINKED_UNITS,
    NOISY,
    LABELS,
    OUTPUTS,
    VERIFY,
    TABLE,
    PAPER,
)


def test_records_of_limits_cannot_be_changed():
    for limits in RECORDS:
        with pytest.raises(AttributeError):
            setattr(limits, fields(limits)[0].name, 1e9)


def test_every_limit_says_where_it_comes_from():
    source = (PACKAGE / "certificate" / "limits.py").read_text()
    stated = re.findall(r"^    (\w+)=[^,]+,(.*)$", source, re.M)
    assert len(stated) == sum(len(fields(limits)) for limits in RECORDS)
    for name, comment in stated:
        assert re.search(
            "guess|black_box|real_boxes|hostile_boxes|data_fit|table_certificates|phase_table|level|BIC|not asked|"
            "same rows",
            comment,
        ), name


# ---------------------------------------------------------------------------------------------------------------------
# Imperfect answers

SOUND = NoisyEvidence(
    Precision("noisy", 0.1),
    Variance(0.01, 100.0),
    20.0,
    CircleTest(1.0, 0.2, alarm=False),
    0.1,
    "",
    misfit=1.0,
    one_more=0.0,
    n_stray=0,
    partners=SecondUnitTest(np.zeros(2), 0.1, 0.1, None),
)
CROSSED = Parameters(np.eye(3)[:2], np.array([0.6, -0.5]), np.zeros(2), 0.0)


def judged(evidence=SOUND, theta=CROSSED, widest=0.05, n=400):
    rng = np.random.default_rng(4)
    residuals, predictions = rng.standard_normal((2, n))
    return judge(SimpleNamespace(theta=theta), np.array([0.01, widest]), evidence, predictions, residuals)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("finished", judged(SOUND._replace(stopped_by="The budget is spent."))),
        ("accuracy", judged(widest=0.2)),
        ("another unit", judged(SOUND._replace(test=CircleTest(5.0, 0.2, alarm=True)))),
        ("another unit", judged(SOUND._replace(test=None))),
        ("weight shown", judged(SOUND._replace(test=CircleTest(1.0, 0.41, alarm=False)))),
        ("cancelling pair", judged(SOUND._replace(cancelling=imperfect.Cancelling(3, 0.5, 0.1)))),
        ("single units", judged(SOUND._replace(partners=SecondUnitTest(np.array([0.0, 12.0]), 0.1, 0.1, 1)))),
        ("single units", judged(SOUND._replace(partners=None))),
        ("single units", judged(SOUND._replace(partners=SecondUnitTest(np.zeros(3), 0.1, 0.1, None)))),
        ("single units", judged(SOUND._replace(partners=SecondUnitTest(np.zeros(2), np.inf, 0.1, None)))),
        ("blind angle", judged(SOUND._replace(partners=SecondUnitTest(np.zeros(2), 0.1, 1.0, None)))),
        ("strays", judged(SOUND._replace(n_stray=1))),
        ("one more unit", judged(SOUND._replace(one_more=20.0))),
        ("misfit", judged(SOUND._replace(misfit=1.5))),
    ],
)
def test_each_piece_of_evidence_can_speak_against_a_network_by_itself(name, verdict):
    assert judged().certified
    assert [check.name for check in verdict.failed] == [name]


def test_only_a_budget_that_ran_out_is_to_be_raised():
    worse = (
        {"test": CircleTest(1.0, 0.41, alarm=False)},
        {"test": None},
        {"one_more": 20.0},
        {"stopped_by": "40 rounds."},
    )
    for evidence in worse:
        assert "max_queries" not in judged(SOUND._replace(**evidence)).sentence
    spent = "225 of 225 queries are spent: raise max_queries."
    assert "Allow more queries (max_queries)" in judged(SOUND._replace(stopped_by=spent)).sentence
    # A unit of 0.41 would have shown, and one of 0.4 must: directions known to 0.05 are to be known to 0.03.
    assert "(accuracy=0.03)" in judged(SOUND._replace(**worse[0])).sentence


def test_what_cannot_be_tested_is_not_asked():
    inside = judged(SOUND._replace(test=None, one_more=None, n_stray=None, bounded=True))  # no circles inside a box
    assert inside.certified
    assert not {"another unit", "strays", "one more unit"} & {check.name for check in inside.checks}
    labels = judged(SOUND._replace(precision=Precision("labels", 1.0), misfit=9.0))  # labels have no residuals
    assert labels.certified
    assert not {"misfit", "noise tails", "strays"} & {check.name for check in labels.checks}
    assert "noise tails" not in {check.name for check in judged(n=59).checks}


# ---------------------------------------------------------------------------------------------------------------------
# One place

LIMITS = ("EXACT", "EXACT_IN_A_BOX", "LABELS", "NOISY", "TABLE", "PAPER")
LIMIT_NAMES = re.compile(r"LIMIT|ALARM|ENOUGH|LARGEST_ANGLE|NOTICE|CHI\b|TAIL_LEVEL")


def thresholds(source):
    """Return what looks like a limit of a certificate: constants named so, numbers that evidence is compared with where
    checks are made or shown, and checks made by hand."""
    tree = ast.parse(source)
    imported = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").endswith("certificate")]
    makers = {alias.name for node in imported for alias in node.names if alias.name not in LIMITS}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found += [t.id for t in node.targets if isinstance(t, ast.Name) and LIMIT_NAMES.search(t.id)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Check":
            found.append("Check(...)")
        if isinstance(node, ast.FunctionDef) and makers & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            found += [ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Compare) and _numbers(n)]
    return found


def _numbers(compare):
    values = [n.value for side in (compare.left, *compare.comparators) for n in ast.walk(side)
              if isinstance(n, ast.Constant)]  # fmt: skip
    return [v for v in values if isinstance(v, float) and v not in (0.0, 1.0, 1e-12)]


def test_no_other_file_knows_a_limit():
    files = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "certificate"]
    assert len(files) > 150
    known = {str(path.relative_to(PACKAGE)): thresholds(path.read_text(encoding="utf-8")) for path in files}
    assert {name: names for name, names in known.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "CHI_LIMIT = 2.0",
        "_LARGEST_ANGLE = 0.4",
        "check = Check('residuals', chi, 2.0, '', '')",
        "from ..certificate import Verdict\ndef judge(x):\n    return Verdict((), 'no' if x.chi > 1.5 else '', '')",
        "from ..certificate import exact\ndef judge(x):\n    if x > 1.4 * x.sd:\n        exact.residuals(x, 3, EXACT)",
    ],
)
def test_a_limit_elsewhere_would_be_found(source):
    assert thresholds(source)


def test_report_and_command_line_compare_with_no_number_at_all():
    for path in (PACKAGE / "show" / "report.py", PACKAGE / "cli" / "results.py"):
        compared = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Compare)]
        assert not [ast.unparse(n) for n in compared if _numbers(n)]


# ---------------------------------------------------------------------------------------------------------------------
# One list


def runs():
    """Real results: certified and not, of every kind that is quick."""
    truth = gs.SigmoidCombination(np.eye(3)[:2], [0.6, 0.5], 3.0)
    table = truth.sample(400, 0.5, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of them are to be doubtful
        yield "exact", gs.recover(gs.Oracle(truth.predict, 3), random_state=0)
        yield "wrong number", gs.recover(gs.Oracle(truth.predict, 3), 5, random_state=0)
        yield "box", gs.recover(gs.Oracle(truth.predict, 3, bounds=(-2, 2)), random_state=0)
        stream = np.random.default_rng(2)
        noisy = gs.Oracle(lambda X: truth.predict(X) + 0.05 * stream.standard_normal(len(X)), 3)
        yield "noise", gs.recover(noisy, random_state=0)
        yield "table", gs.recover(table, 3, random_state=0)
        yield "paper", gs.recover(gs.Oracle(truth.predict, 3), 2, method="paper", random_state=0)


@pytest.fixture(scope="module")
def found():
    return dict(runs())


def test_summary_report_and_command_line_show_the_same_list(found, tmp_path, capsys):
    for recovery in found.values():
        expected = [check.as_dict() for check in recovery.checks]
        page = make_report(recovery)
        payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
        assert payload["checks"] == expected
        machine = shown(recovery, tmp_path, capsys, as_json=True)
        told = json.loads(machine)
        assert told["checks"] == in_flags_of(recovery)
        assert (told["certified"], told["verdict"]) == (recovery.certified, as_options(recovery.verdict))
        ordered = checks.failed_first(recovery.checks)
        in_lines = [f"{c.name}: {c.sentence}" + ("" if c.holds else f" {c.advice}") for c in ordered]
        summary = recovery.summary().splitlines()
        assert [line.split("  ", 1)[1] for line in summary if line.startswith(("holds", "FAILS"))] == in_lines
        printed = shown(recovery, tmp_path, capsys, as_json=False).splitlines()
        in_lines = [as_options(line) for line in in_lines]
        assert [line.split("  ", 1)[1] for line in printed if line.startswith(("holds", "FAILS"))] == in_lines
        text = " ".join(unescape(re.sub(r"<[^>]*>", " ", page.split("What was checked")[1])).split())
        places = [text.index(" ".join(c.sentence.split())) for c in ordered]
        assert places == sorted(places)


def shown(recovery, folder, capsys, *, as_json):
    with contextlib.nullcontext() if recovery.certified else pytest.raises(typer.Exit):
        finish(recovery, out=folder / "found.json", report=None, as_json=as_json, notes={}, settings={})
    written = json.loads((folder / "found.json").read_text())
    assert written["checks"] == in_flags_of(recovery)
    return capsys.readouterr().out


def in_flags_of(recovery):
    """Return the checks as the command line shows them: with its own names of options."""
    shown = (replace(check, says=as_options(check.says), advice=as_options(check.advice)) for check in recovery.checks)
    return [check.as_dict() for check in shown]


def test_certified_and_verdict_are_read_from_the_checks(found):
    for recovery in found.values():
        assert recovery.certified == all(check.holds for check in recovery.checks)
        assert recovery.verdict == recovery.judgement.sentence
        spoiled = replace(recovery, judgement=recovery.judgement.add(BAD))
        assert not spoiled.certified
        assert BAD.says in spoiled.verdict


def test_every_kind_of_run_rests_on_the_checks_that_its_method_names(found):
    names = {kind: [check.name for check in recovery.checks] for kind, recovery in found.items()}
    expected = ["residuals", "fresh points", "error bound", "spare answers", "negligible weight"]
    fresh = "verified on fresh inputs"
    assert names["exact"] == [*expected, fresh]
    assert names["wrong number"] == [*expected, fresh, "number of units"]
    assert names["box"] == [*expected[:3], fresh]
    assert names["noise"] == [
        "finished", "another unit", "weight shown", "single units", "blind angle", "cancelling pair", "strays",
        "one more unit", "switching", "noise tails", "noise drift", "noise correlation", "even noise", "parallel pair",
        "activation", "shape", "misfit", fresh,
    ]  # fmt: skip
    assert names["table"] == [
        "rows per parameter", "finite slopes", "simpler models", "directions", "faint weights", "overlap",
        "flat inputs", "another unit", "rival optimum", "converged",
    ]  # fmt: skip
    assert names["paper"] == ["certificate", "support", "scatter", "contradicted weights", "slope"]
    assert [check.name for check in found["wrong number"].judgement.failed] == ["number of units"]


def test_the_report_does_not_doubt_what_is_certified_inside_a_box():
    # Residuals of five rounding errors are certified inside a box, and not outside.
    inside = Verdict((exact.residuals(5.0, 60, EXACT_IN_A_BOX),), "2 units fitted", "2 units")
    outside = Verdict((exact.residuals(5.0, 60, EXACT),), "2 units fitted", "2 units")
    assert [verdict.certified for verdict in (inside, outside)] == [True, False]
    for verdict in (inside, outside):
        page = make_report(Recovery(gs.Network.of(MODEL), verdict, Evidence(notes={"chi": 5.0})))
        assert ('<li class="doubt">' in page) != verdict.certified


def test_a_check_is_a_plain_record():
    made = Check("weather", 3.0, 2.0, "it rains", "Wait.")
    assert not made.holds
    assert replace(made, relation=">").holds
    assert made.sentence == "It rains."
    with pytest.raises(AttributeError):
        made.number = 1.0
