"""The reproduction page: every experiment's verdict, and behind it what was run, the figure, the numbers, the claims.

It is made from records and from what a person wrote (`windward.bench.findings`), and from nothing else: the same input gives
the same page. Published numbers come from the experiments' definitions.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from windward.bench import figures as drawing
from windward.bench.compare import LEVEL, Difference, Verdict
from windward.bench.experiment import Experiment, Record
from windward.bench.experiments import experiments
from windward.bench.findings import FILE, Findings
from windward.bench.report import number, span, table, tally
from windward.bench.verdicts import Outcome, outcome_of
from windward.bench.watching import in_words

# A claim that does not hold interests most, one that holds least.
ORDER: tuple[Verdict, ...] = ("does not hold", "undecided", "holds")
# More claims or panels than this are folded away.
MOST_SHOWN, MOST_PANELS = 12, 2
HOW = """\
## How verdicts are made

Methods meet the same world for the same seed, so they are compared in pairs: the mean over seeds of how much better the first
is at the last round, with its 95 % interval (Student's t). A claim *first ahead of second* **holds** where the interval lies
above zero, **does not hold** where it lies below, and is **undecided** where zero is in it. *First level with second* holds
where the interval lies within {level} of the two methods' mean size around zero, does not hold where it lies outside that
band, and is undecided otherwise. Where two methods are alike, one claim in forty comes out decided for each side by chance.

An experiment **matches** where every claim that could be judged holds, **differs** where more do not hold than hold, is
**undecided** where most are undecided, and matches **partly** otherwise. Where the paper claims no order its printed numbers
are judged: one agrees if it is as near to the mean here as two means of so many seeds would be in 95 of 100 cases. Claims are
the papers' own, read from their text; most of their results are curves, and they print few numbers. Full size is the paper's
data and rounds; where fewer of its problems or seeds were run, the table says so, and the verdict is on those. What was run
with fewer rounds or on other data is shown too; its verdict is **not run at full size**, as it says little of what the paper
shows.
"""
UNSAID = "_Nothing has been written about what does not hold here yet._"


def write_page(
    records: Sequence[Record], findings: Findings, file: Path, *, figures: bool = True, again: str = "RECORDS"
) -> list[str]:
    """Write the page, and its figures into `figures/reproduction` beside it; return the experiments that lack a text.

    An experiment of which a claim does not hold must say what was looked for and found. `again` is the folder of records as
    the page names it.
    """
    outcomes = [outcome_of(experiment, records) for experiment in experiments().values()]
    folder = file.parent / "figures" / "reproduction"
    lines = [*_opening(outcomes, findings, again, file.name), *_summary(outcomes)]
    for outcome in outcomes:
        lines += _section(outcome, findings, folder.relative_to(file.parent))
        if figures and _has_figure(outcome):
            folder.mkdir(parents=True, exist_ok=True)
            title = f"{outcome.experiment.source}: mean and one standard error ({_seeds_and_rounds(outcome)})"
            picture = folder / f"{outcome.experiment.name}.png"
            drawing.draw_png(outcome.shown, title, picture, outcome.experiment.published)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    partial.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    os.replace(partial, file)
    return [outcome.experiment.name for outcome in outcomes if _lacks_text(outcome, findings)]


def _lacks_text(outcome: Outcome, findings: Findings) -> bool:
    """Whether something differs from the paper, and nobody said a word."""
    found = outcome.experiment
    numbers = not found.claims and not found.timing and any(not entry.agrees for entry in outcome.agreements)
    return (outcome.count("does not hold") > 0 or numbers) and found.name not in findings.found


def _opening(outcomes: Sequence[Outcome], findings: Findings, again: str, page: str) -> list[str]:
    records = [record for outcome in outcomes for record in outcome.records]
    unique = list({id(record): record for record in records}.values())  # figures of one world share runs
    days = sorted({record["began"][:10] for record in unique})
    when = "" if not days else f" on {days[0]}" if len(days) == 1 else f" from {days[0]} to {days[-1]}"
    seconds = sum(record["seconds"] for record in unique)
    versions = sorted({_versions(record) for record in unique})
    return [
        "# The papers' experiments, run again",
        "",
        f"{len(unique)} runs{when}, {in_words(seconds)} of computing summed over runs. {findings.machine} "
        f"{'; '.join(versions)}.",
        "",
        f"This page is made from the records in `{again}` and from what people wrote in its `{FILE}`:",
        "",
        f"    windward bench report {again} --page docs/{page}",
        "",
        "To run an experiment again, `windward bench run NAME` (the command stands in each section; problems that read data "
        "need `--data FOLDER`); to keep its records, `windward bench report bench-results/NAME --compact "
        f"{again}/NAME.jsonl.gz`.",
        "",
        *HOW.format(level=f"{100 * LEVEL:.0f} %").splitlines(),
        "",
    ]


def _versions(record: Record) -> str:
    found = record["versions"]
    return f"windward {found['windward']}, Python {found['python']}, torch {found['torch']}"


def _summary(outcomes: Iterable[Outcome]) -> list[str]:
    lines = [
        "## Summary",
        "",
        "| experiment | source | run here | computing | claims: hold / do not / undecided | verdict |",
        "| --- | --- | --- | ---: | :---: | --- |",
    ]
    for outcome in outcomes:
        found = outcome.experiment
        counts = " / ".join(str(outcome.count(verdict)) for verdict in ("holds", "does not hold", "undecided"))
        judged = outcome.count("not run") < len(outcome.claims)
        if found.claims:
            shown = counts if judged else ""
        else:
            agreeing = sum(entry.agrees for entry in outcome.agreements)
            shown = f"{agreeing} of {len(outcome.agreements)} numbers agree" if outcome.agreements else ""
            shown = "" if found.timing else shown
        cells = [f"[{found.name}](#{found.name})", found.source, _size(outcome), _computing(outcome), shown]
        lines.append("| " + " | ".join([*cells, f"**{outcome.word}**"]) + " |")
    return [*lines, ""]


def _size(outcome: Outcome) -> str:
    if not outcome.records:
        return ""
    size, every = _seeds_and_rounds(outcome), len(outcome.experiment.cases)
    problems = {record["problem"] for record in outcome.records}
    return size if len(problems) == every else f"{size}, {len(problems)} of {every} problems"


def _seeds_and_rounds(outcome: Outcome) -> str:
    found, records = outcome.experiment, outcome.records
    seeds, rounds = len({r["seed"] for r in records}), span(sorted({r["rounds"] for r in records}))
    size = f"{seeds} of {len(found.seeds)} seeds, {rounds} rounds"
    return size if outcome.full else f"{size} of {span(_full_rounds(found, {r['problem'] for r in records}))}"


def _full_rounds(experiment: Experiment, problems: Container[str]) -> list[int]:
    """Return the rounds of the paper for some problems, one number or several."""
    return sorted({case.rounds or experiment.rounds for case in experiment.cases if case.name in problems})


def _computing(outcome: Outcome) -> str:
    return in_words(sum(record["seconds"] for record in outcome.records)) if outcome.records else ""


def _has_figure(outcome: Outcome) -> bool:
    """Whether there are curves: a table of seconds, or a number at the last round alone, has none."""
    if outcome.experiment.timing:
        return False
    return any(int((runs.mean() == runs.mean()).sum()) > 1 for _, panel in outcome.shown for runs in panel.values())


def _section(outcome: Outcome, findings: Findings, pictures: Path) -> list[str]:
    found = outcome.experiment
    lines = [f"## {found.name}", "", f"{found.source}. {found.shows}", ""]
    if not outcome.records:
        lines += ["Not run here yet.", "", f"    windward bench run {found.name}", ""]
    else:
        lines += [f"Verdict: **{outcome.word}**{_why(outcome)}.", "", *_beside(outcome)]
        if found.notes:
            lines += [found.notes, ""]
        if _has_figure(outcome):
            lines += [f"![{found.source}]({pictures.as_posix()}/{found.name}.png)", ""]
        lines += [*_claims(outcome), *_numbers(outcome)]
    if found.name in findings.found:
        lines += ["### What was looked for and found", "", findings.found[found.name], ""]
    elif _lacks_text(outcome, findings):
        lines += ["### What was looked for and found", "", UNSAID, ""]
    return lines


def _why(outcome: Outcome) -> str:
    judged = [entry for entry in outcome.claims if entry.verdict != "not run"]
    if judged:
        return f" (claims judged: {len(judged)}; {tally(judged)})"
    if outcome.experiment.timing or not outcome.agreements:
        return ""
    agreeing = sum(entry.agrees for entry in outcome.agreements)
    return f" ({agreeing} of {len(outcome.agreements)} printed numbers agree)"


def _beside(outcome: Outcome) -> list[str]:
    """Return what was run beside the full size, which is the paper's."""
    found, records = outcome.experiment, outcome.records
    seeds = sorted({record["seed"] for record in records})
    ran = {(record["problem"], record["method"]) for record in records}
    wanted = [(case.name, method) for case in found.cases for method in found.runs_on(case)]
    problems = [case.name for case in found.cases if any(problem == case.name for problem, _ in ran)]
    methods = [name for name in found.methods if any(method == name for _, method in ran)]
    lacking = [name for name in dict.fromkeys(method for _, method in wanted) if name not in methods]
    rows = [
        ("problems", str(len(found.cases)), _some(problems, [case.name for case in found.cases])),
        ("methods", str(len({method for _, method in wanted})), "all" if not lacking else ", ".join(methods)),
        ("seeds", str(len(found.seeds)), f"{len(seeds)} ({span(seeds)})"),
        (
            "rounds",
            span(_full_rounds(found, [case.name for case in found.cases])),
            span(sorted({record["rounds"] for record in records})),
        ),
        ("runs", str(len(wanted) * len(found.seeds)), str(len(records))),
    ]
    lines = ["| | full size | here |", "| --- | --- | --- |", *(f"| {a} | {b} | {c} |" for a, b, c in rows), ""]
    lines += [f"{_computing(outcome)} of computing. Again, at full size: `windward bench run {found.name}`.", ""]
    instead = sorted({f"{r['stand_in']} for {r['problem']}" for r in records if r.get("stand_in")})
    return [*lines, f"Other data took the place of the paper's: {', '.join(instead)}.", ""] if instead else lines


def _some(names: Sequence[str], every: Sequence[str]) -> str:
    return "all" if len(names) == len(every) else ", ".join(names)


def _claims(outcome: Outcome) -> list[str]:
    """Return the claims, those that do not hold first; many that hold are folded."""
    judged = [entry for entry in outcome.claims if entry.verdict != "not run"]
    unseen = outcome.count("not run")
    if not judged:
        return [f"None of the {unseen} orders the paper claims could be judged.", ""] if unseen else []
    lines = ["**Claimed orders.** Advantage: how much better the first is, with its 95 % interval.", ""]
    parts = {verdict: [entry for entry in judged if entry.verdict == verdict] for verdict in ORDER}
    if len(judged) <= MOST_SHOWN:
        lines += _claim_table([entry for part in parts.values() for entry in part])
    else:
        pressing = [entry for verdict in ORDER[:-1] for entry in parts[verdict]]
        lines += _claim_table(pressing) if len(pressing) <= MOST_SHOWN else _folded_parts(parts)
        lines += _folded(f"{len(parts['holds'])} claims that hold", _claim_table(parts["holds"]))
    return [*lines, f"Of {unseen} more claims the methods or problems were not run.", ""] if unseen else lines


def _folded_parts(parts: dict[Verdict, list[Difference]]) -> list[str]:
    failing, open = parts["does not hold"], parts["undecided"]
    return [*_claim_table(failing), *_folded(f"{len(open)} claims that are undecided", _claim_table(open))]


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "</details>", ""] if lines else []


def _claim_table(entries: Sequence[Difference]) -> list[str]:
    if not entries:
        return []
    lines = ["| panel | claim | round | pairs | advantage | verdict |", "| --- | --- | ---: | ---: | ---: | --- |"]
    for entry in entries:
        words = f"{entry.claim.first} {_relation(entry)} {entry.claim.second}"
        gap = f"{number(entry.mean, 3)} [{number(entry.low, 3)}, {number(entry.high, 3)}]" if entry.pairs > 1 else ""
        verdict = f"**{entry.verdict}**" if entry.verdict == "does not hold" else entry.verdict
        lines.append(f"| {entry.claim.panel} | {words} | {entry.mark} | {entry.pairs} | {gap} | {verdict} |")
    return [*lines, ""]


def _relation(entry: Difference) -> str:
    return "ahead of" if entry.claim.relation == "ahead" else "level with"


def _numbers(outcome: Outcome) -> list[str]:
    lines = [line for panel, runs in outcome.shown for line in table(outcome.experiment, panel, runs)]
    if len(outcome.shown) <= MOST_PANELS or outcome.experiment.published:
        return lines
    return _folded(f"Numbers of the {len(outcome.shown)} panels", lines)
