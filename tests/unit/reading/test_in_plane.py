"""Known units on the plane of a circle: their values there, and what they spoil."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradsift import Oracle
from gradsift.geometry import orthonormal_rows
from gradsift.reading.circle import scan_circle
from gradsift.reading.in_plane import settle_in_plane
from gradsift.reading.ledger import Ledger
from gradsift.reading.odd_form import Net, empty_net, link_of, projected_on
from gradsift.reading.plane_frame import frame_through
from gradsift.reading.scan_settings import UNITS

TANH = link_of("tanh")


def net_of(a, linear=None):
    k = len(a)
    return Net(TANH, np.asarray(a), np.linspace(-1, 1, k), np.linspace(0.5, 1, k), 0.3, (None,) * k, linear)


def test_a_projected_network_says_what_the_network_says_at_the_points_of_its_plane():
    rng = np.random.default_rng(3)
    frame = frame_through(*orthonormal_rows(2, 40, rng))
    radius, angles = rng.uniform(1, 5, 30), rng.uniform(0, np.pi, 30)
    for linear in (None, rng.standard_normal(40)):
        net = net_of(rng.standard_normal((6, 40)), linear)
        projected, points = projected_on(frame, net), frame.on_circle(radius, angles)
        np.testing.assert_allclose(projected.arguments(radius, angles), net.arguments(points), atol=1e-12)
        np.testing.assert_allclose(projected.predict(radius, angles), net.predict(points), atol=1e-12)


def test_only_known_units_spoil_a_plateau_however_large_the_intercept_is():
    frame, angles = frame_through(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])), np.array([0.0, np.pi])
    for intercept in (0.3, 1000.0):
        box = replace(net_of([[1.0, 0.5, 0.2]]), c=intercept)
        ledger = Ledger(Oracle(box.predict, 3))
        answers = ledger.ask(frame.on_circle(1e4, angles), "scan")
        scan = scan_circle(ledger, frame, 1e4, empty_net(TANH, 3, intercept), angles, answers, 8)
        (unit,) = settle_in_plane(ledger, scan, empty_net(TANH, 3, intercept)).units
        assert unit.plateaus_are_exact
        spoilt = replace(unit, step=replace(unit.step, slack=unit.step.slack + 2 * UNITS.spoilt))
        assert not spoilt.plateaus_are_exact
