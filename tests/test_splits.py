"""How context kernels are split for drafts, and products with triangles: errors against their bounds, and gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward.space.space import Roles
from windward.surrogate import GaussianProcess
from windward.surrogate.kernel import kernel_value, squared_distances
from windward.surrogate.marginals import LARGE, times_lower, times_transposed
from windward.surrogate.splits import rough_split
from windward.trials.trials import Dataset


def posterior_of(n, noise=1e-3, k=2):
    generator = torch.Generator().manual_seed(n)
    x, c = torch.rand(n, 2, generator=generator).double(), torch.rand(n, k, generator=generator).double()
    y = torch.sin(5 * x[:, 0] + 3 * c[:, 0]) * torch.cos(2 * x[:, 1] - 4 * c[:, -1])
    contexts = tuple(range(2, 2 + k))
    data = Dataset(x, c, y, torch.full((n,), torch.nan).double(), Roles((0, 1), (1.0, 1.0), contexts, (1.0,) * k))
    return GaussianProcess().at(data, ww.Hyperparameters(0.0, (0.3, 0.4, *(0.4,) * k), 1.0, noise))


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(1, 3),
    st.floats(0.1, 5.0),
    st.floats(1e-10, 0.1),
    st.integers(0, 3),
)
def test_a_rough_split_is_as_near_as_it_says(m, n, k, length_scale, left, seed):
    generator = torch.Generator().manual_seed(seed)
    zc = torch.rand(m, k, generator=generator, dtype=torch.float64) / length_scale
    observed = torch.rand(n, k, generator=generator, dtype=torch.float64) / length_scale
    observed[n // 2 :] = observed[: n - n // 2].clone()  # contexts repeat
    seen = []

    def factors(z):
        seen.append(len(z))
        return kernel_value("squared_exponential", squared_distances(zc, z))

    parts = rough_split(factors, zc, observed, left)
    if parts.outer is None:
        assert parts.inner is parts.kc
        return
    assert seen == [n, parts.rank] and parts.rank <= min(m // 2, n - 1)
    # |k - k(c, P) K_PP^-1 k(P, o)| <= sqrt(e_c e_o), one of which is at most `left`; rounding grows with 1 / left.
    assert float((parts.outer @ parts.inner - parts.kc).abs().max()) <= left**0.5 + 1e-12 / left


def test_the_smaller_side_is_pivoted():
    """Points in a small region need fewer pivots than observations all over the place, and the other way round."""
    generator = torch.Generator().manual_seed(0)
    wide, narrow = 8 * torch.rand(80, 2, generator=generator).double(), torch.rand(80, 2, generator=generator).double()

    def rank(zc, observed):
        return rough_split(
            lambda z: kernel_value("squared_exponential", squared_distances(zc, z)), zc, observed, 1e-4
        ).rank

    assert rank(narrow, wide) == rank(wide, narrow) == rank(narrow, narrow) < 30


@pytest.mark.parametrize("n", [20, LARGE + 3])
def test_gradients_of_drafts(n):
    posterior, generator = posterior_of(n, 1e-2), torch.Generator().manual_seed(1)
    points = 0.3 * torch.rand(90, 2, generator=generator, dtype=torch.float64)
    x = torch.rand(2, 2, generator=generator, dtype=torch.float64).requires_grad_()
    for each in (posterior.draft(), posterior.draft().draft()):
        assert each._split(points, 2).outer is not None
        assert torch.autograd.gradcheck(lambda x, p=each: p.marginals(x, points), (x,), atol=1e-5, fast_mode=True)
        assert torch.autograd.gradcheck(lambda x, p=each: p.context_slopes(x, points), (x,), atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("k", [1, 2])
def test_single_precision_is_near(k):
    posterior, generator = posterior_of(LARGE + 20, 1e-2, k), torch.Generator().manual_seed(2)
    points = torch.rand(100, k, generator=generator, dtype=torch.float64)
    x = torch.rand(300, 2, generator=generator, dtype=torch.float64)
    sketch = posterior.draft().draft()
    assert sketch.drafted == 2 and sketch.draft() is sketch
    std, rough = posterior.marginals(x, points)[1], sketch.marginals(x, points)[1]
    assert float((std - rough).abs().max()) <= 0.05 * float(std.max())
    double = replace(sketch)
    object.__setattr__(double, "_observations", replace(sketch._observations, single=False))
    for one, other in (
        (sketch.marginals(x, points), double.marginals(x, points)),
        (sketch.context_slopes(x, points), double.context_slopes(x, points)),
    ):
        assert not torch.equal(one[1], other[1])
        for single, exact in zip(one, other, strict=True):
            assert single.dtype == torch.float64
            assert float((single - exact).abs().max()) <= 1e-3 * float(exact.abs().max())


def test_a_small_draft_with_one_context_has_no_draft():
    draft = posterior_of(30, k=1).draft()
    assert draft.drafted == 1 and draft.draft() is draft


@pytest.mark.parametrize("n", [5, LARGE, 2 * LARGE + 17])
def test_products_with_triangles(n):
    generator = torch.Generator().manual_seed(n)
    lower = torch.randn(n, n, generator=generator, dtype=torch.float64).tril()
    rows = torch.randn(3, 4, n, generator=generator, dtype=torch.float64)
    assert torch.allclose(times_transposed(rows, lower), rows @ lower.T, atol=1e-11)
    assert torch.allclose(times_lower(rows, lower), rows @ lower, atol=1e-11)
    out = torch.empty_like(rows)
    assert times_transposed(rows, lower, out).data_ptr() == out.data_ptr()


def test_a_path_of_many_decisions_is_that_of_each():
    posterior = posterior_of(40)
    path = posterior.path(torch.Generator().manual_seed(0))
    points = torch.rand(7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x = torch.rand(300, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    each = torch.stack([path(row, points) for row in x])
    assert torch.allclose(path(x, points), each, atol=1e-10)
    assert torch.allclose(path(x.reshape(20, 15, 2), points), each.reshape(20, 15, 7), atol=1e-10)
    assert torch.allclose(path(x, points.clone()), each, atol=1e-10)  # other contexts, other table


@pytest.mark.parametrize("noise", [1e-10, 1e-7, 2e-5])
def test_drafts_keep_their_digits_where_the_noise_is_small(noise):
    """By K^-1, or in single precision, nothing would be left of deviations like these."""
    for n in (200, LARGE + 1):
        posterior = posterior_of(n, noise)
        points = 0.4 * torch.rand(80, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        x = torch.rand(6, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        std = posterior.marginals(x, points)[1]
        for each in (posterior.draft(), posterior.draft().draft()):
            for asked in (x, x.clone().requires_grad_()):
                rough = each.marginals(asked, points)[1].detach()
                assert float((std - rough).abs().max()) <= 0.02 * float(std.max())


@pytest.mark.parametrize("least", [2.0, 2.0 * 0.5024999976158142, 2.3])
def test_a_deviation_at_its_floor_has_no_slope(least):
    posterior = posterior_of(30, 1e-3)
    # All variances are below it; roots of some numbers are off in their last bit.
    object.__setattr__(posterior, "_observations", replace(posterior._observations, least=least))
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64).requires_grad_()
    points = torch.rand(9, 2, generator=generator, dtype=torch.float64)
    draft = posterior.draft()
    object.__setattr__(draft, "_observations", replace(draft._observations, least=least))
    for each in (posterior, draft):
        for std in (each.marginals(x, points)[1], each.context_slopes(x, points).std):
            (slope,) = torch.autograd.grad(std.sum(), x)
            assert torch.equal(slope, torch.zeros_like(x))
        assert not each.context_slopes(x, points).std_gradient.any()


def test_slopes_of_no_decisions():
    posterior = posterior_of(30)
    points = torch.rand(40, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for each in (posterior, posterior.draft()):
        assert [tuple(part.shape) for part in each.context_slopes(torch.zeros(0, 2).double(), points)] == [
            *((0, 40),) * 2,
            *((0, 40, 2),) * 2,
        ]
