"""The states of the web page, for docs/gallery.md: studies to show, what is done before a picture, and how it is taken.

A bakery orders loaves before it knows the demand and the weather, and learns its profit a day or two later. It is shown as it
begins, after two results and after forty; then a file of history with a mistake, a forecast, one trial in full, an error.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from look import small

import windward as ww

HERE = Path(__file__).parent
PICTURES = HERE / "page"
SPACE = ww.Space(
    {"loaves": ww.Integer(0, 140), "price": ww.Real(2.0, 4.0)},
    {"demand": ww.Real(0, None), "weather": ww.Categorical(["dry", "rain"])},
)
LINES = """Datum;Brote;price;demand;weather;profit
2026-05-01;60;3,20;58;dry;112,5
2026-05-02;72;3,20;viel;dry;96
2026-05-03;150;2,90;81;rain;74,2
"""


class State(NamedTuple):
    """A picture: of which study, how large, in which theme, and what was done before."""

    name: str
    study: str
    size: tuple[int, int] = (1100, 820)
    theme: str = "light"
    act: Callable[[Any], None] = lambda page: None
    wait: str = "#recommendation p"


def play(url: str, name: str, results: int, *, waiting: int = 0, forgotten: bool = False) -> None:
    """Write a study whose last result came an hour ago."""
    now = datetime.now(UTC) - timedelta(days=results + waiting + 1)
    chance = random.Random(3)
    study = ww.Study(
        SPACE, journal=url, name=name, clock=lambda: now, status_quo={"loaves": 60, "price": 3.0}, horizon=60
    )
    if forgotten:
        study.ask()
    due: list[tuple[datetime, int, float]] = []
    for day in range(results + waiting):
        now += timedelta(days=1)
        one = study.ask()
        weather = chance.choice(["dry", "dry", "rain"])
        demand = max(
            5.0, chance.gauss(110 if weather == "dry" else 75, 18) * (1.6 - 0.25 * float(one.decision["price"]))
        )
        sold = min(float(one.decision["loaves"]), demand)
        profit = round(float(one.decision["price"]) * sold - 1.1 * float(one.decision["loaves"]), 2)
        study.reveal(one.id, {"demand": round(demand), "weather": weather})
        if day < results:
            due.append((now + timedelta(hours=chance.choice([10, 20, 44])), one.id, profit))
        if day == 20:
            study.note(one.id, "The street was closed from noon on.", tags=["roadworks"])
        for _, id, value in [each for each in due if each[0] <= now]:
            study.tell(id, value)
        due = [each for each in due if each[0] > now]
    now = datetime.now(UTC) - timedelta(hours=1)
    for _, id, value in due:
        study.tell(id, value)


def _unfold(selector: str) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        page.click(f"{selector} > summary")
        page.evaluate(f"document.querySelector('{selector}').scrollIntoView()")

    return act


def _history(page: Any) -> None:
    _unfold("#history")(page)
    page.fill("#history-text", LINES)
    page.click("text=Show what is understood")
    page.wait_for_selector("#column-1")
    page.select_option("#column-1", label="decision: loaves")
    page.wait_for_timeout(400)
    page.select_option("#column-5", label="the value")
    page.wait_for_selector("#history-answer .problems")
    page.evaluate("document.querySelector('#history-answer').scrollIntoView()")


def _forecast(page: Any) -> None:
    _unfold("#coming")(page)
    page.select_option("#ask-0-kind", "quantiles")
    for place, demand in enumerate(("80", "105", "130")):
        page.fill(f"#ask-0-quantile-{place}", demand)
    page.select_option("#ask-1-kind", "chances")
    page.fill("#ask-1-chance-0", "70")
    page.fill("#ask-1-chance-1", "30")


def _trial(page: Any) -> None:
    page.fill("#trials-text", "road")
    page.wait_for_selector("#all-trials >> text=1 trial")
    page.click("#trials tbody button")
    page.wait_for_selector("#trial-detail >> text=Correct it")


def _figures(page: Any) -> None:
    page.wait_for_selector("#figure-delays .js-plotly-plot", timeout=120_000)
    page.evaluate("document.querySelector('.figures').scrollIntoView()")


def _table(page: Any) -> None:
    page.wait_for_selector("#figure-delays .js-plotly-plot", timeout=120_000)  # what stands above it has its height
    page.evaluate("document.querySelector('#all-trials').scrollIntoView()")


def _wrong(page: Any) -> None:
    card = page.locator(".card[open]").first
    card.locator("[id$=-value]").fill("viel")
    card.locator("button[type=submit]").click()
    page.wait_for_selector("#say:not(:empty)")
    card.scroll_into_view_if_needed()


def _what_if(page: Any) -> None:
    _unfold("#what-if")(page)
    page.focus("#what-if-0")
    page.keyboard.press("End")
    page.wait_for_selector("#what-if tbody tr >> nth=2", timeout=120_000)


PHONE = (390, 844)
STATES = (
    State("empty", "new"),
    State("two-results", "two"),
    State("forty-results", "bakery", (1100, 1000)),
    State("what-if", "bakery", act=_what_if),
    State("forecast", "bakery", act=_forecast),
    State("overdue", "late", (1100, 1000)),
    State("error", "late", act=_wrong),
    State("trials", "bakery", (1100, 700), act=_table),
    State("trial", "bakery", (1100, 900), act=_trial),
    State("history", "bakery", (1100, 1000), act=_history),
    State("figures", "bakery", (1100, 900), act=_figures),
    State("dark", "bakery", (1100, 1000), "dark"),
    State("phone", "bakery", PHONE),
    State("phone-dark", "late", PHONE, "dark"),
    State("phone-figures", "bakery", PHONE, act=_figures),
    State("phone-trial", "bakery", PHONE, act=_trial),
)


def prepare(url: str) -> None:
    """Write the studies that the pictures show."""
    ww.Study(SPACE, journal=url, name="new", status_quo={"loaves": 60, "price": 3.0})
    play(url, "two", 2, waiting=1)
    play(url, "bakery", 40, waiting=2)
    play(url, "late", 12, waiting=3, forgotten=True)


def shoot(address: str, token: str, names: tuple[str, ...] = ()) -> None:
    """Draw the states, or those named, from a service that runs."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for state in STATES:
            if names and state.name not in names:
                continue
            phone = state.size[0] < 600
            context = browser.new_context(
                viewport={"width": state.size[0], "height": state.size[1]},
                color_scheme=state.theme,
                is_mobile=phone,
                has_touch=phone,
            )
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.goto(f"{address}/#token={token}")
            page.wait_for_selector("text=New study")
            page.goto(f"{address}/#/study/{state.study}")
            page.wait_for_selector(state.wait)
            page.wait_for_selector("#recommendation:not(.stale)")
            state.act(page)
            page.wait_for_timeout(700)
            target = PICTURES / f"{state.name}.png"
            page.screenshot(path=target)
            small(target, 256 if "figures" in state.name else 128)
            context.close()
        browser.close()
