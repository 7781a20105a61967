"""A Cholesky factor that grows: rows are added to it and to its inverse without a new factorisation."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.basics.errors import SolverError


def extend_factor(factor: Tensor, inverse: Tensor, between: Tensor, within: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Cholesky factor and its inverse after the rows `[between, within]` `"q n"`, `"q q"` are added."""
    lower_left = between @ inverse.T
    corner, failed = torch.linalg.cholesky_ex(within - lower_left @ lower_left.T)
    if int(failed):
        raise SolverError(
            f"GaussianPosterior: {len(within)} more observations leave no Cholesky factor; use a larger noise."
        )
    eye = torch.eye(len(corner), dtype=corner.dtype, device=corner.device)
    corner_inverse = torch.linalg.solve_triangular(corner, eye, upper=False)
    zeros = torch.zeros(len(factor), len(corner), dtype=corner.dtype, device=corner.device)
    grown = torch.cat([torch.cat([factor, zeros], 1), torch.cat([lower_left, corner], 1)])
    grown_inverse = torch.cat(
        [torch.cat([inverse, zeros], 1), torch.cat([-corner_inverse @ lower_left @ inverse, corner_inverse], 1)]
    )
    return grown, grown_inverse
