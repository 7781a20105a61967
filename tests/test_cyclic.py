"""Contexts that come round: the seam between the last value and the first is no place like any other."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import torch

import windward as ww
from windward.contexts.circle import log_wrapped_normal, on_circle, phases_of
from windward.contexts.density import bandwidths, conditional_weights
from windward.space.cyclic import around, phases, sectioned
from windward.surrogate.kernel import kernel_value, squared_distances
from windward.testing import check_context_model
from windward.trials.records import Trial
from windward.trials.trials import Trials

HOUR = ww.Space({"x": ww.Real(0, 1)}, {"hour": ww.Cyclic(24)})
PLAIN = ww.Space({"x": ww.Real(0, 1)}, {"hour": ww.Real(0, 24)})
MIXED = ww.Space(
    {"x": ww.Real(0, 1)},
    {
        "hour": ww.Cyclic(24),
        "shift": ww.Cyclic(3, whole=True),
        "day": ww.calendar("weekday"),
        "load": ww.Real(),
        "sky": ww.Categorical(["sun", "rain"]),
    },
)
BOUNDED = ww.Space(
    {"x": ww.Real(0, 1)}, {"hour": ww.Cyclic(24), "day": ww.Cyclic(7, whole=True), "load": ww.Real(0, 9)}
)


def seen(space, values):
    rows = [Trial(i, {"x": 0.5}, context=row, context_source="revealed", value=0.0) for i, row in enumerate(values)]
    return Trials(space, tuple(rows))


def hours(space, values):
    return seen(space, [{"hour": float(value)} for value in values])


def density(space, trials, at):
    """The density estimate at values, up to a constant, by the weights that a given value has with the seen ones."""
    rows, width = trials.seen_contexts, float(bandwidths(space, trials.seen_contexts)[0])
    found = []
    for value in at:
        point = space.encode_contexts([{"hour": value}])[0]
        if space.circles:
            found.append(float(log_wrapped_normal(24.0, rows, point, width).exp().mean()))
        else:
            found.append(float((-0.5 * ((rows - point) / width).square()).exp().mean()))
    return np.array(found)


# -- one parameter ---------------------------------------------------------------------------------------------------


def test_a_value_counts_by_what_is_left_after_whole_periods():
    for typed, want in ((0, 0.0), (24, 0.0), (-1, 23.0), (49.5, 1.5), (-1e-30, 0.0)):
        assert HOUR.check_context("test", {"hour": typed}) == {"hour": want}
    days = ww.Cyclic(7, whole=True)
    assert [days.accepted("day", n, strict=False) for n in (7, -1, 13)] == [0, 6, 6]
    with pytest.raises(ww.SpaceError, match=r"^day must be a whole number, got 0\.5\.$"):
        days.accepted("day", 0.5, strict=False)


def test_what_goes_to_the_circle_comes_back_as_it_was():
    for parameter in (ww.Cyclic(24), ww.Cyclic(1e-6), ww.Cyclic(1e9)):
        for share in (0.0, 0.125, 0.3, 0.5, 0.999):
            value = parameter.accepted("it", round(share * parameter.period, 14), strict=False)
            assert parameter.from_own(parameter.to_own([value])[0]) == pytest.approx(value, rel=1e-10)
    assert ww.Cyclic(24).from_own(ww.Cyclic(24).to_own([3.0])[0]) == 3.0  # not 2.9999999999999996


def test_short_ways_are_measured_in_the_context_s_own_units_and_long_ones_by_the_chord():
    points = around(24.0, np.array([0.0, 0.1, 23.9, 12.0, 6.0]))
    apart = np.linalg.norm(points - points[0], axis=1)
    assert apart[1:3] == pytest.approx([0.1, 0.1], rel=1e-4)
    assert apart[3] == pytest.approx(24.0 / math.pi) and apart[4] == pytest.approx(24.0 / math.pi / math.sqrt(2.0))
    assert HOUR.roles.c_scales == pytest.approx((24.0 / math.pi,) * 2)  # the largest distance is one unit


def test_circles_in_numpy_and_in_torch_agree():
    values = np.linspace(-30.0, 60.0, 101)
    points = torch.from_numpy(around(24.0, values))
    assert torch.allclose(points, on_circle(24.0, torch.from_numpy(values)), atol=1e-14)
    assert phases_of(24.0, points).numpy() == pytest.approx(phases(24.0, points.numpy()), abs=1e-12)


def test_only_a_context_comes_round():
    with pytest.raises(ww.SpaceError, match=r"what comes round can only be a context"):
        ww.Space({"hour": ww.Cyclic(24)})
    with pytest.raises(ww.SpaceError, match=r"a Categorical, a Cyclic or a calendar\.$"):
        ww.Space({"x": ww.Real(0, 1)}, {"hour": 24})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: ww.Cyclic(0), r"^Cyclic\(period=0\): period must lie between 1e-100 and 1e\+100\.$"),
        (lambda: ww.Cyclic("day"), r"^Cyclic\(period='day'\): period must be a number, got 'day'\.$"),
        (lambda: ww.Cyclic(7.5, whole=True), r"with whole=True period must be a whole number >= 2\.$"),
        (lambda: ww.Cyclic(7, whole=1), r"^Cyclic\(whole=1\): whole must be True or False\.$"),
        (
            lambda: ww.calendar("week_day"),
            r"^Calendar\(cycle='week_day'\): no such cycle \(did you mean 'weekday'\?\);",
        ),
        (lambda: ww.calendar("weekday", "Mars"), r"^Calendar\(zone='Mars'\): 'Mars' is no time zone of this machine;"),
    ],
)
def test_wrong_circles(wrong, said):
    with pytest.raises(ww.SpaceError, match=said):
        wrong()


def test_sections_for_whoever_shows_a_circle():
    assert sectioned(ww.Cyclic(24), 24.0, [23.9, 0.1, 12])[1] == [5, 0, 3]
    assert sectioned(ww.Cyclic(3, whole=True), 3.0, [2, 0]) == ([0, 1, 2], [2, 0])
    labels, places = sectioned(ww.calendar("weekday"), 7.0, ["Sunday", "Monday"])
    assert labels[0] == "Monday" and places == [6, 0]


# -- the calendar ----------------------------------------------------------------------------------------------------


def test_a_calendar_reads_the_clocks_of_its_zone():
    late = datetime(2026, 5, 1, 22, 30, tzinfo=UTC)  # Saturday, half past midnight, in Berlin
    assert ww.calendar("weekday").at(late) == "Friday"
    assert ww.calendar("weekday", "Europe/Berlin").at(late) == "Saturday"
    assert ww.calendar("time_of_day").at(late) == 22.5
    assert ww.calendar("time_of_day", "Europe/Berlin").at(late) == 0.5
    assert ww.calendar("time_of_day", "Europe/Berlin").at(late.astimezone(ZoneInfo("Asia/Tokyo"))) == 0.5


def test_the_year_begins_again_on_new_year_in_leap_years_too():
    year = ww.calendar("time_of_year")
    assert year.at(datetime(2026, 1, 1, tzinfo=UTC)) == 0.0
    for last in (2024, 2026):
        end = year.at(datetime(last, 12, 31, 23, 59, tzinfo=UTC))
        assert 365.2 < end < 365.25
    assert year.at(datetime(2026, 7, 2, 12, tzinfo=UTC)) == pytest.approx(365.25 / 2)


def test_a_weekday_is_typed_by_its_name():
    day = ww.calendar("weekday")
    assert [day.accepted("day", day.read("day", text), strict=False) for text in ("Friday", "fri", " SUNDAY ")] == [
        *("Friday", "Friday", "Sunday")
    ]
    for wrong in ("Fr", "Someday", 3, None):
        with pytest.raises(ww.SpaceError, match=r"^day must be one of Monday, Tuesday, .*, got "):
            day.accepted("day", wrong, strict=False)


# -- the kernel and the density --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["squared_exponential", "matern52"])
def test_a_whole_period_changes_no_kernel_value(name):
    values = torch.linspace(0.0, 24.0, 13, dtype=torch.float64)
    points = HOUR.encode_contexts([{"hour": float(v)} for v in values])
    for turns in (24.0, -48.0):
        moved = HOUR.encode_contexts([HOUR.check_context("test", {"hour": float(v) + turns}) for v in values])
        kernels = [kernel_value(name, squared_distances(points, other) / 9.0) for other in (points, moved)]
        assert torch.allclose(*kernels, atol=1e-12)
    # A shift of both by the same hours changes none either: no hour is special.
    shifted = HOUR.encode_contexts([{"hour": (float(v) + 5.3) % 24} for v in values])
    assert torch.allclose(
        kernel_value(name, squared_distances(points, points) / 9.0),
        kernel_value(name, squared_distances(shifted, shifted) / 9.0),
        atol=1e-12,
    )


def test_the_density_is_continuous_at_the_seam():
    late = (*np.linspace(22.0, 23.9, 12), *np.linspace(0.1, 1.0, 6))
    ends = (23.999, 0.001)
    on_a_circle = density(HOUR, hours(HOUR, late), ends)
    assert on_a_circle[0] == pytest.approx(on_a_circle[1], rel=1e-2)
    on_a_line = density(PLAIN, hours(PLAIN, late), ends)  # the test can fail: a plain number has a jump there
    assert abs(on_a_line[0] - on_a_line[1]) > 0.2 * on_a_line.max()


def test_a_seen_value_across_the_seam_weighs_as_much_as_one_on_this_side():
    for space, alike in ((HOUR, True), (PLAIN, False)):
        trials = hours(space, [23.5, 0.5, 8.0, 16.0, 12.0])
        given = space.encode_given({"hour": 0.0})
        weights = conditional_weights(space, trials.seen_contexts, given)
        assert (weights[0] == pytest.approx(float(weights[1]), rel=1e-9)) == alike


def test_the_density_s_points_are_those_of_the_wrapped_estimate():
    trials, (space,) = hours(HOUR, (22.0, 23.0, 23.5, 0.2, 1.0, 2.5)), (HOUR,)
    model = ww.KernelDensity(512)
    contexts = model(space, trials, space.encode_given(None), torch.Generator().manual_seed(0))
    drawn = np.sort(phases_of(24.0, contexts.points).numpy())
    width = float(bandwidths(space, trials.seen_contexts)[0])
    grid = np.linspace(0.0, 24.0, 4801)
    height = np.zeros_like(grid)
    for centre in (22.0, 23.0, 23.5, 0.2, 1.0, 2.5):
        for turn in (-24.0, 0.0, 24.0):
            height += np.exp(-0.5 * ((grid - centre - turn) / width) ** 2)
    below = np.cumsum(height) / height.sum()
    share = np.searchsorted(drawn, grid) / 512
    assert np.abs(share - below).max() < 0.01
    assert (drawn > 21.0).mean() > 0.3 and (drawn < 4.0).mean() > 0.3  # both sides of the seam


def test_a_deviation_is_that_of_numbers_while_they_are_near_each_other():
    near = [0.5, 23.8, 0.1, 23.2, 1.0]
    moved = [(value + 12.0) % 24 for value in near]
    width = float(bandwidths(HOUR, hours(HOUR, near).seen_contexts)[0])
    assert width == pytest.approx(float(bandwidths(PLAIN, hours(PLAIN, moved).seen_contexts)[0]), rel=0.01)
    assert float(bandwidths(PLAIN, hours(PLAIN, near).seen_contexts)[0]) > 5 * width


@pytest.mark.parametrize(
    "model", [ww.KernelDensity(32), ww.KernelDensity(16, elsewhere=5), ww.Empirical(elsewhere=4), ww.Box(1.0, 32)]
)
@pytest.mark.parametrize("space", [HOUR, MIXED])
def test_the_laws_of_context_models_on_circles(model, space):
    check_context_model(model, space)


def test_a_grid_and_known_points_on_circles():
    check_context_model(ww.Grid(40), BOUNDED)
    points = ww.Grid(8).points(HOUR)
    assert phases_of(24.0, points).tolist() == pytest.approx([0, 3, 6, 9, 12, 15, 18, 21])  # 24 is 0
    known = ww.Known(distributions={"hour": ww.Distribution("norm", {"loc": 24.0, "scale": 1.0})}, count=64)
    made = known(HOUR, Trials(HOUR), HOUR.encode_given(None), torch.Generator().manual_seed(0))
    late = phases_of(24.0, made.points)
    assert bool(((late > 20.0) | (late < 4.0)).all()) and bool((late > 12.0).any()) and bool((late < 12.0).any())
    listed = ww.Known({"hour": [23.0, 25.0]})(HOUR, Trials(HOUR), HOUR.encode_given(None), torch.Generator())
    assert [HOUR.decode_context(point)["hour"] for point in listed.points] == [23.0, 1.0]


def test_a_box_lies_around_the_mean_direction():
    made = ww.Box(1.0, 64)(HOUR, hours(HOUR, [23.0, 1.0]), HOUR.encode_given(None), torch.Generator().manual_seed(0))
    spot = (phases_of(24.0, made.points) + 12.0) % 24.0 - 12.0
    assert float(spot.abs().max()) <= math.sqrt(2.0) + 1e-9  # the deviation of -1 and 1


# -- a study ---------------------------------------------------------------------------------------------------------


def test_a_study_learns_across_the_seam():
    """The best x is near 0.8 around midnight and 0.2 around noon; told of both sides of midnight, it knows midnight."""

    def value(x, hour):
        return -((x - 0.5 - 0.3 * math.cos(2 * math.pi * hour / 24.0)) ** 2)

    gaps = {}
    for space in (HOUR, PLAIN):
        study = ww.Study(space, ww.papers.sbo_kde(samples=16), seed=0)
        for place in range(24):
            x, hour = (0.37 * place) % 1.0, 1.5 + (place * 5.3) % 20.0  # nothing between 21.5 and 1.5
            study.add({"x": x}, value(x, hour), context={"hour": hour})
        gaps[space] = abs(study.recommend(context={"hour": 0.0}).decision["x"] - 0.8)
    assert gaps[HOUR] < 0.1


def test_reports_show_a_circle_in_sections():
    space = ww.Space({"x": ww.Real(0, 1)}, {"hour": ww.Cyclic(24), "day": ww.Cyclic(7, whole=True)})
    policy = ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(ww.TotalVariation(), 0.6), design=ww.Sobol(2))
    study = ww.Study(space, policy, seed=1)
    for place in range(14):
        context = {"hour": 3.0 * place, "day": place}
        study.add({"x": place / 14}, -((place / 14 - 0.5) ** 2) - (place % 7 == 6), context=context)
    found = study.recommend()
    assert found.adversary
    from windward.present.sentences import advice

    assert any("day = 6 more often than expected" in line for line in advice(study, found))
    drawn = ww.plots.contexts(study)
    assert list(drawn.data[0].x) == ["0 to 4", "4 to 8", "8 to 12", "12 to 16", "16 to 20", "20 to 24"]
    assert study.check().sentences


def test_a_cyclic_context_in_a_declaration_is_written_like_any_part(tmp_path):
    from windward.study.declare import declared_in_file

    file = tmp_path / "shop.toml"
    file.write_text(
        'name = "shop"\n[decision.order]\npart = "Real"\nlow = 0\nhigh = 9\n[context.hour]\npart = "Cyclic"\nperiod = 24\n'
        '[context.day]\npart = "Calendar"\ncycle = "weekday"\nzone = "Europe/Berlin"\n'
    )
    found = declared_in_file(file).space
    assert dict(found.context) == {"hour": ww.Cyclic(24), "day": ww.calendar("weekday", "Europe/Berlin")}
    file.write_text('name = "shop"\n[decision.hour]\npart = "Cyclic"\nperiod = 24\n')
    with pytest.raises(ww.SpaceError, match=r"what comes round can only be a context"):
        declared_in_file(file)


def test_a_study_with_circles_replays():
    study = ww.Study(MIXED, ww.papers.sbo_kde(samples=16), seed=3)
    rows = [{"hour": 23.0 + place, "shift": place, "load": 0.1 * place, "sky": "sun"} for place in range(14)]
    for row in rows:
        found = study.ask()
        study.tell(found.id, -((found.decision["x"] - 0.4) ** 2), context=row)
    assert study.replay(13) == found
    assert study.trials[2].context["hour"] == 1.0
