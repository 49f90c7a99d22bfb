"""Units that grow whose hyperplanes all lie far from the origin: inputs of a large scale, without `inputs=`."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import NotIdentifiable


@pytest.mark.parametrize(("scale", "k"), [(1e3, 1), (1e3, 6), (7e3, 1), (1e5, 6)])
def test_units_that_bend_far_from_the_origin_are_found(scale, k):
    rng = np.random.default_rng([3, int(scale), k])
    A, b = rng.standard_normal((k, 5)), scale * rng.standard_normal(k)
    u = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k)
    X = scale * rng.standard_normal((500, 5))
    found = gs.recover(gs.Oracle(lambda Z: np.maximum(Z @ A.T + b, 0.0) @ u, 5), random_state=1)
    assert found.n_units == k
    np.testing.assert_allclose(found.network.predict(X), np.maximum(X @ A.T + b, 0.0) @ u, atol=1e-9 * scale)


def test_a_line_is_said_to_be_one():
    with pytest.raises(NotIdentifiable, match="looks linear, so there is no unit to find"):
        gs.recover(gs.Oracle(lambda X: X @ np.arange(1.0, 6.0), 5), activation="relu", random_state=1)
