"""The scan: steps on an arc, told from plateaus."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

from gradsift.reading.arc_scan import Samples, _between_units, _judge, _line, scan_steps
from gradsift.reading.circle import Slope, likely_family
from gradsift.reading.odd_form import link_of

TANH = link_of("tanh")


def samples_of(f, angles, known=False):
    n = len(angles)
    mark = np.full(n, known)
    return Samples(angles, f(angles), np.full(n, 1e-13), mark, np.zeros(n, bool), np.arange(n))


def scanned(f, link=TANH, n_first=9):
    """Scan f on [0, pi], whose ends are plateaus, and count the samples."""
    grid = np.linspace(0, np.pi, n_first)
    start = samples_of(f, grid[[0, -1]], True).joined(samples_of(f, grid[1:-1]))
    return scan_steps(lambda new, _: samples_of(f, new), start, 1.0, link)


def steps_at(centers, rates, weights, g=np.tanh):
    def f(angles):
        return sum(w * g(r * np.sin(angles - c)) for c, r, w in zip(centers, rates, weights))

    return f


def test_every_isolated_step_is_found_with_its_centre_rate_and_weight():
    centers, rates, weights = [0.5, 1.4, 2.0, 2.8], [900.0, 5000.0, 2e4, 700.0], [0.3, -1.0, 0.7, 0.2]
    scan = scanned(steps_at(centers, rates, weights))
    assert len(scan.unresolved) == 0
    np.testing.assert_allclose([s.center for s in scan.steps], centers, atol=1e-9)
    np.testing.assert_allclose([s.rate for s in scan.steps], rates, rtol=1e-5)
    np.testing.assert_allclose([s.weight for s in scan.steps], weights, rtol=1e-12)
    assert len(scan.samples.angles) < 15 * len(centers)


def test_samples_on_the_slope_are_handed_on_with_the_value_of_g():
    scan = scanned(steps_at([1.1], [3000.0], [-2.0]))
    (step,) = scan.steps
    # The weight is signed, g always rises.
    np.testing.assert_allclose(step.ratios, np.tanh(3000 * np.sin(step.angles - 1.1)), atol=1e-12)
    assert len(step.angles) >= 3


def test_two_units_that_overlap_are_left_unresolved_and_the_others_are_found():
    scan = scanned(steps_at([0.7, 1.8, 1.803], [2000.0, 2000.0, 2500.0], [1.0, 0.5, 0.8]))
    assert [round(s.center, 6) for s in scan.steps] == [0.7]
    assert len(scan.unresolved) == 1
    low, high = scan.samples.angles[scan.unresolved[0]]
    assert low < 1.8 < 1.803 < high


def test_a_jump_without_a_slope_is_called_sharp():
    scan = scanned(lambda t: np.where(t > 1.2345, 1.0, -1.0))
    assert len(scan.jumps) == 1
    assert scan.jumps[0].height == 2.0
    assert 0 < scan.jumps[0].width < 3e-14 * scan.radius
    assert not scan.steps


def test_no_jump_is_seen_beside_a_plateau_that_was_only_believed_in():
    grid = np.linspace(0, np.pi, 9)
    believed = samples_of(lambda t: np.where(t == 0.0, 1.0, -1.0), grid[[0, -1]], True)
    start = replace(believed, rows=np.full(2, -1)).joined(samples_of(lambda t: np.full(len(t), -1.0), grid[1:-1]))
    scan = scan_steps(lambda new, _: samples_of(lambda t: np.full(len(t), -1.0), new), start, 1.0, TANH)
    assert len(scan.unresolved) == 1
    assert not scan.jumps


@pytest.mark.parametrize(("g", "name", "other"), [(np.tanh, "tanh", "erf"), (erf, "erf", "tanh")])
def test_steps_of_another_family_are_not_taken_and_their_samples_tell_it(g, name, other):
    f = steps_at([0.5, 1.5, 2.5], [900.0, 2000.0, 900.0], [0.5, 1.0, -0.7], g)
    assert len(scanned(f, link_of(name)).steps) == 3
    scan = scanned(f, link_of(other))
    assert not scan.steps
    order = np.argsort(scan.samples.angles)
    low, high = scan.samples.angles[scan.unresolved[0]]
    angles = scan.samples.angles[order]
    inside = (angles >= low) & (angles <= high)
    assert likely_family((Slope(angles[inside], scan.samples.values[order][inside]),)) == name


@pytest.mark.parametrize(
    ("middle", "value", "link"),
    [
        # The argument of the end, whose angle it shares: zero over zero, where nothing bounds the rate.
        (1.0, 1 - 0.03 * 0.01, TANH),
        # On the plateau itself, behind a link that never ends: infinity over infinity.
        (0.5, 1.0, replace(TANH, flat=np.inf)),
    ],
)
def test_a_sample_that_leads_nowhere_leads_to_no_angle_out_of_this_world(middle, value, link):
    mark = np.zeros(3, bool)
    held = Samples(
        np.array([0.0, middle, 1.0]), np.array([-1.0, value, 1.0]), np.full(3, 0.01), mark, mark, np.arange(3)
    )
    angle = _judge(held, np.arange(3), link).angle
    assert angle is not None
    assert 0 < angle < 1


def test_two_samples_that_agree_by_chance_are_no_overlap_among_very_many_units():
    angles, rng = np.linspace(1, 2, 40), np.random.default_rng(5)
    values = rng.standard_normal(40)
    values[20] = values[19] + 1e-6
    assert angles[19] < _between_units(angles, values) < angles[20]  # looked at first
    values[[3, 8, 13, 26, 33]] = values[[2, 7, 12, 25, 32]]
    assert _between_units(angles, values) is None


def test_a_step_tells_how_much_its_worse_plateau_may_be_off():
    f = steps_at([1.1], [3000.0], [-2.0])

    def spoilt_beyond(edge):
        def ask(angles, known=False):
            plain = samples_of(f, angles, known)
            return replace(plain, tolerances=np.where(angles > edge, 1e-9, 1e-13))

        start = ask(np.array([0.0, np.pi]), True).joined(ask(np.linspace(0.4, 2.8, 7)))
        (step,) = scan_steps(lambda new, _: ask(new), start, 1.0, TANH).steps
        return step.slack

    assert (spoilt_beyond(1.105), spoilt_beyond(4.0)) == (1e-9, 1e-13)


def test_samples_that_lead_nowhere_have_no_line():
    assert _line([0.0, 0.5, 1.0], [0.0], [100 / 3], TANH) is None  # tolerances as large as the step
    assert _line([0.0, 0.4, 0.6, 1.0], [0.0, 5e-324], [1e-9, 1e-9], TANH) is None
    assert _line([0.0, 0.0, 1.0], [0.5], [1e-9], TANH) is None  # at the angle of an end
