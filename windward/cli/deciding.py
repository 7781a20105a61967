"""Commands that look at what is known: recommend, compare, settled, check, report, demo."""

from __future__ import annotations

from pathlib import Path

import click

from windward.cli.common import (
    DECIMAL,
    NEGATIVE_NUMBERS,
    STUDY_NAME,
    awaited,
    echo_json,
    forecast_option,
    journal_option,
    json_option,
    opened,
    pairs_option,
    say,
    time_typed,
    typed,
    when_option,
)

context_option = pairs_option(
    "--context", "-c", "context", "What is known of the context it will meet; may be repeated."
)
at_option = when_option("The time it will be, by which contexts of the calendar are known; left out, any time:")


@click.command(short_help="Say what to do now.")
@click.argument("study", type=STUDY_NAME)
@context_option
@forecast_option
@at_option
@journal_option
@json_option
def recommend(
    study: str, context: tuple[str, ...], forecast: Path | None, when: str | None, journal: str, as_json: bool
) -> None:
    """Say what to do now: the decision, its value, an interval, and what it is protected against.

    \b
    Example: windward recommend shop
    """
    from windward.present import records, sentences

    one = opened(study, journal)
    found = one.recommend(context=awaited(one.space, context, forecast), when=time_typed("--when", one.space, when))
    if as_json:
        echo_json(records.recommendation(found))
        return
    for line in sentences.advice(one, found):
        say(line)


@click.command(short_help="Set two decisions side by side.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@pairs_option("--first", None, "first", "The first decision, whole; left out, the status quo. May be repeated.")
@pairs_option("--second", None, "second", "The second decision, whole; left out, the recommended one. May be repeated.")
@context_option
@at_option
@journal_option
@json_option
def compare(
    study: str,
    first: tuple[str, ...],
    second: tuple[str, ...],
    context: tuple[str, ...],
    when: str | None,
    journal: str,
    as_json: bool,
) -> None:
    """Say by how much the second decision is worth more than the first, and how probable it is that it is better.

    \b
    Example: windward compare shop --first price=3.8 --second price=4.9
    """
    from windward.present import records, sentences

    one = opened(study, journal)
    found = one.compare(
        typed("decision", one.space.decision, first),
        typed("decision", one.space.decision, second),
        context=typed("context", one.space.context, context),
        when=time_typed("--when", one.space, when),
    )
    if as_json:
        echo_json(records.comparison(found))
        return
    for line in sentences.compared(one, found):
        say(line)


@click.command(short_help="Say whether the search can stop.", context_settings=NEGATIVE_NUMBERS)
@click.argument("study", type=STUDY_NAME)
@click.option("--delta", type=DECIMAL, help="A difference that does not matter, in the units of the value.")
@context_option
@at_option
@journal_option
@json_option
def settled(
    study: str, delta: float | None, context: tuple[str, ...], when: str | None, journal: str, as_json: bool
) -> None:
    """Say how probable it is that no decision is better than the recommended one by more than DELTA.

    Without --delta: the difference that holds with 90 % probability.

    \b
    Example: windward settled shop --delta 0.5
    """
    from windward.present import records, sentences
    from windward.trials.coming import coming_at

    one = opened(study, journal)
    typed_context, at = typed("context", one.space.context, context), time_typed("--when", one.space, when)
    seen = one.snapshot()
    found = records.settled(seen, delta, coming_at("settled", one.space, typed_context, at))
    if as_json:
        echo_json(found)
    else:
        say(sentences.settled(found["delta"], found["probability"], seen.outcome))


@click.command(short_help="Say whether the model can be trusted.")
@click.argument("study", type=STUDY_NAME)
@journal_option
@json_option
def check(study: str, journal: str, as_json: bool) -> None:
    """Say whether the model behind the advice can be trusted: each result is left out and predicted from the others.

    \b
    Example: windward check shop
    """
    from windward.present import records

    found = opened(study, journal).check()
    if as_json:
        echo_json(records.check(found))
        return
    for line in found.sentences:
        say(line)


@click.command(short_help="Write a report to read, one HTML file.")
@click.argument("study", type=STUDY_NAME)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True
)
@journal_option
@json_option
def report(study: str, output: Path, journal: str, as_json: bool) -> None:
    """Write a report to read: what was decided, what to do now, figures, trials and settings, in one offline file.

    \b
    Example: windward report shop -o report.html
    """
    from windward.present.report import write_report

    write_report(opened(study, journal), output)
    if as_json:
        echo_json({"study": study, "file": str(output), "bytes": output.stat().st_size})
    else:
        say(f"Wrote {output}")


@click.command(short_help="Order stock before demand is known, two ways.")
@click.option("--rounds", type=click.IntRange(min=11), default=40, show_default=True, help="Days to sell.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of demand and decisions.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="demo-report.html",
    show_default=True,
    help="Where the report goes.",
)
@json_option
def demo(rounds: int, seed: int, output: Path, as_json: bool) -> None:
    """Order stock before demand is known: the default beside SBO-KDE and GP-UCB, and a report at the end.

    \b
    Example: windward demo --rounds 40
    """
    from windward.cli.demo import run_demo

    result = run_demo(rounds, seed, output, quiet=as_json)
    if as_json:
        echo_json(result)
