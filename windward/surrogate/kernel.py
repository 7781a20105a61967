"""Stationary kernels as functions of s, the squared distance between inputs divided by their length-scales.

    squared exponential  k(s) = exp(-s / 2)                                      k'(s) = -k / 2
    Matern-5/2           k(s) = (1 + sqrt(5 s) + 5 s / 3) exp(-sqrt(5 s))        k'(s) = -5/6 (1 + sqrt(5 s)) exp(-sqrt(5 s))

Because s adds over decisions and contexts, the squared exponential factorises: k(s_x + s_c) = k(s_x) k(s_c). Each factor may
be lifted: s + (1 - s) k with a share s. Multiplied out, the product then has a part in decisions alone and one in contexts
alone, and costs no more.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

KernelName: TypeAlias = Literal["squared_exponential", "matern52"]
KERNELS: tuple[KernelName, ...] = ("squared_exponential", "matern52")


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """Return |a_i - b_j|^2 for `"*b d"` against `"n d"`; `"*b n"`, never negative."""
    cross = a @ b.T
    sums = a.square().sum(-1, keepdim=True) + b.square().sum(-1)
    if cross.requires_grad:
        return (-2.0 * cross).add(sums).clamp_min(0.0)
    return cross.mul_(-2.0).add_(sums).clamp_min_(0.0)  # in place: with many contexts each copy counts


def kernel_value(name: KernelName, s: Tensor) -> Tensor:
    """Return k(s), differentiable once in s also where s = 0."""
    if name == "squared_exponential":
        half = -0.5 * s
        return half.exp() if half.requires_grad else half.exp_()
    return _Matern52.apply(s)  # type: ignore[no-any-return, no-untyped-call]


def lifted(k: Tensor, share: float | Tensor) -> Tensor:
    """Return share + (1 - share) k: a kernel of which that share is the same everywhere. Where it is 0.0, `k` itself."""
    return k if isinstance(share, float) and share == 0.0 else (1.0 - share) * k + share


def product_value(name: KernelName, sx: Tensor, sc: Tensor, shares: tuple[float, ...]) -> Tensor:
    """Return the kernel at squared distances of decisions and of contexts: the product of the lifted factors, or k(sx + sc)."""
    if not shares:
        return kernel_value(name, sx + sc)
    return lifted(kernel_value(name, sx), shares[0]) * lifted(kernel_value(name, sc), shares[1])


def kernel_slope(name: KernelName, s: Tensor, value: Tensor) -> Tensor:
    """Return k'(s), given k(s)."""
    if name == "squared_exponential":
        return -0.5 * value
    root = (5.0 * s).sqrt()
    return -(5.0 / 6.0) * (1.0 + root) * torch.exp(-root)


def slope_value(name: KernelName, s: Tensor) -> Tensor:
    """Return k'(s), differentiable once in s also where s = 0."""
    if name == "squared_exponential":
        return -0.5 * torch.exp(-0.5 * s)
    return _Matern52Slope.apply(s)  # type: ignore[no-any-return, no-untyped-call]


def product_and_slope(name: KernelName, sx: Tensor, sc: Tensor, shares: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Return the kernel as `product_value` does, and its derivative in the contexts' squared distance, differentiable once."""
    if not shares:
        s = sx + sc
        return kernel_value(name, s), slope_value(name, s)
    x = lifted(kernel_value(name, sx), shares[0])
    return x * lifted(kernel_value(name, sc), shares[1]), x * ((1.0 - shares[1]) * slope_value(name, sc))


class _Matern52(torch.autograd.Function):
    """k(s) with its derivative written out: autograd would divide by sqrt(s) at s = 0."""

    @staticmethod
    def forward(ctx: Any, s: Tensor) -> Tensor:
        ctx.save_for_backward(s)
        root = (5.0 * s).sqrt()
        return (1.0 + root + root.square() / 3.0) * torch.exp(-root)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        (s,) = ctx.saved_tensors
        return upstream * kernel_slope("matern52", s, s)


class _Matern52Slope(torch.autograd.Function):
    """k'(s) of Matern-5/2, with k''(s) = 25/12 exp(-sqrt(5 s)) written out."""

    @staticmethod
    def forward(ctx: Any, s: Tensor) -> Tensor:
        ctx.save_for_backward(s)
        return kernel_slope("matern52", s, s)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        (s,) = ctx.saved_tensors
        return upstream * (25.0 / 12.0) * torch.exp(-(5.0 * s).sqrt())
