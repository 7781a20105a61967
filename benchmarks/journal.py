"""The journal under load: opening a study of 10,000 trials, tells per second, memory, beside the disk's own fsync rate.

A tell is one durable transaction: it waits for the disk once. Sync is reading what is new where nothing is, which every ask
does. PostgreSQL is a private server with its default settings, in a temporary folder of the same disk; --postgres names
another.

    python benchmarks/journal.py [--trials 10000] [--tells 2000] [--workers 4] [--postgres URL] [--out ...]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import torch
from machine import described

import windward as ww
from windward.journal import Draft

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import Server, programs

SPACE = ww.Space(
    decision={"order": ww.Real(0, 1), "price": ww.Real(1, 10, log=True), "boxes": ww.Integer(1, 9)},
    context={"demand": ww.Real(0, 1), "sky": ww.Categorical(["sun", "rain"])},
)
OPENED = """
import resource, sys, time
import torch
import windward as ww
from windward.journal.sql import SqlJournal

torch.set_num_threads(1)
url, name = sys.argv[1:]
SqlJournal(url).names()  # imports, driver and first connection are not the study's
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
began = time.perf_counter()
study = ww.Study.open(name, journal=url)
seconds = time.perf_counter() - began
after = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
began = time.perf_counter()
study.sync()
print(seconds, (after - before) / 2**20, len(study.trials), time.perf_counter() - began)
"""
TELLER = """
import sys, time
import torch
import windward as ww

torch.set_num_threads(1)
url, name, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
study = ww.Study.open(name, journal=url)
print("ready", flush=True)
sys.stdin.readline()
for id in range(first, first + count):
    study.tell(id, float(id))
print("done", flush=True)
"""


def fsync_rate(folder: Path, *, append: bool, seconds: float = 3.0) -> float:
    """Return how often per second 4 KiB can be written and flushed: at the end of a growing file, or over a part of it.

    A database's log is written over once it has been long enough, which spares the file system its own log.
    """
    with (folder / "flushed").open("wb", buffering=0) as file:
        file.write(b"x" * 2**20)
        os.fsync(file.fileno())
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            if not append:
                file.seek(count % 256 * 4096)
            file.write(b"y" * 4096)
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.perf_counter() - began)


def filled(url: str, name: str, told: int, pending: int) -> None:
    """Write a study of `told` finished and `pending` open trials, its events as a real run leaves them."""
    small = ww.MultiStart(screen=32, starts=1, evaluations=5)
    policy = ww.Policy(context_model=ww.KernelDensity(), maximize=small)
    study = ww.Study(SPACE, policy, journal=url, name=name)

    def evaluate(suggestion: ww.Suggestion) -> ww.Result:
        return ww.Result(float(suggestion.decision["order"]), context={"demand": 0.37, "sky": "rain"})

    study.run(evaluate, 20, progress=False)
    asked = [event.body for event in study.journal.read(name) if event.kind == "asked" and event.body["fit"]]
    now, head = datetime.now(UTC), len(study.journal.read(name))

    def trial(id: int) -> list[Draft]:
        drafts = [Draft("asked", id, now, asked[id % len(asked)])]
        drafts.append(Draft("context_seen", id, now, {"v": 1, "context": {"demand": id / 1e5, "sky": "sun"}}))
        value = {"v": 1, "value": id / 7.0, "noise": None, "decision": None}
        return drafts + ([Draft("told", id, now, value)] if id < told else [])

    for start in range(20, told + pending, 1000):
        ids = range(start, min(start + 1000, told + pending))
        drafts = [draft for id in ids for draft in trial(id)]
        study.journal.append(name, lambda _, drafts=drafts: drafts, key=f"filled{start}", after=head)
        head += len(drafts)


def opened(url: str, name: str) -> dict[str, float]:
    """Return the time and memory of opening a study, in a fresh process; the middle of three."""
    rows = []
    for _ in range(3):
        said = subprocess.run(
            [sys.executable, "-c", OPENED, url, name], capture_output=True, text=True, check=True
        ).stdout.split()
        rows.append([float(word) for word in said])
    seconds, megabytes, trials, sync = (statistics.median(column) for column in zip(*rows, strict=True))
    return {"trials": int(trials), "open_s": seconds, "open_mib": megabytes, "sync_ms": 1e3 * sync}


def tells(url: str, name: str, first: int, count: int, workers: int) -> float:
    """Return tells per second of several processes at once, each telling its own trials."""
    each = count // workers
    command = [sys.executable, "-c", TELLER, url, name]
    processes = [
        subprocess.Popen(
            [*command, str(first + index * each), str(each)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for index in range(workers)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    began = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate()[0].strip() == "done", "a teller failed"
    return workers * each / (time.perf_counter() - began)


def measured(url: str, folder: Path, trials: int, count: int, workers: int) -> dict[str, object]:
    """Return all figures of one database; the disk is measured right before and after, for its rate changes by the minute."""
    sizes = [trials // 4, trials // 2, trials]
    for size in sizes:
        filled(url, f"bench{size}", size, 0)
    filled(url, "telling", trials - 2 * count, 2 * count)
    rows = [opened(url, f"bench{size}") for size in sizes]
    before = fsync_rate(folder, append=True)
    alone = tells(url, "telling", trials - 2 * count, count, 1)
    together = tells(url, "telling", trials - count, count, workers)
    after = fsync_rate(folder, append=True)
    return {
        "open": rows,
        "fsyncs_per_s_before": before,
        "tells_per_s": alone,
        f"tells_per_s_of_{workers}": together,
        "fsyncs_per_s_after": after,
    }


@contextmanager
def databases(folder: Path, postgres: str | None) -> Iterator[dict[str, str]]:
    """Yield the databases to measure by name."""
    urls = {"SQLite, synchronous=FULL": f"sqlite:///{folder}/journal.db"}
    if postgres is not None:
        yield urls | {"PostgreSQL": postgres}
    elif programs() is None:
        print("PostgreSQL: not measured, there is no server here", flush=True)
        yield urls
    else:
        with Server() as server:
            yield urls | {"PostgreSQL": server.url}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--tells", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--postgres", default=None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "journal.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine = described()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name, databases(Path(name), arguments.postgres) as urls:
        disk = {how: fsync_rate(Path(name), append=how == "appending") for how in ("appending", "in place")}
        print(
            "disk, 4 KiB with fdatasync per second: " + ", ".join(f"{k} {v:.0f}" for k, v in disk.items()), flush=True
        )
        for database, url in urls.items():
            figures = results[database] = measured(
                url, Path(name), arguments.trials, arguments.tells, arguments.workers
            )
            for row in figures.pop("open"):
                print(
                    f"{database}: {row['trials']} trials open in {row['open_s']:.2f} s, {row['open_mib']:.0f} MiB, "
                    f"sync {row['sync_ms']:.1f} ms",
                    flush=True,
                )
                figures.setdefault("opened", []).append(row)
            print(f"{database}: " + ", ".join(f"{k} {v:.0f}" for k, v in figures.items() if k != "opened"), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(
        json.dumps({"machine": machine, "fsyncs_per_s": disk, "databases": results}, indent=1) + "\n"
    )
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
