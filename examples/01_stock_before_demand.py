"""Stock before demand: a bakery bakes in the morning, sees its customers during the day and counts the profit at night.

Loaves sell at 4, cost 3, and the rest is thrown away. The study is told neither that nor how many customers come: it
learns both from the days (SBO-KDE). It prints how many loaves to bake and what that earns on average, beside the best
number, the usual habit (bake for the average day) and choosing at random.

python examples/01_stock_before_demand.py [--rounds 40] [--seed 0]
"""

import argparse

import numpy as np

import windward as ww

PRICE, COST = 4.0, 3.0
SPACE = ww.Space(decision={"loaves": ww.Integer(0, 150)}, context={"customers": ww.Real(0, None)})
MANY_DAYS = np.random.default_rng(12345).gamma(4.0, 20.0, 50_000)  # what the study never sees


def profit(loaves: float, customers: float | np.ndarray) -> np.ndarray:
    """Return the profit of a day, or of many."""
    return PRICE * np.minimum(loaves, customers) - COST * loaves


def on_average(loaves: float) -> float:
    """Return the true mean profit of a number of loaves."""
    return float(profit(loaves, MANY_DAYS).mean())


def main() -> None:
    """Bake for some days, then say what to bake from now on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    world = np.random.default_rng(arguments.seed)
    study = ww.Study(SPACE, ww.papers.sbo_kde(), seed=arguments.seed)
    for _ in range(arguments.rounds):
        suggestion = study.ask()  # in the morning
        customers = float(world.gamma(4.0, 20.0))
        study.reveal(suggestion.id, {"customers": customers})  # during the day
        study.tell(suggestion.id, float(profit(suggestion.decision["loaves"], customers)))  # at night
    advice = study.recommend().decision["loaves"]
    best = max(range(151), key=on_average)
    print(f"After {arguments.rounds} days: bake {advice} loaves, which earn {on_average(advice):.1f} a day.")
    print(f"  the best number, knowing the customers:  {best} loaves, {on_average(best):.1f} a day")
    print(f"  baking for the average day:              80 loaves, {on_average(80):.1f} a day")
    print(f"  any number at random:                    {np.mean([on_average(n) for n in range(151)]):.1f} a day")


if __name__ == "__main__":
    main()
