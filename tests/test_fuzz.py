"""A bounded run of the fuzzer (`make fuzz` runs it for an hour), and proof that it reaches and finds what it should."""

from __future__ import annotations

import os
import sys
from random import Random

import fuzz
import fuzz_harm
import fuzz_oracle as oracle
import fuzz_reads
import pytest
from fuzz_case import Case
from fuzz_oracle import Failure
from fuzz_policies import random_policy
from fuzz_spaces import random_space

import windward as ww
from windward.basics.codec import encode
from windward.journal.fold import History
from windward.parts import OWN_PARTS
from windward.space.parameters import Real

SEEDS = range(10)
# Parts that no policy or space holds unless it is made for them.
NOT_DRAWN = {"Integer", "Real", "Categorical", "Cyclic", "Calendar", "Linear", "Space", "Policy"}
SHOP = ww.Space({"x": Real(0, 1)}, {"c": Real(0, 1)})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_study_holds(seed, tmp_path):
    case = fuzz.run_case(seed, tmp_path, quick=True)
    assert sum(case.kinds.values()) > 5


def test_two_workers_on_one_file_one_of_them_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for the server that workers are forked from
    case = Case(1, tmp_path)
    case.space, case.journal = SHOP, f"sqlite:///{tmp_path}/study.db"
    case.begin()
    fuzz_harm.share(case)
    assert case.kinds["share"] == 1 and len(case.kept) >= 4


def tags(data):
    """Return the names of the parts in plain data."""
    if isinstance(data, dict):
        own = {data["part"]} if isinstance(data.get("part"), str) else set()
        return own.union(*(tags(entry) for entry in data.values()))
    return set().union(*(tags(entry) for entry in data)) if isinstance(data, list) else set()


def test_every_part_is_drawn():
    drawn = set()
    for seed in range(400):
        chance = Random(seed)
        space = random_space(chance)
        try:
            policy = random_policy(chance, space, 1.0)
        except ww.WindwardError:
            continue
        drawn |= tags(encode(policy)) | {type(getattr(policy, name)).__name__ for name in policy.__dataclass_fields__}
        drawn.add(type(policy.surrogate.outcome).__name__)
    assert {kind.__name__ for kind in OWN_PARTS} - drawn <= NOT_DRAWN


def shop(folder, seed=1):
    """Return a case on a plain shop with two trials asked."""
    case = Case(seed, folder)
    case.space, case.journal = SHOP, f"sqlite:///{folder}/study.db"
    case.begin()
    for _ in range(2):
        case.suggested("ask", case.study.ask(), {}, {})
        case.written()
    case.settle("asks")
    return case


def test_a_trial_that_is_not_as_the_calls_made_it_is_found(tmp_path):
    case = shop(tmp_path)
    case.study.tell(0, 1.5)
    case.written()
    with pytest.raises(
        Failure, match=r"trial 0: its value should be None and is 1\.5"
    ):  # the model does not know of the tell
        case.settle("a tell")


def test_an_event_that_is_lost_on_the_way_is_found(tmp_path, monkeypatch):
    case = shop(tmp_path)
    apply = History.apply
    monkeypatch.setattr(History, "apply", lambda self, events: apply(self, list(events)[:1]))
    with pytest.raises(Failure):
        fuzz_reads.reopen(case)


@pytest.mark.parametrize(
    ("decision", "wrong"),
    [
        ({"x": 1.1, "n": 1, "way": "rail"}, "lies outside"),
        ({"x": float("nan"), "n": 1, "way": "rail"}, "not finite"),
        ({"x": 0.5, "n": 1.0, "way": "rail"}, "is float, not int"),
        ({"x": 0.5, "n": 1, "way": "air"}, "not among"),
        ({"x": 0.9, "n": 3, "way": "rail"}, "does not hold"),
        ({"x": 0.5, "n": 1}, "other names"),
    ],
)
def test_a_decision_that_cannot_be_done_is_found(decision, wrong):
    space = ww.Space(
        {"x": Real(0, 1), "n": ww.Integer(0, 3), "way": ww.Categorical(["rail", "road"])},
        constraints=[ww.Linear({"x": 1, "n": 1}, upper=3)],
    )
    oracle.check_decision(space, {"x": 0.5, "n": 2, "way": "road"})
    with pytest.raises(Failure, match=wrong):
        oracle.check_decision(space, decision)


@pytest.mark.parametrize(
    "change",
    [
        {"value": float("nan")},
        {"interval": (2.0, 1.0)},
        {"interval": (0.0, float("inf"))},
        {"adversary": (0.5, 0.4)},
        {"reference": (1.0,)},
        {"contexts": ({"c": 0.1}, {"c": float("inf")})},
        {"decision": {"x": 2.0}},
    ],
)
def test_a_recommendation_that_is_none_is_found(change):
    good = {
        "decision": {"x": 0.5},
        "value": 1.0,
        "interval": (0.5, 1.5),
        "contexts": ({"c": 0.1}, {"c": 0.9}),
        "reference": (0.5, 0.5),
        "adversary": (0.25, 0.75),
    }
    oracle.check_recommendation(SHOP, ww.Recommendation(**good), constrained=True, blind=False)
    with pytest.raises(Failure):
        oracle.check_recommendation(SHOP, ww.Recommendation(**good | change), constrained=True, blind=False)


def test_another_error_than_ours_is_found(tmp_path):
    case = shop(tmp_path)
    for error in (ValueError("math domain error"), KeyError("x"), ww.SolverError("not certified"), ww.TrialError(" ")):

        def fails(error=error):
            raise error

        with pytest.raises(Failure):
            case.attempt("tell", "study.tell()", fails, (ww.TrialError,))
