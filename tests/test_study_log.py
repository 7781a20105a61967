"""What a study keeps: reopened, replayed, shared between processes, and the same to the last bit."""

from __future__ import annotations

import pytest
import torch
from helpers import SHOP, new_study, policy, quadratic

import windward as ww


def test_reopened_study_suggests_the_same_to_the_last_bit(journal):
    living = new_study(journal)
    for round in range(10):
        suggestion = living.ask()
        outcome = quadratic(suggestion)
        living.reveal(suggestion.id, outcome.context)
        if round == 6:
            living.lose(suggestion.id, "the shop was closed")
        elif round != 8:  # one stays pending
            living.tell(suggestion.id, outcome.value, noise=0.01)
    living.amend(2, value=0.5)
    living.add({"order": 0.7}, 0.8, context={"demand": 0.5})
    reopened = ww.Study.open("shop", journal=journal)
    assert reopened.trials.rows == living.trials.rows
    assert reopened.space == living.space and reopened.policy == living.policy
    assert reopened.recommend() == living.recommend()
    # Two clocks of the same moment; the twin's ask goes to a copy of the log so that both start from the same events.
    twin = ww.MemoryJournal()
    _copy(journal, twin, "shop")
    assert ww.Study.open("shop", journal=twin).ask() == living.ask()


def _copy(source, target, name):
    from windward.journal.events import Draft

    events = source.read(name)
    drafts = [Draft(e.kind, e.trial, e.at, e.body) for e in events]
    target.create(name, drafts[:1], key="0")
    target.append(name, lambda _: drafts[1:], key="1", after=1)


def test_every_suggestion_can_be_replayed(journal):
    study = new_study(journal)
    for i in range(9):
        suggestion = study.ask(context={"demand": 0.5} if i == 6 else None, fix={"order": 0.25} if i == 7 else None)
        if i % 3:
            study.tell(
                suggestion.id, quadratic(suggestion).value, context={} if i == 6 else quadratic(suggestion).context
            )
        if i == 5:
            study.use(policy(belief=ww.Thompson()))
    for trial in study.trials:
        assert study.replay(trial.id).decision == trial.decision
    study.add({"order": 0.5}, 1.0, context={"demand": 0.5})
    with pytest.raises(ww.TrialError, match="added, not asked"):
        study.replay(9)


def test_same_seed_same_suggestions_other_seed_others():
    def decisions(seed):
        study = new_study(seed=seed)
        study.run(quadratic, 7, progress=False)
        return [dict(trial.decision) for trial in study.trials]

    assert decisions(1) == decisions(1) != decisions(2)


def test_several_studies_in_one_journal(journal):
    new_study(journal)
    ww.Study(SHOP, journal=journal, name="another")
    assert ww.studies(journal) == ["another", "shop"]
    with pytest.raises(ww.JournalError, match=r"'shop' exists already; continue it with Study\.open"):
        new_study(journal)
    ww.delete_study("another", journal=journal)
    assert ww.studies(journal) == ["shop"]
    with pytest.raises(ww.JournalError, match="no study named 'another'"):
        ww.Study.open("another", journal=journal)


def test_two_handles_on_one_study_see_each_other(journal):
    one = new_study(journal)
    two = ww.Study.open("shop", journal=journal)
    a, b = one.ask(), two.ask()
    assert (a.id, b.id) == (0, 1) and a.decision != b.decision
    two.tell(a.id, 1.0, context={"demand": 0.2})
    one.tell(a.id, 1.0)
    with pytest.raises(ww.TrialError):
        one.tell(a.id, 2.0)
    assert len(two.pending()) == 1


def test_an_ask_that_loses_the_race_takes_the_winner_into_account(journal, monkeypatch):
    import windward.study.ask as asking

    monkeypatch.setattr(
        asking, "LONGEST_WAIT", 0.1
    )  # the two stand in one thread: the second cannot wait for the first

    one = new_study(journal)
    one.run(quadratic, 8, progress=False)
    two = ww.Study.open("shop", journal=journal)
    compute, started, raced = asking.asked_body, [], []

    def slow(*arguments):
        body = compute(*arguments)
        if not started:
            started.append(True)
            raced.append(two.ask())  # another process asks while this one computes
        return body

    monkeypatch.setattr(asking, "asked_body", slow)
    suggestion = one.ask()
    assert (raced[0].id, suggestion.id) == (8, 9)
    assert abs(raced[0].decision["order"] - suggestion.decision["order"]) >= 0.0125
    assert journal.read("shop")[-1].body["kept"] is True
    monkeypatch.undo()
    assert one.replay(9).decision == suggestion.decision


def test_own_parts_travel_through_the_log(journal):
    study = ww.Study(SHOP, policy(objective=Median()), journal=journal, name="own", parts=[Median])
    study.run(quadratic, 6, progress=False)
    assert ww.Study.open("own", journal=journal, parts=[Median]).recommend() == study.recommend()
    with pytest.raises(ww.JournalError, match="unknown part 'Median'"):
        ww.Study.open("own", journal=journal)
    with pytest.raises(ww.ArgumentError, match="unknown part 'Median'"):
        ww.Study(SHOP, policy(objective=Median()), name="refused")


class _MedianReduction:
    extra = None

    def __call__(self, values, slopes=None):
        return values.median(-1).values


from dataclasses import dataclass  # noqa: E402


@dataclass(frozen=True)
class Median:
    """A part of one's own: the median over the context points."""

    monotone = True

    def bind(self, situation):
        return _MedianReduction()


def test_suggestions_do_not_depend_on_other_generators():
    a, b = new_study(), new_study()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        a.run(quadratic, 6, progress=False)
        torch.manual_seed(2)
        b.run(quadratic, 6, progress=False)
    assert a.trials[5].decision == b.trials[5].decision


def test_an_ask_that_loses_to_a_policy_change_fits_anew(monkeypatch):
    import windward.study.ask as asking

    monkeypatch.setattr(
        asking, "LONGEST_WAIT", 0.1
    )  # the two stand in one thread: the second cannot wait for the first

    one = new_study()
    one.run(quadratic, 8, progress=False)
    two = ww.Study.open("shop", journal=one.journal)
    compute, started = asking.asked_body, []

    def slow(*arguments):
        body = compute(*arguments)
        if not started:
            started.append(True)
            two.use(policy(context_model=ww.NoContext()))
            two.ask()
        return body

    monkeypatch.setattr(asking, "asked_body", slow)
    one.ask()
    theirs, ours = (event.body for event in one.journal.read("shop")[-2:])
    assert ours["fit"] == theirs["fit"] and ours["fitted"] == theirs["fitted"]  # not the one for the policy before


def test_seeds_beyond_32_bits_differ():
    first = [new_study(seed=seed).ask().decision["order"] for seed in (0, 1, 2**32, 2**33)]
    assert len(set(first)) == 4
