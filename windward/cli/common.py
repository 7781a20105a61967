"""What the commands share: options, values typed on a command line, and output as text or JSON."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from windward.basics.errors import ArgumentError, SpaceError
from windward.basics.speech import shown

if TYPE_CHECKING:
    from datetime import datetime

    from rich.table import Table

    from windward.space.parameters import Parameter, Value
    from windward.space.space import Space
    from windward.study.log import Log
    from windward.study.study import Study

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT_JOURNAL = "sqlite:///windward.db"
# A negative value is no option: `windward tell shop 3 -1.5`.
NEGATIVE_NUMBERS = {"ignore_unknown_options": True}


class StudyName(click.ParamType[str]):
    """The name of a study; a shell that completes it is given the names in the journal."""

    name = "study"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin so; none where the journal cannot be read: a shell shows no errors."""
        from windward.basics.errors import WindwardError
        from windward.journal import studies

        url = ctx.params.get("journal") or os.environ.get("WINDWARD_JOURNAL") or DEFAULT_JOURNAL
        try:
            return [CompletionItem(name) for name in studies(url) if name.startswith(incomplete)]
        except WindwardError:
            return []


STUDY_NAME = StudyName()


class Decimal(click.ParamType[float]):
    """A number, with a point or a comma before its decimals."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that a text stands for."""
        try:
            return float(with_point(value) if isinstance(value, str) else value)
        except SpaceError as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)


DECIMAL = Decimal()


def with_point(text: str) -> str:
    """Return a typed number with a point where it has a decimal comma; what may be thousands is refused.

    >>> with_point("35,5")
    '35.5'
    """
    found = re.fullmatch(r"\s*([+-]?\d*),(\d+)\s*", text)
    if found is None:
        return text
    whole, rest = found.groups()
    if len(rest) == 3 and whole.lstrip("+-0"):
        raise SpaceError(f"{text!r} may be {whole}.{rest} or {whole}{rest}; write the one that you mean.")
    return f"{whole}.{rest}"


def journal_option(function: Function) -> Function:
    """Add --journal."""
    return click.option(
        "--journal",
        envvar="WINDWARD_JOURNAL",
        default=DEFAULT_JOURNAL,
        show_default=True,
        show_envvar=True,
        metavar="URL",
        help="Where studies are kept: sqlite:///file.db or postgresql+psycopg://...",
    )(function)


def json_option(function: Function) -> Function:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)


def pairs_option(flag: str, short: str | None, name: str, help: str) -> Callable[[Function], Function]:
    """Return an option that is given as NAME=VALUE, any number of times."""
    flags = (flag,) if short is None else (flag, short)
    return click.option(*flags, name, multiple=True, metavar="NAME=VALUE", help=help)


def forecast_option(function: Function) -> Function:
    """Add --forecast."""
    return click.option(
        "--forecast",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A CSV file with a forecast of the context: samples, quantiles or chances (see docs/forecasts.md).",
    )(function)


def awaited(space: Space, pairs: Sequence[str], file: Path | None) -> dict[Any, Any] | None:
    """Return what is known of a coming context: values as they were typed, and what a file forecasts."""
    given: dict[Any, Any] = dict(typed("context", space.context, pairs) or {})
    if file is not None:
        said = _forecasts(file, space)
        twice = next((name for name in given if name in said), None)
        if twice is not None:
            raise ArgumentError(
                f"--context {twice}=... and --forecast {str(file)!r}: both speak of {shown(twice)}; give one of them."
            )
        given |= said
    return given or None


def _forecasts(file: Path, space: Space) -> dict[Any, Any]:
    from windward.trials.forecast_file import read_forecasts

    call = f"--forecast {str(file)!r}"
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{call}: cannot be read as CSV: {error}.") from error
    return read_forecasts(call, text, space)


def opened(name: str, journal: str) -> Study:
    """Return an existing study."""
    from windward.study.study import Study

    _remember(name)
    return Study.open(name, journal=journal)


def opened_log(name: str, journal: str) -> Log:
    """Return the log of an existing study: enough to read and to tell, without the seconds that torch takes to import."""
    from windward.study.log import Log

    _remember(name)
    return Log.open(name, journal=journal)


def _remember(name: str) -> None:
    click.get_current_context().meta["windward.study"] = name  # errors advise commands about it


def when_option(help: str) -> Callable[[Function], Function]:
    """Return the option --when, a date and time."""
    return click.option("--when", metavar="TIME", help=f"{help} such as 2026-05-01T14:30.")


def time_typed(option: str, space: Space, text: str | None) -> datetime | None:
    """Return the time in a text; one that names no time zone is in that of the calendar's contexts, or in UTC."""
    from windward.basics.times import read_moment
    from windward.space.dates import clocks

    return None if text is None else read_moment(option, text, clocks(space))


def typed(role: str, parameters: Mapping[str, Parameter], pairs: Sequence[str]) -> dict[str, Value] | None:
    """Return the values in texts such as `demand=0.61` by the parameters they belong to; None for no texts."""
    values: dict[str, Value] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or not name:
            raise SpaceError(f"{pair!r}: write NAME=VALUE, such as {next(iter(parameters), 'name')}=1.5.")
        if name not in parameters:
            known = ", ".join(repr(each) for each in parameters) or "none"
            raise SpaceError(f"{pair!r}: unknown {role} {name!r}; the study has {known}.")
        if name in values:
            raise SpaceError(f"{pair!r}: {name!r} is given twice.")
        plain = without_unit(parameters[name], text)
        values[name] = parameters[name].read(
            f"{role} {name!r}", plain if parameters[name].choices else with_point(plain)
        )
    return values or None


def without_unit(parameter: Parameter, text: str) -> str:
    """Return a typed text without the unit after it, as it is printed: `2.50 EUR` is 2.50."""
    from windward.space.outcomes import measure_of

    unit = measure_of(parameter).unit
    return text if unit is None else text.strip().removesuffix(unit).strip()


def echo_json(data: object) -> None:
    """Print JSON on stdout."""
    click.echo(json.dumps(data, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print a line on stdout."""
    click.echo(printable(text))


def printable(text: object) -> str:
    """Return text with control characters written out: what a name holds must not steer a terminal."""
    return "".join(each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in str(text))


def cell(value: object) -> str:
    """Return a value as a person reads it in a table."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else printable(value)


def bare(space: Space, name: str, value: object) -> str:
    """Return a value of a decision or a context for a table whose headings have the units."""
    measure = space.measure(name)
    return cell(value) if value is None or measure.step is None else printable(measure.bare(value))


def listed(values: Mapping[str, object], space: Space) -> str:
    """Return values as `name=value` texts that can be typed again, with their units."""
    said = {name: space.measure(name).with_unit(bare(space, name, value)) for name, value in values.items()}
    return "  ".join(f"{printable(name)}={printable(text)}" for name, text in said.items())


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]], *, left: Sequence[str] = ()) -> None:
    """Print a table; nothing in it is read as markup. In a pipe it is as wide as it needs."""
    from rich.console import Console
    from rich.text import Text

    table = _empty_table()
    for heading in headings:
        table.add_column(Text(printable(heading)), justify="left" if heading in left else "right")
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=10_000)
    console.print(table)


def _empty_table() -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, pad_edge=False)
