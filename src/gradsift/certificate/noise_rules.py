"""Checks of a network found through noise, rounding or labels."""

from __future__ import annotations

import math
from typing import NamedTuple

from .check import Check, make, n_of
from .limits import COARSE_KINKS, VERIFY, LabelLimits, NoisyLimits, UnitLimits


def _accuracy_for(reached: float, share: float = 0.5) -> str:
    """Return the option that leaves a share of what directions are off by now, one digit, rounded towards less.

    A campaign that has ended asks more only for a higher accuracy: a larger budget would not be touched.
    """
    wanted = min(max(share, 0.05) * 0.8 * reached, 1.0)  # with some room
    if not 0 < wanted < math.inf:
        return "a smaller `accuracy`"
    # One digit, rounded towards less.
    digit = 10.0 ** math.floor(math.log10(wanted))
    return f"accuracy={math.floor(wanted / digit * 1.0000001) * digit:.1g}"


def accuracy(widest: float, wanted: float) -> Check:
    """Whether directions are known as well as was asked for."""
    return make(
        "accuracy", widest, "<=", wanted,
        f"directions are known to {widest:.2g}, and {wanted:.2g} was asked for",
        f"directions are known to {widest:.2g}, not to the {wanted:.2g} asked for",
        "Try another seed, or ask for a lower accuracy.",
    )  # fmt: skip


def labels_by_chance(n: int, n_different: int, chance: float) -> Check:
    """Whether labels change when a question is repeated, as often as the fitted means say."""
    seen = f"of {n} inputs at even odds that were asked twice, {n_different} had two labels"
    says = f"the labels are decisions without chance: {seen}, and their units are steps"
    return make(
        "labels by chance", chance, ">=", VERIFY.level, seen,
        says if n else "too few queries are left to see whether the labels are drawn by chance",
        "If the box can return a score or a probability, ask for that." if n else "Raise max_queries.",
    )  # fmt: skip


class KnownMean(NamedTuple):
    """Error of a mean of labels over usual inputs, and nats by which links would explain the labels better.

    gain, bend : for log-odds in place of the mean, and for a link that bends a little
    """

    error: float
    gain: float
    bend: float = 0.0


def known_mean(found: KnownMean, limits: LabelLimits, reached: float) -> Check:
    """Whether labels tell their mean well enough to speak of it; `reached` is how well directions are known."""
    open_link = "" if found.gain < -limits.told_apart else (
        ", counting that a function behind a link, as their log-odds, would explain them about as well"
    )  # fmt: skip
    return make(
        "known mean", found.error, "<=", limits.known_mean,
        f"the mean of the labels is known to {found.error:.2g}",
        f"the mean of the labels is known only to {found.error:.2g}{open_link}",
        f"Ask for a higher accuracy ({_accuracy_for(reached, limits.known_mean / found.error)}) or, if the box can "
        "return a score or a probability, for that.",
    )  # fmt: skip


def label_link(found: KnownMean, limits: LabelLimits) -> Check:
    """Whether the function is the mean of the labels: one that is seen through a link explains them better."""
    bent = found.bend > found.gain
    link = "that bends" if bent else "as their log-odds"
    return make(
        "label link", max(found.gain, found.bend), "<=", limits.link,
        f"as the log-odds of the labels such units explain them "
        f"{'worse, by ' + format(-found.gain, '.1f') + ' nats' if found.gain < -limits.link else 'about as well'}",
        f"the function is not the mean of the labels: behind a link {link}, such units explain them better "
        f"by {max(found.gain, found.bend):.1f} nats",
        "If the box can return a score or a probability, ask for that; the directions may be right.",
    )  # fmt: skip


def activation(
    rival: str, gain: float, limits: NoisyLimits, beside: tuple[str, ...] = (), offered: bool = True,
    instead: str = "",
) -> Check:  # fmt: skip
    """Whether no other activation explains the answers better; `gain` in nats of the best other one.

    `beside` are those that do as well as the best; without `offered` one of them all is no activation that can be
    asked for; `instead` says what to do where trying it is no help.
    """
    names = " or ".join((rival, *beside))
    alone = "No activation here has this shape: use the network as an approximation."
    several = "More exact answers would tell which; until then use the network as an approximation."
    return make(
        "activation", gain, "<=", limits.activation,
        f"{rival} units explain the answers worse, by {-gain:.1f} nats" if gain < -limits.activation
        else f"{rival} units explain the answers as well ({gain:+.1f} nats)",
        f"units of another activation explain the answers better: {names}, by {gain:.1f} nats",
        instead or (f"Try activation='{rival}'." if offered else several if beside else alone),
    )  # fmt: skip


class OddBend(NamedTuple):
    """p-value of a test that all units have the shape assumed; the unit that speaks against it, None: all together."""

    p_value: float
    unit: int | None


def shape(found: OddBend, name: str, limits: NoisyLimits) -> Check:
    """Whether residuals do not depend on the units' own arguments, as those of units of another shape do."""
    where = "the units" if found.unit is None else f"unit {found.unit + 1}"
    return make(
        "shape", found.p_value, ">=", limits.shape,
        f"across the units the answers bend as {name} units do (p = {found.p_value:.2g})",
        f"the answers bend across {where} otherwise than {name} units do (p = {found.p_value:.1g})",
        "The units may be of an activation that is not known here, or nearly parallel ones taken for one: use the "
        "network as an approximation.",
    )  # fmt: skip


def parallel_pair(name: str, gain: float, limits: NoisyLimits) -> Check:
    """Whether two parallel units in the place of one explain the answers no better; `gain` in nats."""
    return make(
        "parallel pair", gain, "<=", limits.parallel_pair,
        f"two parallel units in the place of one explain the answers hardly better ({gain:.1f} nats)",
        f"two parallel {name} units in the place of one explain the answers better, by {gain:.1f} nats",
        "Average answers inside the oracle: less noise tells two parallel units from one of another activation.",
    )  # fmt: skip


def known_offsets(worst: float) -> Check:
    """Whether answers near the origin tell where every kink lies; an error bound over the offset's size."""
    return make(
        "offsets", worst, "<=", COARSE_KINKS.offsets,
        f"offsets are known to {worst:.2g} of their size",
        f"an offset is known only to {worst:.2g} of its size",
        "Try another seed, or more exact answers.",
    )  # fmt: skip


def rounded_kinks(gain: float) -> Check:
    """Whether sharp kinks explain the answers worse than rounded ones; `gain` in nats, by BIC."""
    return make(
        "rounded kinks", gain, "<=", 0,
        f"sharp kinks explain the answers worse ({gain:.1f} nats)",
        f"sharp kinks, which have no width, explain the answers as well ({gain:.1f} nats by BIC)",
        "Try activation='relu'.",
    )  # fmt: skip


def parallel_pairs(activation: str, gain: float, limit: float, apart: float) -> Check:
    """Whether two parallel units explain the answers across a hyperplane worse than one; `gain` in nats, by BIC."""
    best = f"{activation} units, two of them parallel with kinks {apart:.2g} apart,"
    return make(
        "parallel pairs", gain, "<=", limit,
        f"two parallel units for one explain the answers no better ({gain:.1f} nats by BIC)",
        f"{best} explain the answers {'better' if gain > 0 else 'as well'} ({gain:.1f} nats by BIC), and two parallel "
        "units may look like one of another activation",
        "Average answers inside the oracle: less noise tells two parallel units from one.",
    )  # fmt: skip


def another_unit(statistic: float, limits: UnitLimits, reached: float = math.nan) -> Check:
    """Whether far circles show no further unit; standard errors, not a number if that was not tested.

    `reached` is how well directions are known.
    """
    shows = f"another unit shows on a far circle ({statistic:.1f} standard errors)"
    return make(
        "another unit", statistic, "<=", limits.another_unit,
        f"no other unit shows on far circles ({statistic:.1f} standard errors)",
        "whether there is another unit was not tested" if math.isnan(statistic) else shows,
        f"Try another seed, or ask for a higher accuracy ({_accuracy_for(reached)}).",
    )  # fmt: skip


def weight_shown(level: float, in_question: float, limits: UnitLimits, reached: float = math.nan) -> Check:
    """Whether a further unit of the weight in question would have shown; `reached`: how well directions are known."""
    share = limits.weight_shown * in_question / level if level else 1.0
    return make(
        "weight shown", level, "<=", limits.weight_shown * in_question,
        f"a further unit with a weight above {level:.2g} would have shown",
        f"another unit would have shown only with a weight above {level:.2g}",
        f"Ask for a higher accuracy ({_accuracy_for(reached, share)}): of more queries the test for another unit gets "
        "more.",
    )  # fmt: skip


def blind_angle(degrees: float, limits: NoisyLimits) -> Check:
    """Whether a second unit would have shown unless it is close to a found one."""
    return make(
        "blind angle", degrees, "<=", limits.blind_angle,
        f"a second unit beside a found one would have shown from {degrees:.2g} degrees on",
        f"a second unit would not have shown within {degrees:.2g} degrees of a found one",
        "Ask for a higher accuracy (accuracy=0.01), or for less noise: average answers inside the oracle.",
    )  # fmt: skip


def single_units(log_ratio: float, unit: int, limits: NoisyLimits) -> Check:
    """Whether no unit looks like two nearly parallel ones; not a number if that was not tested."""
    shows = f"unit {unit} looks like two nearly parallel ones, and no two were found that explain the answers"
    return make(
        "single units", log_ratio, "<=", limits.single_units,
        f"no unit looks like two nearly parallel ones (log-likelihood ratio {log_ratio:.1f})",
        "whether a unit is two nearly parallel ones was not tested" if math.isnan(log_ratio)
        else f"{shows} (log-likelihood ratio {log_ratio:.1f})",
        "Ask for a higher accuracy (accuracy=0.01), or try another seed.",
    )  # fmt: skip


class Cancelling(NamedTuple):
    """Two units that cancel: answers without which they are not worth their price, a weight, its standard error."""

    n_carrying: int
    weight: float
    error: float


def cancelling_pair(found: Cancelling | None, limits: UnitLimits) -> Check:
    """Whether no two parallel units cancel, or many answers carry such a pair and tell its weights."""
    if found is None:
        return make("cancelling pair", math.inf, ">=", limits.carried, "no two parallel units cancel", "", "")
    answers, told = n_of(found.n_carrying, "answer"), found.error <= limits.told * found.weight
    few = f"hang on {answers}: without them the pair would not be worth its price"
    untold = f"have weights of {found.weight:.2g} with a standard error of {found.error:.2g}: only their sum is known"
    return make(
        "cancelling pair", found.n_carrying if told else 0, ">=", limits.carried,
        f"{answers} carry two parallel units that cancel but for a slab",
        f"two parallel units cancel but for a slab, and {few if told else untold}",
        "Look for outliers among the answers, or try another seed.",
    )  # fmt: skip


def far_answers(n: int) -> Check:
    """Whether no answers had to be set aside as impossible."""
    return make(
        "strays", n, "<=", 0,
        "no answers are impossibly far off",
        f"the noise has outliers ({n_of(n, 'answer')} more than six standard deviations off)",
        "Find out what makes single answers go wrong, and ask those again inside the oracle.",
    )  # fmt: skip


def one_more_unit(gain: float, reached: float = math.nan) -> Check:
    """Whether one more unit, fitted to all answers, is worth no nats; `gain` is 0 if it is not worth its price."""
    return make(
        "one more unit", gain, "<=", 0,
        "one more unit would explain the answers no better",
        "one more unit, perhaps half of a nearly parallel pair, would explain the answers better (by "
        f"{gain:.0f} nats)",
        f"Try another seed, or ask for a higher accuracy ({_accuracy_for(reached)}).",
    )  # fmt: skip


class Tails(NamedTuple):
    """The smaller p-value of the two tests; residuals beyond `beyond` standard deviations; excess kurtosis; of n."""

    p_value: float
    outside: int
    beyond: float
    kurtosis: float
    n: int


def tails(found: Tails, limits: NoisyLimits) -> Check:
    """Whether the noise is not heavier in its tails than a Gaussian."""
    return make(
        "noise tails", found.p_value, ">=", limits.tails,
        f"the noise shows no heavy tails (excess kurtosis {found.kurtosis:.2f} over {found.n} residuals)",
        f"the noise has heavy tails or outliers ({found.outside} of {found.n} residuals beyond {found.beyond:.1f} "
        f"standard deviations, excess kurtosis {found.kurtosis:.2f})",
        "Average a few answers inside the oracle, or clip what cannot be true.",
    )  # fmt: skip


def equal_answers(n_equal: int) -> Check:
    """Whether noise is added to all answers; one that is there or not leaves some of them equal."""
    return make(
        "switching", n_equal, "<=", 0,
        "repeated answers to one question differ, or lie on a grid",
        f"{n_of(n_equal, 'repeated answer')} to one question {'is' if n_equal == 1 else 'are'} equal to the last digit "
        "though others differ: parts of the box are switched at random (dropout, stray answers), and errors are not "
        "those of added noise",
        "Switch dropout off (`eval()` in torch), or answer with the mean of many calls.",
    )  # fmt: skip


class Drift(NamedTuple):
    """Smaller p-value of two tests, doubled; chi-square of the means of stretches; trend in standard errors."""

    p_value: float
    chi_square: float
    trend: float


def drift(found: Drift, limits: NoisyLimits) -> Check:
    """Whether the answers stay where they are during the campaign."""
    seen = (
        f"chi-square {found.chi_square:.0f} over {limits.stretches} stretches, a trend of {abs(found.trend):.1f} "
        "standard errors"
    )
    return make(
        "noise drift", found.p_value, ">=", limits.drift,
        f"the answers do not drift ({seen})",
        f"the answers drift during the campaign ({seen})",
        "Ask faster, or subtract the answer to a fixed input that is asked again now and then.",
    )  # fmt: skip


def alike_errors(correlation: float, p_value: float, limits: NoisyLimits) -> Check:
    """Whether errors of answers that were asked one after the other are not alike."""
    return make(
        "noise correlation", p_value, ">=", limits.independent,
        f"errors of consecutive answers are not alike (correlation {correlation:.2f})",
        f"errors of consecutive answers are alike (correlation {correlation:.2f}), so that all bounds are too narrow",
        "Ask in random order or with pauses, or subtract the answer to a fixed input that is asked each time.",
    )  # fmt: skip


def uneven_noise(p_value: float, larger: bool, limits: NoisyLimits) -> Check:
    """Whether the size of residuals, allowed for the variance function, depends on the function no more."""
    return make(
        "even noise", p_value, ">=", limits.even_noise,
        f"the noise does not depend on the function (p = {p_value:.2g})",
        f"the noise is {'larger' if larger else 'smaller'} where the function is larger",
        "Average answers inside the oracle, more of them where the noise is larger.",
    )  # fmt: skip


def misfit(ratio: float, limits: NoisyLimits) -> Check:
    """Whether residuals are as large as the noise; the ratio is one of mean squares."""
    return make(
        "misfit", ratio, "<=", limits.misfit,
        f"residuals are {math.sqrt(ratio):.2g} times the noise",
        f"residuals are {math.sqrt(ratio):.2g} times the noise",
        "Try another activation or another seed: the function may be no sum of such units.",
    )  # fmt: skip
