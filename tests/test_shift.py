"""The shift alarm: its ranks and bets against plain sums, its false alarms, what it says, and where it is shown."""

from __future__ import annotations

import importlib
import json
import math
import random
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers import policy

import windward as ww
from windward.basics.streams import breaking_ties
from windward.cli.main import main
from windward.present import records
from windward.present.report import report_html
from windward.trials import wealth
from windward.trials.records import Trial
from windward.trials.shift import shift_of

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
bench = importlib.import_module("alarms")

SPACE = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(), "sky": ww.Categorical(["dry", "wet"])})


def trials(demand, sky=None, **changes):
    rows = []
    for id, level in enumerate(demand):
        context = {"demand": level} if sky is None else {"demand": level, "sky": sky[id]}
        rows.append(Trial(id, {"order": 50.0}, context=context, context_source="revealed", **changes))
    return rows


def demands(chance, *blocks):
    return [chance.gauss(mean, deviation) for mean, deviation, count in blocks for _ in range(count)]


# -- ranks and bets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_ranks_of_numbers_are_counts(digits):
    chance, column, known = random.Random(digits), wealth.NumberRanks(), []
    for _ in range(120):
        value, tie = round(chance.gauss(0, 2), digits), chance.random()
        known.append(value)
        middle = sorted(known)[len(known) // 2]
        expected = []
        for scores in (known, [abs(each - middle) for each in known]):
            less, same = (sum(each < scores[-1] for each in scores), sum(each == scores[-1] for each in scores))
            expected.append((less + tie * same) / len(known))
        assert column.ranks(value, tie) == pytest.approx(tuple(expected), abs=1e-12)


def test_ranks_of_choices_are_counts():
    chance, column, known = random.Random(1), wealth.ChoiceRanks(3), []
    for _ in range(60):
        value, tie = float(chance.choice([0, 0, 1])), chance.random()
        known.append(value)
        share = [known.count(place) / len(known) for place in range(3)]
        expected = [1 - p + tie * p if place == value else tie * (1 - p) for place, p in enumerate(share)]
        assert column.ranks(value, tie) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("factors", [wealth._of_number, wealth._of_choice])
def test_every_bet_is_fair_and_has_its_opposite(factors):
    many = 200_000
    sums = [0.0] * len(factors(0.5))
    for place in range(many):
        for which, gain in enumerate(factors((place + 0.5) / many)):
            sums[which] += math.exp(gain) / many
    assert sums == pytest.approx([1.0] * len(sums), abs=2e-3)
    high, low = factors(0.999), factors(0.001)
    assert all((up > 0.0) == (which % 2 == 0) for which, up in enumerate(high))
    assert all((down > 0.0) == (which % 2 == 1) for which, down in enumerate(low))


def test_wealth_is_what_every_start_and_bet_has_become():
    chance, bets = random.Random(2), wealth.Bets("location")
    ranks = [chance.random() for _ in range(40)]
    for turn, rank in enumerate(ranks):
        bets.bet(rank, turn)
    left, entering = 1.0, {}
    for turn in range(wealth.FIRST - 1, 40):
        entering[turn] = left * min(0.02, 1.5 / (turn + 1))
        left -= entering[turn]
    gains = [wealth._of_number(rank) for rank in ranks]
    sums = {(start, b): sum(g[b] for g in gains[start:]) for start in entering for b in range(bets.many)}
    stakes = sum(entering[start] * math.exp(total) for (start, _), total in sums.items()) / bets.many
    assert bets.wealth == pytest.approx(left + stakes)
    best = max(sums, key=sums.get)
    assert (bets.starts[best[1]], bets.gains[best[1]]) == (best[0], pytest.approx(sums[best]))


# -- alarms ------------------------------------------------------------------------------------------------------------


def test_few_false_alarms_at_any_look_with_ties_and_several_contexts():
    # At 10 % each: more than 20 of 100 have a probability of 0.001 where the rate is the level, and here it is lower.
    for name in ("many ties", "normal, spiky and category"):
        alarms = 0
        for seed in range(100):
            generator = bench.np.random.default_rng(seed)
            values = [draw(generator, 60) for draw in bench.STILL[name]]
            alarms += bool(shift_of(bench.space_of(values), bench.rows_of(values), seed, level=0.1).alarms)
        assert alarms <= 20, name


def test_a_later_look_keeps_the_alarms_of_an_earlier_one():
    values = demands(random.Random(5), (50, 5, 60), (60, 5, 40), (40, 5, 60))
    rows, before = trials(values), ()
    for known in range(20, 161, 20):
        alarms = shift_of(SPACE, rows[:known], 3).alarms
        assert [each.raised for each in alarms[: len(before)]] == [each.raised for each in before]
        before = alarms
    first, second = before
    assert (first.change, second.change) == ("higher", "lower") and first.context == second.context == "demand"
    assert abs(first.since - 60) <= 5 and abs(second.since - 100) <= 5 and 60 < first.raised < 100 < second.raised
    assert first.count == second.since - first.since and second.count == 160 - second.since
    assert shift_of(SPACE, rows, 3) == shift_of(SPACE, rows, 3)


@pytest.mark.parametrize(("before", "after", "change"), [(2, 8, "farther apart"), (8, 1, "closer together")])
def test_a_change_of_spread_is_told_from_one_of_size(before, after, change):
    values = demands(random.Random(7), (50, before, 100), (50, after, 100))
    (alarm,) = shift_of(SPACE, trials(values), 0).alarms
    assert alarm.change == change and abs(alarm.since - 100) <= 12


def test_choices_that_come_more_or_less_often():
    chance = random.Random(8)
    sky = [chance.choices(["dry", "wet"], [0.8, 0.2])[0] for _ in range(80)]
    sky += [chance.choices(["dry", "wet"], [0.1, 0.9])[0] for _ in range(60)]
    found = shift_of(SPACE, trials(demands(chance, (50, 5, 140)), sky), 0)
    (alarm,) = found.alarms
    assert alarm.context == "sky" and abs(alarm.since - 80) <= 8
    assert (alarm.choice, alarm.change) in {("wet", "more often"), ("dry", "less often")}
    assert f": {alarm.choice!r} comes {alarm.change}." in found.sentences[0]
    assert found.watched == {"demand": 140, "sky": 140}


def test_a_context_that_comes_round_is_elsewhere():
    space = ww.Space({"x": ww.Real(0, 1)}, {"wind": ww.Cyclic(360)})
    chance = random.Random(9)
    values = [chance.gauss(20 if turn < 60 else 200, 40) % 360 for turn in range(100)]
    rows = [Trial(i, {"x": 0.5}, context={"wind": value}, context_source="revealed") for i, value in enumerate(values)]
    found = shift_of(space, rows, 0)
    assert found.alarms[0].change == "elsewhere" and abs(found.alarms[0].since - 60) <= 3
    assert found.sentences[0].endswith(f"since about trial {found.alarms[0].since}.")


def test_what_was_given_chosen_or_is_known_from_the_time_is_not_watched():
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(), "day": ww.calendar("weekday")})
    values = demands(random.Random(1), (0, 1, 60), (5, 1, 60))

    def looked(**changes):
        rows = [
            Trial(i, {"x": 0.5}, **{"context": {"demand": v, "day": "Monday"}, "context_source": "revealed", **changes})
            for i, v in enumerate(values)
        ]
        return shift_of(space, rows, 0)

    assert looked().alarms and looked().watched == {"demand": 120}
    for out in (looked(context_planned={"demand": 1.0}), looked(context_source="chosen"), looked(context={})):
        assert not out.alarms and out.watched == {"demand": 0} and out.sentences[0].startswith("No context is watched")
    nothing = shift_of(ww.Space({"x": ww.Real(0, 1)}), [], 0)
    assert nothing.sentences == ("There is no context to watch.",)


def test_the_order_is_that_of_the_rounds():
    values = demands(random.Random(4), (0, 1, 60), (3, 1, 40))
    began = datetime(2026, 3, 1, tzinfo=UTC)
    rows = [
        Trial(i, {"order": 1.0}, context={"demand": v}, context_source="revealed", told_at=began + timedelta(days=day))
        for i, (day, v) in enumerate(reversed(list(enumerate(values))))
    ]
    (alarm,) = shift_of(SPACE, rows, 0).alarms
    assert alarm.change == "higher" and abs((99 - alarm.since) - 60) <= 5


def test_ties_are_broken_between_0_and_1_and_by_the_seed():
    found = [breaking_ties(seed, trial) for seed in range(20) for trial in range(100)]
    assert min(found) > 0.0 and max(found) < 1.0 and len(set(found)) == len(found)
    assert sum(found) / len(found) == pytest.approx(0.5, abs=0.03)
    values = [float(value) for value in random.Random(0).choices([0, 1], k=50)]
    assert shift_of(SPACE, trials(values), 1).wealth != shift_of(SPACE, trials(values), 2).wealth


# -- in words, and where it is shown -----------------------------------------------------------------------------------


def moved(journal=None):
    """A shop whose demand rises after sixty days."""
    space = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 120)})
    study = ww.Study(space, policy(), journal=journal, name="shop", seed=1)
    began = datetime(2026, 3, 1, tzinfo=UTC)
    values = demands(random.Random(11), (40, 5, 60), (60, 5, 12))
    study.add_many(
        [
            ww.Past({"order": 50.0}, min(50.0, v), context={"demand": v}, at=began + timedelta(days=i))
            for i, v in enumerate(values)
        ]
    )
    return study


def test_of_many_changes_the_latest_are_listed():
    values = [place + chance for place in range(0, 60, 3) for chance in (0.1, 0.3, 0.2) * 7]
    found = shift_of(SPACE, trials(values), 0)
    earlier = [said for said in found.sentences if said.startswith("An earlier change")]
    assert len(found.alarms) > 5 and len(earlier) == 3
    assert earlier[-1] == f"An earlier change of demand began about trial {found.alarms[-2].since}."
    left, first = len(found.alarms) - 4, found.alarms[0].since
    assert found.sentences[4] == f"Before these came {left} more, the first about trial {first}."
    five = shift_of(SPACE, trials(values[: found.alarms[4].raised + 1]), 0).sentences
    assert five[4] == f"Before these came one more, about trial {first}."


def test_an_alarm_in_words():
    study = moved()
    found = study.shift()
    (alarm,) = found.alarms
    assert (alarm.since, alarm.since_when) == (60, datetime(2026, 4, 30, tzinfo=UTC))
    said = "The last 12 values of demand are unlike the earlier ones, since about 30 April 2026 (trial 60): they are higher."
    assert found.sentences[0] == said and "at most 1 % of studies" in found.sentences[1]
    assert 'half_life="learnt"' in found.sentences[-1]
    forgetting = replace(study.policy, context_model=ww.KernelDensity(half_life=20))
    study.use(forgetting)
    assert study.shift().sentences[-1] == "Advice follows the newer ones by the half-life of the context model."
    assert study.shift() is study.shift() and study.shift(level=0.001).level == 0.001
    stricter = study.shift(level=1e-9)
    assert not stricter.alarms and "there is no alarm" in stricter.sentences[0]
    twice = shift_of(SPACE, trials(demands(random.Random(5), (50, 5, 60), (60, 5, 40), (40, 5, 60))), 3)
    assert twice.sentences[1] == f"An earlier change of demand began about trial {twice.alarms[0].since}."
    assert shift_of(SPACE, trials([1.0, 2.0]), 0).sentences == (
        "Changes of the contexts are looked for from the 10th on; 2 came so far.",
    )


@pytest.mark.parametrize("level", [0, 1, -0.1, math.nan, "1 %", None])
def test_a_level_is_a_probability(level):
    with pytest.raises(ww.ArgumentError, match=r"study\.shift\(level="):
        moved().shift(level=level)


def test_report_status_and_command_line_say_it(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/log.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    study = moved(url)
    said = study.shift().sentences[0]
    assert said in report_html(study)
    status = records.status(study)["shift"]
    assert status["alarms"][0]["since_when"] == "2026-04-30T00:00:00+00:00" and status["sentences"][0] == said
    json.dumps(status, allow_nan=False)
    shown = CliRunner().invoke(main, ["status", "shop"])
    assert said in shown.output, shown.output
    assert json.loads(CliRunner().invoke(main, ["status", "shop", "--json"]).output)["shift"]["alarms"]
    quiet = ww.Study(SPACE, policy())
    assert "unlike the earlier" not in report_html(quiet) and not records.status(quiet)["shift"]["alarms"]


# -- the benchmark -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*bench.STILL, *bench.CORRELATED])
def test_a_still_world_is_drawn(name):
    draws = {**bench.STILL, **bench.CORRELATED}[name]
    generator = bench.np.random.default_rng(0)
    found = bench.looked([draw(generator, 30) for draw in draws], 0)
    assert list(found.watched.values()) == [30] * len(draws)


def test_a_delay_counts_changed_contexts():
    delays = [bench.delay("two deviations", bench.CHANGES["two deviations"], 50, seed) for seed in range(5)]
    assert all(3 <= took <= 30 and off <= 5 for took, off in delays)
    took, share = bench.shown_delay("two deviations", bench.CHANGES["two deviations"], 50, 4)
    assert took.endswith("(100%)") and share.isdigit()
