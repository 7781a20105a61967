"""The README's picture: what the demo learns, and what it costs to ignore the demand.

python docs/figures/newsvendor.py        writes docs/figures/newsvendor.png
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import torch

import windward as ww
from windward.cli.demo import best_order, demand_at, expected_profit, profit

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROUNDS, SEEDS = 40, 10
INK = {"SBO-KDE": "#1f6f8b", "GP-UCB": "#c8553d", "truth": "#333333"}
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
    methods = {"SBO-KDE": ww.papers.sbo_kde, "GP-UCB": ww.papers.gp_ucb}
    studies = {name: [played(method(), seed) for seed in range(SEEDS)] for name, method in methods.items()}
    best = expected_profit(best_order())
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")

    orders = [i / 60 for i in range(31)]
    left.plot(orders, [expected_profit(order) for order in orders], color=INK["truth"], label="true expected profit")
    for name, runs in studies.items():
        judged = [runs[0].assess({"order": order}) for order in orders]
        left.plot(orders, [each.value for each in judged], color=INK[name], label=f"{name} after {ROUNDS} days")
        left.fill_between(
            orders, [e.interval[0] for e in judged], [e.interval[1] for e in judged], color=INK[name], alpha=0.15, lw=0
        )
    left.axvline(best_order(), color=INK["truth"], lw=0.8, ls=":")
    left.set(xlabel="order", ylabel="profit per day", title="What it believes (90 % interval)", ylim=(-0.6, 0.95))
    left.legend(frameon=False, fontsize=8.5, loc="upper right")

    for name, runs in studies.items():
        regret = torch.tensor(
            [[best - expected_profit(float(t.decision["order"])) for t in study.trials] for study in runs]
        ).cumsum(1)
        mean, error = regret.mean(0), regret.std(0) / SEEDS**0.5
        days = range(1, ROUNDS + 1)
        right.plot(days, mean, color=INK[name], label=name)
        right.fill_between(days, mean - error, mean + error, color=INK[name], alpha=0.2, lw=0)
    right.set(xlabel="day", ylabel="profit given up so far", title=f"What it costs ({SEEDS} runs, standard error)")
    right.legend(frameon=False, loc="upper left")
    path = Path(__file__).with_suffix(".png")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
