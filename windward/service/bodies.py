"""What a request may say, as FastAPI checks it before Windward does."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from unicodedata import category

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from windward.basics import arguments
from windward.basics.times import read_moment
from windward.trials.notes import MOST_TAGS

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Value: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr
Values: TypeAlias = dict[str, Value]
Awaiting: TypeAlias = dict[str, Value | dict[str, Any]]
Horizon: TypeAlias = Annotated[int, Field(ge=1, le=2**53, strict=True)]
LONGEST_NAME = 200


def fits_a_path(name: str) -> bool:
    """Return whether a study's name can stand in a URL, and a database can take it.

    In a URL it stands between slashes, and browsers take dots alone for folders. Control characters are cut out or refused
    on the way.
    """
    return (
        0 < len(name) <= LONGEST_NAME
        and not any(character in "/\\" or category(character) == "Cc" for character in name)
        and not name.isspace()
        and name not in (".", "..")
        and arguments.is_text(name)
    )


def _a_path(name: str) -> str:
    if not fits_a_path(name):
        raise ValueError("no study of the service has such a name")
    return name


def _a_new_name(name: str) -> str:
    # Stricter than a path: what is invisible, or turns the text around, makes one name look like another.
    if not fits_a_path(name) or not name.isprintable():
        raise ValueError("slashes, unprintable characters, blanks alone and dots alone cannot stand in a study's name")
    return name


def _a_reason(text: str) -> str:
    return arguments.text("request", "reason", text)


def _a_time(text: str) -> str:
    read_moment("when", text, None)
    return text


PathName: TypeAlias = Annotated[str, AfterValidator(_a_path)]
NewName: TypeAlias = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_a_new_name)]
# A date and time in ISO 8601 with its time zone.
Time: TypeAlias = Annotated[str, Field(max_length=64), AfterValidator(_a_time)]
Reason: TypeAlias = Annotated[str, Field(min_length=1, max_length=arguments.LONGEST_TEXT), AfterValidator(_a_reason)]


class Body(BaseModel):
    """A JSON object with the fields below and no others."""

    model_config = ConfigDict(extra="forbid")


class NewStudy(Body):
    """A study's declaration; parts are written as `windward.to_json` writes them."""

    name: NewName
    direction: Literal["maximize", "minimize"] | None = None
    outcomes: dict[str, dict[str, Any]] | None = None
    seed: Annotated[int, Field(ge=0, le=2**53, strict=True)] = 0
    horizon: Horizon | None = None
    decision: dict[str, dict[str, Any]]
    context: dict[str, dict[str, Any]] = {}
    constraints: list[dict[str, Any]] = []
    status_quo: Values | None = None
    policy: dict[str, Any] | None = None


class Declare(Body):
    """What is done without the study, a whole decision, and how many trials it is meant to have; what is left out stays."""

    status_quo: Values | None = None
    horizon: Horizon | None = None


class Ask(Body):
    """What is known of the coming context, decisions that are not free, and the time the decision is for.

    With `far` it is a decision as far as possible from all that were tried.

    An object among the values of `context` is a forecast of that one; `forecast` is one of several together, by samples.
    `forecast_csv` is the text of a CSV file with a column for each context that it is about.
    """

    context: Awaiting | None = None
    forecast: dict[str, Any] | None = None
    forecast_csv: str | None = None
    fix: Values | None = None
    when: Time | None = None
    radius: Annotated[Number, Field(ge=0)] | None = None
    far: bool = False


class Reveal(Body):
    """What a trial's context is, whole or in part."""

    context: Values


class TellBody(Body):
    """What came back."""

    value: Number
    context: Values | None = None
    noise: Annotated[Number, Field(ge=0)] | None = None
    decision: Values | None = None


class Lose(Body):
    """Why a trial is given up."""

    reason: Reason


class Amend(Body):
    """What was wrong."""

    value: Number | None = None
    context: Values | None = None
    noise: Annotated[Number, Field(ge=0)] | None = None
    decision: Values | None = None
    reason: Reason | None = None
    when: Time | None = None


class Note(Body):
    """What to remember of a trial: a note, tags, or both; an empty one takes it away."""

    note: Annotated[str, Field(max_length=arguments.LONGEST_TEXT)] | None = None
    tags: Annotated[list[str], Field(max_length=MOST_TAGS)] | None = None


class HistoryFile(Body):
    """Finished trials in the text of a CSV file, and what its columns are where their headings do not say so."""

    csv: Annotated[str, Field(min_length=1)]
    columns: dict[str, str] = {}
    ignore: list[str] = []
    date: str | None = None
    again: bool = False
    leave_out: bool = False
    preview: bool = False


class NewToken(Body):
    """What a new token may do."""

    scopes: Annotated[list[Literal["read", "write"]], Field(min_length=1, max_length=2)]
