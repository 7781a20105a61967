"""What hostile use once spoiled: texts, names made again, logs with gaps, trials that could not be given up."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from helpers import SHOP, new_study, policy, quadratic

import windward as ww
import windward.study.ask as asking
from windward.basics import arguments
from windward.cli.main import main
from windward.journal.events import Draft
from windward.present import records
from windward.present.report import report_html
from windward.study.study import utc_now

BAD_TEXTS = [
    "\ud800",
    "ferm\udce9",
    "a\x00b",
    "bell\x07",
    "\x1b[31m",
    "c1\x85",
    "",
    "   ",
    "x" * 2001,
    None,
    3,
    b"bytes",
]


@pytest.fixture
def file(tmp_path):
    study = ww.Study(SHOP, policy(), journal=f"sqlite:///{tmp_path}/log.db", name="shop")
    study.run(quadratic, 6, progress=False)
    return study, tmp_path / "log.db"


def edited(path, *statements):
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


# -- texts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", BAD_TEXTS)
def test_a_reason_that_cannot_be_shown_is_refused(reason, journal):
    study = new_study(journal)
    study.ask()
    with pytest.raises(ww.ArgumentError, match=r"study\.lose\(reason="):
        study.lose(0, reason)
    assert study.trials[0].state == "pending" and study.revision == 2
    report_html(study).encode()
    records.csv_text(study.space, study.trials).encode()
    study.lose(0, "a good one")
    if reason is not None:
        with pytest.raises(ww.ArgumentError, match=r"study\.amend\(reason="):
            study.amend(0, reason=reason)
    assert study.trials[0].lost == "a good one"


def test_texts_that_are_taken(journal):
    study = new_study(journal)
    study.ask()
    study.lose(0, "fermé\n\t雪 ☃ 🙂")
    assert ww.Study.open("shop", journal=journal).trials[0].lost == "fermé\n\t雪 ☃ 🙂"


def test_every_event_passes_one_check():
    for body in ({"reason": "\ud800"}, {"a": [{"\udfff": 1}]}, {"a": ({"b": "x\udce9"},)}):
        with pytest.raises(ww.ArgumentError, match="cannot be written as UTF-8"):
            Draft("lost", 0, utc_now(), body)


@pytest.mark.parametrize("name", ["a\n", "a\x85", "\x1b[2J", "tab\tbed", "a\u2028b"])
def test_a_new_study_has_a_name_that_can_be_shown(name):
    with pytest.raises(ww.ArgumentError, match="control characters"):
        ww.Study(SHOP, name=name)


def test_names_and_choices_of_a_new_study_have_no_control_characters():
    for space in (
        ww.Space(decision={"a\x07": ww.Real(0, 1)}),
        ww.Space(decision={"a": ww.Categorical(["x", "y\x1b"])}),
        ww.Space(decision={"a": ww.Real(0, 1)}, context={"b\x85": ww.Real()}),
    ):
        with pytest.raises(ww.ArgumentError, match="control character"):
            ww.Study(space)


def test_an_evaluation_that_fails_with_such_a_text_loses_its_trial_all_the_same():
    study = new_study()

    def fail(suggestion):
        if suggestion.id == 0:
            raise OSError("no file ferm\udce9\x00\r\nhere" + "x" * 3000)
        return quadratic(suggestion)

    study.run(fail, 2, progress=False)
    lost = study.trials[0].lost
    assert (
        lost.startswith("OSError: no file ferm\ufffd\ufffd\nherexx") and len(lost) == 2000 and arguments.is_text(lost)
    )


def test_the_command_line_says_what_to_do_about_a_terminal_that_is_not_utf8(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/log.db"
    ww.Study(SHOP, journal=url, name="shop").ask()
    # What Python makes of a Latin-1 byte in an argument.
    answer = CliRunner().invoke(
        main, ["lose", "shop", "0", b"ferm\xe9".decode("utf-8", "surrogateescape"), "--journal", url]
    )
    assert answer.exit_code == 1 and "set the terminal to UTF-8" in answer.stderr
    assert ww.Study.open("shop", journal=url).trials[0].state == "pending"


def test_a_reason_can_be_amended(journal):
    study = new_study(journal)
    study.ask()
    study.lose(0, "teh shop was closed")
    study.amend(0, reason="the shop was closed")
    assert study.trials[0].lost == "the shop was closed" == ww.Study.open("shop", journal=journal).trials[0].lost
    head = study.revision
    study.amend(0, reason="the shop was closed")
    assert study.revision == head
    study.ask()
    with pytest.raises(ww.TrialError, match="trial 1 is not lost"):
        study.amend(1, reason="why")
    answer_for_none = pytest.raises(ww.ArgumentError, match="value, context, noise, decision, reason or when")
    with answer_for_none:
        study.amend(0)


# -- a study deleted and made again ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda study: study.ask(),
        lambda study: study.tell(0, 1.0),
        lambda study: study.reveal(0, {"demand": 0.5}),
        lambda study: study.lose(0, "why"),
        lambda study: study.amend(0, value=2.0),
        lambda study: study.add({"order": 0.5}, 1.0, context={"demand": 0.5}),
        lambda study: study.use(policy()),
        lambda study: study.sync(),
        lambda study: study.recommend(),
        lambda study: study.replay(0),
        lambda study: study.pending(),
    ],
)
def test_a_handle_on_a_study_made_again_is_refused(journal, call):
    old = new_study(journal)
    old.tell(old.ask().id, 1.0, context={"demand": 0.5})
    ww.delete_study("shop", journal=journal)
    new = new_study(journal, seed=9)
    for _ in range(3):
        new.tell(new.ask().id, 1.0, context={"demand": 0.5})
    before = new.journal.read("shop")
    with pytest.raises(ww.JournalError, match=r"'shop' was deleted and made again since .* open it again"):
        call(old)
    assert new.journal.read("shop") == before


# -- logs that were edited or cut ---------------------------------------------------------------------------------------


def test_an_event_in_the_middle_is_missing(file):
    study, path = file
    edited(path, "DELETE FROM events WHERE seq = 4")
    with pytest.raises(ww.JournalError, match="'shop' is damaged: event 4 is missing"):
        ww.Study.open("shop", journal=study.journal)


@pytest.mark.parametrize("gone", [1, 2])
def test_the_last_events_are_missing(file, gone):
    study, path = file
    first = study.revision - gone + 1
    edited(path, f"DELETE FROM events WHERE seq >= {first}")
    with pytest.raises(ww.JournalError, match=f"'shop' is damaged: event {first} is missing"):
        ww.Study.open("shop", journal=study.journal)


def test_the_first_event_is_missing(file):
    study, path = file
    edited(path, "DELETE FROM events WHERE seq = 1")
    for call in (
        lambda: ww.Study.open("shop", journal=study.journal),
        study.ask,
        study.sync,
        lambda: study.tell(0, 1.0),
    ):
        with pytest.raises(ww.JournalError, match="event 1 is missing"):
            call()


@pytest.mark.parametrize("asks", [0, 5, 7, 10**6])
def test_a_count_of_trials_that_does_not_match(file, asks):
    study, path = file
    edited(path, f"UPDATE studies SET asks = {asks}")
    says = f"it counts {asks} trials and its events have 6"
    with pytest.raises(ww.JournalError, match=says):
        ww.Study.open("shop", journal=study.journal)
    with pytest.raises(ww.JournalError, match=says):
        study.ask()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE studies SET head = head + 3", r"event 20 is missing"),
        ("UPDATE studies SET head = head - 3", r"counts 16 events and has event 19"),
        ("UPDATE studies SET head = 'many'", r"it counts 'many' events"),
        ("UPDATE studies SET format = 99", r"has format 99, this Windward reads 1 and 2; use a newer"),
        ("UPDATE events SET at = '2026-05-01T08:00:00' WHERE seq = 5", r"event 5 cannot be read .*no time zone"),
        ("UPDATE events SET recorded_at = '2026-05-01' WHERE seq = 5", r"event 5 cannot be read .*no time zone"),
        ("UPDATE events SET at = 'yesterday' WHERE seq = 5", r"event 5 cannot be read"),
        ("UPDATE events SET body = '{\"v\":2' WHERE seq = 5", r"event 5 cannot be read"),
        ("UPDATE events SET body = '{\"v\":2}' WHERE seq = 5", r"event 5 \(\w+\) is damaged"),
        (
            "UPDATE events SET body = replace(body, '\"read\":', '\"raed\":') WHERE seq = 5",
            r"event 5 \(asked\) is damaged",
        ),
        ('UPDATE events SET body = \'{"v":2,"values":{"value":NaN}}\' WHERE seq = 4', r"event 4 cannot be read"),
        ("UPDATE events SET kind = 'dreamt' WHERE seq = 5", r"event 5: unknown kind 'dreamt'"),
        ("UPDATE events SET trial = 66 WHERE seq = 2", r"event 2 \(asked\) is damaged"),
        ("UPDATE events SET trial = 77 WHERE seq = 4", r"event 4 \(told\) is damaged"),
        ("UPDATE events SET trial = 'x' WHERE seq = 4", r"event 4 \(told\) is damaged"),
        ("UPDATE events SET kind = 'told' WHERE seq = 3", r"event 3"),
    ],
)
def test_an_edited_log_is_refused_by_name(file, statement, says):
    study, path = file
    edited(path, statement)
    with pytest.raises(ww.JournalError, match=says):
        ww.Study.open("shop", journal=study.journal)


def test_a_log_cut_while_it_is_open_never_ends_in_a_race(file):
    study, path = file
    edited(path, "DELETE FROM events WHERE seq > 16", "UPDATE studies SET head = 16, asks = 5")
    with pytest.raises(ww.JournalError, match=r"deleted and made again|is missing"):
        study.ask()


# -- a value without its context ----------------------------------------------------------------------------------------


def test_a_value_without_its_context_can_be_given_up(journal):
    study = new_study(journal)
    study.run(quadratic, 5, progress=False)
    asked = study.ask()
    study.tell(asked.id, 123.0)
    assert [trial.id for trial in study.trials.awaiting_context] == [asked.id]
    study.lose(asked.id, "nobody wrote the demand down")
    trial = study.trials[asked.id]
    assert (trial.state, trial.value, trial.set_aside) == ("lost", None, 123.0)
    assert not study.trials.awaiting_context and asked.id in [trial.id for trial in study.trials.lost]
    assert study.recommend().value < 10.0  # what is set aside counts for nothing
    study.ask()
    head = study.revision
    study.lose(asked.id, "again")
    assert study.revision == head
    assert ww.Study.open("shop", journal=journal).trials.rows == study.trials.rows


def test_what_was_set_aside_counts_once_the_context_is_known(journal):
    study = new_study(journal)
    for way in (lambda i: study.reveal(i, {"demand": 0.4}), lambda i: study.tell(i, 1.5, context={"demand": 0.4})):
        asked = study.ask()
        study.tell(asked.id, 1.5)
        study.lose(asked.id, "no demand")
        way(asked.id)
        trial = study.trials[asked.id]
        assert (trial.state, trial.value, trial.set_aside, trial.lost) == ("told", 1.5, None, None)
    assert len(study.trials.arrived) == 2


def test_what_was_set_aside_can_be_told_anew(journal):
    study = new_study(journal)
    asked = study.ask()
    study.tell(asked.id, 1.5)
    study.lose(asked.id, "no demand")
    study.tell(asked.id, 2.5)
    trial = study.trials[asked.id]
    assert (trial.state, trial.value, trial.set_aside, trial.lost) == ("told", 2.5, None, None)


def test_a_value_that_counts_cannot_be_lost(journal):
    study = new_study(journal)
    study.tell(study.ask().id, 1.5, context={"demand": 0.4})
    with pytest.raises(
        ww.TrialError, match=r"has a value, 1\.5, and it counts; .* use study\.amend\(0, value=\.\.\.\)"
    ):
        study.lose(0, "why")


def test_the_surfaces_say_what_became_of_the_value(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop")
    study.run(quadratic, 5, progress=False)
    study.tell(study.ask().id, 7.5)
    answer = CliRunner().invoke(main, ["lose", "shop", "5", "no demand", "--journal", url])
    assert "Its value, 7.5, is set aside" in answer.output and "windward reveal shop 5 demand=VALUE" in answer.output
    study.sync()
    assert records.trial(study.trials[5], utc_now())["set_aside"] == 7.5
    assert "Its value, 7.5, is set aside until its context is known." in report_html(study)
    frame = study.dataframe()
    assert frame.loc[5, "set_aside"] == 7.5 and frame.loc[5, "state"] == "lost"


def test_a_lost_trial_that_is_told_is_not_lost_anywhere(journal):
    study = new_study(journal)
    asked = study.ask()
    study.lose(asked.id, "the courier vanished")
    study.tell(asked.id, 1.0, context={"demand": 0.5})
    for one in (study, ww.Study.open("shop", journal=journal)):
        trial = one.trials[asked.id]
        assert trial.state == "told" and trial.lost is None and "lost" not in repr(trial)
        assert records.trial(trial, utc_now())["lost"] is None
        assert "vanished" not in records.csv_text(one.space, one.trials)
    assert "vanished" not in report_html(study)


# -- a context that turned out otherwise --------------------------------------------------------------------------------


def test_a_given_context_may_turn_out_otherwise(journal):
    study = new_study(journal)
    asked = study.ask(context={"demand": 0.8})
    study.reveal(asked.id, {"demand": 0.3})
    trial = study.trials[asked.id]
    assert (trial.context, trial.context_planned, trial.context_source) == (
        {"demand": 0.3},
        {"demand": 0.8},
        "revealed",
    )
    study.reveal(asked.id, {"demand": 0.3})
    with pytest.raises(ww.TrialError, match=r"has demand=0\.3 already, got 0\.8; to correct it use study\.amend"):
        study.reveal(asked.id, {"demand": 0.8})
    study.amend(asked.id, context={"demand": 0.35})
    trial = ww.Study.open("shop", journal=journal).trials[asked.id]
    assert (trial.context, trial.context_planned) == ({"demand": 0.35}, {"demand": 0.8})
    assert records.trial(trial, utc_now())["context_planned"] == {"demand": 0.8}
    assert study.dataframe().loc[0, "context_planned.demand"] == 0.8
    assert study.replay(asked.id).decision == asked.decision


def test_a_given_context_that_came_as_given_is_seen_once(journal):
    study = new_study(journal)
    asked = study.ask(context={"demand": 0.8})
    study.tell(asked.id, 1.0, context={"demand": 0.8})
    trial = study.trials[asked.id]
    assert (trial.context, trial.context_planned, trial.context_source) == ({"demand": 0.8}, {"demand": 0.8}, "given")
    head = study.revision
    study.reveal(asked.id, {"demand": 0.8})
    assert study.revision == head
    with pytest.raises(ww.TrialError, match="already"):
        study.reveal(asked.id, {"demand": 0.7})


def test_seeing_what_was_given_after_the_value_moves_no_fit():
    study = new_study()
    study.run(quadratic, 4, progress=False)
    one = study.ask(context={"demand": 0.4})
    study.tell(one.id, 1.0)
    study.run(quadratic, 1, progress=False)
    order = [trial.id for trial in study.trials.arrived]
    study.reveal(one.id, {"demand": 0.4})
    assert [trial.id for trial in study.trials.arrived] == order


def test_a_chosen_context_may_turn_out_otherwise():
    space = ww.Space(decision={"rate": ww.Real(0, 1)}, context={"fold": ww.Categorical(["a", "b"])})
    study = ww.Study(space, ww.papers.bqo_ts(ww.Known({"fold": ["a", "b"]})))
    asked = study.ask()
    other = "b" if asked.context["fold"] == "a" else "a"
    study.tell(asked.id, 1.0, context={"fold": other})
    trial = study.trials[0]
    assert (trial.context, trial.context_planned, trial.context_source) == ({"fold": other}, asked.context, "chosen")
    assert study.trials.contexts_seen == 0  # nature did not choose it


# -- advice ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, float("nan")])
def test_no_value_advises_a_call_that_works(value, tmp_path):
    study = new_study()
    study.ask()
    with pytest.raises(ww.ArgumentError, match=r"If no value will come, use study\.lose\(0, 'why'\)\.") as error:
        study.tell(0, value)
    from windward.basics.rephrase import as_command, as_request

    assert as_command(str(error.value), "shop").endswith("use windward lose shop 0 why.")
    assert as_request(str(error.value), "shop").endswith(
        'use POST /api/studies/shop/trials/0/lose with {"reason": "why"}.'
    )
    eval(str(error.value).split("use ")[1].rstrip("."), {"study": study})
    assert study.trials[0].lost == "why"


def test_notes_and_declarations_of_the_format_are_read(journal):
    study = new_study(journal)
    study.tell(study.ask().id, 1.0, context={"demand": 0.5})
    before = study.trials.rows[0]
    drafts = [
        Draft("noted", 0, utc_now(), {"v": 2, "note": "rained all day", "tags": ["wet"]}),
        Draft("noted", None, utc_now(), {"v": 2, "note": "of the study", "tags": []}),
        Draft("declared", None, utc_now(), {"v": 2, "horizon": 60, "status_quo": {"order": 0.25}}),
    ]
    study.journal.append("shop", lambda _: drafts, key="k", after=study.revision)
    study.sync()
    trial = study.trials[0]
    assert (trial.note, trial.tags, trial.changed) == ("rained all day", ("wet",), before.changed)
    assert study._history.horizon == 60 and study._history.status_quo == {"order": 0.25}
    json.dumps(records.status(study))
    csv = io.StringIO(records.csv_text(study.space, study.trials))
    assert len(csv.readlines()) == 2


def test_the_figure_of_delays_counts_what_came_back(journal):
    pytest.importorskip("plotly")
    from windward.present.plots.delay import _counts

    study = new_study(journal)
    asked = study.ask()
    study.tell(asked.id, 1.5)
    study.lose(asked.id, "no demand")
    assert _counts(study.snapshot())[1]["lost"][-1] == 1
    study.reveal(asked.id, {"demand": 0.4})
    _, counts = _counts(study.snapshot())
    assert (counts["lost"][-1], counts["arrived"][-1]) == (0, 1)


def test_a_given_context_is_kept_to_the_last_digit_when_the_policy_chooses():
    space = ww.Space(decision={"x": ww.Real(0, 1)}, context={"dose": ww.Real(1e-4, 1.0, log=True)})
    known = ww.Known({"dose": [0.001, 0.01, 0.1]})
    study = ww.Study(space, ww.papers.bqo_ts(known))
    given = {"dose": 0.001214143114280635}  # exp(log(it)) is another number
    assert study.ask(context=given).context == given == study.trials[0].context


def test_what_could_not_be_read_again_is_not_written(journal, monkeypatch):
    study = new_study(journal)
    inner = asking.asked_body

    def beyond(*arguments):
        body, posterior = inner(*arguments)
        return {**body, "stand_in": {"wind": 1.0}}, posterior

    monkeypatch.setattr(asking, "asked_body", beyond)
    with pytest.raises(ww.JournalError, match="unknown context 'wind'"):
        study.ask()
    monkeypatch.undo()
    assert study.revision == 1 and ww.Study.open("shop", journal=journal).ask().id == 0


def test_other_words_for_a_reason_move_no_recommendation():
    study = new_study()
    study.run(quadratic, 5, progress=False)
    study.lose(study.ask().id, "teh till broke")
    before = study.recommend()
    study.amend(5, reason="the till broke")
    assert study.recommend() == before


def test_losing_a_lost_trial_again_says_which_reason_is_kept(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    ww.Study(SHOP, policy(), journal=url, name="my shop").ask()
    CliRunner().invoke(main, ["lose", "my shop", "0", "first", "--journal", url])
    answer = CliRunner().invoke(main, ["lose", "my shop", "0", "second", "--journal", url])
    assert "Trial 0: was lost already, first" in answer.output
    assert "windward amend 'my shop' 0 --reason second" in answer.output


def test_a_role_without_rights_to_the_line_asks_without_it(tmp_path, monkeypatch, caplog):
    from windward.journal import sql

    study = ww.Study(SHOP, policy(), journal=f"sqlite:///{tmp_path}/log.db", name="shop")

    def refused(*arguments):
        raise ww.JournalError("permission denied for table leases")

    monkeypatch.setattr(sql, "place_in_line", refused)
    assert [study.ask().id, study.ask().id] == [0, 1]
    assert caplog.text.count("GRANT it SELECT, INSERT, UPDATE and DELETE") == 1


@pytest.mark.parametrize("given", ["", "0", "4 GiB", "-1", "1e9", "9" * 10])
def test_the_budget_of_the_environment(monkeypatch, given):
    from windward.basics import budget

    monkeypatch.setenv("WINDWARD_MEMORY", given)
    with pytest.raises(ww.ArgumentError, match="WINDWARD_MEMORY"):
        ww.Study(SHOP)
    monkeypatch.setenv("WINDWARD_MEMORY", "2048")
    assert ww.Study(SHOP).memory == 2 * 2**30 == budget.DEFAULT // 2
