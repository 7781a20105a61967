"""The README's picture: what the demo learns, and what it costs to ignore the demand.

python docs/figures/newsvendor.py        writes docs/figures/newsvendor.png
"""

from __future__ import annotations

from pathlib import Path

import torch
from look import BLUE, INK, RED, WIDE, drawn, dressed, plt

import windward as ww
from windward.cli.demo import best_order, demand_at, expected_profit, profit

ROUNDS, SEEDS = 40, 10
# What a reader of the tour knows: the published method that looks at the demand, and the one that does not.
SEES, BLIND = "sees the demand", "takes it for noise"
COLOURS = {SEES: BLUE, BLIND: RED}
SPACE = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})


def played(policy: ww.Policy, seed: int) -> ww.Study:
    """Return the study after all its days."""
    uniforms = torch.rand(ROUNDS, generator=torch.Generator().manual_seed(seed)).double().tolist()
    study = ww.Study(SPACE, policy, seed=seed)

    def day(suggestion: ww.Suggestion) -> ww.Result:
        demand = demand_at(uniforms[suggestion.id])
        return ww.Result(profit(float(suggestion.decision["order"]), demand), context={"demand": demand})

    study.run(day, ROUNDS, progress=False)
    return study


def main() -> None:
    """Draw both panels."""
    torch.set_num_threads(1)
    dressed()
    methods = {SEES: ww.papers.sbo_kde, BLIND: ww.papers.gp_ucb}
    studies = {name: [played(method(), seed) for seed in range(SEEDS)] for name, method in methods.items()}
    best = expected_profit(best_order())
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained")

    orders = [i / 60 for i in range(31)]
    left.plot(orders, [expected_profit(order) for order in orders], color=INK, label="the truth")
    for name, runs in studies.items():
        judged = [runs[0].assess({"order": order}) for order in orders]
        low, high = ([each.interval[end] for each in judged] for end in (0, 1))
        left.plot(orders, [each.value for each in judged], color=COLOURS[name], label=name)
        left.fill_between(orders, low, high, color=COLOURS[name], alpha=0.15, lw=0)
    left.axvline(best_order(), color=INK, lw=0.8, ls=":")
    left.set(xlabel="order", ylabel="profit of a day", title=f"What it believes after {ROUNDS} days (90 % interval)")
    left.legend(loc="lower left")

    for name, runs in studies.items():
        regret = torch.tensor(
            [[best - expected_profit(float(t.decision["order"])) for t in study.trials] for study in runs]
        ).cumsum(1)
        mean, error = regret.mean(0), regret.std(0) / SEEDS**0.5
        days = range(1, ROUNDS + 1)
        right.plot(days, mean, color=COLOURS[name], label=name)
        right.fill_between(days, mean - error, mean + error, color=COLOURS[name], alpha=0.2, lw=0)
    right.set(xlabel="day", ylabel="profit given up so far", title=f"What it costs ({SEEDS} runs, standard error)")
    right.set(xlim=(0, ROUNDS), ylim=(0, None))
    right.legend(loc="upper left")
    drawn(figure, Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
