"""The reproduction page: every experiment's verdict, and behind it what was run, the figure, the numbers, the claims.

It is made from records and from what a person wrote (`windward.bench.findings`), and from nothing else: the same input gives
the same page. Published numbers come from the experiments' definitions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from windward.basics.speech import counted
from windward.bench import figures as drawing
from windward.bench.compare import LEVEL, MOST_SEEDS, Difference, Verdict
from windward.bench.experiment import Record
from windward.bench.experiments import experiments
from windward.bench.findings import FILE, Findings
from windward.bench.forest import draw_forest
from windward.bench.headlines import found_headlines, sentences
from windward.bench.landscapes import PICTURES
from windward.bench.overview import computing, full_rounds, seeds_and_rounds, tables
from windward.bench.provenance import commits, outdated, since
from windward.bench.summary import IN_WORDS, number, span, table, tally
from windward.bench.verdicts import Reproduction, reproduction_of
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

An undecided claim says how many seeds would decide it if mean and spread stayed what they are. *First as good at least as
second* holds where the interval lies above minus that band.

Each claim says whose it is: the paper's own sentence, with its place and the words that decide, or **our reading** of a figure
or of a sentence that says less. An experiment **matches** where every claim that could be judged holds, **differs** where more
do not hold than hold, is **undecided** where most are undecided, and matches **partly** otherwise.

A printed number agrees if it lies within t sqrt(e² + s²) of the mean here, s the standard error here and e the one the paper
prints. Where it prints none, its mean counts as uncertain as a mean over as many seeds is here. Where the paper claims no
order, the printed numbers decide.

Full size is the paper's data and rounds; where fewer of its problems or seeds were run, the table says so, and the verdict is
on those. So it does where a problem has other data of the same kind (digits for MNIST). What was run with fewer rounds, or on
data made up for a try, stands in a table of its own, without a verdict. Records made before a change that could alter them are
marked **before a change**, with the change, until they are made again.
"""
GLANCE = """\
## At a glance

![Each paper's main claims, as published and as found here]({picture})

A claim of order has the advantage of the first method over the second, as a share of the mean size of the two: 200 % is the
most. It is the mean over the claim's problems and pairs of methods, with its 95 % interval over seeds. A headline **agrees**
where the interval lies on the paper's side, **does not agree** where it lies on the other, and is **undecided** otherwise.
Published numbers agree where each does by itself, and in part where most do. **So far** means fewer rounds than the paper's, or
other data. *16 of 28* in the figure says how many single claims hold, or single numbers agree.

"""
UNSAID = "_Nothing has been written about what does not hold here yet._"


def write_page(
    records: Sequence[Record], findings: Findings, file: Path, *, figures: bool = True, again: str = "RECORDS"
) -> list[str]:
    """Write the page, and its figures into `figures/reproduction` beside it; return the experiments that lack a text.

    An experiment of which a claim does not hold must say what was looked for and found. `again` is the folder of records as
    the page names it.
    """
    reproductions = [reproduction_of(experiment, records) for experiment in experiments().values()]
    folder = file.parent / "figures" / "reproduction"
    found = found_headlines(reproductions)
    picture = folder / "headlines.png"
    lines = _opening(reproductions, findings)
    lines += [*GLANCE.format(picture=picture.relative_to(file.parent).as_posix()).splitlines(), *sentences(found), ""]
    lines += [*tables(reproductions, records), *_how(), *_again(again, file.name)]
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
        draw_forest(found, picture)
    for reproduction in reproductions:
        lines += _section(reproduction, findings, folder.relative_to(file.parent))
        landscape = PICTURES.get(reproduction.experiment.name)
        if figures and landscape is not None and reproduction.records:
            folder.mkdir(parents=True, exist_ok=True)
            landscape(reproduction.records, folder / f"{reproduction.experiment.name}-surface.png")
        if figures and _has_figure(reproduction):
            folder.mkdir(parents=True, exist_ok=True)
            title = f"{reproduction.experiment.source}: mean and one standard error ({seeds_and_rounds(reproduction)})"
            picture = folder / f"{reproduction.experiment.name}.png"
            drawing.draw_png(reproduction.shown, title, picture, reproduction.experiment.published)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    partial.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    os.replace(partial, file)
    return [reproduction.experiment.name for reproduction in reproductions if _lacks_text(reproduction, findings)]


def _lacks_text(reproduction: Reproduction, findings: Findings) -> bool:
    """Whether something differs from the paper, and nobody said a word."""
    found = reproduction.experiment
    numbers = not found.claims and not found.timing and any(not entry.agrees for entry in reproduction.agreements)
    return (reproduction.count("does not hold") > 0 or numbers) and found.name not in findings.found


def _opening(reproductions: Sequence[Reproduction], findings: Findings) -> list[str]:
    records = [record for reproduction in reproductions for record in reproduction.records]
    unique = list({id(record): record for record in records}.values())  # figures of one world share runs
    days = sorted({record["began"][:10] for record in unique})
    when = "" if not days else f" on {days[0]}" if len(days) == 1 else f" from {days[0]} to {days[-1]}"
    seconds = sum(record["seconds"] for record in unique)
    versions = sorted({_versions(record) for record in unique})
    return [
        "# The papers' experiments, run again",
        "",
        f"{len(unique)} runs{when}, {in_words(seconds)} of computing summed over runs. {findings.machine} "
        f"{'; '.join(versions)}. {_commits(unique)}",
        "",
        "[How verdicts are made](#how-verdicts-are-made) and [how to run them again](#run-them-again) stand below the tables.",
        "",
    ]


def _again(again: str, page: str) -> list[str]:
    return [
        "## Run them again",
        "",
        f"This page is made from the records in `{again}` and from what people wrote in its `{FILE}`:",
        "",
        f"    windward bench report {again} --page docs/{page}",
        "",
        "To run an experiment again, `windward bench run NAME` (the command stands in each section; problems that read data "
        "need `--data FOLDER`); to keep its records, `windward bench report bench-results/NAME --compact "
        f"{again}/NAME.jsonl.gz`.",
        "",
    ]


def _how() -> list[str]:
    return [*HOW.format(level=f"{100 * LEVEL:.0f} %").splitlines(), ""]


def _versions(record: Record) -> str:
    found = record["versions"]
    return f"windward {found['windward']}, Python {found['python']}, torch {found['torch']}"


def _commits(records: Sequence[Record]) -> str:
    named, without = commits(records)
    told = f"Commits: {', '.join(named)}." if named else ""
    older = f"{counted(without, 'older record')} name{'s' if without == 1 else ''} none." if without else ""
    return " ".join(part for part in (told, older) if part)


def _has_figure(reproduction: Reproduction) -> bool:
    """Whether there are curves: a table of seconds, or a number at the last round alone, has none."""
    if reproduction.experiment.timing:
        return False
    return any(
        int((runs.mean() == runs.mean()).sum()) > 1 for _, panel in reproduction.shown for runs in panel.values()
    )


def _section(reproduction: Reproduction, findings: Findings, pictures: Path) -> list[str]:
    found = reproduction.experiment
    lines = [f"## {found.name}", "", f"{found.source}. {found.shows}", ""]
    if not reproduction.records:
        lines += ["Not run here yet.", "", f"    windward bench run {found.name}", ""]
    else:
        lines += [
            f"Verdict: **{reproduction.word}**{_why(reproduction)}.",
            "",
            *_before(reproduction),
            *_beside(reproduction),
        ]
        if found.hyperparameters:
            lines += [f"Hyper-parameters: {found.hyperparameters}", ""]
        if found.notes:
            lines += [found.notes, ""]
        if found.name in PICTURES:
            lines += [f"![{found.source}: what is optimised]({pictures.as_posix()}/{found.name}-surface.png)", ""]
        if _has_figure(reproduction):
            lines += [f"![{found.source}]({pictures.as_posix()}/{found.name}.png)", ""]
        lines += [*_claims(reproduction), *_numbers(reproduction)]
    if found.name in findings.found:
        lines += ["**What was looked for and found**", "", findings.found[found.name], ""]
    elif _lacks_text(reproduction, findings):
        lines += ["**What was looked for and found**", "", UNSAID, ""]
    return lines


def _why(reproduction: Reproduction) -> str:
    judged = [entry for entry in reproduction.claims if entry.verdict != "not run"]
    own = sum(bool(entry.claim.said) for entry in judged)
    parts = []
    if judged:
        parts.append(f"claims judged: {len(judged)}, {own} of them the paper's own sentences; {tally(judged)}")
    if reproduction.agreements and not reproduction.experiment.timing:
        parts.append(f"{reproduction.agreeing} of {len(reproduction.agreements)} printed numbers agree")
    return f" ({'; '.join(parts)})" if parts else ""


def _before(reproduction: Reproduction) -> list[str]:
    """Return what changed since these records were made."""
    changes = since(reproduction.records)
    if not changes:
        return []
    old = sum(bool(outdated(record)) for record in reproduction.records)
    words = "; ".join(f"{change.what} ({change.since[:10]})" for change in changes)
    return [f"**Before a change:** {old} of {counted(len(reproduction.records), 'run')} were made before: {words}.", ""]


def _beside(reproduction: Reproduction) -> list[str]:
    """Return what was run beside the full size, which is the paper's."""
    found, records = reproduction.experiment, reproduction.records
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
            span(full_rounds(found, wanted)),
            span(sorted({record["rounds"] for record in records})),
        ),
        ("runs", str(len(wanted) * len(found.seeds)), str(len(records))),
    ]
    lines = ["| | full size | here |", "| --- | --- | --- |", *(f"| {a} | {b} | {c} |" for a, b, c in rows), ""]
    lines += [f"{computing(reproduction)} of computing. Again, at full size: `windward bench run {found.name}`.", ""]
    instead = ", ".join(reproduction.instead)
    return [*lines, f"Other data took the place of the paper's: {instead}.", ""] if instead else lines


def _some(names: Sequence[str], every: Sequence[str]) -> str:
    return "all" if len(names) == len(every) else ", ".join(names)


def _claims(reproduction: Reproduction) -> list[str]:
    """Return the claims, those that do not hold first; many that hold are folded."""
    judged = [entry for entry in reproduction.claims if entry.verdict != "not run"]
    unseen = reproduction.count("not run")
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
    return [*lines, f"Of {unseen} more claims the methods, problems or rounds were not run.", ""] if unseen else lines


def _folded_parts(parts: dict[Verdict, list[Difference]]) -> list[str]:
    failing, open = parts["does not hold"], parts["undecided"]
    return [*_claim_table(failing), *_folded(f"{len(open)} claims that are undecided", _claim_table(open))]


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "</details>", ""] if lines else []


def _claim_table(entries: Sequence[Difference]) -> list[str]:
    if not entries:
        return []
    every = {entry.claim.said for entry in entries}
    alike = len(every) == 1 and len(entries) > 1
    lines = [f"All of these are {_said(entries[0])}.", ""] if alike else []
    lines += [f"| panel | claim |{'' if alike else ' said |'} round | pairs | advantage | verdict |"]
    lines += [f"| --- | --- |{'' if alike else ' --- |'} ---: | ---: | ---: | --- |"]
    for entry in entries:
        words = f"{entry.claim.first} {IN_WORDS[entry.claim.relation]} {entry.claim.second}"
        said = "" if alike else f" {entry.claim.said or 'our reading'} |"
        gap = f"{number(entry.mean, 3)} [{number(entry.low, 3)}, {number(entry.high, 3)}]" if entry.pairs > 1 else ""
        verdict = f"**{entry.verdict}**" if entry.verdict == "does not hold" else entry.verdict
        verdict += _seeds(entry)
        lines.append(f"| {entry.claim.panel} | {words} |{said} {entry.mark} | {entry.pairs} | {gap} | {verdict} |")
    return [*lines, ""]


def _said(entry: Difference) -> str:
    place, _, words = entry.claim.said.partition(": ")
    return f"said in {place}: {words}" if words else "our reading"


def _numbers(reproduction: Reproduction) -> list[str]:
    lines = [line for panel, runs in reproduction.shown for line in table(reproduction.experiment, panel, runs)]
    if len(reproduction.shown) <= MOST_PANELS or reproduction.experiment.published:
        return lines
    return _folded(f"Numbers of the {len(reproduction.shown)} panels", lines)


def _seeds(entry: Difference) -> str:
    """Return what an undecided claim would need."""
    if entry.verdict != "undecided" or entry.pairs < 2:
        return ""
    return f", {entry.needed:,} seeds would decide it" if entry.needed else f", more than {MOST_SEEDS:,} seeds needed"
