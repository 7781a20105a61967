"""A part of your own: a divergence that Windward does not have, in a method that no paper has.

A share r of the days may be anything at all, the rest is as before: Huber's contamination, with the worst case
(1 - r) p.f + r min f. Objectives, beliefs and the journal take it like one of the library's. A depot hires a crew before
it knows the orders; it prints the crew, its mean profit and its profit on the worst day, for r = 0 and r = 0.4.

python examples/08_a_divergence_of_your_own.py [--rounds 25] [--seed 0]
"""

import argparse
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

import windward as ww

PROFIT = lambda crew, orders: 3 * orders.clamp_max(crew) - crew  # noqa: E731
SPACE = ww.Space(decision={"crew": ww.Real(0, 10)}, context={"orders": ww.Real(0, 10)})


@dataclass(frozen=True)
class Contamination:
    """The least r such that q >= (1 - r) p."""

    steep: ClassVar[bool] = False  # the slope at radius 0 is finite

    def distance(self, weights: Tensor, contexts: ww.Contexts) -> Tensor:
        """Return 1 - min q / p over the contexts with weight; `"*b"`."""
        return 1 - (weights / contexts.weights)[..., contexts.weights > 0].amin(-1)

    def on(self, contexts: ww.Contexts):
        """Return the worst case around these contexts, as a function of values `"*b n"` and a radius."""
        return lambda values, radius: self.worst_case(values, contexts, radius)

    def worst_case(self, values: Tensor, contexts: ww.Contexts, radius: float | Tensor) -> ww.WorstCase:
        """Return the value, the weights that attain it, and minus its slope in the radius."""
        share = torch.as_tensor(radius, dtype=torch.float64).clamp_max(1).expand(values.shape[:-1])[..., None]
        least = torch.nn.functional.one_hot(values.argmin(-1), values.shape[-1])
        weights = ((1 - share) * contexts.weights + share * least).detach()
        return ww.WorstCase((weights * values).sum(-1), weights, values @ contexts.weights - values.amin(-1))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name, default in (("--rounds", 25), ("--seed", 0)):
    parser.add_argument(name, type=int, default=default)
arguments = parser.parse_args()
days = 2 + 6 * torch.rand(10_000, generator=torch.Generator().manual_seed(arguments.seed))
for radius in (0.0, 0.4):
    policy = ww.Policy(context_model=ww.KernelDensity(), objective=ww.Robust(Contamination(), radius))
    study = ww.Study(SPACE, policy, seed=arguments.seed, parts=[Contamination])  # its class, to read it from a journal
    for orders in days[: arguments.rounds]:
        suggestion = study.ask()
        study.tell(suggestion.id, float(PROFIT(suggestion.decision["crew"], orders)), context={"orders": float(orders)})
    crew = study.recommend().decision["crew"]
    made = PROFIT(crew, days)
    print(f"r = {radius}: crew {crew:.1f}, {made.mean():.2f} a day, {made.min():.2f} on the worst")
