"""What a worker of the fuzzer does until the study is full: ask, reveal, tell; each in a diary that survives its end."""

from __future__ import annotations

import json
import os
import traceback
from random import Random
from typing import Any

import torch
from fuzz_spaces import random_values

import windward as ww
from windward.journal import sql  # noqa: F401 - loaded once, by the server that workers are forked from


def work(url: str, name: str, seed: int, until: int, diary: str) -> None:
    """Ask until the study has `until` trials; reveal and tell most of what was asked."""
    torch.set_num_threads(1)
    chance, file = Random(seed), os.open(diary, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(did: str, **more: Any) -> None:
        os.write(file, (json.dumps({"did": did, **more}) + "\n").encode())

    try:
        study = ww.Study.open(name, journal=url)
        note("opened")
        while len(study.trials) < until:
            suggestion = study.ask()
            note("asked", id=suggestion.id)
            rest = {n: p for n, p in study.space.context.items() if n not in (suggestion.context or {})}
            if rest:
                study.reveal(suggestion.id, random_values(chance, rest))
                note("revealed", id=suggestion.id)
            if chance.random() < 0.8:
                value = chance.gauss(0.0, 1.0)
                note("telling", id=suggestion.id, value=value)
                study.tell(suggestion.id, value)
                note("told", id=suggestion.id, value=value)
            study.sync()
    except BaseException:
        note("failed", why=traceback.format_exc()[-1500:])
        raise
