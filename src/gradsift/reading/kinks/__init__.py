"""Units that do not saturate: straight lines at both ends and a kink between them, as ReLU, softplus, SiLU or GELU.

Far out the network is linear in cells, and the gradient jumps where the path crosses a unit's hyperplane. The order:
reach (how far out), path, legs and kinks (where), cells and their gradients (which directions), near the origin
(offsets and widths), vouching (the certificate), signs (the public model). Where a box must not be asked far out, sharp
units are found within its region: rays from the middle, and one fit of all parameters.
"""

from __future__ import annotations

from .far_reader import open_kinked
from .region_reader import open_within

__all__ = ["open_kinked", "open_within"]
