"""Ask, reveal, tell, recommend: what a study does and keeps."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from helpers import FAST, SHOP, new_study, policy, quadratic

import windward as ww


def test_the_whole_loop_finds_the_best_order(journal):
    study = new_study(journal, seed=3)
    study.run(quadratic, 25, progress=False)
    found = study.recommend()
    assert found.decision["order"] == pytest.approx(0.45, abs=0.05)
    assert found.interval[0] <= found.value <= found.interval[1]
    assert len(found.contexts) == len(found.reference) == len(found.adversary) == 32
    assert sum(found.adversary) == pytest.approx(1.0)
    assert study.assess({"order": 0.9}).value < found.value
    assert repr(study) == "Study('shop', 25 told, 0 pending, 0 lost)"


def test_minimize_mirrors_maximize():
    up, down = new_study(), new_study(direction="minimize")
    for _ in range(9):
        a, b = up.ask(), down.ask()
        assert a == b
        outcome = quadratic(a)
        up.tell(a.id, outcome.value, context=outcome.context)
        down.tell(b.id, -outcome.value, context=outcome.context)
    best, least = up.recommend(), down.recommend()
    assert best.decision == least.decision and best.value == -least.value
    assert least.interval == pytest.approx((-best.interval[1], -best.interval[0]))


def test_told_twice_is_harmless_told_differently_is_not(journal):
    study = new_study(journal)
    study.tell(study.ask().id, 1.5, context={"demand": 0.5}, noise=0.1)
    events = len(journal.read("shop"))
    study.tell(0, 1.5, context={"demand": 0.5}, noise=0.1)
    study.tell(0, 1.5)
    assert len(journal.read("shop")) == events
    for change in ({"value": 1.6}, {"value": 1.5, "noise": 0.2}, {"value": 1.5, "decision": {"order": 0.123}}):
        with pytest.raises(ww.TrialError, match=r"first is kept; to correct it use study\.amend\(0"):
            study.tell(0, **change)
    with pytest.raises(ww.TrialError, match=r"study\.amend\(0, context"):
        study.tell(0, 1.5, context={"demand": 0.6})
    assert study.trials[0].value == 1.5 and study.trials[0].context == {"demand": 0.5}


def test_a_late_value_of_a_lost_trial_counts():
    study = new_study()
    study.lose(study.ask().id, "no answer")
    study.lose(0, "said twice")
    assert study.trials[0].state == "lost" and study.trials[0].lost == "no answer"
    study.tell(0, 2.0, context={"demand": 0.4})
    assert study.trials[0].state == "told" and len(study.trials.arrived) == 1
    with pytest.raises(ww.TrialError, match=r"has a value, 2\.0"):
        study.lose(0, "again")


def test_two_clocks():
    study = new_study()
    first, second = study.ask(), study.ask()
    assert study.trials.contexts_seen == 0
    study.reveal(first.id, {"demand": 0.3})
    assert study.trials.contexts_seen == 1 and not study.trials.arrived  # the context counts before the value
    study.tell(second.id, 1.0)
    assert [t.id for t in study.trials.awaiting_context] == [second.id] and not study.trials.arrived
    study.reveal(second.id, {"demand": 0.6})
    assert [t.id for t in study.trials.arrived] == [second.id]
    study.tell(first.id, 0.5)
    assert study.trials[0].context_at < study.trials[0].told_at


def test_amend_corrects_and_the_log_keeps_both(journal):
    study = new_study(journal)
    study.tell(study.ask().id, 100.0, context={"demand": 0.5})
    study.amend(0, value=1.0, context={"demand": 0.4}, noise=0.2, decision={"order": 0.9})
    trial = study.trials[0]
    assert (trial.value, trial.context, trial.noise) == (1.0, {"demand": 0.4}, 0.2)
    assert trial.decision == {"order": 0.9} and trial.planned is not None
    assert [e.body["values"]["value"] for e in journal.read("shop")[-2:]] == [100.0, 1.0]
    events = len(journal.read("shop"))
    study.amend(0, value=1.0)
    assert len(journal.read("shop")) == events


def test_what_was_done_replaces_what_was_planned():
    study = new_study()
    suggestion = study.ask()
    study.tell(suggestion.id, 1.0, context={"demand": 0.5}, decision={"order": 1.25})
    trial = study.trials[0]
    assert trial.decision == {"order": 1.25} and trial.planned == suggestion.decision
    assert study.trials.dataset.x.tolist() == [[1.25]]


def test_history_counts_as_rounds():
    study = new_study()
    for i in range(6):
        assert study.add({"order": i / 5}, 1 - (i / 5 - 0.4) ** 2, context={"demand": 0.3 + i / 20}) == i
    suggestion = study.ask()
    assert suggestion.id == 6 and study.trials[6].asked_at is not None and study.trials[0].asked_at is None
    assert study.journal.read("shop")[-1].body["fit"] is not None  # past the design already


def test_pending_and_the_clock():
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    study = new_study(clock=lambda: now[0])
    study.ask()
    now[0] += timedelta(days=3)
    study.ask()
    assert [t.id for t in study.pending()] == [0, 1]
    assert [t.id for t in study.pending(older_than=timedelta(days=2))] == [0]
    study.tell(0, 1.0)
    assert [t.id for t in study.pending()] == [1]
    assert study.trials[0].told_at - study.trials[0].asked_at == timedelta(days=3)


def test_given_and_fixed():
    study = new_study()
    study.run(quadratic, 8, progress=False)
    suggestion = study.ask(context={"demand": 0.6}, fix={"order": 0.125})
    assert suggestion.decision == {"order": 0.125} and suggestion.context == {"demand": 0.6}
    assert study.trials[8].context_source == "given" and study.trials.contexts_seen == 9
    near = study.ask(context={"demand": 0.6})
    assert study.recommend(context={"demand": 0.6}).contexts == ({"demand": pytest.approx(0.6)},)
    assert near.decision != suggestion.decision


def test_partly_given_contexts():
    space = ww.Space({"x": ww.Real(0, 1)}, {"day": ww.Categorical(["week", "end"]), "load": ww.Real(0, 1)})
    study = ww.Study(space, policy())
    for i in range(8):
        suggestion = study.ask(context={"day": "week" if i % 2 else "end"})
        assert study.trials[i].stand_in["day"] == suggestion.context["day"]
        assert study.trials.contexts_seen == i
        study.reveal(suggestion.id, {"load": 0.1 * i})
        study.tell(suggestion.id, -((suggestion.decision["x"] - 0.1 * i) ** 2))
    assert all(set(t.context) == {"day", "load"} for t in study.trials)


def test_ask_many_are_distinct():
    study = new_study()
    study.run(quadratic, 8, progress=False)
    orders = sorted(s.decision["order"] for s in study.ask_many(5))
    assert min(b - a for a, b in itertools.pairwise(orders)) >= 0.0125
    assert len(study.pending()) == 5


def test_stand_ins_are_stored_and_used():
    study = new_study()
    study.run(quadratic, 6, progress=False)
    study.ask()
    trial = study.trials[6]
    assert set(trial.stand_in) == {"demand"} and study.trials.imaginable == (trial,)
    assert study.trials.likely_contexts([trial]).tolist() == [[trial.stand_in["demand"]]]
    study.reveal(6, {"demand": 0.99})
    assert study.trials.likely_contexts([study.trials[6]]).tolist() == [[0.99]]


def test_no_context_and_unbounded_contexts():
    plain = ww.Study(ww.Space({"a": ww.Real(0, 1)}))
    plain.run(lambda s: -((s.decision["a"] - 0.3) ** 2), 12, progress=False)
    assert plain.recommend().decision["a"] == pytest.approx(0.3, abs=0.05)
    free = ww.Study(ww.Space({"a": ww.Real(0, 1)}, {"load": ww.Real()}), policy(design=ww.Sobol(0)))
    first = free.ask()
    assert free.trials[0].stand_in is None  # nothing declared, nothing seen
    for s in (first, free.ask(), free.ask()):
        free.tell(s.id, s.decision["a"], context={"load": 1000.0 + s.id})
    free.ask()
    assert 999.5 <= free.trials[3].stand_in["load"] <= 1002.5


def test_a_blind_policy_needs_no_context():
    study = ww.Study(SHOP, ww.Policy(context_model=ww.NoContext(), design=ww.Sobol(3), maximize=FAST))
    for _ in range(6):
        suggestion = study.ask()
        study.tell(suggestion.id, -((suggestion.decision["order"] - 0.6) ** 2))
    assert study.recommend().decision["order"] == pytest.approx(0.6, abs=0.1)


def test_use_another_policy():
    study = new_study()
    study.run(quadratic, 6, progress=False)
    study.use(policy(context_model=ww.Box(), objective=ww.Minimum()))
    cautious = study.recommend()
    assert sorted(cautious.adversary)[-1] == 1.0 and sum(cautious.adversary) == 1.0
    assert ww.Study.open("shop", journal=study.journal).policy == study.policy


def test_recommend_uses_no_imagined_value():
    study = new_study()
    study.run(quadratic, 8, progress=False)
    before = study.recommend()
    study.ask_many(4)
    after = study.recommend()
    assert before.decision["order"] == pytest.approx(after.decision["order"], abs=1e-4)
    assert before.value == pytest.approx(after.value, abs=1e-6)


def test_recommending_does_not_change_suggestions():
    quiet, curious = new_study(), new_study()
    for _ in range(7):
        curious.sync()
        a, b = quiet.ask(), curious.ask()
        assert a == b
        for study in (quiet, curious):
            study.tell(a.id, quadratic(a).value, context=quadratic(a).context)
        curious.recommend()


def test_report_among_evaluated_decisions():
    study = ww.Study(SHOP, policy(report=ww.Report(candidates="evaluated")))
    study.run(quadratic, 8, progress=False)
    assert study.recommend().decision["order"] in [pytest.approx(t.decision["order"]) for t in study.trials]


def test_run_counts_loses_and_stops():
    study = new_study()
    study.run(quadratic, 3, progress=False)
    study.run(quadratic, until=5, progress=False)
    study.run(quadratic, until=5, progress=False)
    assert len(study.trials) == 5

    def sometimes(suggestion):
        if suggestion.id % 2:
            raise ValueError("the till jammed")
        return quadratic(suggestion)

    study.run(sometimes, 4, progress=False)
    assert [t.lost for t in study.trials if t.lost] == ["ValueError: the till jammed"] * 2

    def never(suggestion):
        raise OSError("no shop")

    with pytest.raises(OSError, match="no shop"):
        study.run(never, 10, progress=False)
    assert len(study.trials) == 12

    def interrupted(suggestion):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(interrupted, 2, progress=False)
    assert len(study.pending()) == 1


def test_dataframe():
    study = new_study()
    study.run(quadratic, 3, progress=False)
    study.ask()
    frame = study.dataframe()
    assert list(frame.index) == [0, 1, 2, 3] and frame.loc[3, "state"] == "pending"
    assert frame["decision.order"].tolist() == [t.decision["order"] for t in study.trials]
    assert frame["context.demand"].isna().tolist() == [False, False, False, True]


def test_progress_bar_text():
    import io

    from windward.basics.progress import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with Progress(4, "rounds", stream=stream) as bar:
        for _ in range(4):
            bar.advance("value 1")
    assert "[########################] 4/4 rounds" in stream.getvalue() and stream.getvalue().endswith("\n")
    quiet = io.StringIO()
    with Progress(4, "rounds", stream=quiet) as bar:
        bar.advance()
    assert quiet.getvalue() == ""
