"""Units that do not saturate: straight lines at both ends and a kink between them, as ReLU, softplus, SiLU or GELU.

Far out the network is linear in cells, and the gradient jumps where the path crosses a unit's hyperplane. The order:
reach (how far out), path, legs and kinks (where), cells and their gradients (which directions), near the origin
(offsets and widths), vouching (the certificate), signs (the public model).
"""

from __future__ import annotations

from .grain import grain_of
from .opening import open_kinked
from .shape import KINKED

__all__ = ["KINKED", "grain_of", "open_kinked"]
