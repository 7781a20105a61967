"""Late and lost results: a nursery picks a feed for each tray; yields come days later, out of order, and dead trays never.

Strong feed makes surviving plants large and kills others, and a dead tray is not reported: it is only missing. Counting
what is missing as zero (`Censor`) learns that; taking it for merely late (`Hallucinate`, the default) believes the survivors.
It prints the mean yield of the second half with the dead counted, the feeds it tried, and what came, late or not at all.

python examples/04_late_and_lost.py [--rounds 60] [--seed 0]
"""

import argparse
from itertools import pairwise

import numpy as np

import windward as ww

SPACE = ww.Space(decision={"feed": ww.Real(0, 5)}, context={"sun": ww.Real(0, 10)})
PATIENCE = 12  # in trays: nobody waits longer for a yield
FEEDBACKS = {"Censor": ww.Censor(worst=0.0, patience=PATIENCE), "Hallucinate": ww.Hallucinate()}


def survival(feed: float) -> float:
    """Return the chance that a tray lives."""
    return float(1 / (1 + np.exp(4 * (feed - 1.8))))


def main() -> None:
    """Plant the same trays under the same sun with both feedbacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--rounds", 60), ("--seed", 0)):
        parser.add_argument(option, type=int, default=default)
    arguments = parser.parse_args()
    for name, feedback in FEEDBACKS.items():
        world, due, told = np.random.default_rng(arguments.seed), {}, []
        study = ww.Study(SPACE, ww.Policy(context_model=ww.KernelDensity(), feedback=feedback), seed=arguments.seed)
        for day in range(arguments.rounds):
            suggestion, sun = study.ask(), float(world.uniform(2, 8))
            study.reveal(suggestion.id, {"sun": sun})  # the context comes at once
            feed, comes = suggestion.decision["feed"], day + int(world.geometric(0.2))
            if world.random() < survival(feed):
                due.setdefault(comes, []).append((suggestion.id, feed * (1 + 0.1 * sun)))
            for id, value in due.pop(day, []):
                study.tell(id, value)  # counts, even where it was given up before
                told.append(id)
            for trial in [trial for trial in study.pending() if day - trial.id > PATIENCE]:
                study.lose(trial.id, "no yield was reported")
        feeds = [trial.decision["feed"] for trial in study.trials][arguments.rounds // 2 :]
        disorder = sum(before > after for before, after in pairwise(told))
        earned = np.mean([survival(feed) * 1.5 * feed for feed in feeds])
        print(
            f"{name:<12} {earned:.2f} a tray, feeds {min(feeds):.2f} to {max(feeds):.2f}; {study!r}, {disorder} out of order"
        )
    best = max(np.linspace(0, 5, 501), key=lambda feed: survival(feed) * 1.5 * feed)
    print(f"{'best':<12} {survival(best) * 1.5 * best:.2f} a tray, feed {best:.2f}")


if __name__ == "__main__":
    main()
