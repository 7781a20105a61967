"""Commands that look at what is known: recommend, report, demo."""

from __future__ import annotations

from pathlib import Path

import click

from windward.cli.common import echo_json, journal_option, json_option, opened, pairs_option, say, typed


@click.command(short_help="Say what to do now.")
@click.argument("study")
@pairs_option("--context", "-c", "context", "What is known of the context it will meet; may be repeated.")
@journal_option
@json_option
def recommend(study: str, context: tuple[str, ...], journal: str, as_json: bool) -> None:
    """Say what to do now: the decision, its value, an interval, and what it is protected against.

    \b
    Example: windward recommend shop
    """
    from windward.present import records, sentences

    one = opened(study, journal)
    found = one.recommend(context=typed("context", one.space.context, context))
    if as_json:
        echo_json(records.recommendation(found))
        return
    for line in sentences.advice(one, found):
        say(line)


@click.command(short_help="Write a report to read, one HTML file.")
@click.argument("study")
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
    """Order stock before demand is known: SBO-KDE beside plain GP-UCB, and a report at the end.

    \b
    Example: windward demo --rounds 40
    """
    from windward.cli.demo import run_demo

    result = run_demo(rounds, seed, output, quiet=as_json)
    if as_json:
        echo_json(result)
