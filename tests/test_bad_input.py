"""Every argument of every public callable, given wrongly: the error says so, by its type and in the words typed.

A wrong call on a study leaves the study, its log and its next suggestion as they were.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import pytest
import torch
from bad_input_advice import ADVICE, COMPARED, DEFAULT
from bad_input_cases import (
    CONTEXT,
    DECISION,
    EVERY_NOT_CONTEXT,
    EVERY_NOT_DECISION,
    EVERY_NOT_ID,
    LACKING,
    NAN,
    NOON,
    NOT_CONTEXTS,
    NOT_DECISIONS,
    NOT_IDS,
    PAIR,
    PARTS,
    POLICY,
    SPACE,
    Box,
    Mine,
    Row,
    each,
    misfits,
    numbers,
    prepared,
    raised,
    shown,
    wholes,
    words,
)
from bad_input_delays import DELAYS, RUNS
from bad_input_forecasts import FORECASTS
from bad_input_papers import METHODS
from bad_input_robust import DIVERGENCES, ROBUST, ROBUST_UNFIT

import windward as ww
from windward import ArgumentError, IncompatibleError, JournalError, SpaceError, StudyExists, TrialError, UnknownStudy
from windward.basics.speech import shown as in_message
from windward.surrogate.protocol import NO_START, Start


@dataclass(frozen=True)
class OddScales(ww.Hyperparameters):
    """Hyper-parameters of one's own."""


@dataclass(frozen=True)
class OddProcess(ww.GaussianProcess):
    """A surrogate whose fit comes with hyper-parameters that the study has not been told of."""

    def fit(self, data: Any, start: Start = NO_START) -> Any:
        return replace(super().fit(data, start), hyperparameters=OddScales(0.0, (0.5,), 1.0, 0.1))


WHOLE_DECISION = [*NOT_DECISIONS, LACKING, (None, "got None")]
FARTHER, TOGETHER = ({"order": 1.5}, "must lie in [0, 1], got 1.5"), {"order": 1.0, "boxes": 9}  # 1 + 0.9 > 1.5
EVERY_NOT_NAME: tuple[Any, ...] = (None, 5, "", "  ", "x" * 201, b"shop", "a\0b", "a\ud800b")
NOT_NAMES: tuple[Any, ...] = (None, "", "a\0b")
NOT_PARTS = [*shown(".parts", (5, None, Mine)), ([5], "parts=[5]"), ([Box], "parts=[Box]")]
NOT_CLOCKS = [*shown(".clock", (5, None, NOON)), (lambda: NOON.replace(tzinfo=None), "12, 0)"), (lambda: 5, "got 5")]
UNLISTED = ww.Policy(context_model=Mine())
UNKNOWABLE = ww.Policy(context_model=ww.Known({"demand": [NAN], "cover": [0.5], "sky": ["sun"]}))
THREE = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5, 0.5, 0.5), 1.0, 0.1))
UNFIT = [
    (ww.Policy(context_model=ww.Known({"rain": [0.5]})), "['rain'], the space has ['cover', 'demand', 'sky']"),
    (ww.Policy(context_model=ww.Empirical(), surrogate=THREE), "3 length-scales given, the space has 6"),
    *ROBUST_UNFIT,
]


def at(where: str, call: Callable[..., Any], says: str) -> Row:
    return Row(where, call, TrialError, says)


def ids(where: str, call: Callable[..., Any], values: tuple[Any, ...] = NOT_IDS) -> list[Row]:
    return each(
        where, call, TrialError, [(value, f"has no trial {in_message(value)}; ids go from 0 to 4") for value in values]
    )


EVERY_NOT_KEY = (5, "", "a b", "a/1", "x" * 201, "\u00e9")
NOT_KEYS = (5, "a b")


def tell(study: ww.Study, one: ww.Tell) -> None:
    """Raise what was wrong with one tell of several; a right one beside it would be written."""
    (error,) = study.tell_many([one])
    if error is not None:
        raise error


STUDY: list[Row] = [
    *words("Study.space", lambda s, v: ww.Study(v), None, 5, {"order": ww.Real(0, 1)}),
    *words("Study.policy", lambda s, v: ww.Study(SPACE, v), 5, "sbo_kde", ww.papers.erbo),
    *each("Study.policy", lambda s, v: ww.Study(SPACE, v), IncompatibleError, UNFIT),
    Row("Study.policy", lambda s: ww.Study(SPACE, UNLISTED), ArgumentError, "unknown part 'Mine'"),
    Row("Study.policy", lambda s: ww.Study(SPACE, UNKNOWABLE), SpaceError, "got nan"),
    *each(
        "Study.journal",
        lambda s, v: ww.Study(SPACE, journal=v),
        ArgumentError,
        [*shown(".journal", (5, ww.MemoryJournal, {})), ("sqlite://", "sqlite://")],
    ),
    Row("Study.journal", lambda s: ww.Study(SPACE, journal="nonsense"), JournalError, "nonsense"),
    *words("Study.name", lambda s, v: ww.Study(SPACE, name=v), *EVERY_NOT_NAME),
    Row("Study.name", lambda s: ww.Study(SPACE, journal=s.journal, name="shop"), StudyExists, "'shop' exists already"),
    Row("Study.name", lambda s: ww.Study(SPACE, journal=s.journal, name="shop"), StudyExists, "with Study.open"),
    *wholes("Study.seed", lambda s, v: ww.Study(SPACE, seed=v), None, -1, 2**60),
    *misfits("Study.status_quo", lambda s, v: ww.Study(SPACE, status_quo=v), [*EVERY_NOT_DECISION, LACKING]),
    *words("Study.report.path", lambda s, v: s.report(v), 5, None, b"report.html"),
    *wholes("Study.horizon", lambda s, v: ww.Study(SPACE, horizon=v), 0, -1, "60"),
    *words("Study.direction", lambda s, v: ww.Study(SPACE, direction=v), "up", 1, PAIR),
    *words("Study.outcomes", lambda s, v: ww.Study(SPACE, outcomes=v), 5, "profit", {}, [ww.Maximize()]),
    *each(
        "Study.outcomes",
        lambda s, v: ww.Study(SPACE, outcomes=v),
        ArgumentError,
        [
            ({5: ww.Maximize()}, "{5: ...}"),
            ({"": ww.Maximize()}, "{'': ...}"),
            ({"a\nb": ww.Maximize()}, "{'a\\nb': ...}"),
            ({"[a]": ww.Maximize()}, "{'[a]': ...}"),
            ({"order": ww.Maximize()}, "{'order': ...}"),
            ({"profit": 5}, "{'profit': 5}"),
            ({"profit": "maximize"}, "give a Maximize() or a Minimize()"),
            ({"profit": ww.Maximize}, "give a Maximize() or a Minimize()"),
        ],
    ),
    Row(
        "Study.outcomes",
        lambda s: ww.Study(SPACE, outcomes={"a": ww.Maximize(), "b": ww.Minimize()}),
        ArgumentError,
        "a study has one outcome, got 2 ('a', 'b')",
    ),
    Row(
        "Study.outcomes",
        lambda s: ww.Study(SPACE, outcomes={"cost": ww.Minimize()}, direction="maximize"),
        ArgumentError,
        "contradict each other",
    ),
    *each("Study.parts", lambda s, v: ww.Study(SPACE, parts=v), ArgumentError, NOT_PARTS),
    *each("Study.clock", lambda s, v: ww.Study(SPACE, clock=v), ArgumentError, NOT_CLOCKS),
    *words("Study.device", lambda s, v: ww.Study(SPACE, device=v), "tpu9", "meta", "cuda:99", None, 1.5, ("cpu",)),
    *words("Study.memory", lambda s, v: ww.Study(SPACE, memory=v), 0, -1, 1.5, "4 GiB", True),
    Row("Study.memory", lambda s: ww.Study(SPACE, memory=100), ArgumentError, "the budget is 100 bytes"),
    *words("Study.open.memory", lambda s, v: ww.Study.open("shop", journal=s.journal, memory=v), 0, -1, 1.5, "4 GiB"),
    *words("Study.open.name", lambda s, v: ww.Study.open(v, journal=s.journal), *NOT_NAMES),
    Row("Study.open.name", lambda s: ww.Study.open("shpo", journal=s.journal), UnknownStudy, "'shpo' in this journal"),
    *words("Study.open.journal", lambda s, v: ww.Study.open("shop", journal=v), None, 5),
    *each(
        "Study.open.parts",
        lambda s, v: ww.Study.open("shop", journal=s.journal, parts=v),
        ArgumentError,
        NOT_PARTS[-2:],
    ),
    *each(
        "Study.open.clock",
        lambda s, v: ww.Study.open("shop", journal=s.journal, clock=v),
        ArgumentError,
        NOT_CLOCKS[-2:],
    ),
    *words("Study.open.device", lambda s, v: ww.Study.open("shop", journal=s.journal, device=v), "gpu", "meta", {}),
    *words("Study.open.plugins", lambda s, v: ww.Study.open("shop", journal=s.journal, plugins=v), None, 1, "yes"),
    *words("delete_study.name", lambda s, v: ww.delete_study(v, journal=s.journal), *NOT_NAMES),
    Row("delete_study.name", lambda s: ww.delete_study("shpo", journal=s.journal), UnknownStudy, "'shpo'"),
    *misfits("Study.ask.context", lambda s, v: s.ask(context=v), NOT_CONTEXTS),
    *misfits("Study.ask.fix", lambda s, v: s.ask(fix=v), EVERY_NOT_DECISION),
    *misfits("Study.ask.fix", lambda s, v: s.ask(fix=v), [FARTHER, (TOGETHER, f"fix={TOGETHER!r}")]),
    *numbers("Study.ask.radius", lambda s, v: s.ask(radius=v), -1.0),
    *words("Study.ask.far", lambda s, v: s.ask(far=v), 1, "yes", None, PAIR),
    *wholes("Study.ask_many.count", lambda s, v: s.ask_many(v), None, 0, -1),
    *ids("Study.replay.id", lambda s, v: s.replay(v)),
    at("Study.replay.id", lambda s: s.replay(4), "trial 4 was added"),
    *ids("Study.reveal.id", lambda s, v: s.reveal(v, CONTEXT)),
    *misfits("Study.reveal.context", lambda s, v: s.reveal(3, v), [*EVERY_NOT_CONTEXT, (None, "got None")]),
    Row("Study.reveal.context", lambda s: s.reveal(3, {}), ArgumentError, "context={}"),
    at("Study.reveal.context", lambda s: s.reveal(3, {"demand": 0.7}), "study.amend(3, context={'demand': 0.7})"),
    *ids("Study.tell.id", lambda s, v: s.tell(v, 1.0), EVERY_NOT_ID),
    *numbers("Study.tell.value", lambda s, v: s.tell(3, v), None),
    at("Study.tell.value", lambda s: s.tell(0, 9.0), "the first is kept; to correct it use study.amend(0, value=9.0)"),
    *misfits("Study.tell.context", lambda s, v: s.tell(3, 1.0, context=v), NOT_CONTEXTS),
    at("Study.tell.context", lambda s: s.tell(3, 1.0, context=CONTEXT), "study.amend(3, context={'demand': 0.25})"),
    *numbers("Study.tell.noise", lambda s, v: s.tell(3, 1.0, noise=v), -1.0),
    at("Study.tell.noise", lambda s: s.tell(0, 1.0, noise=0.2), "study.amend(0, noise=0.2)"),
    *misfits("Study.tell.decision", lambda s, v: s.tell(3, 1.0, decision=v), [*NOT_DECISIONS, LACKING]),
    at("Study.tell.decision", lambda s: s.tell(0, 1.0, decision=DECISION), "study.amend(0, decision={'order': 0.5"),
    *ids("Study.lose.id", lambda s, v: s.lose(v, "late")),
    at("Study.lose.id", lambda s: s.lose(0, "late"), "trial 0 has a value, 1.0"),
    *words("Study.lose.reason", lambda s, v: s.lose(3, v), None, 5, "", b"late"),
    *ids("Study.amend.id", lambda s, v: s.amend(v, value=1.0)),
    *numbers("Study.amend.value", lambda s, v: s.amend(0, value=v)),
    Row("Study.amend.value", lambda s: s.amend(0), ArgumentError, "give what to change"),
    at("Study.amend.value", lambda s: s.amend(3, value=1.0), "study.tell(3, ...)"),
    *misfits("Study.amend.context", lambda s, v: s.amend(0, context=v), NOT_CONTEXTS),
    Row("Study.amend.context", lambda s: s.amend(0, context={}), ArgumentError, "context={}"),
    at("Study.amend.context", lambda s: s.amend(3, context={"sky": "sun"}), "study.reveal(3, ...)"),
    *numbers("Study.amend.noise", lambda s, v: s.amend(0, noise=v), -1.0),
    *misfits("Study.amend.decision", lambda s, v: s.amend(0, decision=v), [*NOT_DECISIONS, LACKING]),
    *ids("Study.note.id", lambda s, v: s.note(v, "why")),
    *words("Study.note.note", lambda s, v: s.note(0, v), 5, b"late", "\x07", "\ud800", "x" * 2001),
    Row("Study.note.note", lambda s: s.note(0), ArgumentError, "give a note, tags or both"),
    *words("Study.note.tags", lambda s, v: s.note(0, tags=v), 5, "rain", [5], ["a, b"], [""], ["\x07"]),
    Row("Study.note.tags", lambda s: s.note(0, tags=list("abcdefghijklmnopqrstu")), ArgumentError, "at most 20 tags"),
    *misfits(
        "Study.add.decision", lambda s, v: s.add(v, 1.0, context=CONTEXT), [*EVERY_NOT_DECISION, *WHOLE_DECISION[-2:]]
    ),
    *numbers("Study.add.value", lambda s, v: s.add(DECISION, v, context=CONTEXT), None),
    *misfits(
        "Study.add.context",
        lambda s, v: s.add(DECISION, 1.0, context=CONTEXT | v if isinstance(v, dict) else v),
        [*NOT_CONTEXTS, (None, "lacks 'demand'")],
    ),
    *numbers("Study.add.noise", lambda s, v: s.add(DECISION, 1.0, context=CONTEXT, noise=v), -1.0),
    *words("Study.amend.reason", lambda s, v: s.amend(4, reason=v), 5, "", b"late", "\x07", "\ud800"),
    at("Study.amend.reason", lambda s: s.amend(3, reason="why"), "trial 3 is not lost"),
    *words("Study.ask.when", lambda s, v: s.ask(when=v), 5, "noon", datetime(2026, 5, 1), PAIR),
    *words("Study.amend.when", lambda s, v: s.amend(0, when=v), 5, "noon", datetime(2026, 5, 1)),
    *words("Study.recommend.when", lambda s, v: s.recommend(when=v), "noon", datetime(2026, 5, 1)),
    *words("Study.assess.when", lambda s, v: s.assess(DECISION, when=v), "noon"),
    *words("Study.compare.when", lambda s, v: s.compare(DECISION, DECISION, when=v), "noon"),
    *words("Study.settled.when", lambda s, v: s.settled(1.0, when=v), "noon"),
    *words("Study.add.at", lambda s, v: s.add(DECISION, 1.0, context=CONTEXT, at=v), 5, "noon", datetime(2026, 5, 1)),
    *words("Study.add_many.rows", lambda s, v: s.add_many(v), None, 5, "rows", {"a": 1}, [{"a": 1}]),
    *words("Study.add_many.again", lambda s, v: s.add_many([], again=v), None, 5, "yes"),
    *words("Study.known_rows.rows", lambda s, v: s.known_rows(v), None, 5, "rows", {"a": 1}, [{"a": 1}]),
    *misfits("Past.decision", lambda s, v: s.add_many([ww.Past(v, 1.0, CONTEXT)]), WHOLE_DECISION),
    *numbers("Past.value", lambda s, v: s.add_many([ww.Past(DECISION, v, CONTEXT)]), None),
    *misfits(
        "Past.context",
        lambda s, v: s.add_many([ww.Past(DECISION, 1.0, CONTEXT | v if isinstance(v, dict) else v)]),
        [*NOT_CONTEXTS, (None, "lacks 'demand'")],
    ),
    *numbers("Past.noise", lambda s, v: s.add_many([ww.Past(DECISION, 1.0, CONTEXT, v)]), -1.0),
    *words("Past.at", lambda s, v: s.add_many([ww.Past(DECISION, 1.0, CONTEXT, None, v)]), 5, datetime(2026, 5, 1)),
    *words("Past.note", lambda s, v: s.add_many([ww.Past(DECISION, 1.0, CONTEXT, note=v)]), 5, "\x07"),
    *words("Past.tags", lambda s, v: s.add_many([ww.Past(DECISION, 1.0, CONTEXT, tags=v)]), None, 5, "rain", [5]),
    *words("Study.use.policy", lambda s, v: s.use(v), None, 5, ww.papers.erbo),
    *each("Study.use.policy", lambda s, v: s.use(v), IncompatibleError, UNFIT),
    Row("Study.use.policy", lambda s: s.use(UNLISTED), ArgumentError, "unknown part 'Mine'"),
    *misfits("Study.recommend.context", lambda s, v: s.recommend(context=v), NOT_CONTEXTS),
    at("Study.recommend.context", lambda s: ww.Study(SPACE).recommend(context=CONTEXT), "nothing has arrived"),
    *misfits("Study.assess.decision", lambda s, v: s.assess(v), WHOLE_DECISION),
    *misfits(
        "Study.assess.decision", lambda s, v: s.assess(DECISION | v), [FARTHER, (TOGETHER, "= 1.9 must be <= 1.5")]
    ),
    *misfits("Study.assess.context", lambda s, v: s.assess(DECISION, context=v), NOT_CONTEXTS),
    *misfits("Study.declare.status_quo", lambda s, v: s.declare(status_quo=v), [*NOT_DECISIONS, LACKING]),
    Row(
        "Study.declare.status_quo", lambda s: s.declare(), ArgumentError, "study.declare(): give a status_quo, such as"
    ),
    *wholes("Study.declare.horizon", lambda s, v: s.declare(horizon=v), 0, -1),
    *words("Study.pending.older_than", lambda s, v: s.pending(older_than=v), 5, "1 day", NOON, timedelta(-1)),
    *words("Study.run.evaluate", lambda s, v: s.run(v, 1), None, 5, "f"),
    *wholes("Study.run.rounds", lambda s, v: s.run(print, v), -1),
    Row("Study.run.rounds", lambda s: s.run(print), ArgumentError, "either rounds (how many more) or until"),
    Row("Study.run.until", lambda s: s.run(print, 1, until=1), ArgumentError, "either rounds (how many more) or until"),
    *wholes("Study.run.until", lambda s, v: s.run(print, until=v), -1),
    *words("Study.run.progress", lambda s, v: s.run(print, 1, progress=v), 1, None, "no"),
    *RUNS,
    *COMPARED,
    *words("Study.ask.key", lambda s, v: s.ask(key=v), *NOT_KEYS),
    *words("Study.tell.key", lambda s, v: s.tell(3, 1.0, key=v), *EVERY_NOT_KEY),
    *words(
        "Study.tell_many.tells", lambda s, v: s.tell_many(v), None, 5, "told", {0: 1.0}, [(3, 1.0)], ww.Tell(3, 1.0)
    ),
    *ids("Tell.id", lambda s, v: tell(s, ww.Tell(v, 1.0))),
    *numbers("Tell.value", lambda s, v: tell(s, ww.Tell(3, v)), None),
    *misfits("Tell.context", lambda s, v: tell(s, ww.Tell(3, 1.0, v)), NOT_CONTEXTS),
    *numbers("Tell.noise", lambda s, v: tell(s, ww.Tell(3, 1.0, None, v)), -1.0),
    *misfits("Tell.decision", lambda s, v: tell(s, ww.Tell(3, 1.0, None, None, v)), [*NOT_DECISIONS, LACKING]),
    *words("Tell.key", lambda s, v: tell(s, ww.Tell(3, 1.0, key=v)), *NOT_KEYS),
]

JOURNALS: list[Row] = [
    *each(
        "SqlJournal.url",
        ww.SqlJournal,
        JournalError,
        [
            ("nonsense", "'nonsense'"),
            ("mystery://host/shop", "mystery"),
            ("mysql://host/shop", "mysql is neither SQLite nor PostgreSQL"),
            ("postgresql://me:secret@host:port/shop", "me:***@host:port"),
            ("sqlite:///a\0b", "a\\x00b"),
            ("sqlite:////nowhere/at/all/shop.db", "/nowhere/at/all/shop.db"),
        ],
    ),
    *each("SqlJournal.url", ww.SqlJournal, ArgumentError, [(5, "5"), ("sqlite://", "name a file")]),
    Row("SqlJournal.create", lambda: ww.SqlJournal("sqlite:///never.db", create=1), ArgumentError, "create=1"),
    *numbers("SqlJournal.retry_seconds", lambda v: ww.SqlJournal("sqlite:///never.db", retry_seconds=v), None, -1),
    *words("studies.journal", ww.studies, None, 5, ww.MemoryJournal),
    *words("delete_study.journal", lambda v: ww.delete_study("shop", journal=v), None, 5, ww.MemoryJournal),
]

CALLS: list[Row] = [*PARTS, *JOURNALS, *ROBUST, *METHODS, *DELAYS, *ADVICE, *DEFAULT, *FORECASTS]

OUTCOMES: list[Row] = [
    *numbers("Result.value", ww.Result, None),
    *misfits("Result.context", lambda v: ww.Result(1.0, v), NOT_CONTEXTS),
    *numbers("Result.noise", lambda v: ww.Result(1.0, CONTEXT, v), -1.0),
    *misfits("Result.decision", lambda v: ww.Result(1.0, CONTEXT, None, v), [*NOT_DECISIONS, LACKING]),
]

# What a caller cannot get wrong, and why.
EXEMPT = {
    "Acquisition": "what a belief returns: functions, called as they are",
    "Situation": "a record that studies make for their parts; to try one alone the contexts are enough",
    "Trial": "a record that studies make; nothing public takes one",
    "Trials": "what a study shows of its trials; nothing public takes one",
    "Suggestion": "handed out by a study; an evaluation only reads it",
    "Recommendation": "handed out by a study; nothing takes it back",
    "Comparison": "handed out by a study; nothing takes it back",
    "Beyond": "a part of a recommendation",
    "ModelCheck": "handed out by a study; nothing takes it back",
    "CheckedTrial": "a row of a model check",
    "Coverage": "a count in a model check",
    "Forecaster": "handed out by a study",
    "Shift": "handed out by a study; nothing takes it back",
    "Alarm": "an alarm of a shift; nothing takes it back",
    "Stage": "handed out by a study; nothing takes it back",
    "ByContext": "handed out by a study; nothing takes it back",
    "Importance": "handed out by a study; nothing takes it back",
    "Influence": "a row of what matters; nothing takes it back",
    "Interaction": "a part of what matters; nothing takes it back",
    "ContextCell": "a row of a table by context; nothing takes it back",
    "Reason": "handed out with a suggestion; nothing takes it back",
    "Beside": "the status quo in a reason; nothing takes it back",
    "Held": "a guard in a reason; nothing takes it back",
    "Limits": "what a guard returns: bounds and a function, used as they are",
    "WorstCase": "the answer of a divergence; nothing takes it back",
}


def labels(rows: list[Row]) -> list[str]:
    return [f"{row.where}-{index}" for index, row in enumerate(rows)]


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def study(request, tmp_path_factory) -> Iterator[ww.Study]:
    if request.param == "memory":
        yield prepared()
        return
    journal = ww.SqlJournal(f"sqlite:///{tmp_path_factory.mktemp('journal')}/shop.db")
    yield prepared(journal)
    journal.close()


@pytest.mark.parametrize("row", CALLS, ids=labels(CALLS))
def test_wrong_call(row):
    raised(row)


@pytest.mark.parametrize("row", STUDY, ids=labels(STUDY))
def test_wrong_call_leaves_the_study_as_it_was(row, study):
    rows, events, policy = study.trials.rows, study.journal.read(study.name), study.policy
    raised(row, study)
    assert study.trials.rows == rows
    assert study.policy == policy
    assert study.journal.read(study.name) == events
    assert ww.studies(study.journal) == ["shop"]


def test_the_next_suggestion_after_all_wrong_calls_is_the_same():
    study, untouched = prepared(), prepared()
    for row in STUDY:
        raised(row, study)
    assert study.ask() == untouched.ask()
    assert study.journal.read("shop")[-1].body == untouched.journal.read("shop")[-1].body


@pytest.mark.parametrize("row", OUTCOMES, ids=labels(OUTCOMES))
def test_wrong_outcome_loses_its_trial_and_ends_the_run(row):
    study = ww.Study(SPACE, POLICY)
    raised(row._replace(call=lambda: study.run(lambda _: row.call(), 9, progress=False)))
    assert [trial.state for trial in study.trials] == ["lost"]
    assert row.says in study.trials[0].lost


def test_pending_takes_any_age():
    assert prepared().pending(older_than=timedelta.max) == []


def test_numbers_of_numpy_and_torch_are_numbers():
    study = prepared()
    study.tell(3, PAIR[1], context={"cover": torch.tensor(0.5), "sky": "sun"}, noise=PAIR[0])
    assert (study.trials[3].value, study.trials[3].context["cover"]) == (0.5, 0.5)


def test_hyperparameters_that_cannot_be_read_back_are_not_written():
    policy = replace(POLICY, surrogate=OddProcess(), design=ww.Sobol(0))
    study = ww.Study(SPACE, policy, parts=[OddProcess])
    study.add(DECISION, 3.0, context=CONTEXT)
    raised(Row("", study.ask, ArgumentError, "unknown part 'OddScales'"))
    assert (len(study.trials), len(study.journal.read("study"))) == (1, 2)


# -- completeness ------------------------------------------------------------------------------------------------------


def test_every_parameter_has_a_wrong_call():
    tried = {row.where for row in (*CALLS, *STUDY, *OUTCOMES)}
    there = {where for where in parameters() if where.split(".")[0] not in EXEMPT}
    there -= {where for where in there if ".says." in where}  # words for a radius that a ball has taken
    assert there - tried == set(), "parameters without a wrong call"
    assert tried - there == set(), "wrong calls of parameters that do not exist"
    assert set(EXEMPT) <= {where.split(".")[0] for where in parameters()}


def parameters() -> Iterator[str]:
    """Every parameter of every public callable, as `callable.parameter`."""
    for name in ww.__all__:
        thing = getattr(ww, name)
        if isinstance(thing, ModuleType):
            for function, code in inspect.getmembers(thing, inspect.isfunction):
                if code.__module__ == thing.__name__ or (thing is ww.papers and function in thing.__all__):
                    yield from (f"{name}.{function}.{p}" for p in inspect.signature(code).parameters)
        elif callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
            yield from (f"{name}.{p}" for p in inspect.signature(thing).parameters)
    for kind in (ww.Study, *map(type, DIVERGENCES)):
        for name, method in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_") and name != "cost":  # the budget of memory alone asks for it
                named = (p for p in inspect.signature(method).parameters if p != "self")
                yield from (f"{kind.__name__}.{name}.{p}" for p in named)
