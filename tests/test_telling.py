"""Idempotency keys, and values told together."""

from __future__ import annotations

import threading

import pytest
from helpers import SHOP, quadratic

import windward as ww
from windward.journal import rules
from windward.study import tell as telling
from windward.study.log import utc_now

QUICK = ww.Policy(
    context_model=ww.Empirical(), design=ww.Sobol(3), maximize=ww.MultiStart(screen=32, starts=1, evaluations=5)
)


@pytest.fixture(params=["memory", "sqlite"])
def study(request, tmp_path):
    journal = None if request.param == "memory" else f"sqlite:///{tmp_path}/log.db"
    made = ww.Study(SHOP, QUICK, journal=journal, name="shop")
    for _ in range(4):
        made.ask()
    return made


def kinds(study):
    return [event.kind for event in study.journal.read("shop")]


def test_an_ask_with_the_same_key_is_the_same_ask(study):
    first = study.ask(context={"demand": 0.25}, key="order-1")
    study.tell(first.id, 1.0)
    study.amend(first.id, decision={"order": 0.75})
    other = ww.Study.open("shop", journal=study.journal)
    for again in (study, other):
        assert again.ask(context={"demand": 0.25}, key="order-1") == first  # as it was suggested then
    assert len(study.trials) == 5
    with pytest.raises(ww.TrialError, match="this key was used for another call"):
        study.ask(key="order-1")
    with pytest.raises(ww.TrialError, match="this key was used for another call"):
        study.tell(0, 1.0, key="order-1")
    assert study.ask(key="order-2").id == 5


def test_two_processes_asking_with_one_key_get_one_trial(study):
    study.run(quadratic, 3, progress=False)
    others = [ww.Study.open("shop", journal=study.journal) for _ in range(4)]
    gate, answers = threading.Barrier(4), []

    def ask(one):
        gate.wait(20)
        answers.append(one.ask(key="together"))

    threads = [threading.Thread(target=ask, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and all(answer == answers[0] for answer in answers)
    study.sync()
    assert len(study.trials) == 8


def test_a_tell_with_the_same_key_counts_once(study):
    study.tell(0, 1.0, context={"demand": 0.5}, key="hook-1")
    study.amend(0, value=2.0)
    for again in (study, ww.Study.open("shop", journal=study.journal)):
        again.tell(0, 1.0, context={"demand": 0.5}, key="hook-1")
    assert study.trials[0].value == 2.0
    for id, value in ((0, 3.0), (1, 1.0)):
        with pytest.raises(ww.TrialError, match="hook-1"):
            study.tell(id, value, key="hook-1")
    with pytest.raises(ww.TrialError, match="amend"):
        study.tell(0, 1.0)
    study.tell(0, 2.0, key="hook-2")  # the log says so already: nothing is written, the key stays free
    assert kinds(study)[5:] == ["context_seen", "told", "amended"]


def test_keys_of_callers_and_of_windward_never_meet(study):
    written = {event.key for event in study.journal.read("shop")}
    for key in sorted(written):
        study.ask(key=key)
    assert len(study.trials) == 4 + len(written)


def test_values_told_together_are_one_transaction_and_decided_one_by_one(study):
    study.tell(3, 7.0)
    calls = []
    append = study.journal.append

    def counted(*arguments, **named):
        calls.append(named["key"])
        return append(*arguments, **named)

    study.journal.append = counted
    errors = study.tell_many(
        [
            ww.Tell(0, 1.0, {"demand": 0.5}, key="a"),
            ww.Tell(3, 8.0),  # it was told 7
            ww.Tell(1, float("nan")),
            ww.Tell(2, 2.0, {"demand": 0.25}),
            ww.Tell(9, 1.0),
        ]
    )
    assert [type(error) for error in errors] == [type(None), ww.TrialError, ww.ArgumentError, type(None), ww.TrialError]
    assert len(calls) == 1
    assert [trial.value for trial in study.trials] == [1.0, None, 2.0, 7.0]
    assert kinds(study)[5:] == ["told", "context_seen", "told", "context_seen", "told"]
    again = ww.Study.open("shop", journal=study.journal)
    assert again.trials.rows == study.trials.rows
    again.tell(0, 1.0, context={"demand": 0.5}, key="a")


def test_of_two_about_one_trial_the_second_sees_the_first(study):
    errors = study.tell_many([ww.Tell(0, 1.0), ww.Tell(0, 2.0), ww.Tell(1, 1.0), ww.Tell(1, 1.0)])
    assert [error is None for error in errors] == [True, False, True, True]
    assert "told with value=1.0, now got 2.0" in str(errors[1])
    assert kinds(study)[5:] == ["told", "told"]


def test_ids_from_a_frame_are_ids(study):
    import numpy as np

    told = study.tell_many([ww.Tell(np.int64(0), 1.0, context={"demand": 0.5}), ww.Tell(np.int64(0), 2.0)])
    assert told[0] is None and isinstance(told[1], ww.TrialError)
    assert study.trials[0].value == 1.0


def test_a_failed_commit_leaves_the_study_as_it_was(study, monkeypatch):
    before = study.trials.rows

    def fail(study_name, decide, **named):
        decide([])
        raise ww.JournalError("the disk is full")

    monkeypatch.setattr(study.journal, "append", fail)
    with pytest.raises(ww.JournalError, match="the disk is full"):
        study.tell_many([ww.Tell(0, 1.0), ww.Tell(1, 2.0)])
    monkeypatch.undo()
    assert study.trials.rows == before
    study.tell(0, 5.0)
    assert study.trials[0].value == 5.0


def test_of_two_with_one_key_in_one_batch_the_second_is_refused(study):
    tells = [ww.Tell(0, 1.0, key="k"), ww.Tell(1, 2.0, key="k"), ww.Tell(2, 3.0, key="m"), ww.Tell(0, 1.0, key="k")]
    errors = study.tell_many(tells)
    assert [type(error) for error in errors] == [type(None), ww.TrialError, type(None), type(None)]
    assert "this key was used for another call" in str(errors[1])
    assert [trial.value for trial in study.trials] == [1.0, None, 3.0, None]
    assert kinds(study)[5:] == ["told", "told"]


def test_what_an_attempt_that_was_run_again_refused_is_forgotten(study, monkeypatch):
    append, find, first = study.journal.append, rules.find, []

    def twice(name, decide, **named):
        with monkeypatch.context() as patch:
            patch.setattr(rules, "find", fail_once)
            decide([])
        return append(name, decide, **named)

    def fail_once(*arguments):
        if not first:
            first.append(True)
            raise ww.TrialError("of the attempt whose connection was lost")
        return find(*arguments)

    monkeypatch.setattr(study.journal, "append", twice)
    assert study.tell_many([ww.Tell(0, 1.0)]) == [None]
    assert first and study.trials[0].value == 1.0


@pytest.mark.parametrize(
    "other",
    [
        {"value": 2.0},
        {"noise": 0.5},
        {"noise": None},
        {"context": {"demand": 0.25}},
        {"context": None},
        {"decision": {"order": 0.5}},
    ],
    ids=str,
)
@pytest.mark.parametrize("known", ["nothing", "context", "value"])
def test_a_key_used_again_with_other_content_is_refused(study, known, other):
    if known == "context":
        study.reveal(0, {"demand": 0.5})
    if known == "value":  # then only the context is news
        study.tell(0, 1.0, noise=0.1)
    call = {"value": 1.0, "noise": 0.1, "context": {"demand": 0.5}, "decision": None}
    study.tell(0, **call, key="hook")
    before = study.journal.read("shop")
    for one in (study, ww.Study.open("shop", journal=study.journal)):
        one.tell(0, **call, key="hook")
        with pytest.raises(ww.TrialError, match="this key was used for another call"):
            one.tell(0, **call | other, key="hook")
    assert study.journal.read("shop") == before


def test_an_ask_that_loses_its_key_to_another_call_is_refused(study, monkeypatch):
    other, append = ww.Study.open("shop", journal=study.journal), study.journal.append

    def late(name, decide, **named):
        monkeypatch.setattr(study.journal, "append", append)
        other.ask(context={"demand": 0.25}, key="raced")
        return append(name, decide, **named)

    monkeypatch.setattr(study.journal, "append", late)
    with pytest.raises(ww.TrialError, match="this key was used for another call"):
        study.ask(context={"demand": 0.75}, key="raced")
    assert len(study.trials) == 5


def test_tells_are_decided_in_order_and_change_nothing_until_they_are_written(study):
    history = study._history
    entries = [
        telling.CheckedTell(0, "key:a", {"values": {"value": 1.0}, "context": {}, "noise": {}, "decision": None}),
        ww.ArgumentError("wrong whatever the log says"),
        telling.CheckedTell(
            0, "key:b", {"values": {"value": 1.0}, "context": {"demand": 0.5}, "noise": {}, "decision": None}
        ),
        telling.CheckedTell(1, "key:a", {"values": {"value": 1.0}, "context": {}, "noise": {}, "decision": None}),
        telling.CheckedTell(1, "key:c", {"values": {"value": 2.0}, "context": {}, "noise": {}, "decision": None}),
    ]
    before = history.rows, history.head, dict(history.calls)
    decisions = [telling.decide(history, entries, utc_now()) for _ in range(2)]
    assert (history.rows, history.head, dict(history.calls)) == before
    for drafts, errors in decisions:
        assert [(draft.kind, draft.trial, draft.key) for draft in drafts] == [
            ("told", 0, "key:a"),
            ("context_seen", 0, "key:b"),
            ("told", 1, "key:c"),
        ]
        assert [type(error) for error in errors] == [
            type(None),
            ww.ArgumentError,
            type(None),
            ww.TrialError,
            type(None),
        ]


def test_the_second_of_two_about_one_trial_is_in_the_same_transaction(study, monkeypatch):
    append, calls = study.journal.append, []

    def counted(*arguments, **named):
        calls.append(named["key"])
        return append(*arguments, **named)

    monkeypatch.setattr(study.journal, "append", counted)
    tells = [ww.Tell(0, 1.0), ww.Tell(0, 1.0, {"demand": 0.5}), ww.Tell(1, 2.0), ww.Tell(0, 1.0, {"demand": 0.25})]
    errors = study.tell_many(tells)
    assert [type(error) for error in errors] == [type(None)] * 3 + [ww.TrialError]
    assert len(calls) == 1 and kinds(study)[5:] == ["told", "context_seen", "told"]
    assert ww.Study.open("shop", journal=study.journal).trials.rows == study.trials.rows
    assert [type(error) for error in study.tell_many([ww.Tell(0, float("nan"))])] == [ww.ArgumentError]
    assert len(calls) == 1  # nothing to write: the journal is not asked
