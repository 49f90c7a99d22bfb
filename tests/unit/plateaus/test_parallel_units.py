"""Two units that no radius separates: what a box that changed, or jumps, does to their fit."""

from __future__ import annotations

import numpy as np

from gradsift.reading.odd_form import link_of
from gradsift.reading.plane_frame import frame_through
from gradsift.reading.plateaus.parallel_units import Arc, ArcSamples, _fit_in_plane, _in_plane

ARC = Arc(frame_through(*np.eye(4)[:2]), 100.0, -0.1, 0.1, 0.0, 0.0, 1.0, 0)


def test_answers_at_one_place_are_no_pair_of_units():
    grown = np.repeat([0.0, 0.5], [8, 3])
    samples = ArcSamples(np.zeros(11), grown, np.linspace(-0.8, 0.8, 11))
    assert _fit_in_plane(link_of("tanh"), ARC, samples, np.random.default_rng(0)) is None


def test_a_jump_that_a_fit_steepens_without_end_is_read_as_a_finite_slope():
    pair = _in_plane(link_of("tanh"), np.array([800.0, 2.0, 0.1, -0.1, 0.5, 0.0, 0.0]), ARC)
    assert np.isfinite(pair.first).all()
    assert np.isfinite(pair.arguments(pair.bases())).all()
