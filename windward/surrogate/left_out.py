"""Every observation predicted from the others, in closed form: what a check of the model rests on.

With A = K + N, the constant mean refitted without each row,

    P = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1)          (A^-1 itself where the mean is held)
    mean_i = y_i - (P y)_i / P_ii                    var_i = 1 / P_ii

The variance is that of an observation, its noise included (Dubrule 1983; Rasmussen and Williams 2006, Sec. 5.4.2). Nothing else
is refitted: the hyper-parameters and the scale of the outcomes are those of all the rows. So a row has a small say in its
own prediction, and the check is a little kind to the model.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor


class LeftOut(NamedTuple):
    """Each observation as the model sees it, and its prediction from the others; `"n"` each, in units of the outcome.

    `std` is the deviation of an observation, noise included. `total` is the squared length of all residuals in units of what
    the model expects, y'Py, and `degrees` its expectation: one for each row, less one for a mean that is refitted.
    """

    observed: Tensor
    mean: Tensor
    std: Tensor
    total: float
    degrees: int


@runtime_checkable
class LeavingOut(Protocol):
    """A posterior that predicts each of its observations from the others."""

    def left_out(self) -> LeftOut: ...


def leave_out(inverse: Tensor, centred: Tensor, *, held: bool, shift: float = 0.0, scale: float = 1.0) -> LeftOut:
    """Return `"n"` values less a mean beside their predictions, by the inverse `"n n"` of the Cholesky factor of A.

    There must be two at least where the mean is refitted: one alone says nothing of it.

    >>> import torch
    >>> values = torch.tensor([1.0, 2.0, 6.0], dtype=torch.float64)
    >>> leave_out(torch.eye(3, dtype=torch.float64), values, held=False).mean  # that of the others
    tensor([4.0000, 3.5000, 1.5000], dtype=torch.float64)
    """
    pulled = inverse.T @ (inverse @ centred)  # P y
    precision = inverse.square().sum(0)  # the diagonal of P
    if not held:
        sums = inverse.T @ inverse.sum(1)  # A^-1 1
        pulled = pulled - sums * (pulled.sum() / sums.sum())
        precision = precision - sums.square() / sums.sum()
    predicted = centred - pulled / precision
    return LeftOut(
        centred * scale + shift,
        predicted * scale + shift,
        precision.rsqrt() * scale,
        float(centred @ pulled),
        len(centred) - (not held),
    )
