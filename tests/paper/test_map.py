"""The map of the paper is complete: every label has code and a test, every erratum a test of its printed form."""

import json

import pytest
from typer.testing import CliRunner

from gradsift import paper
from gradsift.cli.app import app
from gradsift.paper.statements import SKIPPED, STATEMENTS

# Every label of the paper's source, copied by hand: the repository never reads the paper.
LABELS = """
eq:Model gradient fig:vectorfield voestimate eq:Slope algo:Candidates fig:execution maintheorem sunthm
projectedestimate dimredtheorem population assympboundsvoestimate voebound assympboundscor candidatebound
lemma:coeffboundssimple lowerupperbound anglelemma Delta w0 xi0 gamma rhoeq Rsets eq:InR0 allbutone albounds
clusterlemma spuriouslemma goodclusterlemma stein dropmean expectationsandbounds expectations zexpuexp sexpvexp bounds
zboundubound sboundvbound expectation covariance fractionlemma deltaprime deltaprimeprime splitproducts final
eq:BoundsFprime parallelogramlemma eq:CoInclusion GCboundvo GCbound basisangles basisnorms projectionlemma anglecor
subspace candidatebounddim populationdim anglelemma2 kappaprime clusterlemma2 spuriouslemma2 goodclusterlemma2
""".split()  # noqa: SIM905
NOT_STATEMENTS = """
sec:relatedwork sec:Method model sec:intuition sec:gradest sec:Mainresult sec:Proof sec:partitioning app:concentration
app:gradnorm proofofcoeffbounds proofofanglelemma proofofclusterlemma proofofspurious proofofgoodclusterlemma
eq:PartitionC0Cl eq:M0LowerBound lowerbound simplebded eq:InGoodRegion estimateline
""".split()  # noqa: SIM905


def test_every_label_of_the_paper_is_a_statement_or_is_skipped_with_a_reason():
    assert set(paper.labels()) == set(LABELS)
    assert set(SKIPPED) == set(NOT_STATEMENTS)
    assert not set(SKIPPED) & set(STATEMENTS)


@pytest.mark.parametrize("label", LABELS)
def test_every_label_has_code_and_a_test(label):
    assert paper.code(label), f"no function carries {label}"
    assert paper.shown_by(label), f"no test shows {label}"


@pytest.mark.parametrize(("label", "erratum"), [(s.label, e.name) for s in STATEMENTS.values() for e in s.errata])
def test_every_erratum_has_a_test_in_which_the_printed_form_fails(label, erratum):
    assert paper.shown_by(label, erratum), f"no test shows the printed form of {label} ({erratum}) failing"


def test_every_mark_names_a_label_and_an_erratum_that_exist():
    from gradsift.implements import marks_in_code, marks_in_tests

    for mark in (*marks_in_code(), *marks_in_tests()):
        for label in mark.labels:
            assert label in STATEMENTS, f"{mark.where} names {label!r}"
            assert not mark.erratum or mark.erratum in {e.name for e in STATEMENTS[label].errata}, mark.where


def test_printed_forms_that_are_functions_can_be_called_up():
    forms = [e for s in STATEMENTS.values() for e in s.errata if e.form]
    assert len(forms) > 15
    assert all(callable(e.printed_form()) for e in forms)
    wordy = next(e for s in STATEMENTS.values() for e in s.errata if not e.form)
    with pytest.raises(ValueError, match="matter of words"):
        wordy.printed_form()


def test_the_command_prints_statement_erratum_functions_and_tests():
    run = CliRunner().invoke(app, ["paper", "gamma"])
    assert run.exit_code == 0
    for part in ("kappa rho/(4 e (rho + k)^2)", "printed:", "theory.constants.gamma_closed", "tests/paper/"):
        assert part in run.output
    listed = CliRunner().invoke(app, ["paper"])
    assert all(label in listed.output for label in LABELS)
    entries = json.loads(CliRunner().invoke(app, ["paper", "--json"]).output)
    assert [e["label"] for e in entries] == list(paper.labels())
    assert json.loads(CliRunner().invoke(app, ["paper", "w0", "--json"]).output)["kind"] == "equation"


def test_an_unknown_label_is_one_sentence():
    with pytest.raises(ValueError, match="did you mean 'gamma'"):
        paper.statement("gama")
    with pytest.raises(ValueError, match="names a section"):
        paper.statement("sec:Proof")


def test_an_installed_package_says_where_the_tests_live(monkeypatch):
    from gradsift.cli import paper_command as command

    monkeypatch.setattr("gradsift.paper.folder_of_tests", lambda: None)
    assert command._facts("gamma")["tests"] is None
    assert "tests/ of the source repository" in CliRunner().invoke(app, ["paper", "gamma"]).output


def test_marking_a_function_leaves_it_as_it_is():
    @paper.implements("gamma")
    def same(x):
        return x + 1

    assert same(1) == 2
    assert same.__paper__ == ("gamma",)
