"""Frames: an orthonormal basis held as two reflections."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.geometry import orthonormal_rows
from gradsift.reading.plane_frame import frame_through


def axes_and_random():
    rng = np.random.default_rng(0)
    for d in (2, 3, 7, 40):
        yield orthonormal_rows(2, d, rng)
    yield np.eye(5)[:2]
    yield np.eye(5)[[1, 0]]
    yield -np.eye(4)[[2, 3]]


@pytest.mark.parametrize("plane", list(axes_and_random()))
def test_a_frame_is_an_orthonormal_basis_that_begins_with_its_plane(plane):
    d = plane.shape[1]
    frame = frame_through(plane[0], plane[1])
    basis = frame.from_frame(np.eye(d))
    np.testing.assert_allclose(basis @ basis.T, np.eye(d), atol=1e-14)
    np.testing.assert_allclose(basis[:2], plane, atol=1e-14)
    np.testing.assert_allclose(frame.across(np.arange(d - 2)), basis[2:], atol=1e-14)


def test_coordinates_and_back_are_inverse_to_each_other():
    rng = np.random.default_rng(1)
    frame = frame_through(*orthonormal_rows(2, 9, rng))
    rows = rng.standard_normal((6, 9))
    np.testing.assert_allclose(frame.from_frame(frame.to_frame(rows)), rows, atol=1e-14)
    np.testing.assert_allclose(frame.to_frame(rows)[:, :2], rows @ frame.plane.T, atol=1e-14)


def test_points_on_a_circle_have_its_radius_and_their_angle():
    frame = frame_through(*orthonormal_rows(2, 6, np.random.default_rng(2)))
    angles = np.array([0.0, 1.0, 3.0])
    points = frame.on_circle(5.0, angles)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 5.0, rtol=1e-14)
    np.testing.assert_allclose(np.arctan2(*(points @ frame.plane.T).T[::-1]), angles, atol=1e-14)
