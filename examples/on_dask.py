"""Dask: one driver asks and tells, a cluster evaluates. Without an address a small cluster is started here.

python examples/on_dask.py [--address tcp://scheduler:8786] [--trials 30] [--workers 4] [--journal sqlite:///bakery-on-dask.db]

A worker that dies: dask evaluates its trial elsewhere. The driver dies: start it again, it retries what was in flight.
"""

from __future__ import annotations

import argparse
import random

from distributed import Client, LocalCluster

import windward as ww

NAME = "bakery-on-dask"
SPACE = ww.Space(decision={"loaves": ww.Real(0, 200)}, context={"customers": ww.Real(0, None)})


def day(suggestion: ww.Suggestion) -> ww.Result:
    """Bake in the morning, then see who comes: the profit of one simulated day."""
    customers = max(0.0, random.Random(suggestion.id).gauss(90, 25))
    loaves = suggestion.decision["loaves"]
    return ww.Result(3.0 * min(loaves, customers) - 1.0 * loaves, context={"customers": customers})


def main() -> None:
    """Drive the study up to a number of trials in all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default=None)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--journal", default="sqlite:///bakery-on-dask.db")
    arguments = parser.parse_args()
    journal = ww.SqlJournal(arguments.journal)
    known = NAME in journal.names()
    study = ww.Study.open(NAME, journal=journal) if known else ww.Study(SPACE, journal=journal, name=NAME)
    where = arguments.address or LocalCluster(n_workers=arguments.workers, threads_per_worker=1, dashboard_address=None)
    with Client(where) as client:
        study.run(
            day,
            until=arguments.trials,
            executor=client.get_executor(pure=False),
            workers=arguments.workers,  # evaluations in flight: say how many your cluster takes
            leftover="retry",
        )
        if arguments.address is None:
            where.close()
    print(f"{study!r}: bake {study.recommend().decision['loaves']:.0f} loaves")


if __name__ == "__main__":
    main()
