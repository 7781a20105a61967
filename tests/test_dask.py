"""`Study.run` on a real local cluster of dask.distributed: a worker, the driver and the scheduler die meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import BrokenExecutor

import dask
import pytest
from distributed import Client, LocalCluster
from forked import Forked, context, printed, script
from helpers import SHOP

import windward as ww

pytestmark = pytest.mark.cluster

POLICY = ww.Policy(
    context_model=ww.Empirical(), design=ww.Sobol(3), maximize=ww.MultiStart(screen=32, starts=1, evaluations=5)
)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))  # for the worker processes
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    context()  # the workers are forked from what has loaded everything
    monkeypatch.setitem(dask.config.config["distributed"]["worker"], "multiprocessing-method", "forkserver")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL") as cluster:
        yield cluster


def evaluation(notes, seconds=0.15):
    """Return an evaluation that notes who made it; dask sends a function inside another one whole."""

    def evaluate(suggestion):
        with open(notes, "a") as file:
            file.write(f"{suggestion.id} {os.getpid()}\n")
        time.sleep(seconds)
        demand = 0.3 + 0.05 * (suggestion.id % 7)
        return ww.Result(1 - (suggestion.decision["order"] - demand) ** 2, context={"demand": demand})

    return evaluate


def told(study):
    study.sync()
    return sum(trial.value is not None for trial in study.trials)


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_a_killed_workers_evaluation_is_made_by_another(cluster, tmp_path):
    notes, evaluate = tmp_path / "notes", evaluation(tmp_path / "notes")
    study = ww.Study(SHOP, POLICY, journal=f"sqlite:///{tmp_path}/shop.db", name="shop")
    killed = tmp_path / "killed"

    def deadly(suggestion):
        if suggestion.id == 4 and not killed.exists():
            killed.write_text(f"{os.getpid()}")
            os.kill(os.getpid(), signal.SIGKILL)
        return evaluate(suggestion)

    with Client(cluster) as client:
        study.run(deadly, rounds=10, executor=client.get_executor(pure=False), workers=2, progress=False)
    assert [trial.state for trial in study.trials] == ["told"] * 10
    made = [line.split() for line in notes.read_text().splitlines()]
    assert {int(id) for id, _ in made} == set(range(10))
    assert all(pid != killed.read_text() for id, pid in made if id == "4")
    # Besides it, at most results that the killed worker still held were computed again.
    twice = {id for id, _ in made if [other for other, _ in made].count(id) > 1}
    assert twice <= {id for id, pid in made if pid == killed.read_text()}


DRIVER = """
import sys
import windward as ww
from distributed import Client
from test_dask import evaluation

address, url, notes = sys.argv[1:]
study = ww.Study.open("shop", journal=url)
if __name__ == "__main__":
    with Client(address) as client:
        executor = client.get_executor(pure=False)
        study.run(evaluation(notes), until=12, executor=executor, workers=2, leftover="retry", progress=False)
"""


def test_a_killed_driver_is_restarted_and_continues(cluster, tmp_path):
    url, notes = f"sqlite:///{tmp_path}/shop.db", tmp_path / "notes"
    study = ww.Study(SHOP, POLICY, journal=url, name="shop")
    (tmp_path / "driver.py").write_text(DRIVER)
    command = script, str(tmp_path), str(tmp_path / "driver.py"), cluster.scheduler_address, url, str(notes)
    driver = Forked(*command)
    wait_until(lambda: told(study) >= 4)
    driver.kill()
    driver.rest()
    study.sync()
    before, left = {t.id: t.value for t in study.trials if t.value is not None}, [t.id for t in study.pending()]
    assert len(before) < 12 and left  # what it was waiting for is pending
    printed(*command)
    study.sync()
    assert [trial.state for trial in study.trials] == ["told"] * 12
    assert all(study.trials[id].value == value for id, value in before.items())
    events = study.journal.read("shop")
    assert sum(event.kind == "told" for event in events) == sum(event.kind == "asked" for event in events) == 12


def test_a_lost_scheduler_ends_the_run_and_leaves_the_rest_pending(cluster, tmp_path):
    study = ww.Study(SHOP, POLICY, journal=f"sqlite:///{tmp_path}/shop.db", name="shop")
    client = Client(cluster)
    thread = threading.Thread(target=lambda: (wait_until(lambda: told(study) >= 2), cluster.close()))
    thread.start()
    with pytest.raises((BrokenExecutor, RuntimeError)):
        study.run(
            evaluation(tmp_path / "notes"), 30, executor=client.get_executor(pure=False), workers=2, progress=False
        )
    thread.join()
    client.close()
    arrived, left = told(study), len(study.pending())
    assert arrived >= 2 and left >= 1 and arrived + left <= 30
    study.run(evaluation(tmp_path / "notes", 0), 0, leftover="retry", progress=False)  # in this process, say
    assert told(study) == arrived + left and study.pending() == []
