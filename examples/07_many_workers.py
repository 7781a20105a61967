"""Many workers on one journal: each asks, evaluates and tells by itself, and nobody is in charge.

Give the URL of a PostgreSQL to work from many machines (start it on each); without one the journal is a file beside you.
`--kill` kills a worker in the middle of an evaluation: its trial stays pending, the others go on, and what has been pending
for longer than `--rescue` minutes is evaluated at the end. It prints what became of the trials and how much to bake.

python examples/07_many_workers.py [--journal postgresql+psycopg://user@host/name] [--rounds 30] [--workers 3] [--kill]
"""

import argparse
import multiprocessing
import random
import time
from datetime import timedelta

import windward as ww

SPACE = ww.Space(decision={"loaves": ww.Real(0, 200)}, context={"customers": ww.Real(0, None)})


def evaluate(study: ww.Study, id: int) -> None:
    """Bake in the morning, see who comes, and tell the profit of one simulated day."""
    customers, loaves = max(0.0, random.Random(id).gauss(90, 25)), study.trials[id].decision["loaves"]
    study.tell(id, 3.0 * min(loaves, customers) - 1.0 * loaves, context={"customers": customers})


def work(url: str, rounds: int, seconds: float) -> None:
    """Ask, evaluate for some seconds and tell, until the study has enough trials."""
    study = ww.Study.open("bakery", journal=url)
    while len(study.trials) < rounds:  # workers that count together all ask: three can make 32 of 30
        suggestion = study.ask()  # sees what the others are doing now
        time.sleep(seconds)
        evaluate(study, suggestion.id)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", default="sqlite:///bakery.db")
    for name, default in (("--rounds", 30), ("--workers", 3), ("--rescue", 30)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--kill", action="store_true")
    given, processes = parser.parse_args(), multiprocessing.get_context("spawn")
    try:
        study = ww.Study(SPACE, journal=given.journal, name="bakery")
    except ww.StudyExists:  # another machine was first
        study = ww.Study.open("bakery", journal=given.journal)
    if given.kill:  # one that is slow, so that it dies in the middle
        slow = processes.Process(target=work, args=(given.journal, given.rounds, 600))
        slow.start()
        while not study.pending():
            time.sleep(0.1)
        slow.kill()
    with processes.Pool(given.workers) as pool:
        pool.starmap(work, [(given.journal, given.rounds, 0)] * given.workers)
    for trial in study.pending(older_than=timedelta(minutes=given.rescue)):  # of workers that died
        evaluate(study, trial.id)
        print(f"trial {trial.id} was rescued")
    left = f" (for less than {given.rescue} minutes; --rescue 0 evaluates it now)" if study.pending() else ""
    print(f"{study!r}{left}: bake {study.recommend().decision['loaves']:.0f} loaves")
