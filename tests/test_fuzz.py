"""A bounded run of the fuzzer (`make fuzz` runs it for an hour), and checks that its oracle finds what is wrong."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace

import fuzz
import fuzz_harm
import fuzz_oracle as oracle
import pytest
from fuzz_case import Case
from fuzz_oracle import Failure, Kept

import windward as ww
from windward import telling
from windward.journal import fold
from windward.parameters import Integer

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_study_holds(seed, tmp_path):
    case = fuzz.run_case(seed, tmp_path)
    assert sum(case.kinds.values()) > 5


def test_two_workers_on_one_file_one_of_them_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the server that workers are forked from
    case = Case(1, tmp_path)
    case.space, case.journal = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}), f"sqlite:///{tmp_path}/study.db"
    case.begin()
    fuzz_harm.share(case)
    assert case.kinds["share"] == 1 and len(case.kept) >= 4


def failed_seeds(folder):
    """Return the seeds of the first cases, few enough to be quick, that fail."""
    found = []
    for seed in range(40):
        try:
            fuzz.run_case(seed, folder / str(seed)) if (folder / str(seed)).mkdir() is None else None
        except Failure:
            found.append(seed)
            break
    return found
