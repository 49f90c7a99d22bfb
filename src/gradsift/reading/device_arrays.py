"""Where the large arrays live: in memory with numpy, or beside a box on an accelerator with torch.

Operators, indexing and methods that both libraries spell alike are used as they are; what they spell differently is
here. Everything is in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from ..activations import Activation
from ..runtime import load_extra

Array = Any  # of numpy, or of torch


class Arrays:
    """Arrays of numpy, in the memory of the host."""

    block = 1 << 19  # numbers handled at once: a few megabytes stay in the cache; (784, 256), one thread

    def parts(self, n: int, width: int) -> Iterator[slice]:
        """Cut n rows of some width into parts of one block each, of one row at least."""
        size = max(1, self.block // max(1, width))
        return (slice(start, min(start + size, n)) for start in range(0, n, size))

    def put(self, values: Any) -> Array:
        """Return host values as an array here."""
        return np.asarray(values)

    def get(self, values: Array) -> Any:
        """Return an array as one of numpy."""
        return values

    def empty(self, *shape: int) -> Array:
        """Return an array with nothing in it yet."""
        return np.empty(shape)

    def zeros(self, *shape: int) -> Array:
        """Return zeros."""
        return np.zeros(shape)

    def numbers(self, n: int) -> Array:
        """Return 0, ..., n - 1."""
        return np.arange(n)

    def join(self, parts: list[Array], axis: int = 0) -> Array:
        """Return the parts one after the other."""
        return np.concatenate(parts, axis=axis)

    def stack(self, parts: Iterable[Array]) -> Array:
        """Return arrays of one shape as one, along a new first axis."""
        return np.stack(list(parts))

    def contiguous(self, matrix: Array) -> Array:
        """Return a matrix whose rows lie together in memory."""
        return np.ascontiguousarray(matrix)

    def sign(self, values: Array) -> Array:
        """Return -1, 0 or 1."""
        return np.sign(values)

    def widest(self, rows: Array) -> Array:
        """Return the largest absolute value of each row, 0 for empty ones."""
        return np.abs(rows).max(axis=1, initial=0.0)

    def spans(self, rows: Array) -> Array:
        """Return the largest less the smallest value of each row."""
        return np.ptp(rows, axis=1)

    def lengths(self, rows: Array) -> Array:
        """Return the Euclidean length of each row."""
        return np.linalg.norm(rows, axis=1)

    def columns_lengths(self, rows: Array) -> Array:
        """Return the Euclidean length of each column."""
        return np.linalg.norm(rows, axis=0)

    def where(self, mask: Array) -> tuple[Array, Array]:
        """Return the places at which a matrix of truth values is true, row by row."""
        first, second = np.nonzero(mask)
        return first, second

    def add_rows(self, into: Array, numbers: Array, rows: Array) -> None:
        """Add each of the rows to the row of `into` with its number."""
        gather = sparse.csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))), (len(into), len(rows)))
        into += gather @ rows

    def solve(self, matrices: Array, right: Array) -> Array:
        """Solve square systems, one or a stack of them."""
        return np.linalg.solve(matrices, right)

    def cholesky(self, matrices: Array) -> Array:
        """Return the lower factor of a symmetric matrix, which may be overwritten, or those of a stack of them."""
        if matrices.ndim > 2 or not len(matrices):
            return np.linalg.cholesky(matrices)
        return cholesky(matrices.T, lower=True, overwrite_a=True, check_finite=False)

    def divide_lower(self, factors: Array, right: Array, transposed: bool = False) -> Array:
        """Solve with a lower factor, or its transpose, or with a stack of small ones."""
        if factors.ndim > 2 or not len(factors):  # older versions of scipy refuse an empty one
            return _substituted(factors.swapaxes(-1, -2), right, True) if transposed else _substituted(factors, right)
        return solve_triangular(factors, right, lower=True, trans="T" if transposed else "N", check_finite=False)

    def qr(self, matrix: Array) -> tuple[Array, Array]:
        """Return the reduced orthogonal factorisation."""
        q, r = np.linalg.qr(matrix)
        return q, r

    def value(self, activation: Activation) -> Callable[[Array], Array]:
        """Return the activation itself."""
        return activation.value

    def derivative(self, activation: Activation) -> Callable[[Array], Array]:
        """Return its derivative."""
        return activation.derivative


class TorchArrays(Arrays):
    """Tensors on one device."""

    block = 1 << 26  # a call costs more than a few gigabytes of traffic there; guess

    def __init__(self, device: Any) -> None:
        self.torch, self.device = load_extra("torch", "torch"), device

    def put(self, values: Any) -> Array:
        """Return host values as an array here."""
        if isinstance(values, self.torch.Tensor):
            return values
        values = np.asarray(values)
        tensor = self.torch.as_tensor(np.ascontiguousarray(values), device=self.device)
        return tensor if values.dtype.kind in "bi" else tensor.to(self.torch.float64)

    def get(self, values: Array) -> Any:
        """Return an array as one of numpy."""
        return values.cpu().numpy()

    def empty(self, *shape: int) -> Array:
        """Return an array with nothing in it yet."""
        return self.torch.empty(shape, dtype=self.torch.float64, device=self.device)

    def zeros(self, *shape: int) -> Array:
        """Return zeros."""
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.device)

    def numbers(self, n: int) -> Array:
        """Return 0, ..., n - 1."""
        return self.torch.arange(n, device=self.device)

    def join(self, parts: list[Array], axis: int = 0) -> Array:
        """Return the parts one after the other."""
        return self.torch.cat(parts, dim=axis)

    def stack(self, parts: Iterable[Array]) -> Array:
        """Return arrays of one shape as one, along a new first axis."""
        return self.torch.stack(list(parts))

    def contiguous(self, matrix: Array) -> Array:
        """Return a matrix whose rows lie together in memory."""
        return matrix.contiguous()

    def sign(self, values: Array) -> Array:
        """Return -1, 0 or 1."""
        return values.sign()

    def widest(self, rows: Array) -> Array:
        """Return the largest absolute value of each row, 0 for empty ones."""
        return rows.abs().amax(dim=1) if rows.shape[1] else rows.sum(1)

    def spans(self, rows: Array) -> Array:
        """Return the largest less the smallest value of each row."""
        return rows.amax(dim=1) - rows.amin(dim=1)

    def lengths(self, rows: Array) -> Array:
        """Return the Euclidean length of each row."""
        return self.torch.linalg.vector_norm(rows, dim=1)

    def columns_lengths(self, rows: Array) -> Array:
        """Return the Euclidean length of each column."""
        return self.torch.linalg.vector_norm(rows, dim=0)

    def where(self, mask: Array) -> tuple[Array, Array]:
        """Return the places at which a matrix of truth values is true, row by row."""
        first, second = self.torch.nonzero(mask, as_tuple=True)
        return first, second

    def add_rows(self, into: Array, numbers: Array, rows: Array) -> None:
        """Add each of the rows to the row of `into` with its number."""
        into.index_add_(0, numbers, rows)

    def solve(self, matrices: Array, right: Array) -> Array:
        """Solve square systems, one or a stack of them."""
        return self._checked(lambda: self.torch.linalg.solve(matrices, right))

    def cholesky(self, matrices: Array) -> Array:
        """Return the lower factor of a symmetric matrix, or those of a stack of them."""
        return self._checked(lambda: self.torch.linalg.cholesky(matrices))

    def divide_lower(self, factors: Array, right: Array, transposed: bool = False) -> Array:
        """Solve with a lower factor, or its transpose, or with a stack of small ones."""
        return self.torch.linalg.solve_triangular(factors.mT if transposed else factors, right, upper=transposed)

    def qr(self, matrix: Array) -> tuple[Array, Array]:
        """Return the reduced orthogonal factorisation."""
        q, r = self.torch.linalg.qr(matrix)
        return q, r

    def value(self, activation: Activation) -> Callable[[Array], Array]:
        """Return the activation itself."""
        return activation.torch_twin().value

    def derivative(self, activation: Activation) -> Callable[[Array], Array]:
        """Return its derivative."""
        return activation.torch_twin().derivative

    def _checked(self, factor: Callable[[], Array]) -> Array:
        try:
            return factor()
        except self.torch.linalg.LinAlgError as singular:
            raise np.linalg.LinAlgError(str(singular)) from None


def _substituted(triangles: Array, right: Array, upwards: bool = False) -> Array:
    """Solve with a stack of triangular matrices (n, c, c), row by row: no digit is lost to rows of another size."""
    solved, count = right + 0.0, triangles.shape[-1]
    for i in reversed(range(count)) if upwards else range(count):
        done = slice(i + 1, count) if upwards else slice(0, i)
        solved[:, i] -= (triangles[:, i, None, done] @ solved[:, done])[:, 0]
        solved[:, i] /= triangles[:, i, i, None]
    return solved


IN_MEMORY = Arrays()


def arrays_beside(device: Any) -> Arrays:
    """Return the arrays of a device; of the host for None."""
    return IN_MEMORY if device is None else TorchArrays(device)
