"""Draw the report and the page for the docs, by `python docs/figures/screenshots.py`; gallery.py draws the figures.

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
from studies import bakery

import windward as ww
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
        play(url)
        write_report(bakery(late=True), report)
        process, address = serve(url)
        try:
            shoot(address, report)
        finally:
            process.terminate()
            process.wait(60)
    print(f"drawn into {HERE}")


if __name__ == "__main__":
    main()
