"""Commands about whole studies: make one, say how it stands, list its trials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windward.basics.errors import ArgumentError, JournalError
from windward.cli.common import (
    NEGATIVE_NUMBERS,
    STUDY_NAME,
    bare,
    cell,
    echo_json,
    journal_option,
    json_option,
    listed,
    opened,
    opened_log,
    pairs_option,
    print_table,
    printable,
    say,
    typed,
)

if TYPE_CHECKING:
    from windward.space.outcomes import Outcome
    from windward.space.space import Space
    from windward.study.log import Log


@click.command(short_help="Make a study from a TOML file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", help="Another name than the file's.")
@journal_option
@json_option
def new(file: Path, name: str | None, journal: str, as_json: bool) -> None:
    """Make a study from a TOML file that declares space, direction and policy.

    \b
    Example, shop.toml:
      name = "shop"
      direction = "maximize"
      [decision.order]
      part = "Real"
      low = 0
      high = 100
      [context.demand]
      part = "Real"
      low = 0
      [status_quo]
      order = 40

    Without a [policy] the study has Windward's own, `ww.auto()`. A published method is
    named by `method = "drbo_kde"` in that table. With `method = "auto"` a table such as
    [policy.context_model] changes that part of Windward's own.

    \b
    $ windward new shop.toml --journal sqlite:///shop.db
    """
    from dataclasses import replace

    from windward.present import records
    from windward.study.declare import declared_in_file

    declaration = declared_in_file(file)
    if name is not None:
        declaration = replace(declaration, name=name)
    study = declaration.create(journal)
    if as_json:
        echo_json(records.declaration(study))
    else:
        say(f"Made study {study.name!r}: {_sizes(study.space, study.trials.outcome)}. Next: windward ask {study.name}")


@click.command(short_help="Say how a study stands, or list all.")
@click.argument("study", required=False, type=STUDY_NAME)
@journal_option
@json_option
def status(study: str | None, journal: str, as_json: bool) -> None:
    """Say how a study stands: what arrived, what is pending and for how long. Without STUDY, list all studies.

    \b
    Example: windward status shop
    """
    from windward.basics.speech import ages
    from windward.present import records
    from windward.study.log import utc_now
    from windward.trials.drifts import drift_of
    from windward.trials.overdue import overdue_of
    from windward.trials.shift import forgets, shift_of

    if study is None:
        _list_all(journal, as_json=as_json)
        return
    if as_json:  # with the policy, which is made of parts
        echo_json(records.status(opened(study, journal)))
        return
    log, now = opened_log(study, journal), utc_now()
    known = log.trials
    say(f"{log.name}: {_sizes(log.space, log.history.told)}; {known.counts()}.")
    if _standing(log):
        say(f"  {_standing(log)}")
    for trial in (records.trial(one, now) for one in known.pending):
        say(f"  pending {trial['id']}: {listed(trial['decision'], log.space)}, asked {ages(trial['age'])} ago")
    for line in overdue_of(known, now).sentences:
        say(f"  {line}")
    for one in known.awaiting_context:
        told = log.history.told.measure.with_unit(cell(one.value))
        say(f"  trial {one.id} has its {log.history.outcome}, {told}, but not its whole context")
    if (drift := drift_of(log.history.fit_body, log.history.policy_body.get("surrogate"))) is not None:
        say(f"  {drift.sentence}")
    if any(one.forecast for one in known):  # judging them takes torch
        for each in opened(study, journal).forecasts():
            say(f"  {' '.join(each.sentences)}")
    followed = forgets(log.history.policy_body.get("context_model"))
    shift = shift_of(log.space, known.rows, log.history.seed, followed=followed)
    if shift.alarms:
        say(f"  {' '.join(shift.sentences)}")


def _list_all(journal: str, *, as_json: bool) -> None:
    """Print one line for each study of a journal, and what is wrong with those that cannot be read."""
    from windward.journal import studies

    rows = [_line(name, journal) for name in studies(journal)]
    if as_json:
        echo_json(rows)
        return
    print_table(
        ["study", "direction", "trials", "told", "pending", "lost", "arrived", "awaiting context"],
        [list(row.values())[:-1] for row in rows if row["error"] is None],
        left=["study", "direction"],
    )
    for row in rows:
        if row["error"] is not None:
            click.echo(printable(f"windward: {row['error']}"), err=True)


@click.command(short_help="List trials, as a table or CSV.")
@click.argument("study", type=STUDY_NAME)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, which `windward import` reads.")
@click.option("--state", type=click.Choice(["told", "pending", "lost"]), help="Only these.")
@click.option("--tag", help="Only those that have this tag.")
@journal_option
@json_option
def trials(study: str, as_csv: bool, state: str | None, tag: str | None, journal: str, as_json: bool) -> None:
    """List the trials of a study.

    \b
    Example: windward trials shop --csv > trials.csv
    """
    from windward.present import records
    from windward.study.log import utc_now

    if as_csv and as_json:
        raise click.UsageError("give --csv or --json, not both")
    log = opened_log(study, journal)
    rows = [t for t in log.trials if state in (None, t.state) and (tag is None or tag in t.tags)]
    if as_json:
        echo_json([records.trial(trial, utc_now()) for trial in rows])
    elif as_csv:
        click.echo(records.csv_text(log.space, rows, log.history.told), nl=False)
    else:
        space, names, seen = log.space, list(log.space.decision), list(log.space.context)
        noted = any(t.note or t.tags for t in rows)
        table = [
            [
                *(t.id, t.state),
                *(bare(space, n, t.decision[n]) for n in names),
                *(bare(space, n, t.context.get(n)) for n in seen),
                *(t.value, t.lost),
                *([", ".join(t.tags), t.note] if noted else []),
            ]
            for t in rows
        ]
        heads = ["id", "state", *(space.headed(n) for n in (*names, *seen)), log.history.told.head, "lost because"]
        print_table(heads + ["tags", "note"] * noted, table, left=["state", "lost because", "tags", "note"])


@click.command(short_help="Declare the status quo or the horizon.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@pairs_option("--status-quo", "-s", "status_quo", "What is done without the study, whole; may be repeated.")
@click.option("--horizon", type=int, help="How many trials the study is meant to have.")
@journal_option
@json_option
def declare(study: str, status_quo: tuple[str, ...], horizon: int | None, journal: str, as_json: bool) -> None:
    """Declare what is done without the study, and how many trials it is meant to have; from now on.

    \b
    Example: windward declare shop --status-quo price=3.8 --horizon 60
    """
    from windward.study.standing import declare_standing

    log = opened_log(study, journal)
    declare_standing(log, status_quo=typed("decision", log.space.decision, status_quo), horizon=horizon)
    if as_json:
        echo_json({"study": study, "status_quo": log.history.status_quo, "horizon": log.history.horizon})
    else:
        say(f"{study}: {_standing(log)}")


@click.command(short_help="Delete a study for good.")
@click.argument("study", type=STUDY_NAME)
@click.option("--yes", "typed_name", metavar="STUDY", help="The study's name once more, so that nothing is asked.")
@journal_option
@json_option
def delete(study: str, typed_name: str | None, journal: str, as_json: bool) -> None:
    """Delete a study and its whole log, for good. To be sure, its name has to be typed once more.

    \b
    Example: windward delete shop
             windward delete shop --yes shop
    """
    from windward.journal import delete_study

    log = opened_log(study, journal)
    if typed_name is None:
        click.echo(printable(f"This deletes {study!r} for good: {log.trials.counts()}."), err=True)
        typed_name = click.prompt("Type its name to delete it", default="", show_default=False, err=True)
    if typed_name != study:
        raise ArgumentError(f"delete: {typed_name!r} is not the study's name, {study!r}; nothing was deleted.")
    delete_study(study, journal=journal)
    if as_json:
        echo_json({"deleted": study})
    else:
        say(f"Deleted {study!r}.")


def _standing(log: Log) -> str:
    quo, horizon = log.history.status_quo, log.history.horizon
    said = [] if quo is None else [f"status quo {listed(quo, log.space)}"]
    return "; ".join([*said, *([] if horizon is None else [f"horizon {horizon} trials"])])


def _line(name: str, journal: str) -> dict[str, Any]:
    """Return a line of the list; one damaged study must not hide the others."""
    from windward.present import records

    try:
        log = opened_log(name, journal)
    except JournalError as error:
        return {"name": name, "error": str(error)}
    return {"name": name, "direction": log.direction, **records.counts(log.trials), "error": None}


def _sizes(space: Space, told: Outcome) -> str:
    decisions, contexts = len(space.decision), len(space.context)
    goal = told.goal if told.plain else f"{told.goal} {told.head}"
    return f"{goal}, {decisions} decision{'s' * (decisions != 1)}, {contexts} context{'s' * (contexts != 1)}"
