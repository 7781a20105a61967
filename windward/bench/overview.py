"""The tables that the reproduction page begins with: what was run, what came of it, and what is still to do."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from windward.bench.durations import left_over
from windward.bench.experiment import Experiment, Record
from windward.bench.provenance import since
from windward.bench.summary import span
from windward.bench.verdicts import Reproduction
from windward.bench.watching import in_words

# What claims and numbers are counted of.
JUDGED = ("the paper's sentences", "our readings", "printed numbers")


def tables(reproductions: Iterable[Reproduction], known: Sequence[Record]) -> list[str]:
    """Return the summary: what was run at full size with its verdict, and what was not, without one."""
    every = list(reproductions)
    lines = [
        "## Summary",
        "",
        "What was run at the paper's full size. Claims are counted as hold / do not / undecided. *Still to do* is what is",
        "missing of the paper's problems, methods and seeds, runs from before a change among it, on one processor. It is",
        "reckoned from the seconds of the records; those from before a change were slower, so it is at most that.",
        "",
        f"| experiment | source | run here | computing | still to do | {' | '.join(JUDGED)} | verdict |",
        "| --- | --- | --- | ---: | ---: | :---: | :---: | :---: | --- |",
    ]
    for reproduction in every:
        if not reproduction.full:
            continue
        found = reproduction.experiment
        cells = [f"[{found.name}](#{found.name})", found.source, _size(reproduction), computing(reproduction)]
        cells += [_to_do(reproduction, known)]
        cells += [_counts(reproduction, own=True), _counts(reproduction, own=False), _agreeing(reproduction)]
        mark = ", before a change" if since(reproduction.records) else ""
        lines.append("| " + " | ".join([*cells, f"**{reproduction.word}**{mark}"]) + " |")
    return [*lines, "", *_smaller([one for one in every if not one.full], known)]


def _smaller(reproductions: Sequence[Reproduction], known: Sequence[Record]) -> list[str]:
    """Return a table of what was not run at full size: what was run of it, and no verdict."""
    if not reproductions:
        return []
    lines = [
        "## Not run at full size",
        "",
        "| experiment | source | run here | computing | still to do |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for reproduction in reproductions:
        found = reproduction.experiment
        size = _size(reproduction) or "not run"
        times = f"{computing(reproduction)} | {_to_do(reproduction, known)}"
        lines.append(f"| [{found.name}](#{found.name}) | {found.source} | {size} | {times} |")
    return [*lines, ""]


def _counts(reproduction: Reproduction, *, own: bool) -> str:
    counts = [reproduction.count(verdict, own=own) for verdict in ("holds", "does not hold", "undecided")]
    return " / ".join(map(str, counts)) if any(counts) else ""


def _agreeing(reproduction: Reproduction) -> str:
    if reproduction.experiment.timing or not reproduction.agreements:
        return ""
    return f"{reproduction.agreeing} of {len(reproduction.agreements)} agree"


def _size(reproduction: Reproduction) -> str:
    if not reproduction.records:
        return ""
    size, every = seeds_and_rounds(reproduction), len(reproduction.experiment.cases)
    problems = {record["problem"] for record in reproduction.records}
    some = [] if len(problems) == every else [f"{len(problems)} of {every} problems"]
    return ", ".join([size, *some, *reproduction.instead])


def seeds_and_rounds(reproduction: Reproduction) -> str:
    """Return how many seeds and rounds were run, beside the paper's."""
    found, records = reproduction.experiment, reproduction.records
    seeds, rounds = len({r["seed"] for r in records}), span(sorted({r["rounds"] for r in records}))
    many = (
        f"{seeds} of {len(found.seeds)} seeds"
        if seeds <= len(found.seeds)
        else f"{seeds} seeds ({len(found.seeds)} in the paper)"
    )
    size = f"{many}, {rounds} rounds"
    ran = {(record["problem"], record["method"]) for record in records}
    return size if reproduction.full else f"{size} of {span(full_rounds(found, ran))}"


def full_rounds(experiment: Experiment, runs: Container[tuple[str, str]]) -> list[int]:
    """Return the rounds of the paper for some methods on some problems, one number or several."""
    return sorted(
        {
            experiment.rounds_of(case, method)
            for case in experiment.cases
            for method in experiment.runs_on(case)
            if (case.name, method) in runs
        }
    )


def computing(reproduction: Reproduction) -> str:
    """Return how long the runs took, summed."""
    return in_words(sum(record["seconds"] for record in reproduction.records)) if reproduction.records else ""


def _to_do(reproduction: Reproduction, known: Sequence[Record]) -> str:
    """Return how long one processor needs for what is missing of the full size; a dash where nothing is."""
    left = left_over(reproduction.experiment, known)[1]
    if not left.runs:
        return "-"
    if not left.each:
        return "not known"
    return ("at least " if left.unknown else "") + in_words(left.seconds)
