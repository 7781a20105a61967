"""One machine: evaluations in processes, the log in a file beside you. Stop it or kill it, start it again: it goes on.

python examples/one_machine.py [--trials 30] [--workers 4] [--journal sqlite:///bakery.db]
"""

from __future__ import annotations

import argparse
import random
import time
from concurrent.futures import ProcessPoolExecutor

import windward as ww

SPACE = ww.Space(decision={"loaves": ww.Real(0, 200)}, context={"customers": ww.Real(0, None)})


def day(suggestion: ww.Suggestion) -> ww.Result:
    """Bake in the morning, then see who comes: the profit of one simulated day."""
    time.sleep(0.1)  # something expensive
    customers = max(0.0, random.Random(suggestion.id).gauss(90, 25))
    loaves = suggestion.decision["loaves"]
    return ww.Result(3.0 * min(loaves, customers) - 1.0 * loaves, context={"customers": customers})


def main() -> None:
    """Run the study up to a number of trials in all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--journal", default="sqlite:///bakery.db")
    arguments = parser.parse_args()
    journal = ww.SqlJournal(arguments.journal)
    if "bakery" in journal.names():
        study = ww.Study.open("bakery", journal=journal)
    else:
        study = ww.Study(SPACE, ww.papers.sbo_kde(), journal=journal, name="bakery")
    with ProcessPoolExecutor(arguments.workers) as pool:
        # What a killed run left pending is evaluated again, and counts among the trials.
        study.run(day, until=arguments.trials, executor=pool, workers=arguments.workers, leftover="retry")
    best = study.recommend()
    print(f"{study!r}: bake {best.decision['loaves']:.0f} loaves for {best.value:.0f} a day")


if __name__ == "__main__":
    main()
