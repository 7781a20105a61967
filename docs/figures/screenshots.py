"""Draw the figures, the report and the page for the docs, by `python docs/figures/screenshots.py`.

A shop orders, sees the demand, and learns the profit one to six days later; one result is lost. The pictures are taken in
the distribution's Chromium, without a network.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import torch

import windward as ww
from windward import plots
from windward.present.report import write_report

HERE = Path(__file__).parent
TOKEN = "token-for-the-screenshots"
DAYS = 36


class Calendar:
    """A clock that starts so that the last day is yesterday."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) - timedelta(days=DAYS + 1)

    def __call__(self) -> datetime:
        return self.now


def play(url: str) -> ww.Study:
    calendar, chance = Calendar(), random.Random(3)
    space = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 100)})
    study = ww.Study(space, ww.papers.drbo_kde(), journal=url, name="shop", clock=calendar)
    due: list[tuple[int, int, float]] = []
    for day in range(DAYS):
        calendar.now += timedelta(days=1)
        for _, id, value in [each for each in due if each[0] <= day]:
            study.tell(id, value)
        due = [each for each in due if each[0] > day]
        suggestion = study.ask()
        order, demand = float(suggestion.decision["order"]), 100 * chance.betavariate(2, 6)
        study.reveal(suggestion.id, {"demand": demand})
        if day == 11:
            study.lose(suggestion.id, "the till was broken")
        else:
            profit = 9 * min(order, demand) + max(0.0, order - demand) - 5 * order
            due.append((day + 1 + chance.choice([0, 1, 1, 2, 5]), suggestion.id, profit))
    return study


def serve(url: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "windward", "serve", "--port", "0", "--journal", url, "--json"]
    environment = {**os.environ, "WINDWARD_ADMIN_TOKEN": TOKEN}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    said = ""
    while not said.rstrip().endswith("}"):
        said += process.stdout.readline()  # type: ignore[union-attr]
    return process, json.loads(said)["url"]


def shoot(address: str, report: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, size, scheme in (("desktop", (1280, 1500), "light"), ("phone", (390, 1400), "dark")):
            page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
            for _ in range(100):
                try:
                    page.goto(f"{address}/#token={TOKEN}")
                    break
                except Exception:
                    time.sleep(0.2)
            page.wait_for_selector("text=New study")
            page.goto(f"{address}/#/study/shop")
            page.wait_for_selector("#figure-delays .js-plotly-plot", timeout=120_000)
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / f"page-{name}.png")
            page.evaluate("document.querySelector('#figure-landscape').scrollIntoView()")
            page.wait_for_timeout(300)
            page.screenshot(path=HERE / f"page-{name}-figures.png")
            page.close()
        page = browser.new_page(viewport={"width": 1000, "height": 1500})
        page.goto(f"file://{report}")
        page.wait_for_selector("#figure-delays.js-plotly-plot")
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "report.png")
        browser.close()


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        url, report = f"sqlite:///{folder}/shop.db", Path(folder) / "report.html"
        study = play(url)
        own = {"price": cautious, "check": mistaken, **dict.fromkeys(("by_context", "importance", "effects"), bakery)}
        for name, draw in plots.FIGURES.items():
            shown = own.get(name, lambda: study)()
            made = draw(shown)
            plots.png(made, HERE / f"plot-{name}.png", width=900, height=made.layout.height + 20, scale=1)
        plots.png(two_decisions(), HERE / "plot-landscape-two.png", width=900, height=440, scale=1)
        by_day = plots.landscape(bakery(), "loaves", "passers")
        plots.png(by_day, HERE / "plot-landscape-context.png", width=900, height=440, scale=1)
        write_report(study, report)
        process, address = serve(url)
        try:
            shoot(address, report)
        finally:
            process.terminate()
            process.wait(60)
    print(f"drawn into {HERE}")


def cautious() -> ww.Study:
    """Return the shop with a large radius, so that the cautious order is another than the best one without drift."""
    space = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 100)})
    policy = ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(ww.TotalVariation(), radius=0.6))
    study, chance = ww.Study(space, policy), random.Random(3)

    def day(suggestion: ww.Suggestion) -> ww.Result:
        order, demand = float(suggestion.decision["order"]), 100 * chance.betavariate(2, 6)
        profit = 9 * min(order, demand) + max(0.0, order - demand) - 5 * order
        return ww.Result(profit, context={"demand": demand})

    study.run(day, DAYS, progress=False)
    return study


def mistaken() -> ww.Study:
    """Return a kiosk's history in which one result was typed wrongly."""
    space = ww.Space({"price": ww.Real(2, 6)}, {"footfall": ww.Real(0, 400)})
    study, chance = ww.Study(space, ww.papers.sbo_kde()), random.Random(4)
    for day in range(45):
        price, footfall = round(chance.uniform(2, 6), 1), chance.gauss(180, 60)
        profit = footfall * max(0.05, 1.2 - 0.18 * price) * (price - 1.5) + chance.gauss(0, 12)
        study.add({"price": price}, profit * (3 if day == 17 else 1), context={"footfall": footfall})
    return study


def bakery() -> ww.Study:
    """Return a bakery whose days differ: it chooses loaves and a price before it knows weather and passers-by."""
    space = ww.Space(
        {"loaves": ww.Integer(20, 120), "price": ww.Real(2.0, 4.0)},
        {"weather": ww.Categorical(["dry", "rain"]), "passers": ww.Real(0, 400)},
    )
    study, chance = ww.Study(space, seed=0, status_quo={"loaves": 60, "price": 3.0}), random.Random(2)

    def day(suggestion: ww.Suggestion) -> ww.Result:
        weather, passers = chance.choice(["dry", "dry", "rain"]), chance.uniform(100, 300)
        loaves, price = float(suggestion.decision["loaves"]), float(suggestion.decision["price"])
        wanted = passers * (0.5 if weather == "dry" else 0.25) * (1.7 - 0.3 * price)
        return ww.Result(price * min(loaves, wanted) - 1.2 * loaves, context={"weather": weather, "passers": passers})

    study.run(day, 30, progress=False)
    return study


def two_decisions() -> object:
    """Return the landscape of two decisions: a crop's nitrogen and sowing depth, before the season's rain is known."""
    space = ww.Space({"nitrogen": ww.Real(0, 200), "depth": ww.Integer(10, 60)}, {"rain": ww.Real(0, None)})
    policy = ww.Policy(context_model=ww.KernelDensity(), objective=ww.Robust(ww.TotalVariation(), radius=0.4))
    study, chance = ww.Study(space, policy), random.Random(1)

    def season(suggestion: ww.Suggestion) -> ww.Result:
        rain, plan = chance.gammavariate(4, 30), suggestion.decision
        loss = ((plan["nitrogen"] - rain) / 60) ** 2 + ((plan["depth"] - 30) / 20) ** 2
        return ww.Result(9.0 - loss, context={"rain": rain})

    study.run(season, 18, progress=False)
    return plots.landscape(study, "nitrogen", "depth")


if __name__ == "__main__":
    main()
