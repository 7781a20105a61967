"""Every log ever written opens, folds and replays with the fit it recorded."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, fields

import old_logs
import pytest
from helpers import quadratic

import windward as ww
from windward.basics.codec import Table, decode, encode, table_of
from windward.journal.events import VERSION, Event
from windward.journal.upcast import DEFAULTS, in_full, upcast
from windward.parts import OWN_PARTS
from windward.present import records
from windward.present.report import report_html
from windward.study.study import utc_now

NAMES = pytest.mark.parametrize("name", old_logs.NAMES)


@NAMES
def test_it_opens_and_folds(name, tmp_path):
    study = ww.Study.open(name, journal=old_logs.placed(name, tmp_path))
    row, *events = old_logs.lines(name)
    assert study.revision == row["head"] and len(study.trials) == row["asks"]
    said = [json.loads(event["body"]) for event in events]
    told = {e["trial"]: b["value"] for e, b in zip(events, said, strict=True) if e["kind"] in ("told", "added")}
    changed = {
        e["trial"]: b["value"] for e, b in zip(events, said, strict=True) if e["kind"] == "amended" and "value" in b
    }
    assert {trial.id: trial.value for trial in study.trials if trial.value is not None} == told | changed
    assert study.direction == said[0]["direction"] and study.seed == said[0]["seed"]


@NAMES
def test_its_policy_is_the_one_it_was_made_with(name, tmp_path):
    study = ww.Study.open(name, journal=old_logs.placed(name, tmp_path))
    _, first, *rest = old_logs.lines(name)
    last = next((event for event in reversed(rest) if event["kind"] == "policy_set"), first)
    written = json.loads(last["body"])["policy"]
    assert encode(study.policy) == encode(decode(in_full(written), table_of(OWN_PARTS)))
    assert _holds(encode(study.policy), written)


def _holds(whole: object, part: object) -> bool:
    """Whether everything that `part` says stands in `whole` too."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _holds(whole[key], part[key]) for key in part)
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(_holds, whole, part))
    return whole == part


@NAMES
def test_it_replays_with_the_fit_it_recorded(name, tmp_path, caplog):
    study = ww.Study.open(name, journal=old_logs.placed(name, tmp_path))
    asked = [event for event in old_logs.lines(name)[1:] if event["kind"] == "asked"]
    with caplog.at_level(logging.WARNING, "windward"):
        replayed = [study.replay(event["trial"]) for event in asked]
    assert caplog.text.count("replayed with the fit that the log recorded") == 1  # once is enough
    for event, found in zip(asked, replayed, strict=True):
        for parameter, recorded in json.loads(event["body"])["decision"].items():
            expected = pytest.approx(recorded, rel=1e-6, abs=1e-9) if isinstance(recorded, float) else recorded
            assert found.decision[parameter] == expected, (event["trial"], parameter)


@NAMES
def test_it_goes_on_in_the_present_format(name, tmp_path):
    url = old_logs.placed(name, tmp_path)
    study = ww.Study.open(name, journal=url)
    asked = study.ask()
    study.lose(asked.id, "only to write something")
    versions = [event.body["v"] for event in study.journal.read(name)]
    assert versions == [1] * (study.revision - 2) + [VERSION] * 2
    again = ww.Study.open(name, journal=url)
    assert again.trials.rows == study.trials.rows and again.replay(asked.id).decision == asked.decision


@NAMES
def test_what_a_person_sees_of_it_can_be_written(name, tmp_path):
    study = ww.Study.open(name, journal=old_logs.placed(name, tmp_path))
    json.dumps([records.trial(trial, utc_now()) for trial in study.trials], ensure_ascii=False).encode()
    records.csv_text(study.space, study.trials).encode()
    if name == "spoiled-v1":
        report_html(study).encode()
        assert study.trials[0].lost == "ferm� �"
        study.amend(0, reason="fermé")
        assert ww.Study.open(name, journal=study.journal).trials[0].lost == "fermé"


def test_calls_with_keys_are_known_from_the_first_version(tmp_path):
    study = ww.Study.open("shop-v1", journal=old_logs.placed("shop-v1", tmp_path))
    head, told = study.revision, study.trials[8]
    assert study.ask(key="ask-4").id == 4
    study.tell(8, -(0.0) + told.value, context=dict(told.context), decision={"order": 3.5}, noise=0.1, key="tell-8")
    assert study.revision == head
    with pytest.raises(ww.TrialError, match="used for another call"):
        study.tell(8, told.value + 1.0, key="tell-8")


def test_the_table_of_defaults_is_frozen():
    # It says what version 1 meant. A new default belongs into its class, never here.
    text = json.dumps(DEFAULTS, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "1d6c1d9ee34d8338"


def test_a_new_default_does_not_change_an_old_study():
    @dataclass(frozen=True)
    class MultiStart:
        screen: int = 4096
        starts: int = 64
        evaluations: int | None = None
        tolerance: float = 1e-3
        apart: float = 0.5
        new_field: int = 7

    table = Table({**table_of(OWN_PARTS).given, "MultiStart": MultiStart})
    old = decode(in_full({"part": "MultiStart", "starts": 2}), table)
    assert (old.screen, old.starts, old.tolerance, old.apart, old.new_field) == (512, 2, 1e-6, 0.0125, 7)


def test_every_field_of_a_part_is_written():
    policy = ww.papers.drbo_kde()

    def check(part: object, data: object) -> None:
        if hasattr(part, "__dataclass_fields__"):
            assert set(data) == {"part", *(field.name for field in fields(part))}, part
            for field in fields(part):
                check(getattr(part, field.name), data[field.name])

    check(policy, encode(policy))
    check(ww.GaussianProcess(), encode(ww.GaussianProcess()))
    check(ww.papers.gp_ucb_sdf(0.0, 3), encode(ww.papers.gp_ucb_sdf(0.0, 3)))
    # Steps and units alone are left out where there are none: no better default can take their place.
    later = {(part.__name__, field.name) for part in OWN_PARTS for field in fields(part) if field.metadata.get("later")}
    assert {name for _, name in later} == {"step", "unit"} and {kind for kind, _ in later} <= {
        "Categorical",
        "Integer",
        "Real",
    }
    assert set(encode(ww.Real(0, 1))) == {"part", "low", "high", "log", "outside"}


def test_a_newer_version_or_kind_is_refused_by_name():
    at = utc_now()
    for body, kind, message in (
        ({"v": VERSION + 1}, "told", rf"event 3: version {VERSION + 1} of 'told'; .* use a newer one"),
        ({"v": VERSION}, "dreamt", "event 3: unknown kind 'dreamt'; use a newer Windward"),
        ({"v": True}, "told", "version True"),
        ({}, "told", "version None"),
        ([], "told", "is damaged: its body is"),
        ({"v": 1}, "told", "is damaged: it has no"),
    ):
        with pytest.raises(ww.JournalError, match=message):
            upcast(Event(3, kind, 0, "k", at, at, body), "shop")


def test_a_study_made_now_reads_the_same_after_a_round_trip(tmp_path):
    space = ww.Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})
    study = ww.Study(space, journal=f"sqlite:///{tmp_path}/now.db", seed=1)
    study.run(quadratic, 3, progress=False)
    created = study.journal.read("study")[0].body
    assert created["outcomes"] == {"value": {"goal": "maximize", "unit": None}}
    assert created["status_quo"] is None and created["horizon"] is None
    assert created["policy"]["maximize"]["search"]["screen"] == 256
    assert ww.Study.open("study", journal=study.journal).policy == study.policy


def test_a_space_that_no_whole_numbers_meet_was_accepted_once_and_opens(tmp_path):
    import pickle
    import sqlite3
    from contextlib import closing

    def space(most: float) -> ww.Space:
        sums = ww.Linear({"vans": 2.0, "cars": 2.0}, lower=3.0, upper=most)
        return ww.Space(decision={"vans": ww.Integer(0, 9), "cars": ww.Integer(0, 9)}, constraints=[sums])

    url = f"sqlite:///{tmp_path}/vans.db"
    ww.Study(space(8.0), journal=url, name="vans")
    with closing(
        sqlite3.connect(tmp_path / "vans.db")
    ) as database:  # 2 vans + 2 cars = 3: fractions do, whole numbers do not
        database.execute("""UPDATE events SET body = replace(body, '"upper":8.0', '"upper":3.0')""")
        database.commit()
    with pytest.raises(ww.SpaceError, match="must be whole"):
        space(3.0)
    study = ww.Study.open("vans", journal=url)
    study.add({"vans": 1, "cars": 1}, 2.0)
    assert study.trials[0].value == 2.0 and pickle.loads(pickle.dumps(study.space)) == study.space
    with pytest.raises(ww.SpaceError, match="whole"):
        study.ask()
