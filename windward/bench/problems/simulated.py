"""Problems that need no data, in place of those that do: an epidemic, a portfolio and tables of accuracies, all simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems.portfolio import CONTEXTS, DECISIONS
from windward.bench.problems.registry import Data, register
from windward.bench.problems.tay import grid, on_grid, simplex_grid, simplex_space
from windward.bench.problems.verma import tables
from windward.contexts import sobol
from windward.space.parameters import Real
from windward.space.space import Space

# The epidemic: three groups, who meets whom, and what the days bring.
PEOPLE = torch.tensor([2000.0, 1000.0, 500.0], dtype=torch.float64)
MEETINGS = torch.tensor([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1], [0.3, 0.2, 0.5]], dtype=torch.float64)
DAYS, OUTBREAKS = 40, 8
PAIRS = 512  # decision-context pairs simulated at once: their state stays in a processor's cache
RECOVERY = 1.0 / 7.0  # a week
KITS = 350.0  # a day: one person in ten
SENSITIVITY = 0.8
MOST_CASES = 0.05  # of a group at the start, at context 1
LEAST_CONTACTS, MOST_CONTACTS = 0.15, 0.45  # infections a day from one case among the susceptible


@dataclass(frozen=True, eq=False)
class Outbreaks:
    """Several outbreaks with fixed random numbers `"outbreaks days 2 3"`: the share of people infected in each.

    Each day, in each group, the susceptible meet cases of all groups; a share of the cases recovers; tests find cases, which
    then stay at home. Infections and recoveries are binomial counts, drawn by their normal approximation.
    """

    noise: Tensor

    def __call__(self, x: Tensor, c: Tensor) -> Tensor:
        """Return the share infected in each outbreak for shares of kits x and contexts c; `"outbreaks *b"`."""
        shape = torch.broadcast_shapes(x.shape[:-1], c.shape[:-1])  # type: ignore[no-untyped-call]
        x, c = (part.expand(*shape, part.shape[-1]).reshape(-1, part.shape[-1]) for part in (x, c))
        parts = [self._run(*pair) for pair in zip(torch.split(x, PAIRS), torch.split(c, PAIRS), strict=True)]
        return torch.cat(parts, dim=-1).reshape(-1, *shape)

    def _run(self, x: Tensor, c: Tensor) -> Tensor:
        # Groups first, then outbreaks, then pairs: meetings are one product of a 3 x 3 matrix with everything else.
        people = PEOPLE[:, None, None]
        shares = torch.stack([x[:, 0], x[:, 1], 1.0 - x.sum(-1)])[:, None]
        missed = 1.0 - SENSITIVITY * (KITS * shares / people).clamp(0.0, 1.0)
        contacts = -(LEAST_CONTACTS + (MOST_CONTACTS - LEAST_CONTACTS) * c[:, 2])
        begun = torch.stack([c[:, 0], c[:, 1], torch.full_like(c[:, 0], 0.2)])[:, None]
        cases = (MOST_CASES * begun * people).expand(3, len(self.noise), len(x))
        healthy = people - cases
        for day in self.noise.unbind(1):
            draws = day.permute(1, 2, 0)[..., None]
            met = (MEETINGS @ (cases / people).reshape(3, -1)).reshape(cases.shape)
            caught = binomial(healthy, 1.0 - torch.exp(contacts * met), draws[0])
            left = cases - binomial(cases, RECOVERY, draws[1])
            healthy, cases = healthy - caught, (left + caught) * missed
        return (people - healthy).sum(0) / PEOPLE.sum()


def binomial(count: Tensor, chance: Tensor | float, normal: Tensor) -> Tensor:
    """Return the normal approximation of a binomial count, kept within its range."""
    spread = (count * chance * (1.0 - chance)).clamp_min(1e-12).sqrt()
    return torch.minimum((count * chance + spread * normal).clamp_min(0.0), count)


@register("epidemic", seeded=True)
def _epidemic(seed: int, data: Data) -> Problem:
    """Shares of test kits for two of three groups; contexts: first cases in both, and how easily the disease spreads.

    The value is minus the mean share infected over eight outbreaks, standardised over the grid as the data it stands for;
    the noise is the deviation of a single outbreak, so a seen value is what one outbreak shows.
    """
    generator = torch.Generator().manual_seed(seed)
    outbreaks = Outbreaks(torch.randn(OUTBREAKS, DAYS, 2, 3, generator=generator, dtype=torch.float64))
    decisions, contexts = simplex_grid(), grid(4, 3)
    # Every fourth decision is enough for a mean and a deviation.
    infected = outbreaks(decisions[::4, None, :], contexts)
    centre, scale = float(infected.mean()), float(infected.mean(0).std())

    def value(x: Tensor, c: Tensor) -> Tensor:
        return (centre - outbreaks(x, c).mean(0)) / scale

    free = on_grid("epidemic", value, decisions, contexts, simplex_space(3))
    return replace(free, noise=float(infected.std(0).mean()) / scale)


# The portfolio: weekly returns of six assets over a year.
ASSETS, WEEKS = 6, 52
TYPICAL_TRADE = 0.05  # of the wealth, at which the planned quadratic cost equals the paid one


@dataclass(frozen=True, eq=False)
class Market:
    """Weekly returns `"weeks assets"`, forecasts of them, and the risk model's axes `"assets assets"` and variances."""

    returns: Tensor
    forecasts: Tensor
    axes: Tensor
    variances: Tensor

    def __call__(self, x: Tensor, c: Tensor) -> Tensor:
        """Return the yearly return in per cent of trading by a plan made anew each week.

        The plan w maximises forecast.w - risk w'Vw - trade s |w - before|^2 / (2 typical) - holding b |w|^2 / (2 typical);
        what is paid is s |w - before|_1 for the half-spread s and b for each unit sold short.
        """
        risk, trade, holding = (10.0 ** (2.0 * x - 1.0)).unbind(-1)
        spread, borrow = 1e-4 + 4.9e-3 * c[..., 0], (0.01 + 0.19 * c[..., 1]) / 52.0
        pull = (trade * spread / TYPICAL_TRADE)[..., None]
        keep = 20.0 * risk[..., None] * self.variances + pull + (holding * borrow / TYPICAL_TRADE)[..., None]
        before = torch.zeros_like(keep)
        wealth = torch.zeros_like(spread * risk)
        for seen, came in zip(self.forecasts @ self.axes, self.returns, strict=True):
            plan = (seen + pull * before) / keep  # along the risk model's axes every asset is on its own
            held, moved = plan @ self.axes.T, (plan - before) @ self.axes.T
            wealth = wealth + held @ came - spread * moved.abs().sum(-1) - borrow * (-held).clamp_min(0.0).sum(-1)
            before = plan
        return 100.0 * 52.0 / WEEKS * wealth


def market(seed: int) -> Market:
    """Return simulated prices: a common factor, own noise, and a slow signal of which the forecast sees a part."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    loadings = 0.02 * (1.0 + 0.5 * normal(ASSETS))
    own = 0.02 + 0.01 * torch.rand(ASSETS, generator=generator, dtype=torch.float64)
    signal = torch.zeros(ASSETS, dtype=torch.float64)
    signals = []
    for _ in range(WEEKS):
        signal = 0.9 * signal + 0.003 * math.sqrt(1.0 - 0.9**2) * normal(ASSETS)
        signals.append(signal)
    table = torch.stack(signals)
    returns = 0.001 + table + normal(WEEKS, 1) * loadings + normal(WEEKS, ASSETS) * own
    variances, axes = torch.linalg.eigh(torch.outer(loadings, loadings) + torch.diag(own.square()))
    return Market(returns, 0.001 + table + 0.003 * normal(WEEKS, ASSETS), axes, variances)


def traded(name: str, law: laws.Law) -> Problem:
    """Return the back-test with both contexts independent and of one law, clipped to [0, 1]."""
    # The paid costs have kinks where a trade or a position changes sign: an expectation is off by up to 1e-3 of values near 30.
    fine = laws.rule(law, 0.0, 1.0, 32)
    return Problem(
        name=name,
        space=Space(decision={n: Real(0, 1) for n in DECISIONS}, context={n: Real(0, 1) for n in CONTEXTS}),
        value=market(0),
        truth=laws.every([laws.gauss(fine, 16), laws.gauss(fine, 8)]),
        draw=laws.clipped_draw([law] * 2, 0.0, 1.0),
    )


@register("portfolio-simulated")
def _portfolio_simulated(seed: int, data: Data) -> Problem:
    """A back-test on simulated prices with the decisions and contexts of `portfolio-normal`."""
    return traded("portfolio-simulated", laws.normal(0.5, 0.1))


@register("portfolio-simulated-uniform")
def _portfolio_simulated_uniform(seed: int, data: Data) -> Problem:
    return traded("portfolio-simulated-uniform", laws.uniform(0.0, 1.0))


def configurations() -> Tensor:
    """Return 288 configurations in the layout of the tables: kernel (three columns), penalty, degree, width."""
    penalties = torch.linspace(-5.0 / 6.0, 1.0, 12).tolist()
    degrees = torch.linspace(math.log10(2.0), 1.0, 9).tolist()
    widths = torch.linspace(-1.0, 0.75, 14).tolist()
    rows = [(1.0, 0.0, 0.0, penalty, 0.0, 0.0) for penalty in penalties]
    rows += [(0.0, 1.0, 0.0, penalty, degree, 0.0) for penalty in penalties for degree in degrees]
    rows += [(0.0, 0.0, 1.0, penalty, 0.0, width) for penalty in penalties for width in widths]
    return torch.tensor(rows, dtype=torch.float64)


@register("svm-tables-simulated")
def _svm_tables_simulated(seed: int, data: Data) -> Problem:
    """Accuracies of 288 configurations on 50 tasks, where the best penalty, degree and width move with the features."""
    features, rows = sobol(6, 50, torch.Generator().manual_seed(0)), configurations()
    easy, gain, penalty, width, degree, bent = features.T[..., None]
    linear, polynomial, radial, c, d, w = rows.T
    near = torch.exp(-((c - (1.2 * penalty - 0.4)) ** 2))
    shape = (
        1.0
        - bent
        + bent
        * (
            polynomial * torch.exp(-4.0 * (d - (0.3 + 0.6 * degree)) ** 2)
            + radial * torch.exp(-3.0 * (w - (1.5 * width - 0.9)) ** 2)
            + 0.4 * linear
        )
    )
    return tables("svm-tables-simulated", 0.5 + 0.3 * easy + 0.2 * (0.2 + 0.8 * gain) * near * shape, rows, features)
