"""The normal equations of rows that are torch tensors, summed on their device in float64."""

from __future__ import annotations

from typing import Any

from ..likelihood import CERTAINTY, LogOdds
from .jacobian import tensor_jacobian
from .normal import Equations, NormalEquations

__all__ = ["equations_on_device"]

_ROWS = 2**18  # per step: a Jacobian of 200 columns then takes 400 MB


def equations_on_device(summary: NormalEquations, rows: Any) -> Equations:
    """Return what ``summary.chunk`` returns for the same rows in memory; only the sums leave the device."""
    pieces = zip(*(_pieces(part, len(rows.y)) for part in rows))
    parts = [_equations(summary, *piece) for piece in pieces]
    totals: list[Any] = [None if column[0] is None else sum(column) for column in zip(*parts)]
    mass, loss, gradient, *matrices = totals
    curvature, scatter = (None if m is None else m.cpu().numpy() for m in matrices)
    return Equations(float(mass), float(loss), gradient.cpu().numpy(), curvature, scatter)


def _pieces(part: Any, n_rows: int) -> list[Any]:
    if part is None:
        return [None] * -(-n_rows // _ROWS)
    return list(part.split(_ROWS))


def _equations(summary: NormalEquations, X: Any, y: Any, weight: Any) -> tuple[Any, ...]:
    family, theta = summary.family, summary.theta
    f = family.activation.torch_twin()
    x, target = X.double(), y.double()
    u = x.new_tensor(theta.u)
    z = x @ x.new_tensor(theta.A).T
    if family.offsets:
        z = z + x.new_tensor(theta.b)
    values = f.value(z)  # (rows, k)
    active = f.derivative(z) * u
    r = values @ u + theta.c
    weight = r.new_ones(len(r)) if weight is None else weight.double()
    residual = target - r
    if family.labels and not family.simplex:
        information = weight * (r.sigmoid() * (-r).sigmoid()).clamp(min=LogOdds().least)
        score = weight * target * (-target * r).sigmoid()
        loss = weight @ r.new_zeros(len(r)).logaddexp(-target * r)
    elif family.labels:
        score = weight * target / (1 + target * r).clamp(min=0.5 * CERTAINTY.simplex)
        information = weight / (1 - r * r).clamp(min=CERTAINTY.simplex)
        loss = -(weight @ (0.5 * (1 + target * r)).clamp(min=0.25 * CERTAINTY.simplex).log())
        values = values - r[:, None]  # as in memory: no effect on the simplex, and less rounding
    else:
        information, score, loss = weight, weight * residual, 0.5 * (weight @ (residual * residual))
    J = tensor_jacobian(family.layout(*theta.A.shape), x, values, active)
    matrices = [
        (J * scale[:, None]).T @ (J * scale[:, None]) if wanted else None
        for wanted, scale in ((summary.curvature, information.sqrt()), (summary.scatter, score))
    ]
    return weight.sum(), loss, -score @ J, *matrices
