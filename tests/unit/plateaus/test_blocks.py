"""The arrow: the same as a dense factorisation of the same matrix, in memory and beside a box."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.reading.device_arrays import IN_MEMORY, TorchArrays
from gradsift.reading.plateaus.large.blocks import BlockFactor, UnitRows

N_ROWS, N_UNKNOWNS = 30, 7


def coupled(n_shared, seed=0):
    """Five units with own rows of different numbers, and the rows that all but the first of them share."""
    rng = np.random.default_rng(seed)
    order, units, matrix = rng.permutation(N_ROWS), [], np.eye(N_ROWS)
    shared, free = order[:n_shared], list(order[n_shared:])
    for number, n_own in enumerate((3, 1, 0, 3, 5)):
        own, free = free[:n_own], free[n_own:]
        rows = np.concatenate([own, shared if number else []]).astype(np.intp)
        coupling = rng.standard_normal((len(rows), N_UNKNOWNS)) * 10.0 ** rng.uniform(-3, 3, (len(rows), 1))
        matrix[np.ix_(rows, rows)] += coupling @ coupling.T
        units.append(UnitRows(rows, coupling, n_own))
    return np.sort(shared), units, matrix


def beside_a_box():
    torch = pytest.importorskip("torch")
    return TorchArrays(torch.device("cpu"))


@pytest.mark.parametrize("arrays", [lambda: IN_MEMORY, beside_a_box], ids=["numpy", "torch"])
@pytest.mark.parametrize("n_shared", [0, 1, 4])
def test_it_divides_like_the_whole_matrix(n_shared, arrays):
    xp = arrays()
    tip, units, matrix = coupled(n_shared)
    there = [UnitRows(xp.put(unit.rows), xp.put(unit.coupling), unit.n_own) for unit in units]
    arrow = BlockFactor(xp, N_ROWS, tip, iter(there))
    right = np.random.default_rng(1).standard_normal((N_ROWS, 2))
    half = arrow.divide(xp.put(right))
    solved, expected = xp.get(arrow.divide_upper(half)), np.linalg.solve(matrix, right)
    np.testing.assert_allclose(solved, expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose((xp.get(half) ** 2).sum(axis=0), (right * expected).sum(axis=0), rtol=1e-7)


def test_a_shared_row_that_is_not_named_makes_another_matrix():
    _, units, matrix = coupled(1)
    right = np.ones((N_ROWS, 1))
    alone = [UnitRows(unit.rows, unit.coupling, len(unit.rows)) for unit in units]
    arrow = BlockFactor(IN_MEMORY, N_ROWS, np.empty(0, dtype=np.intp), alone)
    solved = arrow.divide_upper(arrow.divide(right))
    assert np.abs(solved - np.linalg.solve(matrix, right)).max() > 1e-3
