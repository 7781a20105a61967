"""The commands of one round: ask, reveal, tell, lose, amend, note."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windward.cli.common import (
    DECIMAL,
    NEGATIVE_NUMBERS,
    STUDY_NAME,
    awaited,
    cell,
    echo_json,
    forecast_option,
    journal_option,
    json_option,
    listed,
    opened,
    opened_log,
    pairs_option,
    say,
    time_typed,
    typed,
    when_option,
)

if TYPE_CHECKING:
    from windward.study.log import Log

context_option = pairs_option("--context", "-c", "context", "What is known of the context; may be repeated.")
decision_option = pairs_option(
    "--decision",
    "-d",
    "decision",
    "What was really done, whole, where it differs from what was asked; may be repeated.",
)
noise_option = click.option("--noise", type=DECIMAL, help="Standard deviation of the value, where it is known.")
key_option = click.option("--key", help="Idempotency key: the same call again with the same key changes nothing.")


@click.command(short_help="Get the next decision to try.")
@click.argument("study", type=STUDY_NAME)
@context_option
@forecast_option
@pairs_option("--fix", "-f", "fix", "A decision that is not free; may be repeated.")
@click.option("--radius", type=DECIMAL, help="A radius in place of the objective's own, for this ask.")
@click.option("--far", is_flag=True, help="A decision as far as possible from all that were tried, within the guards.")
@when_option("The time the decision is for, by which contexts of the calendar are known; left out, now:")
@key_option
@journal_option
@json_option
def ask(
    study: str,
    context: tuple[str, ...],
    forecast: Path | None,
    fix: tuple[str, ...],
    radius: float | None,
    far: bool,
    when: str | None,
    key: str | None,
    journal: str,
    as_json: bool,
) -> None:
    """Get the next decision to try; it is pending from now on.

    A forecast is a CSV file with a column for each context that it is about. Its rows are samples, with their weights in
    a column `weight` where they differ; with a column `quantile` they are quantiles, with a column `chance` chances.

    \b
    Example: windward ask shop --context weekday=monday
    """
    from windward.present import records

    one = opened(study, journal)
    found = one.ask(
        context=awaited(one.space, context, forecast),
        fix=typed("decision", one.space.decision, fix),
        radius=radius,
        far=far,
        key=key,
        when=time_typed("--when", one.space, when),
    )
    if as_json:
        echo_json(records.suggestion(found))
        return
    say(f"Trial {found.id}: {listed(found.decision, one.space)}")
    if found.context:
        say(f"  with context {listed(found.context, one.space)}")
    for line in found.sentences:
        say(f"  {line}")


@click.command(short_help="Say what a trial's context is.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@click.argument("id", type=int)
@click.argument("context", nargs=-1, required=True, metavar="NAME=VALUE...")
@journal_option
@json_option
def reveal(study: str, id: int, context: tuple[str, ...], journal: str, as_json: bool) -> None:
    """Say what a trial's context is, whole or in part, as soon as it is seen.

    \b
    Example: windward reveal shop 0 demand=61
    """
    from windward.study import tell as telling

    log = opened_log(study, journal)
    telling.reveal(log, id, typed("context", log.space.context, context) or {})
    _done(id, f"context {listed(log.trials[id].context, log.space)}", log, as_json)


@click.command(short_help="Say what a trial's value is.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@click.argument("id", type=int)
@click.argument("value", type=DECIMAL)
@context_option
@noise_option
@decision_option
@key_option
@journal_option
@json_option
def tell(
    study: str,
    id: int,
    value: float,
    context: tuple[str, ...],
    noise: float | None,
    decision: tuple[str, ...],
    key: str | None,
    journal: str,
    as_json: bool,
) -> None:
    """Say what a trial's value is, however late.

    \b
    Example: windward tell shop 0 193.5 --context demand=61
    """
    from windward.present import records
    from windward.study import tell as telling
    from windward.trials.records import Tell

    log = opened_log(study, journal)
    told = Tell(
        id,
        value,
        context=typed("context", log.space.context, context),
        noise=noise,
        decision=typed("decision", log.space.decision, decision),
        key=key,
    )
    telling.tell(log, told)
    _done(id, _value(log, value), log, as_json)
    missing = records.missing_context(log.trials, id)
    if missing and not as_json:
        waits = " ".join(f"{name}=VALUE" for name in missing)
        say(f"  It waits for its context before it counts: windward reveal {shlex.quote(study)} {id} {waits}")


@click.command(short_help="Give a pending trial up.")
@click.argument("study", type=STUDY_NAME)
@click.argument("id", type=int)
@click.argument("reason")
@journal_option
@json_option
def lose(study: str, id: int, reason: str, journal: str, as_json: bool) -> None:
    """Give a trial up, and say why. A value that comes later still counts.

    A value that was told without its whole context is set aside: it counts again once the context is revealed.

    \b
    Example: windward lose shop 3 "the shop was closed"
    """
    from windward.study import tell as telling

    log = opened_log(study, journal)
    telling.lose(log, id, reason)
    kept = log.trials[id].lost
    _done(id, f"lost, {kept}" if kept == reason else f"was lost already, {kept}", log, as_json)
    if kept != reason and not as_json:
        say(f"  To change the reason: windward amend {shlex.quote(study)} {id} --reason {shlex.quote(reason)}")
    aside = log.trials[id].set_aside
    if aside is not None and not as_json:
        missing = " ".join(f"{name}=VALUE" for name in log.space.context if name not in log.trials[id].context)
        told = log.history.told.measure.with_unit(cell(aside))
        say(f"  Its {log.history.outcome}, {told}, is set aside. It counts again once its context is known:")
        say(f"  windward reveal {shlex.quote(study)} {id} {missing}")


@click.command(short_help="Correct what was told or revealed.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@click.argument("id", type=int)
@click.option("--value", type=DECIMAL, help="The right value.")
@context_option
@noise_option
@decision_option
@click.option("--reason", help="Why the trial was lost, in other words.")
@when_option("The time it took place; contexts of the calendar follow it:")
@journal_option
@json_option
def amend(
    study: str,
    id: int,
    value: float | None,
    context: tuple[str, ...],
    noise: float | None,
    decision: tuple[str, ...],
    reason: str | None,
    when: str | None,
    journal: str,
    as_json: bool,
) -> None:
    """Correct what was told or revealed, or why a trial was lost; the journal keeps both, the study goes on with the new.

    \b
    Example: windward amend shop 0 --value 19.35
    """
    from windward.study import tell as telling

    log = opened_log(study, journal)
    changes = telling.Changes(
        value,
        typed("context", log.space.context, context),
        noise,
        typed("decision", log.space.decision, decision),
        reason,
        time_typed("--when", log.space, when),
    )
    telling.amend(log, id, changes)
    _done(id, "amended", log, as_json)


@click.command(short_help="Write down what to remember of a trial.")
@click.argument("study", type=STUDY_NAME)
@click.argument("id", type=int)
@click.argument("text", required=False)
@click.option("--tag", "tags", multiple=True, help="A word to find it by, in place of those it has; may be repeated.")
@click.option("--no-tags", is_flag=True, help="Take its tags away.")
@journal_option
@json_option
def note(
    study: str, id: int, text: str | None, tags: tuple[str, ...], no_tags: bool, journal: str, as_json: bool
) -> None:
    """Write down what to remember of a trial: a note, tags to find it by, or both. An empty note takes it away.

    Neither moves a suggestion or any advice. `windward trials --tag` lists the trials that have a tag.

    \b
    Example: windward note shop 0 "the street was closed" --tag roadworks
    """
    from windward.study import tell as telling

    if tags and no_tags:
        raise click.UsageError("give --tag or --no-tags, not both")
    log = opened_log(study, journal)
    telling.note(log, id, text, list(tags) if tags or no_tags else None)
    one = log.trials[id]
    said = [*([one.note] if one.note else []), *([f"tags {', '.join(one.tags)}"] if one.tags else [])]
    _done(id, "; ".join(said) or "no note and no tags", log, as_json)


def _done(id: int, what: str, log: Log, as_json: bool) -> None:
    from windward.present import records
    from windward.study.log import utc_now

    if as_json:
        echo_json(records.trial(log.trials[id], utc_now()))
    else:
        say(f"Trial {id}: {what}")


def _value(log: Log, value: float) -> str:
    """Return what was told, with its name and its unit."""
    return f"{log.history.outcome} {log.history.told.measure.with_unit(cell(value))}"
