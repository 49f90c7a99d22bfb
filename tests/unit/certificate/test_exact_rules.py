"""One certificate for all readers of exact answers: its rules fail alone, and one without a number is not asked."""

from dataclasses import replace

import pytest

from gradsift.certificate import DEEP, EXACT, EXACT_IN_A_BOX, Check, Evidence, Fresh, certify

FINE = Evidence(
    "3 units", 60, residual=0.5, fresh=Fresh(4, 1e-12, relative=True), bound=1e-10, linear=1e-10, spare=9, faintest=0.1
)
RULES = {
    "residual": ("residuals", 2.5),
    "fresh": ("fresh points", Fresh(4, 1e-6, relative=True)),
    "bound": ("error bound", 1e-6),
    "linear": ("linear term", 1e-6),
    "spare": ("spare answers", 2),
    "faintest": ("negligible weight", 1e-9),
}


def test_what_passes_every_rule_is_certified_and_the_claim_has_all_numbers():
    verdict = certify(FINE, EXACT)
    assert verdict.certified
    assert [check.name for check in verdict.checks] == [name for name, _ in RULES.values()]
    assert verdict.sentence.startswith(
        "Certified: all 60 answers agree with 3 units within 0.5 times what rounding explains, 4 of them at fresh "
        "points, and rounding leaves a relative error of at most 1e-10 (6 standard errors)"
    )


@pytest.mark.parametrize("part", RULES)
def test_each_rule_fails_alone(part):
    name, bad = RULES[part]
    verdict = certify(replace(FINE, **{part: bad}), EXACT)
    assert [check.name for check in verdict.failed] == [name]
    assert verdict.sentence.startswith(f"Not certified: 3 units found, but {verdict.failed[0].says}")


@pytest.mark.parametrize("part", RULES)
def test_a_rule_without_a_number_is_absent(part):
    verdict = certify(replace(FINE, **{part: None}), EXACT)
    assert verdict.certified
    assert [check.name for check in verdict.checks] == [name for key, (name, _) in RULES.items() if key != part]


@pytest.mark.parametrize("part", ["residual", "bound", "linear", "faintest"])
def test_a_number_that_could_not_be_had_is_no_absent_rule(part):
    verdict = certify(replace(FINE, **{part: float("nan")}), EXACT)
    assert [check.name for check in verdict.failed] == [RULES[part][0]]


def test_nothing_is_certified_without_any_rule():
    assert not certify(Evidence("3 units", 60), EXACT).certified


def test_rules_of_a_reader_come_last_and_count():
    own = Check("weather", 3.0, 2.0, "it rains", "Wait.")
    verdict = certify(replace(FINE, own=(own,)), EXACT)
    assert verdict.checks[-1] is own
    assert verdict.failed == (own,)
    assert certify(FINE, EXACT).add(own, first=True).checks[0] is own


def test_misses_of_fresh_answers_in_the_same_unit_are_part_of_the_claim():
    verdict = certify(replace(FINE, fresh=Fresh(4, 0.9, where=" near and far")), DEEP)
    assert "within 0.9 times what rounding explains, 4 of them at fresh points near and far" in verdict.claim


def test_words_of_a_reader_are_in_the_sentences():
    noisy = replace(FINE, limit="noise", where=" inside the box", kept="in the directions a relative error")
    verdict = certify(replace(noisy, rest="; other units are not seen"), EXACT)
    assert verdict.claim.startswith("inside the box all 60 answers agree with 3 units within 0.5 times what noise")
    assert "noise leaves in the directions a relative error" in verdict.claim
    assert verdict.claim.endswith("; other units are not seen")
    missed = certify(replace(noisy, bound=1.0, residual=99.0, worst_unit="unit 2", cause="weather"), EXACT)
    assert [word in missed.sentence for word in ("in unit 2", "(weather)", "rounding")] == [True, True, False]


def test_limits_are_those_of_the_kind_of_answers():
    assert not certify(replace(FINE, residual=5.0), EXACT).certified
    assert certify(replace(FINE, residual=5.0), EXACT_IN_A_BOX).certified
