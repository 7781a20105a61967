"""Notes and tags, and trials that are overdue: what a person adds to a trial, and whom they should ask after."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from helpers import SHOP, policy

import windward as ww
from windward.cli.main import main
from windward.present import records
from windward.present.listing import Sought, listed, story


def shop(journal: str | None = None, **more: object) -> ww.Study:
    return ww.Study(SHOP, policy(), journal=journal, name="shop", **more)


def told(study: ww.Study, *values: float) -> ww.Study:
    for place, value in enumerate(values):
        study.tell(study.ask().id, value, context={"demand": 0.2 + 0.1 * place})
    return study


def test_what_is_left_out_stays_and_nothing_takes_it_away():
    study = told(shop(), 1.0)
    study.note(0, "rained all day ", tags=["wet", "holiday", "wet"])
    assert (study.trials[0].note, study.trials[0].tags) == ("rained all day", ("wet", "holiday"))
    study.note(0, "a storm")
    study.note(0, "a storm")  # the same again leaves no trace
    assert (study.trials[0].note, study.trials[0].tags) == ("a storm", ("wet", "holiday"))
    study.note(0, tags=[])
    study.note(0, "")
    assert (study.trials[0].note, study.trials[0].tags) == (None, ())
    noted = [event.body for event in study.journal.read("shop") if event.kind == "noted"]
    assert noted[-1] == {"v": 2, "note": "", "tags": []} and len(noted) == 4


def test_a_note_moves_nothing_and_a_study_without_one_writes_what_it_wrote(tmp_path):
    plain, noted = (told(shop(f"sqlite:///{tmp_path}/{name}.db"), 1.0, 0.4, 0.7, 0.2) for name in ("plain", "noted"))
    noted.note(1, "first", tags=["a"])
    pairs = [(plain.ask(), noted.ask()) for _ in range(2)]
    noted.note(pairs[0][0].id, "still pending")
    pairs.append((plain.ask(), noted.ask()))
    assert all(one == other for one, other in pairs)
    assert plain.recommend() == noted.recommend()
    assert noted.replay(pairs[-1][1].id).decision == pairs[-1][1].decision
    assert "noted" not in {event.kind for event in plain.journal.read("shop")}
    again = ww.Study.open("shop", journal=f"sqlite:///{tmp_path}/noted.db")
    assert [trial.note for trial in again.trials][1] == "first" and again.trials[1].changed == noted.trials[1].changed


def test_notes_go_out_and_come_in_again(tmp_path):
    study = told(shop(), 1.0, 2.0)
    study.note(1, 'a "storm", at noon', tags=["wet", "day off"])
    text = records.csv_text(study.space, study.trials)
    assert text.splitlines()[0].endswith(",note,tags") and '"wet, day off"' in text
    file, url = tmp_path / "past.csv", f"sqlite:///{tmp_path}/log.db"
    file.write_text(text, encoding="utf-8")
    told(shop(url), 3.0)

    def run(*arguments: str) -> str:
        return CliRunner().invoke(main, [*arguments, "--journal", url]).output

    assert run("import", "shop", str(file)) == "0 already there, 2 added.\n"
    copy = ww.Study.open("shop", journal=url)
    noted = [(trial.note, trial.tags) for trial in copy.trials]
    assert noted == [(None, ()), (None, ()), ('a "storm", at noon', ("wet", "day off"))]
    assert run("import", "shop", str(file)) == "2 already there, 0 added.\n"  # a note makes no other trial of it
    assert run("note", "shop", "0", "the till broke", "--tag", "till") == "Trial 0: the till broke; tags till\n"
    assert [row["id"] for row in json.loads(run("trials", "shop", "--tag", "till", "--json"))] == [0]
    assert "the till broke" in run("trials", "shop")
    assert run("note", "shop", "0", "", "--no-tags") == "Trial 0: no note and no tags\n"
    pytest.importorskip("pandas")
    frame = study.dataframe()
    assert frame.note[1] == 'a "storm", at noon' and frame.tags[1] == ("wet", "day off")


def test_trials_are_found_and_sorted():
    space = ww.Space({"order": ww.Real(0, 100), "route": ww.Categorical(["sea", "air"])}, {"demand": ww.Real(0, 100)})
    study = ww.Study(space, policy())
    study.add_many([ww.Past({"order": o, "route": r}, o - 5.0, {"demand": 9}) for o, r in ((7, "sea"), (3, "air"))])
    study.ask(fix={"route": "sea"})
    study.lose(study.ask(fix={"route": "air"}).id, "Storm")
    study.note(0, "A long day", tags=["inventory"])

    def ids(**wanted: object) -> list[int]:
        return [trial.id for trial in listed(study.trials.ledger, Sought(**wanted))]

    assert ids(sort="value") == [1, 0, 2, 3] and ids(sort="value", descending=True) == [0, 1, 2, 3]
    assert ids(sort="decision.route") == [1, 3, 0, 2]
    assert ids(standing="pending") == [2] and ids(standing="lost") == [3] and ids(standing="arrived") == [0, 1]
    assert ids(tag="inventory") == [0] and ids(text="LONG") == [0] and ids(text="storm") == [3] and ids(text="3") == [3]
    with pytest.raises(ww.ArgumentError, match=r"no column 'valu' \(did you mean 'value'\?\)"):
        ids(sort="valu")


def test_the_story_of_a_trial():
    study = told(shop(), 1.0)
    study.amend(0, value=1.5, context={"demand": 0.9})
    study.note(0, "typed wrongly", tags=["till"])
    study.lose(study.ask().id, "closed")
    words = [one["words"] for one in story(study.journal.read("shop"), "shop", 0)]
    assert words[0].startswith("Asked: order 0.")
    assert words[1:] == [
        "Context seen: demand 0.2.",
        "Told: value 1.",
        "Amended: value 1.5 and demand 0.9.",
        "Noted: typed wrongly; tags till",
    ]
    assert [one["words"] for one in story(study.journal.read("shop"), "shop", 1)][1] == "Given up: closed"


class Days:
    """A clock that a test sets, in days."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, days: float) -> None:
        self.now += timedelta(days=days)


def test_overdue_is_much_longer_than_results_took_so_far():
    days = Days()
    study = shop(clock=days)
    forgotten = study.ask().id
    for delay in (1, 2, 1, 5):
        asked = study.ask().id
        days.pass_(delay)
        study.tell(asked, 1.0, context={"demand": 0.5})
    assert study.overdue() == []  # four results do not say what is usual
    asked = study.ask().id
    days.pass_(0.5)
    study.tell(asked, 1.0, context={"demand": 0.5})
    fresh = study.ask().id
    assert study.overdue() == []  # 9.5 days: nine in ten came within 5, and three times that is 15
    days.pass_(6)
    assert [trial.id for trial in study.overdue()] == [forgotten]
    found = records.status(study)["overdue"]
    assert found["usual"] == 5 * 86400 and [one["id"] for one in found["trials"]] == [forgotten]
    assert found["sentences"] == ["Nine in ten results so far came within 5 days.", "Trial 0 has waited 15 days."]
    study.lose(forgotten, "nobody knows")
    assert study.overdue() == [] and study.trials[fresh].state == "pending"


def test_status_names_what_is_overdue(tmp_path):
    days, url = Days(), f"sqlite:///{tmp_path}/log.db"
    study = shop(url, clock=days)
    study.ask()
    for _ in range(5):
        asked = study.ask().id
        days.pass_(1)
        study.tell(asked, 1.0, context={"demand": 0.5})
    answer = CliRunner().invoke(main, ["status", "shop", "--journal", url])
    assert "Trial 0 has waited" in answer.output  # by the machine's clock
    assert io.StringIO(answer.output).readline().startswith("shop: ")
