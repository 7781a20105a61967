"""The studies behind the pictures of the documentation: small worlds, played with the default policy unless it says so."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import windward as ww

FIRST = datetime(2026, 3, 2, 8, tzinfo=UTC)  # a Monday


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = FIRST

    def __call__(self) -> datetime:
        return self.now


def kiosk() -> ww.Study:
    """One decision, one context: how many papers to order before the day's customers are known."""
    space = ww.Space({"order": ww.Real(0, 100, step=2, unit="papers")}, {"customers": ww.Real(0, None)})
    clock, chance = Clock(), random.Random(3)
    profit = {"profit": ww.Maximize(unit="EUR")}
    study = ww.Study(space, name="kiosk", outcomes=profit, status_quo={"order": 56}, clock=clock)

    def day(suggestion: ww.Suggestion) -> ww.Result:
        clock.now += timedelta(hours=24 + chance.choice([-1, 0, 1]))
        order, came = float(suggestion.decision["order"]), chance.gammavariate(9.0, 4.0)
        return ww.Result(4 * min(order, came) - 1.5 * order + chance.gauss(0, 4), context={"customers": came})

    study.run(day, 30, progress=False)
    return study


def campaign() -> ww.Study:
    """Choices: an advertisement's channel and offer, before device and weekday of the visitors are known."""
    space = ww.Space(
        {
            "channel": ww.Categorical(["mail", "search", "video"]),
            "offer": ww.Categorical(["none", "shipping", "ten percent"]),
        },
        {"device": ww.Categorical(["phone", "desktop", "tablet"]), "weekday": ww.calendar("weekday")},
    )
    clock, chance = Clock(), random.Random(5)
    quo, takings = {"channel": "mail", "offer": "none"}, {"takings": ww.Maximize(unit="EUR")}
    study = ww.Study(space, name="campaign", outcomes=takings, clock=clock, status_quo=quo)
    channels = {"mail": (9.0, 2.0), "search": (12.0, 12.5), "video": (14.0, 7.0)}  # on a phone, elsewhere
    offers = {"none": 0.0, "shipping": 2.5, "ten percent": 1.0}

    def visitors(suggestion: ww.Suggestion) -> ww.Result:
        clock.now += timedelta(hours=24 + chance.choice([-3, 0, 3]))
        device = chance.choices(["phone", "desktop", "tablet"], [6, 3, 1])[0]
        phone, other = channels[str(suggestion.decision["channel"])]
        weekend = 4.0 if clock.now.weekday() >= 5 else 0.0
        takings = (phone if device == "phone" else other) + offers[str(suggestion.decision["offer"])] + weekend
        return ww.Result(takings + chance.gauss(0, 1.5), context={"device": device})

    study.run(visitors, 42, progress=False)
    return study


def greenhouse() -> ww.Study:
    """Several decisions, the least cost: heating, lamps and fertilizer before sun and frost of the week are known."""
    space = ww.Space(
        {
            "heating": ww.Real(12, 24, step=0.5, unit="°C"),
            "lamps": ww.Integer(0, 12),
            "fertilizer": ww.Real(0.1, 10, log=True, unit="g/l"),
        },
        {"sun": ww.Real(0, None, unit="hours"), "frost": ww.Real(unit="°C")},
        constraints=[ww.Linear({"heating": 1, "lamps": 1}, upper=32)],
    )
    now = {"heating": 20, "lamps": 6, "fertilizer": 1.0}
    clock, chance = Clock(), random.Random(7)
    cost = {"cost": ww.Minimize(unit="EUR")}
    study = ww.Study(space, name="greenhouse", outcomes=cost, status_quo=now, clock=clock)

    def week(suggestion: ww.Suggestion) -> ww.Result:
        clock.now += timedelta(days=7)
        sun, frost = chance.gammavariate(5, 6), chance.gauss(-2, 4)
        plan = suggestion.decision
        energy = 3.0 * max(0.0, float(plan["heating"]) - 10 - frost / 2) + 4.0 * float(plan["lamps"])
        growth = 14 * (float(plan["fertilizer"]) / (0.8 + float(plan["fertilizer"]))) - 0.9 * float(plan["fertilizer"])
        lost = 0.9 * (float(plan["heating"]) - 19) ** 2 + 0.05 * max(0.0, 45 - sun - 4 * float(plan["lamps"])) ** 2
        return ww.Result(60 + energy + lost - 3 * growth + chance.gauss(0, 3), context={"sun": sun, "frost": frost})

    study.run(week, 40, progress=False)
    return study


def reminders() -> ww.Study:
    """Late answers, some never: a firm's discount in a reminder, where silence counts as no after ten days."""
    space = ww.Space({"discount": ww.Real(0, 20, step=1, unit="EUR")}, {"loyalty": ww.Real(0, 1)})
    policy = replace(
        ww.auto(),
        feedback=ww.Censor(worst=0.0, patience=timedelta(days=10)),
        belief=ww.UpperConfidence(ww.delayed_width()),
    )
    clock, chance = Clock(), random.Random(11)
    study = ww.Study(space, policy, name="reminders", outcomes={"takings": ww.Maximize(unit="EUR")}, clock=clock)
    due: list[tuple[datetime, int, float]] = []
    for turn in range(80):
        clock.now += timedelta(hours=16)
        for _, id, value in [each for each in due if each[0] <= clock.now]:
            study.tell(id, value)
        for silent in study.pending(older_than=timedelta(days=10)):
            study.tell(silent.id, 0.0)
        due = [each for each in due if each[0] > clock.now]
        loyalty = chance.random()
        asked = study.ask(context={"loyalty": loyalty})
        discount = float(asked.decision["discount"])
        if turn in (13, 31):
            study.lose(asked.id, "the address was wrong")
        interest = min(1.0, 0.25 + 0.7 * loyalty + 0.06 * discount * (1 - loyalty))
        if turn not in (13, 31) and chance.random() < 0.5 + 0.5 * interest:
            value = (30 - discount) * interest + chance.gauss(0, 1)
            due.append((clock.now + timedelta(days=min(9.0, chance.expovariate(0.4))), asked.id, value))
    return study


def series() -> ww.Study:
    """A series that moves, a calendar and a forecast; its decision is guarded with 90 % confidence."""
    space = ww.Space({"loaves": ww.Integer(0, 140)}, {"demand": ww.Real(0, None), "weekday": ww.calendar("weekday")})
    policy = replace(
        ww.auto(ww.Robust(ww.TotalVariation(), ww.Confidence(0.9))),
        context_model=ww.KernelDensity(64, elsewhere=64, half_life="learnt"),
        surrogate=ww.GaussianProcess(drift="learnt"),
    )
    clock, chance = Clock(), random.Random(13)
    study = ww.Study(space, policy, name="series", outcomes={"profit": ww.Maximize(unit="EUR")}, clock=clock)
    for day in range(42):
        clock.now = FIRST + timedelta(days=day)
        mean = 75 + (-6, -8, -4, 0, 8, 20, -10)[clock.now.weekday()] - (25 if day >= 24 else 0)
        said = ww.Forecast(samples=[mean + chance.gauss(8, 6) for _ in range(20)])
        asked = study.ask(when=clock.now, context={"demand": said})
        came = max(0.0, chance.gauss(mean, 7))
        loaves = float(asked.decision["loaves"])
        clock.now += timedelta(hours=chance.choice([12, 13, 20]))
        study.tell(asked.id, 4 * min(loaves, came) - 1.5 * loaves + chance.gauss(0, 3), context={"demand": came})
    return study


def bakery(*, late: bool = False) -> ww.Study:
    """The bakery of docs/questions.md; with `late` it knows when, some results are on their way and one is lost."""
    space = ww.Space(
        {"loaves": ww.Integer(20, 120), "price": ww.Real(2.0, 4.0)},
        {"weather": ww.Categorical(["dry", "rain"]), "passers": ww.Real(0, 400)},
    )
    clock, chance, waits = Clock(), random.Random(2), random.Random(4)
    quo = {"loaves": 60, "price": 3.0}
    study = ww.Study(space, name="bakery", seed=0, status_quo=quo, clock=clock)

    def sold(suggestion: ww.Suggestion) -> ww.Result:
        clock.now += timedelta(hours=waits.choice([6, 6, 8, 20, 30]))
        weather, passers = chance.choice(["dry", "dry", "rain"]), chance.uniform(100, 300)
        loaves, price = float(suggestion.decision["loaves"]), float(suggestion.decision["price"])
        wanted = passers * (0.5 if weather == "dry" else 0.25) * (1.7 - 0.3 * price)
        return ww.Result(price * min(loaves, wanted) - 1.2 * loaves, context={"weather": weather, "passers": passers})

    study.run(sold, 30, progress=False)
    if late:
        lost = study.ask()
        for _ in range(3):
            clock.now += timedelta(hours=14)
            study.ask()
        study.lose(lost.id, "the till was broken")
        clock.now += timedelta(hours=5)
    return study


def mistaken() -> ww.Study:
    """The kiosk of docs/trust.md: a history in which one result was typed wrongly."""
    space = ww.Space({"price": ww.Real(2, 6)}, {"footfall": ww.Real(0, 400)})
    study, chance = ww.Study(space, ww.papers.sbo_kde()), random.Random(4)
    for day in range(45):
        price, footfall = round(chance.uniform(2, 6), 1), chance.gauss(180, 60)
        profit = footfall * max(0.05, 1.2 - 0.18 * price) * (price - 1.5) + chance.gauss(0, 12)
        study.add({"price": price}, profit * (3 if day == 17 else 1), context={"footfall": footfall})
    return study
