"""Commands that answer what people ask of advice: by-context, importance."""

from __future__ import annotations

import click

from windward.cli.common import (
    NEGATIVE_NUMBERS,
    STUDY_NAME,
    echo_json,
    journal_option,
    json_option,
    opened,
    pairs_option,
    print_table,
    say,
    time_typed,
    typed,
    when_option,
)

context_option = pairs_option(
    "--context", "-c", "context", "What is known of the context it will meet; may be repeated."
)
at_option = when_option("The time it will be, by which contexts of the calendar are known; left out, any time:")


@click.command(short_help="Say what another decision would be worth.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@click.argument("decision", nargs=-1, required=True, metavar="NAME=VALUE...")
@context_option
@at_option
@journal_option
@json_option
def whatif(
    study: str, decision: tuple[str, ...], context: tuple[str, ...], when: str | None, journal: str, as_json: bool
) -> None:
    """Say what another decision would be worth; what is left out of it is as recommended.

    \b
    Example: windward whatif shop order=55
    """
    from windward.present import records

    one = opened(study, journal)
    known, at = typed("context", one.space.context, context), time_typed("--when", one.space, when)
    chosen = typed("decision", one.space.decision, decision) or {}
    if any(name not in chosen for name in one.space.decision):
        chosen = {**one.recommend(context=known, when=at).decision, **chosen}
    found = one.assess(chosen, context=known, when=at)
    if as_json:
        echo_json(records.recommendation(found))
        return
    for line in found.sentences:
        say(line)


@click.command("by-context", short_help="Say what it is worth on each kind of day.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@pairs_option("--decision", "-d", "decision", "A decision, whole; left out, the recommended one. May be repeated.")
@click.option("--over", multiple=True, metavar="NAME", help="A context to look at; twice for two together.")
@context_option
@at_option
@journal_option
@json_option
def by_context(
    study: str,
    decision: tuple[str, ...],
    over: tuple[str, ...],
    context: tuple[str, ...],
    when: str | None,
    journal: str,
    as_json: bool,
) -> None:
    """Say what a decision is worth on each kind of day: how often it comes, the value there, and its 90 % interval.

    \b
    Example: windward by-context shop --over weather
    """
    from windward.basics.speech import percent
    from windward.present import records

    one = opened(study, journal)
    found = one.by_context(
        typed("decision", one.space.decision, decision),
        over=list(over) or None,
        context=typed("context", one.space.context, context),
        when=time_typed("--when", one.space, when),
    )
    if as_json:
        echo_json(records.by_context(found))
        return
    say(found.sentences[0])
    beside, value, bare = found.status_quo is not None, found.outcome.head, found.outcome.measure.bare
    print_table(
        ["when", "how often", "seen", value, "90 % from", "to", *(["status quo"] if beside else [])],
        [
            [
                cell.words,
                percent(cell.share) if cell.share >= 0.01 else "below 1 %",
                cell.seen,
                bare(cell.value),
                *(bare(end) for end in cell.interval),
                *([bare(cell.status_quo)] if beside else []),
            ]
            for cell in found.cells
        ],
        left=["when"],
    )
    for note in found.notes:
        say(note)


@click.command(short_help="Say what matters.")
@click.argument("study", type=STUDY_NAME)
@context_option
@at_option
@journal_option
@json_option
def importance(study: str, context: tuple[str, ...], when: str | None, journal: str, as_json: bool) -> None:
    """Say what matters: how much of the variation each decision and context accounts for, with 90 % intervals.

    \b
    Example: windward importance shop
    """
    from windward.basics.speech import and_list, percent
    from windward.present import records

    one = opened(study, journal)
    found = one.importance(
        context=typed("context", one.space.context, context), when=time_typed("--when", one.space, when)
    )
    if as_json:
        echo_json(records.importance(found))
        return
    for line in found.sentences:
        say(line)
    print_table(
        ["", "by itself", "90 % from", "to", "in all", "90 % from", "to"],
        [
            [
                and_list(each.names),
                percent(each.first),
                *(percent(end) for end in each.first_interval),
                percent(each.total),
                *(percent(end) for end in each.total_interval),
            ]
            for each in found.inputs
        ],
        left=[""],
    )
