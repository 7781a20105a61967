"""The command line of the experiments: `windward bench list`, `run`, `status` and `report`.

Only click is imported here; what needs torch or a plotting library is imported by the command that needs it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from windward.bench.durations import TimeNeeded
    from windward.bench.experiment import Experiment
    from windward.bench.runner import RunSettings, Tally

FOLDER = click.Path(file_okay=False, path_type=Path)


def _seeds(context: click.Context, parameter: click.Parameter, text: str | None) -> int | tuple[int, ...] | None:
    """Read `5` (the first five of the paper's), `100-104`, or `3,7,9`."""
    if text is None:
        return None
    if re.fullmatch(r"[1-9]\d*", text):
        return int(text)
    span = re.fullmatch(r"(\d+)-(\d+)", text)
    if span and int(span[1]) <= int(span[2]):
        return tuple(range(int(span[1]), int(span[2]) + 1))
    if re.fullmatch(r"\d+(,\d+)+,?|\d+,", text):
        return tuple(dict.fromkeys(int(part) for part in text.split(",") if part))
    raise click.BadParameter(f"{text!r} is no count (5), range (100-104) or list (3,7,9).", context, parameter)


def _names(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Read names with commas between them."""
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if not names:
        raise click.BadParameter("give at least one name.", context, parameter)
    return names


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.group()
def bench() -> None:
    """The papers' experiments: run them, resume them, report them."""


@bench.command("list")
@AS_JSON
def list_command(as_json: bool) -> None:
    """List the experiments, and what each shows.

    Example: windward bench list
    """
    from windward.basics.speech import counted
    from windward.bench.experiments import experiments

    rows: list[dict[str, Any]] = [
        {
            "name": found.name,
            "source": found.source,
            "shows": found.shows,
            "problems": [case.name for case in found.cases],
            "methods": list(found.methods),
            "seeds": list(found.seeds),
            "rounds": sorted({case.rounds or found.rounds for case in found.cases}),
            "runs": sum(len(found.runs_on(case)) for case in found.cases) * len(found.seeds),
        }
        for found in experiments().values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        sizes = ", ".join(counted(len(row[part]), part[:-1]) for part in ("problems", "methods", "seeds"))
        click.echo(f"{row['name']:<20} {row['source']}: {row['shows']}")
        rounds = "/".join(map(str, row["rounds"]))
        click.echo(f"{'':<20} {sizes}, {rounds} rounds: {counted(row['runs'], 'run')}")


@bench.command()
@click.argument("experiment")
@click.option("--seeds", callback=_seeds, help="How many of the paper's seeds, a range 100-104, or a list 3,7,9.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of every run, in place of the paper's.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes at once; one per core (tables of times: one).")
@click.option("--out", type=FOLDER, help="Folder of the records.  [default: bench-results/<experiment>[-quick]]")
@click.option("--quick", is_flag=True, help="A small size, under three minutes on two cores.")
@click.option("--data", type=click.Path(file_okay=False, exists=True, path_type=Path), help="Folder of the data files.")
@click.option("--substitutes", is_flag=True, help="Where data are missing, run a problem that needs none in its place.")
@click.option("--problems", callback=_names, help="Only these problems, with commas between them.")
@click.option("--methods", callback=_names, help="Only these methods, with commas between them.")
@click.option(
    "--with",
    "extras",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A Python file with METHODS or PROBLEMS of your own.",
)
@click.option("--trials/--no-trials", default=True, show_default=True, help="Try kinds of run that no record tells of.")
@AS_JSON
def run(
    experiment: str,
    seeds: int | tuple[int, ...] | None,
    rounds: int | None,
    workers: int | None,
    out: Path | None,
    quick: bool,
    data: Path | None,
    substitutes: bool,
    problems: tuple[str, ...] | None,
    methods: tuple[str, ...] | None,
    extras: Path | None,
    trials: bool,
    as_json: bool,
) -> None:
    """Run EXPERIMENT, or go on with it: runs that are finished are not repeated.

    Before the first run it says how long they will take: from the records in --out, benchmarks/records and bench-results, else
    from trials of twenty rounds.

    Example: windward bench run huang2024-fig1 --quick
    """
    from windward.bench.experiments import experiment as registered
    from windward.bench.runner import RunSettings

    found = registered(experiment)
    settings = RunSettings(
        out=out or Path("bench-results") / (f"{experiment}-quick" if quick else experiment),
        seeds=_first(found, seeds) if isinstance(seeds, int) else seeds,
        rounds=rounds,
        workers=workers,
        quick=quick,
        data=data,
        substitutes=substitutes,
        cases=problems,
        methods=methods,
        extras=extras,
    )
    click.echo(f"{found.name}: {_outlook(found, settings, trials)}", err=True)
    outcome = _watched(found, settings)
    _say(outcome, settings.out, as_json)
    if outcome.failures:
        raise SystemExit(1)


@bench.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=FOLDER, help="Folder of tables and figures.  [default: report, in the first folder given]")
@click.option(
    "--compact",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the records in their compact form to this .jsonl.gz; a report can be made from it.",
)
@click.option("--figures/--no-figures", default=True, show_default=True, help="Figures as PNG and HTML.")
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one page of all experiments here instead, with its figures beside it.",
)
@click.option(
    "--findings",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What people found, for --page.  [default: findings.toml, in the first folder given]",
)
@AS_JSON
def report(
    paths: tuple[Path, ...],
    out: Path | None,
    compact: Path | None,
    figures: bool,
    page: Path | None,
    findings: Path | None,
    as_json: bool,
) -> None:
    """Make tables, paired comparisons and figures from the records in PATHS (folders, .jsonl or .jsonl.gz files).

    Example: windward bench report bench-results/huang2024-fig1
    """
    if page is None and findings is not None:
        raise click.UsageError("--findings goes with --page.")
    if page is not None and out is not None:
        raise click.UsageError("--out is for a page of each experiment; --page says where the one page goes.")
    from windward.bench.records import read_all, write_compact
    from windward.bench.summary import write_report

    found, torn = read_all(paths)
    if torn:
        click.echo(f"{torn} torn line(s) passed over: a process was killed while it wrote.", err=True)
    size = None if compact is None else write_compact(found, compact)
    if size is not None and not as_json:
        click.echo(f"{compact}: {len(found)} runs, {size} bytes")
    first = paths[0] if paths[0].is_dir() else paths[0].parent
    if page is None:
        written, lacking = write_report(found, out or first / "report", figures=figures), []
    else:
        written, lacking = [page], _one_page(found, first, page, findings, figures)
    if as_json:
        pages = {"runs": len(found), "pages": [str(file) for file in written], "compact_bytes": size}
        click.echo(json.dumps(pages if page is None else pages | {"lacking": lacking}))
    else:
        for file in written:
            click.echo(str(file))
    if lacking:
        raise click.ClickException(
            f"{', '.join(lacking)}: it differs from the paper and nothing is said of it; the page is written, and needs "
            "text under [found.NAME] in the findings: say what was looked for and found."
        )


@bench.command()
@click.argument("names", nargs=-1)
@click.option("--workers", type=click.IntRange(min=1), help="Processes at once; one per core (tables of times: one).")
@click.option(
    "--records",
    "folders",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="More folders of records than benchmarks/records and bench-results.",
)
@click.option("--data", type=click.Path(file_okay=False, exists=True, path_type=Path), help="Folder of the data files.")
@click.option("--trials", is_flag=True, help="Try kinds of run that no record tells of: twenty rounds each.")
@AS_JSON
def status(
    names: tuple[str, ...],
    workers: int | None,
    folders: tuple[Path, ...],
    data: Path | None,
    trials: bool,
    as_json: bool,
) -> None:
    """Say of each experiment (or of NAMES) what is done at full size, what is left, and how long that will take.

    Runs made before a change that could alter them count as left.

    Example: windward bench status huang2024-fig1
    """
    from windward.bench.durations import left_over, usual_records
    from windward.bench.experiments import experiment as registered
    from windward.bench.experiments import experiments
    from windward.bench.runner import RunSettings, workers_for

    known = usual_records(folders)
    rows = []
    for name in names or experiments():
        found = registered(name)
        settings = RunSettings(out=Path("bench-results") / f"{name}.status", data=data, workers=workers)
        done, told = left_over(found, known, settings, trials=trials)
        rows.append((name, done, told, workers_for(found, settings, told.runs)))
    if as_json:
        click.echo(json.dumps([_row(*row) for row in rows], indent=2))
        return
    for name, there, told, count in rows:
        click.echo(f"{name:<20} {there} done; {told.sentence(count)}")
    every = {key: seconds for _, _, told, _ in rows for key, seconds in told.each.items()}
    click.echo(f"{'':<20} in all {sum(every.values()) / 3600:.1f} core hours, runs that figures share counted once")


def _row(name: str, there: int, told: TimeNeeded, workers: int) -> dict[str, object]:
    return {
        "name": name,
        "done": there,
        "left": told.runs,
        "core_seconds": round(told.seconds, 1),
        "seconds": round(told.within(workers), 1),
        "workers": workers,
        "kinds": {"measured": told.measured, "likened": told.likened, "tried": told.tried, "unknown": told.unknown},
    }


def _outlook(found: Experiment, settings: RunSettings, trials: bool) -> str:
    """Return how long a run will take, in words."""
    from windward.bench.durations import outlook, usual_records
    from windward.bench.runner import workers_for

    told = outlook(found, settings, usual_records([settings.out]), trials=trials)
    return told.sentence(workers_for(found, settings, told.runs))


def _first(found: Experiment, count: int) -> tuple[int, ...]:
    """Return the first seeds of the paper's."""
    if count > len(found.seeds):
        low, high = found.seeds[0], found.seeds[0] + count - 1
        raise click.UsageError(
            f"--seeds {count}: {found.name} has {len(found.seeds)}; name more by --seeds {low}-{high}."
        )
    return found.seeds[:count]


def _watched(found: Experiment, settings: RunSettings) -> Tally:
    """Run it with its progress on stderr; Ctrl-C keeps what is finished."""
    from windward.bench.runner import run_experiment
    from windward.bench.watching import watcher

    with watcher(found.name, sys.stderr) as watching:
        try:
            return run_experiment(found, settings, watching)
        except KeyboardInterrupt:
            watching.close()
            click.echo(f"stopped; finished runs are in {settings.out}, the same command goes on from there.", err=True)
            raise SystemExit(130) from None


def _say(outcome: Tally, folder: Path, as_json: bool) -> None:
    """Print what came of the runs, and how those that failed ended."""
    done, before, failed = outcome.done, outcome.skipped, len(outcome.failures)
    if as_json:
        click.echo(json.dumps({"done": done, "there_before": before, "failed": failed, "out": str(folder)}))
    else:
        click.echo(f"{done} runs done, {before} there before, {failed} failed; in {folder}")
    for failure in outcome.failures:
        job, last = failure.job, failure.trace.strip().splitlines()[-1]
        click.echo(f"failed: {job.case}, {job.method}, seed {job.seed}: {last}", err=True)
    if not failed and not as_json:
        click.echo(f"next: windward bench report {folder}")


def _one_page(
    found: Sequence[dict[str, Any]], folder: Path, page: Path, findings: Path | None, figures: bool
) -> list[str]:
    from windward.bench.experiments import experiments
    from windward.bench.findings import FILE, read_findings
    from windward.bench.page import write_page

    said = read_findings(findings or folder / FILE, experiments())
    # By its last two names: the page is the same wherever the folder lies.
    return write_page(found, said, page, figures=figures, again="/".join(folder.resolve().parts[-2:]))
