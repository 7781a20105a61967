"""The pictures and numbers of docs/tutorials: each runs the code blocks of its page, then the page's functions at full size.

python docs/figures/tutorials.py [stock] [tuning] [bandit] [controller] [simulator] [team] [daily]

It writes docs/figures/tutorial-NAME.png and prints what the page quotes.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from look import BLUE, DASHES, GREY, INK, ORANGE, RED, WIDE, below, drawn, dressed, plt

import windward as ww

FIGURES = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def page(name: str) -> dict[str, Any]:
    """Run the blocks of a page in an empty folder and return the names they define."""
    names: dict[str, Any] = {}
    text = (FIGURES.parent / "tutorials" / f"{name}.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in BLOCK.findall(text):
            exec(compile(block, f"{name}.md", "exec"), names)
        os.chdir(FIGURES)
    return names


def said(label: str, values: Any) -> None:
    """Print the mean of several runs with its standard error."""
    values = np.asarray(values, dtype=float)
    print(f"{label}: {values.mean():.3g} +- {values.std(ddof=1) / len(values) ** 0.5:.2g} ({len(values)} runs)")


def band(axes: Any, x: Any, runs: Any, color: str, label: str) -> None:
    """Draw the mean of several runs (rows) with its standard error."""
    runs = np.asarray(runs, dtype=float)
    mean, error = runs.mean(0), runs.std(0, ddof=1) / len(runs) ** 0.5
    axes.plot(x, mean, color=color, ls=DASHES[color], label=label)
    axes.fill_between(x, mean - error, mean + error, color=color, alpha=0.2, lw=0)


def stock() -> Any:
    """Orders by weather, and the profit with and without the forecast."""
    names, days, seeds = page("stock"), 40, range(5)
    world = np.random.default_rng(12345)
    demands = {w: np.array([names["demand_on"](w, world) for _ in range(20_000)]) for w in ("dry", "wet")}
    orders = np.linspace(0, 100, 201)

    def worth(order: float, weather: str) -> float:
        sold = np.minimum(order, demands[weather])
        return float((9 * sold + (order - sold) - 5 * order).mean())

    shown = orders[orders <= 64]  # further right the profit on a wet day falls far below the picture's point
    best = {w: float(max(orders, key=lambda order, w=w: worth(order, w))) for w in demands}
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained")
    plans = {
        "with the forecast": (ww.papers.sbo_kde(), True, BLUE),
        "without it": (ww.papers.sbo_kde(), False, RED),
        "random orders": (ww.papers.random(), True, GREY),
    }
    for label, (policy, forecast, color) in plans.items():
        studies = [names["play"](policy, days, seed, forecast) for seed in seeds]
        gained = [[worth(t.decision["order"], t.context["weather"]) for t in study.trials] for study in studies]
        band(right, np.arange(1, days + 1), np.cumsum(gained, 1) / np.arange(1, days + 1), color, label)
        said(f"{label}, profit of a day after the first ten", np.mean(np.array(gained)[:, 10:], 1))
        if label == "with the forecast":
            for weather, tone in (("dry", ORANGE), ("wet", BLUE)):
                advice = [s.recommend(context={"weather": weather}).decision["order"] for s in studies]
                said(f"order on a {weather} day (best {best[weather]:.0f})", advice)
                left.plot(shown, [worth(o, weather) for o in shown], color=tone, label=f"{weather}: true mean profit")
                heights = [worth(order, weather) for order in advice]
                mark = "o" if weather == "dry" else "s"
                left.plot(advice, heights, mark, color=tone, ms=5, label=f"{weather}: advice after {days} days")
    ideal = float(np.mean([worth(best[w], w) for w in best]))
    print(f"best possible, knowing both distributions: {ideal:.1f} a day")
    right.axhline(ideal, color=INK, lw=0.8, ls=":")
    right.text(1, ideal + 2, "best possible", ha="left", va="bottom")
    left.set(xlabel="order", ylabel="profit of a day", title="The orders advised, five runs", xlim=(0, 64))
    below(left)
    right.set(xlabel="day", ylabel="mean profit so far", title="What it earns (standard error)")
    right.set_ylim(top=1.25 * ideal)
    below(right)
    return figure


def controller() -> Any:
    """Regret by how much colder the winter is."""
    names, seeds, shifts = page("controller"), range(5), np.arange(0.0, 11.0)
    problems = [names["Shifted"](by=[-float(s)])(names["autumn"]) for s in shifts]
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained", width_ratios=(1, 1.3))
    for index, (label, color) in enumerate((("expected", BLUE), ("robust", RED))):
        powers = [names["tuned"](names["METHODS"][label], 30, seed) for seed in seeds]
        said(f"power by {label}", powers)
        regrets = np.array([[names["regret"](power, problem) for problem in problems] for power in powers])
        band(right, shifts, regrets, color, label)
        for shift in (0, 3, 6, 10):
            said(f"regret of {label}, {shift} degrees colder", regrets[:, shift])
        left.plot(powers, [index] * len(powers), "o", color=color, alpha=0.7)
    for height, (problem, label) in enumerate(
        ((problems[0], "best in autumn"), (problems[6], "best 6 degrees colder"))
    ):
        power = float(problem.optimum(ww.Expected()).decision[0])
        print(f"{label}: {power:.2f} kW")
        left.axvline(power, color=INK, lw=0.8, ls=":")
        left.text(power, 1.5 - 0.2 * height, f" {label}", va="center", backgroundcolor="white")
    left.set(yticks=[0, 1], yticklabels=["expected", "robust"], ylim=(-0.5, 1.7), xlabel="power, kW")
    left.set(title="The power that is left in", xlim=(3.5, 9.5))
    right.set(xlabel="degrees colder than the autumn it was tuned in", ylabel="cost of a night above the best")
    right.set(title="What it costs (5 runs, standard error)", ylim=(0, None))
    right.legend(loc="upper left")
    return figure


def settled(names: dict[str, Any], visitors: int, seeds: range) -> None:
    """Print what is taken where zeros are told once the patience is over."""
    for label in ("silence is no", "silence is late"):
        studies = [names["play"](names["METHODS"][label], visitors, seed, settle=True) for seed in seeds]
        said(f"{label}, zeros told, over the last 50", [names["earned"](study)[-50:].mean() for study in studies])


def bandit() -> Any:
    """Takings by visitor, and the discount by loyalty."""
    names, visitors, seeds = page("bandit"), 200, range(3)
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained")
    loyalties, discounts = np.linspace(0, 1, 41), np.linspace(0, 20, 201)
    table = names["takings"](discounts[None], loyalties[:, None])
    inks = {"silence is no": BLUE, "silence is late": RED, "random": GREY}
    for label, policy in names["METHODS"].items():
        studies = [names["play"](policy, visitors, seed) for seed in seeds]
        earned = np.array([names["earned"](study) for study in studies])
        smooth = [np.convolve(row, np.ones(30) / 30, mode="valid") for row in earned]
        band(left, np.arange(30, visitors + 1), smooth, inks[label], label)
        said(f"{label}, takings per visitor over the last 50", earned[:, -50:].mean(1))
        if label != "random":
            late = [t for study in studies for t in study.trials.rows[-50:]]
            at = ([t.context["loyalty"] for t in late], [t.decision["discount"] for t in late])
            mark = "o" if label == "silence is no" else "s"
            right.plot(*at, mark, color=inks[label], ms=3, alpha=0.45, label=label, clip_on=False)
    settled(names, visitors, seeds)
    print(f"best for each visitor: {table.max(1).mean():.2f}; best single discount: {table.mean(0).max():.2f}")
    for level, text in ((table.max(1).mean(), "best for each visitor"), (table.mean(0).max(), "best single discount")):
        left.axhline(level, color=INK, lw=0.8, ls=":")
        left.text(visitors, level + 0.05, text, ha="right", va="bottom")
    right.plot(loyalties, discounts[table.argmax(1)], color=INK, lw=1.2, label="best")
    left.set(
        xlabel="visitor",
        ylabel="takings per visitor, last 30",
        title="What it takes (3 runs, standard error)",
    )
    below(left)
    right.set(xlabel="loyalty", ylabel="discount", title="What the last 50 visitors were offered", ylim=(0, 20))
    below(right)
    return figure


def simulator() -> Any:
    """Distance from the best hull by runs, and which seas were tried."""
    names, seeds, marks = page("simulator"), range(4), (15, 20, 25, 30, 40)
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained")
    for offset, (label, color) in zip(
        (-0.2, 0.2), (("most uncertain sea", BLUE), ("a sea at random", RED)), strict=True
    ):
        gaps, tried = [], []
        for seed in seeds:
            study = ww.Study(names["space"], names["METHODS"][label], seed=seed)
            row = []
            for mark in marks:
                study.run(lambda a: names["speed"](a.decision, a.context["wave"]), until=mark, progress=False)
                row.append(names["optimum"] - names["robust_value"](study.recommend().decision))
            gaps.append(row)
            tried += [t.context["wave"] for t in study.trials.rows[12:]]
        for place, mark in enumerate(marks):
            said(f"{label}, short of the best after {mark} runs", np.array(gaps)[:, place])
        band(left, marks, gaps, color, label)
        counts = [tried.count(wave) / len(tried) for wave in names["waves"]]
        right.bar(np.arange(len(counts)) + offset, counts, 0.4, color=color, label=label)
    right.plot(np.arange(len(counts)), names["shares"], "D", color=INK, mec="white", ms=6, label="how often they occur")
    left.set(xlabel="runs", ylabel="robust speed short of the best", title="What is given up (4 runs, standard error)")
    left.set_ylim(bottom=0)
    left.legend(loc="upper right")
    right.set(xlabel="wave height, m", ylabel="share of the runs", title="Which seas are tried after the design")
    right.set_xticks(np.arange(len(counts)), [f"{wave:g}" for wave in names["waves"]])
    right.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    right.legend(loc="upper left")
    return figure


def tuning() -> Any:
    """Scores by fold of the robust and the average choice, and of random search."""
    names, fits, seeds = page("tuning"), 40, range(4)
    folds, found = names["FOLDS"], {}
    for label, policy in names["METHODS"].items():
        chosen = [names["tuned"](policy, fits, seed) for seed in seeds]
        found[label] = np.array([[names["score"](decision, fold) for fold in folds] for decision in chosen])
    rows = []
    for seed in seeds:
        drawn = ww.Study(names["space"], ww.papers.random(), seed=seed).ask_many(fits // len(folds))
        rows.append(max(([names["score"](a.decision, fold) for fold in folds] for a in drawn), key=min))
    found["random search"] = np.array(rows)
    figure, axes = plt.subplots(figsize=(7.6, 3.8), layout="constrained")
    marks = {"robust": (RED, "D"), "average": (BLUE, "o"), "random search": (GREY, "s")}
    for offset, label in zip((-0.14, 0, 0.14), found, strict=True):
        scores, (color, mark) = found[label], marks[label]
        error, places = scores.std(0, ddof=1) / len(scores) ** 0.5, np.arange(len(folds)) + offset
        axes.errorbar(places, scores.mean(0), error, color=color, fmt=mark, ms=6, capsize=3, label=label)
        said(f"{label}, worst fold", scores.min(1))
        said(f"{label}, average", scores.mean(1))
    axes.set(
        ylabel="R2",
        title=f"The score on each fold after {fits} fits (4 runs, standard error)",
        xlabel="body-mass index",
    )
    axes.set_xticks(np.arange(len(folds)), folds)
    axes.grid(visible=False, axis="x")
    axes.legend(loc="upper right")
    return figure


def team() -> Any:
    """A timeline of three benches on one journal, one of which is switched off."""
    names = page("team")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/coatings.db"
        names["url"] = url
        names["joined"]()
        spans: list[tuple[int, float, float, int, str]] = []

        def bench(number: int, tests: int, start: float) -> None:
            study, world = ww.Study.open("coatings", journal=url), np.random.default_rng(number)
            while len(study.trials) < tests:
                suggestion, began = study.ask(), time.monotonic() - start
                humidity, length = float(world.normal(60, 8)), float(world.uniform(0.8, 2.4))
                study.reveal(suggestion.id, {"humidity": humidity})
                time.sleep(length)
                if number == 1 and suggestion.id >= 8:
                    spans.append((number, began, time.monotonic() - start, suggestion.id, "off"))
                    return
                study.tell(suggestion.id, names["hardness"](suggestion.decision["curing"], humidity))
                spans.append((number, began, time.monotonic() - start, suggestion.id, "told"))

        start = time.monotonic()
        benches = [threading.Thread(target=bench, args=(number, 20, start)) for number in range(3)]
        for thread in benches:
            thread.start()
        for thread in benches:
            thread.join()
        study = ww.Study.open("coatings", journal=url)
        for trial in study.pending():
            began = time.monotonic() - start
            time.sleep(1.5)
            study.tell(trial.id, names["hardness"](trial.decision["curing"], trial.context["humidity"]))
            spans.append((0, began, time.monotonic() - start, trial.id, "again"))
        advice = study.recommend().decision["curing"]
    print(f"{study!r}; advice: cure {advice:.0f} minutes; the true best at the mean humidity is 80")
    figure, axes = plt.subplots(figsize=(9.6, 3.0), layout="constrained")
    inks = {"told": BLUE, "off": RED, "again": ORANGE}
    words = {
        "told": "tested and told",
        "off": "switched off in the middle: pending",
        "again": "the same test, taken over",
    }
    for number, began, ended, id, kind in sorted(spans, key=lambda span: span[1]):
        axes.barh(
            number,
            ended - began,
            left=began,
            height=0.6,
            color=inks[kind],
            edgecolor="white",
            label=words.pop(kind, None),
        )
        axes.text((began + ended) / 2, number, str(id), ha="center", va="center", color="white")
    axes.set(
        yticks=[0, 1, 2],
        yticklabels=["bench A", "bench B", "bench C"],
        ylim=(-0.5, 2.5),
        xlabel="seconds (standing for hours)",
    )
    axes.grid(visible=False)
    below(axes, 3)
    return figure


def raised(names: dict[str, Any], days: int, opens: int, seed: int) -> int | None:
    """Return the day on which the first alarm is raised in a series of demands, counted from 1; None without one."""
    study = ww.Study(ww.Space({"loaves": ww.Integer(0, 140)}, {"demand": ww.Real(0, None)}), seed=seed)
    world = Random(seed)
    for day in range(days):
        came = max(0.0, world.gauss(names["level"](day, opens), names["SPREAD"]))
        study.add({"loaves": 60}, 0.0, context={"demand": came}, at=names["FIRST"] + timedelta(days=day))
    found = study.shift().alarms
    return found[0].raised + 1 if found else None


def daily() -> Any:
    """What is baked beside what would have been best, and the regret so far by what is known."""
    names, days, opens, seeds = page("daily"), 120, 60, range(5)
    means = [names["level"](day, opens) for day in range(days)]
    ideal = np.array([names["best"](mean) for mean in means])
    figure, (left, right) = plt.subplots(1, 2, figsize=WIDE, layout="constrained")
    dates = np.arange(days)

    def lost(loaves: Any) -> Any:
        return [
            names["worth"](best, mean) - names["worth"](x, mean)
            for x, best, mean in zip(loaves, ideal, means, strict=True)
        ]

    for (label, known), color in zip(names["KNOWS"].items(), (GREY, ORANGE, RED, BLUE), strict=True):
        studies = [names["play"](days, seed, opens, *known) for seed in seeds]
        baked = np.array([[trial.decision["loaves"] for trial in study.trials] for study in studies])
        regrets = np.array([lost(row) for row in baked])
        band(right, dates + 1, regrets.cumsum(1), color, label)
        said(f"{label}, regret of {days} days", regrets.sum(1))
        for first, last in ((20, opens), (opens, opens + 20), (opens + 20, days)):
            said(f"{label}, regret a day, days {first + 1} to {last}", regrets[:, first:last].mean(1))
        if label == "and the forecast":
            left.plot(dates + 1, ideal, color=INK, lw=0.9, label="the best, had the truth been known")
            left.plot(dates + 1, baked[0], ".", color=color, ms=5, label="baked (the first run)")
            after = regrets[:, opens : opens + 20]
            print(
                f"{100 * after[after > 20].sum() / after.sum():.0f} % lost on {(after > 20).sum()} of {after.size} evenings"
            )
            for forecaster in studies[0].forecasts():
                print(" ".join(forecaster.sentences))
    for opening in (opens, days):
        print(
            f"alarms where the supermarket opens on day {opening}: {[raised(names, days, opening, seed) for seed in range(6)]}"
        )
    # The planner's own quantile, taken at his word: ten too high, with half the spread.
    words = [mean + 10 + 0.5 * (best - mean) for mean, best in zip(means, ideal, strict=True)]
    taken = np.cumsum(lost(words))
    print(f"the forecast at its word: {taken[-1]:.0f} in {days} days, {taken[-1] / days:.1f} a day")
    right.plot(dates + 1, taken, color=INK, lw=0.9, ls=":", label="the forecast at its word")
    for axes in (left, right):
        axes.axvline(opens, color=INK, lw=0.8, ls=":")
        axes.set(xlabel="day", xlim=(0, days))
    left.set(ylabel="loaves", title="What is baked with the forecast", ylim=(0, None))
    below(left, 1)
    right.set(ylabel="profit lost so far", title="What it costs (5 runs, standard error)", ylim=(0, None))
    below(right)
    return figure


DRAWN: dict[str, Callable[[], Any]] = {
    "stock": stock,
    "tuning": tuning,
    "bandit": bandit,
    "controller": controller,
    "simulator": simulator,
    "team": team,
    "daily": daily,
}


def main() -> None:
    """Draw the figures named, or all."""
    torch.set_num_threads(1)
    dressed()
    for name in sys.argv[1:] or list(DRAWN):
        print(f"-- {name}")
        drawn(DRAWN[name](), FIGURES / f"tutorial-{name}.png")


if __name__ == "__main__":
    main()
