"""One PostgreSQL, many workers: each asks, evaluates and tells by itself; nobody is in charge. Start it on any machine.

python examples/many_workers.py postgresql+psycopg://user@host/name [--trials 60] [--workers 4]

Workers may come, go and be killed; what has been pending for longer than `--rescue` minutes is evaluated at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
from datetime import timedelta

import windward as ww

SPACE = ww.Space(decision={"loaves": ww.Real(0, 200)}, context={"customers": ww.Real(0, None)})


def day(suggestion: ww.Suggestion) -> ww.Outcome:
    """Bake in the morning, then see who comes: the profit of one simulated day."""
    customers = max(0.0, random.Random(suggestion.id).gauss(90, 25))
    loaves = suggestion.decision["loaves"]
    return ww.Outcome(3.0 * min(loaves, customers) - 1.0 * loaves, context={"customers": customers})


def work(url: str, trials: int) -> None:
    """Ask, evaluate and tell until the study has enough trials."""
    study = ww.Study.open("bakery", journal=url)
    while len(study.trials) < trials:
        suggestion = study.ask()  # sees what the others are doing now
        outcome = day(suggestion)
        study.tell(suggestion.id, outcome.value, context=outcome.context)


def main() -> None:
    """Begin the study if nobody has, then work in several processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rescue", type=float, default=30)
    arguments = parser.parse_args()
    try:
        ww.Study(SPACE, journal=arguments.journal, name="bakery")
    except ww.JournalError as error:  # another machine was first
        if "exists already" not in str(error):
            raise
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        pool.starmap(work, [(arguments.journal, arguments.trials)] * arguments.workers)
    study = ww.Study.open("bakery", journal=arguments.journal)
    for trial in study.pending(older_than=timedelta(minutes=arguments.rescue)):  # of workers that died
        outcome = day(ww.Suggestion(trial.id, dict(trial.decision), None))
        study.tell(trial.id, outcome.value, context=outcome.context)
    print(f"{study!r}: bake {study.recommend().decision['loaves']:.0f} loaves")


if __name__ == "__main__":
    main()
