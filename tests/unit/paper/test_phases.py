"""Phase diagrams: bias falls and variance grows with the distance of the points."""

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need the plot extra")

from gradsift.paper import phases  # noqa: E402

GRID = phases.PhasesGrid(scales=(0.5, 2.0, 8.0), shares=(0.2, 0.8), rows=(300, 5000), n_points=150, n_seeds=1)


def test_bias_falls_and_the_error_of_a_gradient_grows_with_the_scale():
    diagram = phases.run_phases(4, GRID, seed=3)
    assert diagram.exact.shape == (3, 2)
    assert diagram.estimated.shape == (2, 3, 2)
    assert (np.diff(diagram.exact[:, 1]) < 0).all()  # degrees, 80% kept
    assert diagram.exact[0, 1] > 30 > 15 > diagram.exact[2, 1]
    assert (np.diff(diagram.error[1]) > 0).all()
    assert (diagram.error[1] < diagram.error[0])[:2].all()  # more rows, smaller errors, where there are rows


def test_the_diagrams_are_written_one_for_each_dimension(tmp_path):
    plt.switch_backend("Agg")
    small = phases.PhasesGrid(scales=(0.5, 3.0), shares=(0.5, 1.0), rows=(200,), n_points=40, n_seeds=1)
    paths = phases.write_phases(tmp_path / "new", grid=small, dims=(2, 3))
    assert [p.name for p in paths] == ["phases_d2.png", "phases_d3.png"]
    assert all(p.stat().st_size > 10_000 for p in paths)
