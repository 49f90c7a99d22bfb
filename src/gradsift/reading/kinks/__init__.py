"""Units that do not saturate: straight lines at both ends and a kink between them, as ReLU, softplus, SiLU or GELU.

Far out the network is linear in cells, and the gradient jumps where a path crosses a unit's hyperplane. The order:
reach (how far out), path and its kinks (where), cells and their gradients (which directions), near the origin (offsets
and widths), certificate, signs (the public model). Where a box must not be asked far out, sharp units are found within
its region: rays from the middle, and one fit of all parameters.
"""
