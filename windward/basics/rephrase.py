"""Advice in errors, for people who do not call Python: as a command of the command line, or as a request to the service.

The library's errors advise what its callers type, such as `study.amend(0, value=99.0)`. Here that call is read, never run.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

# The advice is the end of a message; what stands before it is what happened.
ADVICE = re.compile(r"study\.(?:amend|reveal|tell|lose)\(\d+, .*\)(?=\.$)", re.DOTALL)
CALLED = re.compile(r"^study\.(\w+)(?=[(:])")
OWN_PART = "pass a class of your own with parts=[...]"
FROM_PYTHON = "with a class of your own, open the study from Python with parts=[...]"
WITH_WHEN = "with when=."
DECLARE = "study.declare(status_quo={...})"
EXISTS = re.compile(r"^a study named (.+) exists already; continue it with (Study\.open)", re.DOTALL)
# Longer messages stay as they are.
LONGEST = 10_000
# What a call that says `...` leaves to the reader.
LEFT_OPEN: dict[str, dict[str, Any]] = {
    "tell": {"value": ...},
    "reveal": {"context": {"name": ...}},
    "lose": {"reason": "why"},
}


def as_command(message: str, study: str | None) -> str:
    """Return a message whose advice is a command.

    >>> as_command("trial 0 has a value; to correct it use study.amend(0, value=99.0).", "my shop")
    "trial 0 has a value; to correct it use windward amend 'my shop' 0 --value 99.0."
    """
    message = CALLED.sub(lambda call: "windward " + call[1].replace("_", "-"), message).replace(
        WITH_WHEN, "with --when."
    )
    if study is not None:
        message = message.replace(DECLARE, f"windward declare {shlex.quote(study)} --status-quo NAME=VALUE")
    return _rephrased(message, study, _command, lambda name: f"windward ask {shlex.quote(name)}")


def as_request(message: str, study: str | None) -> str:
    """Return a message whose advice is a request.

    >>> as_request("trial 0 has a value; to correct it use study.amend(0, value=99.0).", "shop")
    'trial 0 has a value; to correct it use POST /api/studies/shop/trials/0/amend with {"value": 99.0}.'
    """
    message = CALLED.sub(r"\1", message).replace(WITH_WHEN, 'with "when".')
    if study is not None:
        message = message.replace(DECLARE, f'POST {_path(study)}/declare with {{"status_quo": ...}}')
    return _rephrased(message, study, _request, lambda name: f"POST {_path(name)}/ask")


def _rephrased(
    message: str, study: str | None, write: Callable[[str, str, int, dict[str, Any]], str], go_on: Callable[[str], str]
) -> str:
    message = message.replace(OWN_PART, FROM_PYTHON)
    exists = EXISTS.match(message)
    if exists:
        return f"{message[: exists.start(2)]}{go_on(ast.literal_eval(exists[1]))}{message[exists.end(2) :]}"
    advice = ADVICE.search(message[:LONGEST])
    read = None if advice is None else _read(advice[0])
    if advice is None or read is None or study is None:
        return message
    return message[: advice.start()] + write(study, *read) + message[advice.end() :]


def _read(text: str) -> tuple[str, int, dict[str, Any]] | None:
    """Return what a call says; None for what is none: names and choices in a message are the user's, and may look like one."""
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None
        given = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        verb = call.func.attr
        return verb, int(ast.literal_eval(call.args[0])), given or LEFT_OPEN[verb]
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        return None


def _command(study: str, verb: str, id: int, given: dict[str, Any]) -> str:
    words = ["windward", verb, shlex.quote(study), str(id)]
    for field, value in given.items():
        pairs = (
            [f"{name}={_typed(entry)}" for name, entry in value.items()] if isinstance(value, dict) else [_typed(value)]
        )
        # `tell` takes its value, `reveal` its contexts without an option.
        option = [] if verb in LEFT_OPEN else [f"--{field}"]
        words += [word for pair in pairs for word in (*option, shlex.quote(pair))]
    return " ".join(words)


def _typed(value: object) -> str:
    return "VALUE" if value is ... else str(value)


def _request(study: str, verb: str, id: int, given: dict[str, Any]) -> str:
    body = json.dumps(given, default=lambda _: "...").replace('"..."', "...")
    return f"POST {_path(study)}/trials/{id}/{verb} with {body}"


def _path(study: str) -> str:
    return f"/api/studies/{quote(study, safe='')}"
