"""Several processes that ask one study without pause: how many asks are computed for each one written, and who gets them.

An ask that another one overtakes was computed in vain. Version by version, on the same machine:

    PYTHONPATH=/path/to/a/checkout python benchmarks/asks.py [--processes 8] [--seconds 15] [--journal URL] [--out ...]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from machine import described

import windward as ww
import windward.study.ask

SPACE = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})


def worker(url: str, seconds: float, gate: Any, results: Any) -> None:
    """Ask for some seconds; say how many asks were written, and how many were computed."""
    torch.set_num_threads(1)
    study = ww.Study.open("shop", journal=url)
    computed, inner = [0], windward.study.ask.asked_body

    def counted(*arguments: Any) -> Any:
        computed[0] += 1
        return inner(*arguments)

    windward.study.ask.asked_body = counted
    gate.wait()
    end, written = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        study.ask()
        written += 1
    results.put((written, computed[0]))


def measured(url: str, processes: int, seconds: float) -> dict[str, Any]:
    study, chance = ww.Study(SPACE, journal=url, name="shop"), random.Random(0)
    for _ in range(12):
        study.tell(study.ask().id, chance.random(), context={"demand": chance.random()})
    spawn = multiprocessing.get_context("spawn")
    gate, results = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=worker, args=(url, seconds, gate, results)) for _ in range(processes)]
    for each in workers:
        each.start()
    pairs = [results.get() for _ in workers]
    for each in workers:
        each.join()
    written = sorted(pair[0] for pair in pairs)
    mean = sum(written) / processes
    return {
        "written": written,
        "computed_per_written": round(sum(pair[1] for pair in pairs) / sum(written), 3),
        "least_share_of_mean": round(written[0] / mean, 3),
        "asks_per_second": round(sum(written) / seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--journal", help="a journal without a study named shop; a new SQLite file where left out")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.processes < 1 or given.seconds <= 0:
        parser.error("--processes and --seconds must be above 0")
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.journal or f"sqlite:///{folder}/asks.db", given.processes, given.seconds)
    print(json.dumps(found))
    if given.out is not None:
        given.out.write_text(json.dumps({"machine": described(), "asks": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
