"""Contexts that are known from the time of a trial: asked, told, added, imported, advised, replayed, on every surface."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from click.testing import CliRunner

import windward as ww
from windward.basics.times import read_moment
from windward.cli.main import main
from windward.journal import History
from windward.space.cyclic import sectioned

BERLIN = "Europe/Berlin"
SPACE = ww.Space(
    decision={"order": ww.Real(0, 100)},
    context={
        "demand": ww.Real(0, 120),
        "weekday": ww.calendar("weekday", BERLIN),
        "hour": ww.calendar("time_of_day", BERLIN),
    },
)
POLICY = ww.papers.sbo_kde(samples=16)
# A Friday morning in Berlin, where it is two hours later than in UTC.
FRIDAY = datetime(2026, 5, 1, 7, 30, tzinfo=UTC)
SATURDAY = FRIDAY + timedelta(days=1)
AT_FRIDAY = {"weekday": "Friday", "hour": 9.5}
AT_SATURDAY = {"weekday": "Saturday", "hour": 9.5}


class Hands:
    """A clock that somebody turns."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def made(space=SPACE, **rest):
    hands = Hands(FRIDAY)
    return ww.Study(space, POLICY, clock=hands, **rest), hands


def told(study, hands, rounds):
    for place in range(rounds):
        hands.now = FRIDAY + timedelta(days=place)
        found = study.ask()
        demand = 40.0 + 30.0 * (found.context["weekday"] in ("Saturday", "Sunday"))
        study.tell(found.id, -abs(found.decision["order"] - demand), context={"demand": demand})


# -- ask, reveal, tell -------------------------------------------------------------------------------------------------


def test_an_ask_knows_its_calendar_from_the_clock_or_from_when():
    study, hands = made()
    now = study.ask()
    assert now.context == AT_FRIDAY and now.when is None
    then = study.ask(when=datetime(2026, 5, 2, 9, 30, tzinfo=timezone(timedelta(hours=2))))
    assert then.context == AT_SATURDAY and then.when == SATURDAY
    one, other = study.trials.rows
    assert (one.when, one.asked_at) == (FRIDAY, FRIDAY) and (other.when, other.asked_at) == (SATURDAY, FRIDAY)
    # Nobody gave anything: the rest may come and then all of it was revealed.
    assert one.context_source is None
    hands.now = SATURDAY
    study.tell(now.id, 1.0, context={"demand": 3.0})
    assert dict(study.trials[0].context) == {"demand": 3.0, **AT_FRIDAY}  # of the ask, not of the tell
    assert study.trials[0].context_source == "revealed" and study.trials.contexts_seen == 1


def test_what_else_is_given_stays_given():
    study, _ = made()
    found = study.ask(context={"demand": 5.0})
    assert found.context == {"demand": 5.0, **AT_FRIDAY} and study.trials[0].context_source == "given"
    bare, _ = made(ww.Space({"order": ww.Real(0, 1)}, {"weekday": ww.calendar("weekday")}))
    bare.tell(bare.ask().id, 1.0)  # nothing is left to reveal
    assert bare.trials[0].context_source == "given" and len(bare.trials.arrived) == 1


def test_what_is_typed_against_the_calendar_is_refused():
    study, _ = made()
    with pytest.raises(ww.SpaceError) as caught:
        study.ask(context={"weekday": "Monday"})
    assert str(caught.value) == (
        "study.ask: context 'weekday' is 'Friday' at 2026-05-01 07:30 UTC, got 'Monday'; leave it out, or give the right time "
        "with when=."
    )
    assert len(study.trials) == 0
    study.ask(context={"weekday": "fri"})  # right, and needless
    study.tell(0, 1.0, context={"demand": 3.0, "weekday": "Friday"})
    study.ask(when=SATURDAY)
    for call in (
        lambda: study.reveal(1, {"weekday": "Friday"}),
        lambda: study.tell(1, 1.0, context={"demand": 1.0, "hour": 9.0}),
        lambda: study.amend(1, context={"weekday": "Friday"}),
    ):
        with pytest.raises(ww.TrialError, match=r"known from its time, 2026-05-02 07:30 UTC: it is .*amend\(1, when="):
            call()
    assert study.trials[1].value is None


@pytest.mark.parametrize("wrong", [datetime(2026, 5, 1), "2026-05-01", 5, FRIDAY.date()])
def test_a_time_needs_a_zone(wrong):
    study, _ = made()
    for call in (study.ask, study.recommend, lambda when: study.amend(0, when=when)):
        with pytest.raises(ww.ArgumentError, match=r"\(when=.*\): give a datetime with a time zone\.$"):
            call(when=wrong)


def test_nobody_forecasts_the_calendar():
    study, _ = made()
    with pytest.raises(ww.SpaceError, match=r"a forecast of 'hour', which is known from the time; leave it out\.$"):
        study.ask(context={"hour": ww.Forecast(samples=[1.0, 2.0])})
    found = study.ask(context={"demand": ww.Forecast(samples=[30.0, 50.0])}, when=SATURDAY)
    assert found.context == AT_SATURDAY and study.replay(0) == found
    assert study.ask(context={"demand": ww.Forecast(samples=[30.0, 50.0])}, key="a") == study.ask(
        context={"demand": ww.Forecast(samples=[30.0, 50.0])}, key="a"
    )


def test_a_time_at_the_end_of_the_calendar_is_refused():
    study, _ = made()
    with pytest.raises(ww.WindwardError, match="too near the end of the calendar"):
        study.ask(when=datetime.max.replace(tzinfo=UTC))
    assert len(study.trials) == 0


def test_the_same_ask_again_later_is_the_same():
    study, hands = made()
    first = study.ask(key="a")
    hands.now = SATURDAY
    assert study.ask(key="a") == first and first.context == AT_FRIDAY
    planned = study.ask(key="b", when=FRIDAY)
    assert study.ask(key="b", when=FRIDAY) == planned
    for other in ({"when": SATURDAY}, {}):
        with pytest.raises(ww.TrialError, match="this key was used for another call"):
            study.ask(key="b", **other)


def test_a_wrong_time_is_amended_and_the_calendar_follows():
    study, _ = made()
    study.tell(study.ask().id, 1.0, context={"demand": 3.0})
    study.amend(0, when=SATURDAY)
    assert dict(study.trials[0].context) == {"demand": 3.0, **AT_SATURDAY} and study.trials[0].when == SATURDAY
    before = study.revision
    study.amend(0, when=SATURDAY)
    assert study.revision == before
    with pytest.raises(ww.SpaceError, match="'weekday' is 'Friday' at 2026-05-01 07:30 UTC, got 'Monday'"):
        study.amend(0, when=FRIDAY, context={"weekday": "Monday"})


def test_a_time_without_a_calendar_is_kept_for_later():
    study = ww.Study(ww.Space({"order": ww.Real(0, 1)}), POLICY, clock=Hands(FRIDAY))
    assert study.ask(when=SATURDAY).context is None and study.trials[0].when == SATURDAY


# -- history -----------------------------------------------------------------------------------------------------------


def test_added_trials_know_their_calendar_from_their_date():
    study, _ = made()
    study.add({"order": 5.0}, 1.0, context={"demand": 2.0}, at=SATURDAY)
    assert dict(study.trials[0].context) == {"demand": 2.0, **AT_SATURDAY} and study.trials[0].when == SATURDAY
    study.add(
        {"order": 5.0}, 1.0, context={"demand": 2.0, "weekday": "Sunday", "hour": 4}
    )  # without a date it is typed
    assert study.trials[1].context["weekday"] == "Sunday" and study.trials[1].when is None
    study.amend(1, context={"weekday": "Monday"})  # nothing is known from a time
    with pytest.raises(
        ww.SpaceError, match=r"lacks 'weekday', which is known from the date; say when it happened with at="
    ):
        study.add({"order": 5.0}, 1.0, context={"demand": 2.0})
    with pytest.raises(ww.SpaceError, match=r"got 'Sunday'; leave it out, or give the right date with at=\.$"):
        study.add({"order": 5.0}, 1.0, context={"demand": 2.0, "weekday": "Sunday"}, at=SATURDAY)
    rows = [ww.Past({"order": 5.0}, 1.0, {"demand": 2.0}, at=SATURDAY)]
    assert study.known_rows(rows) == [True] and study.add_many(rows) == [None]


# -- advice ------------------------------------------------------------------------------------------------------------


def test_advice_is_for_a_time_or_for_any():
    study, hands = made(seed=1)
    told(study, hands, 21)
    week = study.recommend(when=FRIDAY).decision["order"]
    weekend = study.recommend(when=SATURDAY).decision["order"]
    assert weekend > week + 15
    assert study.recommend(context=AT_SATURDAY).decision["order"] == weekend
    assert len({context["weekday"] for context in study.recommend().contexts}) > 3  # any time
    assert study.recommend(when=SATURDAY).contexts[0]["weekday"] == "Saturday"
    assert study.assess({"order": 70.0}, when=SATURDAY).value > study.assess({"order": 70.0}, when=FRIDAY).value
    assert study.compare({"order": 70.0}, {"order": 40.0}, when=FRIDAY).probability > 0.5
    assert 0.0 <= study.settled(5.0, when=FRIDAY) <= 1.0
    with pytest.raises(ww.SpaceError, match=r"^study\.recommend: context 'weekday' is 'Friday'"):
        study.recommend(when=FRIDAY, context={"weekday": "Sunday"})


# -- the log -----------------------------------------------------------------------------------------------------------


def test_replays_keep_the_time(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    study, hands = made(journal=url, seed=2)
    told(study, hands, 12)
    planned = study.ask(when=FRIDAY + timedelta(days=30))
    study.ask()
    again = ww.Study.open("study", journal=url, clock=Hands(SATURDAY + timedelta(days=400)))
    assert again.trials.rows == study.trials.rows
    assert again.replay(planned.id) == planned
    assert again.replay(11).decision == study.trials[11].decision
    asked = [event.body for event in study.journal.read("study") if event.kind == "asked"]
    assert asked[-1]["when"] is None and asked[-2]["when"] == "2026-05-31T07:30:00+00:00"


def test_a_damaged_time_is_named():
    study, _ = made()
    study.ask()
    events = study.journal.read("study")
    for wrong in ("tomorrow", "2026-05-01T00:00:00", 5):
        damaged = [events[0], replace(events[1], body={**events[1].body, "when": wrong})]
        with pytest.raises(ww.JournalError, match=r"event 2 \(asked\) is damaged"):
            History("study").apply(damaged)


# -- the command line and HTTP ---------------------------------------------------------------------------------------


TOML = """
name = "shop"
[decision.order]
part = "Real"
low = 0
high = 100
[context.demand]
part = "Real"
low = 0
[context.weekday]
part = "Calendar"
cycle = "weekday"
zone = "America/New_York"
[policy]
method = "sbo_kde"
samples = 16
"""


@pytest.fixture
def shop(tmp_path):
    file, url = tmp_path / "shop.toml", f"sqlite:///{tmp_path}/shop.db"
    file.write_text(TOML)

    def windward(*words, ok=True):
        answer = CliRunner().invoke(main, [*words, "--journal", url], catch_exceptions=False)
        assert (answer.exit_code == 0) == ok, answer.output
        return answer.output

    windward("new", str(file))
    return windward, tmp_path


def test_the_command_line(shop):
    windward, folder = shop
    answer = json.loads(windward("ask", "shop", "--when", "2026-05-01", "--json"))  # by the clocks of New York
    assert answer["context"] == {"weekday": "Friday"} and answer["when"] == "2026-05-01T04:00:00+00:00"
    assert "weekday=Saturday" in windward("ask", "shop", "--when", "2026-05-02T23:00-04:00")
    assert "got 'Monday'; leave it out, or give the right time with --when." in windward(
        "ask", "shop", "--when", "2026-05-01", "-c", "weekday=Monday", ok=False
    )
    assert "must be a date such as" in windward("ask", "shop", "--when", "tomorrow", ok=False)
    windward("tell", "shop", "0", "5", "-c", "demand=40")
    assert json.loads(windward("amend", "shop", "0", "--when", "2026-05-03", "--json"))["context"] == {
        "demand": 40.0,
        "weekday": "Sunday",
    }
    past = folder / "past.csv"
    past.write_text("day,order,demand,value\n2026-05-04,30,35,2\n2026-05-05T23:30,30,36,2\n")
    assert "2 added" in windward("import", "shop", str(past), "--date", "day")
    assert "2 already there" in windward("import", "shop", str(past), "--date", "day")
    rows = json.loads(windward("trials", "shop", "--json"))
    assert [row["context"]["weekday"] for row in rows[2:]] == ["Monday", "Tuesday"]
    for name in ("recommend", "settled"):
        windward(name, "shop", "--when", "2026-05-04")
    windward("compare", "shop", "--first", "order=3", "--when", "2026-05-04")
    assert (
        "there is no column 'weekday', which is known from the date: name the column of dates with --date."
        in windward("import", "shop", str(past), "--ignore", "day", ok=False)
    )
    past.write_text("day,order,demand,value,weekday\n2026-05-04,30,35,2,Friday\n")
    said = windward("import", "shop", str(past), "--date", "day", ok=False)
    assert (
        "'weekday' is 'Monday' at 2026-05-04 04:00 UTC, got 'Friday'; leave the column out with --ignore weekday"
        in said
    )
    copy = folder / "copy.csv"
    copy.write_text(windward("trials", "shop", "--csv"))
    assert "1 without a value" in windward("import", "shop", str(copy))  # its weekdays are typed


def test_the_hour_on_the_clock_begins_a_section():
    hours = [0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 23.999]
    assert sectioned(ww.Cyclic(24), 24.0, hours)[1] == [0, 1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize("text", ["4.5.2026 14:30", "04.05.2026, 14:30:00", "2026-05-04T14:30"])
def test_dates_with_points(text):
    assert read_moment("--when", text).isoformat() == "2026-05-04T14:30:00+00:00"
    with pytest.raises(
        ww.ArgumentError, match=r"such as 2026-05-01, 2026-05-01T14:30 or 01\.05\.2026, got '31\.02\.2026'"
    ):
        read_moment("--when", "31.02.2026")
