"""What one worker of the chaos test does until the study is full: ask, reveal, evaluate, tell, in every bad way."""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime, timedelta

import torch

import windward as ww
from windward.journal import sql  # noqa: F401 - loaded once, by the server that workers are forked from
from windward.study import ask as asking

# A worker that dies in the line holds up those behind it for so long, a fifth of what it would be.
LEASE_SECONDS = 1.0


class Diary:
    """What this worker knows to have happened, line by line, in a file that survives its end."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def work(url: str, seed: int, trials: int, path: str) -> None:
    """Ask until the study has `trials` trials, tell everything that was asked, then stop."""
    torch.set_num_threads(1)
    asking.LEASE_SECONDS = LEASE_SECONDS
    chance, diary, late = random.Random(seed), Diary(path), [timedelta(0)]
    study = ww.Study.open("chaos", journal=url, clock=lambda: datetime.now(UTC) + late[0])
    held: list[tuple[int, float]] = []
    while len(study.trials) < trials:
        suggestion = study.ask()
        diary.note("asked", suggestion.id)
        study.reveal(suggestion.id, {"demand": chance.random()})
        time.sleep(chance.uniform(0.0, 0.3))  # the evaluation
        held.append((suggestion.id, chance.gauss(0.0, 1.0)))
        if len(held) >= chance.randint(1, 3):
            chance.shuffle(held)  # out of order
            tell(study, held, chance, diary, late)
        study.sync()
    tell(study, held, chance, diary, late)
    diary.note("ended")


def tell(
    study: ww.Study, held: list[tuple[int, float]], chance: random.Random, diary: Diary, late: list[timedelta]
) -> None:
    """Tell what is held: a fifth of it an hour late by the clock, a fifth of it twice."""
    while held:
        id, value = held.pop()
        late[0] = timedelta(hours=1 if chance.random() < 0.2 else 0)
        diary.note("telling", id, repr(value))
        study.tell(id, value)
        diary.note("told", id, repr(value), "late" if late[0] else "now")
        late[0] = timedelta(0)
        if chance.random() < 0.2:
            study.tell(id, value)
            diary.note("again", id)
