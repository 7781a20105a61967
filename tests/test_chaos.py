"""Twelve workers on one PostgreSQL study; they are killed and replaced, the server is restarted, results are late or double.

What a call returned from is in the log, once; nothing else is.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import chaos_worker
import pytest
from forked import context
from helpers import SHOP

import windward as ww

WORKERS, TRIALS, SECONDS = 12, 84, 240
# The journal is under test, not the fit: hyper-parameters and contexts are given, the search is short.
POLICY = ww.Policy(
    context_model=ww.Known({"demand": [0.2, 0.8]}),
    surrogate=ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.3, 0.5), 1.0, 0.1)),
    maximize=ww.MultiStart(screen=64, starts=1, evaluations=5),
)


def chaos(url, server, folder):
    """Let it happen; return how many workers were killed, and a study that has followed the log all along."""
    chance, started, killed, restarted = random.Random(0), 0, [], False
    follower = ww.Study(SHOP, POLICY, journal=url, name="chaos")
    workers = {}

    def start():
        nonlocal started
        path = str(folder / f"worker{started}")
        process = context().Process(target=chaos_worker.work, args=(url, started, TRIALS, path), daemon=True)
        process.start()
        workers[started] = process
        started += 1

    for _ in range(WORKERS):
        start()
    deadline, strike = time.monotonic() + SECONDS, WORKERS  # strikes go by progress: a slow machine has as many
    while any(process.is_alive() for process in workers.values()):
        assert time.monotonic() < deadline, f"not done after {SECONDS} s: {follower!r}"
        time.sleep(0.02)
        follower.sync()
        asked = len(follower.trials)
        if asked > TRIALS // 2 and not restarted:
            server.stop("fast")
            server.start()
            restarted = True
        if strike <= asked < TRIALS - WORKERS:
            victim = chance.choice([index for index, process in workers.items() if process.is_alive()])
            os.kill(workers[victim].pid, signal.SIGKILL)
            workers[victim].join()
            killed.append(victim)
            start()
            strike = asked + chance.randint(1, 20)
    ends = {index: process.exitcode for index, process in workers.items()}
    assert {index for index, code in ends.items() if code == -signal.SIGKILL} == set(killed)
    assert all(code == 0 for index, code in ends.items() if index not in killed), ends
    assert restarted
    return killed, started, follower


@pytest.mark.postgres
@pytest.mark.slow
def test_chaos(postgres_server, postgres, tmp_path, capsys):
    began = time.monotonic()
    killed, started, follower = chaos(postgres, postgres_server, tmp_path)
    seconds = time.monotonic() - began
    follower.sync()
    events = follower.journal.read("chaos")
    diaries = [(tmp_path / f"worker{index}").read_text().splitlines() for index in range(started)]
    said = [line.split() for diary in diaries for line in diary]

    # No trial id twice, in the log or in anybody's hand.
    ids = [event.trial for event in events if event.kind == "asked"]
    assert ids == list(range(len(ids))) and TRIALS <= len(ids) < TRIALS + WORKERS
    handed = [int(words[1]) for words in said if words[0] == "asked"]
    assert len(handed) == len(set(handed)) and set(handed) <= set(ids)

    # Every value that a tell returned for is there once; what else is there was on its way when its worker was killed.
    told = {int(words[1]): float(words[2]) for words in said if words[0] == "told"}
    on_the_way = {int(words[1]): float(words[2]) for words in said if words[0] == "telling"}
    written = Counter(event.trial for event in events if event.kind == "told")
    assert set(written.values()) == {1} and set(told) <= set(written) <= set(on_the_way)
    for id in written:
        assert follower.trials[id].value == on_the_way[id]
    assert len({event.key for event in events}) == len(events)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    late = [int(words[1]) for words in said if words[0] == "told" and words[3] == "late"]
    for id in late:
        assert follower.trials[id].told_at - follower.trials[id].asked_at >= timedelta(hours=1)
    order = [event.trial for event in events if event.kind == "told"]
    swapped = sum(first > second for first, second in pairwise(order))

    # Replaying the log gives the state of one who followed it; suggestions can be computed again from it.
    study = ww.Study.open("chaos", journal=postgres)
    assert study.trials.rows == follower.trials.rows
    for id in random.Random(0).sample(ids, 5):
        assert study.replay(id).decision == study.trials[id].decision

    # What dead workers left is visible as pending, and can be told or lost.
    left = study.pending()
    assert {trial.id for trial in left} == set(ids) - set(written)
    ended = {
        int(w[1])
        for index in range(started)
        if index not in killed
        for w in map(str.split, diaries[index])
        if w[0] == "asked"
    }
    assert not ended & {trial.id for trial in left}
    for trial in left[::2]:
        study.tell(trial.id, 0.0, context=None if trial.context else {"demand": 0.5})
    for trial in left[1::2]:
        study.lose(trial.id, "its worker was killed")
    assert study.pending() == [] and follower.pending() == []

    again = sum(words[0] == "again" for words in said)
    assert killed and late and again and swapped and left  # the test did what it says
    with capsys.disabled():
        print(
            f"\nchaos: {len(ids)} trials, {len(events)} events, {WORKERS} workers, {len(killed)} killed and replaced, "
            f"1 restart of the server; {len(told)} tells returned and are there once, {len(written) - len(told)} more "
            f"committed as their worker died; {again} told twice, {len(late)} an hour late, {swapped} out of order; "
            f"{len(left)} left pending, {len(left[::2])} told and {len(left[1::2])} lost since; {seconds:.0f} s"
        )
