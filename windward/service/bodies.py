"""What a request may say, as FastAPI checks it before Windward does."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Value: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr
Values: TypeAlias = dict[str, Value]
# In a URL a name stands between slashes, and browsers take dots alone for folders.
NAME = r"^(?!\.{1,2}$)[^/\\\u0000-\u001f\u007f]*[^/\\\u0000-\u001f\u007f\s][^/\\\u0000-\u001f\u007f]*$"


class Body(BaseModel):
    """A JSON object with the fields below and no others."""

    model_config = ConfigDict(extra="forbid")


class NewStudy(Body):
    """A study's declaration; parts are written as `windward.to_json` writes them."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    direction: Literal["maximize", "minimize"] = "maximize"
    seed: Annotated[int, Field(ge=0, le=2**53, strict=True)] = 0
    decision: dict[str, dict[str, Any]]
    context: dict[str, dict[str, Any]] = {}
    constraints: list[dict[str, Any]] = []
    policy: dict[str, Any] | None = None


class Ask(Body):
    """What is known of the coming context, and decisions that are not free."""

    context: Values | None = None
    fix: Values | None = None


class Reveal(Body):
    """What a trial's context is, whole or in part."""

    context: Values


class Tell(Body):
    """What came back."""

    value: Number
    context: Values | None = None
    noise: Annotated[Number, Field(ge=0)] | None = None
    decision: Values | None = None


class Lose(Body):
    """Why a trial is given up."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]


class Amend(Body):
    """What was wrong."""

    value: Number | None = None
    context: Values | None = None
    noise: Annotated[Number, Field(ge=0)] | None = None
    decision: Values | None = None


class NewToken(Body):
    """What a new token may do."""

    scopes: Annotated[list[Literal["read", "write"]], Field(min_length=1, max_length=2)]
