"""A page for each experiment from its records alone: what was run, tables, paired comparisons, verdicts, figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from windward.basics.errors import ArgumentError
from windward.bench import figures as drawing
from windward.bench.compare import (
    LEVEL,
    Difference,
    Runs,
    Verdict,
    difference,
    longest,
    marks_of,
    of_experiment,
    runs_of,
)
from windward.bench.experiment import Experiment, Panel, Record, Relation
from windward.bench.experiments import experiments
from windward.bench.watching import in_words


def write_report(records: Sequence[Record], folder: Path, *, figures: bool = True) -> list[Path]:
    """Write `<experiment>.md`, and its figures, for each experiment the records have runs of; return the pages."""
    pages = []
    for experiment in experiments().values():
        extended = with_strangers(experiment, records)
        own = longest(extended, of_experiment(extended, records))
        if own:
            folder.mkdir(parents=True, exist_ok=True)
            pages.append(write_page(extended, own, folder, figures=figures))
    if not pages:
        raise ArgumentError("these records belong to no experiment this version knows; windward bench list names them.")
    return pages


def with_strangers(experiment: Experiment, records: Sequence[Record]) -> Experiment:
    """Return the experiment with the methods and problems of the user's own that its records have."""
    family = [other for other in experiments().values() if other.world == experiment.world]
    # By the experiment's name, not by its world: others of that world were not run with them.
    own = [record for record in records if record["experiment"] == experiment.name]
    methods = {record["method"] for record in own} - {name for other in family for name in other.methods}
    problems = {record["problem"] for record in own} - {case.name for other in family for case in other.cases}
    return experiment.with_extras(dict.fromkeys(sorted(methods), _not_here), dict.fromkeys(sorted(problems), _not_here))


def _not_here(*_: object) -> NoReturn:
    raise AssertionError("records alone cannot run")


def write_page(experiment: Experiment, records: Sequence[Record], folder: Path, *, figures: bool) -> Path:
    """Write the page of one experiment, and return its path."""
    shown = [(panel, runs_of(panel, records)) for panel in experiment.panels]
    shown = [(panel, runs) for panel, runs in shown if runs]
    name, lines = experiment.name, heading(experiment, records)
    if figures and shown and not experiment.timing:
        title = f"{experiment.source}: mean and one standard error"
        drawing.draw_png(shown, title, folder / f"{name}.png")
        drawing.draw_html(shown, title, folder / f"{name}.html")
        lines += [f"![{experiment.source}]({name}.png)", "", f"[Interactive figure]({name}.html)", ""]
    for panel, runs in shown:
        lines += table(experiment, panel, runs)
    lines += comparisons(experiment, shown)
    file = folder / f"{name}.md"
    file.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return file


def heading(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    """Return what was run, beside what the paper ran."""
    experiment = experiments().get(experiment.name, experiment)  # without methods of the user's own
    seeds = sorted({record["seed"] for record in records})
    rounds = sorted({record["rounds"] for record in records})
    wanted = {
        (case.name, method, seed)
        for case in experiment.cases
        for method in experiment.runs_on(case)
        for seed in experiment.seeds
    }
    known = {case.name: case for case in experiment.cases}
    full = {
        (record["problem"], record["method"], record["seed"])
        for record in records
        if record["problem"] in known
        and record["rounds"] >= experiment.rounds_of(known[record["problem"]], record["method"])
    }
    versions = sorted({f"windward {r['versions']['windward']}, torch {r['versions']['torch']}" for r in records})
    size = "the paper's full size" if wanted <= full else f"{len(wanted & full)} of the paper's {len(wanted)} runs"
    lines = [
        f"## {experiment.name}",
        "",
        f"{experiment.source}. {experiment.shows}",
        "",
        f"Run here: {len(records)} runs, seeds {span(seeds)}, {span(rounds)} rounds; {size}. "
        f"{in_words(sum(record['seconds'] for record in records))} summed over runs ({'; '.join(versions)}).",
        "",
    ]
    instead = sorted({f"{r['stand_in']} for {r['problem']}" for r in records if r.get("stand_in")})
    if instead:
        lines += [f"Without the papers' data; simulated or other data took their place: {', '.join(instead)}.", ""]
    return [*lines, experiment.notes, ""] if experiment.notes else lines


def table(experiment: Experiment, panel: Panel, runs: Mapping[str, Runs]) -> list[str]:
    """Return mean (standard error) of each curve at the marks, with published numbers beside them."""
    marks = marks_of(panel, runs)
    published = {entry.curve: entry.values for entry in experiment.published if entry.panel == panel.title}
    printed = [mark for mark in marks if any(mark in values for values in published.values())]
    better = "lower is better" if panel.metric.lower else "higher is better"
    lines = [f"**{panel.title}**: {panel.metric.label} ({better}), mean (standard error)", ""]
    titles = ["method", "seeds", *(f"{mark}" for mark in marks)]
    titles += [f"published, {mark}" for mark in printed]
    lines += ["| " + " | ".join(titles) + " |", "| --- |" + " ---: |" * (len(titles) - 1)]
    best = _best(panel, runs, marks[-1])
    for label, found in runs.items():
        mean, error = found.mean(), found.error()
        cells = [f"**{label}**" if label in best else label, str(len(found.seeds))]
        for mark in marks:
            place = found.at.index(mark)
            spread = f" ({number(error[place], 2)})" if math.isfinite(error[place]) else ""
            cells.append(number(mean[place]) + spread)
        cells += [number(published.get(label, {}).get(mark, math.nan)) for mark in printed]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def comparisons(experiment: Experiment, shown: Sequence[tuple[Panel, Mapping[str, Runs]]]) -> list[str]:
    """Return the claims of order, the paired difference behind each, and the verdicts."""
    found = claimed(experiment, shown)
    if not found:
        return []
    missing = [entry for entry in found if entry.verdict == "not run"]
    judged = [entry for entry in found if entry.verdict != "not run"]
    if not judged:
        return [f"None of the {len(found)} orders the paper claims was run.", ""]
    lines = [
        "Orders the paper claims. Advantage: how much better the first method is, paired by seed, with a 95 % interval. "
        f"Level: the interval lies within {100 * LEVEL:.0f} % of the methods' size around zero.",
        "",
        "| panel | claim | round | pairs | advantage | verdict |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for entry in judged:
        claim = entry.claim
        interval = f"{number(entry.mean)} [{number(entry.low)}, {number(entry.high)}]" if entry.pairs > 1 else ""
        words = f"{claim.first} {IN_WORDS[claim.relation]} {claim.second}"
        lines.append(f"| {claim.panel} | {words} | {entry.mark} | {entry.pairs} | {interval} | {entry.verdict} |")
    unseen = f" Methods or problems of {len(missing)} more were not run." if missing else ""
    return [*lines, "", f"Of {len(judged)} claims: {tally(judged)}.{unseen}", ""]


def claimed(experiment: Experiment, shown: Sequence[tuple[Panel, Mapping[str, Runs]]]) -> list[Difference]:
    """Return the differences behind an experiment's claims, those without runs last seen as "not run"."""
    panels = {panel.title: (panel, runs) for panel, runs in shown}
    result = []
    for claim in experiment.claims:
        panel, runs = panels.get(claim.panel, (experiment.panels[0], {}))
        result.append(difference(claim, panel, runs))
    return result


def tally(found: Sequence[Difference]) -> str:
    """Return how many claims have each verdict, in words."""
    counts = {verdict: sum(entry.verdict == verdict for entry in found) for verdict in VERDICTS}
    return ", ".join(
        f"{count} {verdict if count == 1 else MANY[verdict]}" for verdict, count in counts.items() if count
    )


IN_WORDS: dict[Relation, str] = {"ahead": "ahead of", "level": "level with", "near": "as good at least as"}
VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "undecided", "not run")
MANY: dict[Verdict, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided": "undecided",
    "not run": "not run",
}


def number(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, nothing for NaN.

    >>> number(1234.56), number(0.012345), number(-3.0), number(float("nan"))
    ('1235', '0.01235', '-3', '')
    """
    if not math.isfinite(value):
        return ""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text else text


def _best(panel: Panel, runs: Mapping[str, Runs], mark: int) -> set[str]:
    """Return the labels whose mean at the mark is the best as it is printed: a reader sees no other difference."""
    at_mark = {label: float(found.mean()[found.at.index(mark)]) for label, found in runs.items()}
    known = {label: value for label, value in at_mark.items() if math.isfinite(value)}
    if not known:
        return set()
    best = min(known.values()) if panel.metric.lower else max(known.values())
    return {label for label, value in known.items() if number(value) == number(best)}


def span(values: Sequence[int]) -> str:
    """Return whole numbers in words, a run of them by its ends.

    >>> span([3, 4, 5]), span([3, 5]), span([7])
    ('3 to 5', '3, 5', '7')
    """
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return ", ".join(map(str, values))
