"""The shared checks of single arguments, in full: what each takes, what it gives back, and what it says of the rest.

The parameters that use a check have two or three wrong values each, in `test_bad_input`: enough to see that it is there.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from bad_input_cases import BEYOND, EVERY_NOT_NUMBER, EVERY_NOT_WHOLE, HUGE, NAN, PAIR

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown

SCALAR = torch.tensor(0.5, dtype=torch.float64)
OBJECTS = (None, "", "1", b"1", [], [1.0], (), {}, {1}, object, object(), print, 1j, PAIR, torch.ones(2), range(3))


def refused(says, check, *given, **bounds):
    with pytest.raises(ArgumentError) as caught:
        check(*given, **bounds)
    assert type(caught.value) is ArgumentError
    assert says in str(caught.value)


# -- numbers ----------------------------------------------------------------------------------------------------------

NUMBERS = [
    (1, 1.0),
    (-0.0, 0.0),
    (2.5, 2.5),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (np.int64(3), 3.0),
    (Fraction(1, 4), 0.25),
    (1e150, 1e150),
    (-1e150, -1e150),
    (10**150, 1e150),
    (5e-324, 5e-324),
]


@pytest.mark.parametrize(("given", "result"), NUMBERS, ids=range(len(NUMBERS)))
def test_a_number_is_taken_as_a_float(given, result):
    found = arguments.number("Call", "size", given)
    assert found == result and type(found) is float


@pytest.mark.parametrize("value", [*OBJECTS, True, False, np.True_, Decimal("1"), "nan"], ids=range(len(OBJECTS) + 5))
def test_what_is_no_number_is_refused_by_its_type(value):
    refused(
        f"Call(size={shown(value)}): size must be a number, got {type(value).__name__}.",
        arguments.number,
        "Call",
        "size",
        value,
    )


@pytest.mark.parametrize("value", [NAN, HUGE, -HUGE, BEYOND, -BEYOND, 1.1e150, -1.1e150, np.float32("nan"), 2**1024])
def test_a_number_that_is_not_finite_is_refused(value):
    says = f"Call(size={shown(value)}): size must be finite, at most 1e+150 in size."
    refused(says, arguments.number, "Call", "size", value)
    refused(says, arguments.number, "Call", "size", value, low=0.0, high=1.0)


@pytest.mark.parametrize("value", EVERY_NOT_NUMBER, ids=range(len(EVERY_NOT_NUMBER)))
def test_every_wrong_number_is_refused_in_the_words_typed(value):
    refused(f"Call(size={shown(value)})", arguments.number, "Call", "size", value, low=-5, high=5)


BOUNDS = [
    # value, bounds, what the message asks for; None: the value is taken
    (0, {"low": 0}, None),
    (-1e-300, {"low": 0}, ">= 0"),
    (0, {"low": 0, "open_low": True}, "> 0"),
    (5e-324, {"low": 0, "open_low": True}, None),
    (-1, {"low": 0, "open_low": True}, "> 0"),
    (1, {"high": 1}, None),
    (math.nextafter(1, 2), {"high": 1}, "<= 1"),
    (1, {"high": 1, "open_high": True}, "< 1"),
    (math.nextafter(1, 0), {"high": 1, "open_high": True}, None),
    (2, {"high": 1, "open_high": True}, "< 1"),
    (0.5, {"low": 0, "high": 1, "open_low": True, "open_high": True}, None),
    (0.3, {"low": 0.25, "high": 0.35}, None),
    (0.2, {"low": 0.25, "high": 0.35}, ">= 0.25"),
    (0.4, {"low": 0.25, "high": 0.35}, "<= 0.35"),
    (-1e150, {}, None),
]


@pytest.mark.parametrize(("value", "bounds", "says"), BOUNDS)
def test_bounds_of_a_number(value, bounds, says):
    if says is None:
        assert arguments.number("Call", "size", value, **bounds) == value
    else:
        refused(f"Call(size={value!r}): size must be {says}.", arguments.number, "Call", "size", value, **bounds)


# -- whole numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, 7, 2**53, np.int64(3), np.uint8(3)])
def test_a_whole_number_is_taken_as_an_int(value):
    found = arguments.whole("Call", "count", value, low=0)
    assert found == value and type(found) is int


NOT_WHOLE = [*OBJECTS, *EVERY_NOT_WHOLE, False, np.True_, np.float64(2.0), Fraction(4, 2), SCALAR, Decimal(2)]


@pytest.mark.parametrize("value", NOT_WHOLE, ids=range(len(NOT_WHOLE)))
def test_what_is_no_whole_number_is_refused_by_its_type(value):
    says = f"Call(count={shown(value)}): count must be a whole number, got {type(value).__name__}."
    refused(says, arguments.whole, "Call", "count", value, low=-9)


@pytest.mark.parametrize(
    ("value", "bounds", "says"),
    [
        (0, {"low": 1}, ">= 1"),
        (-1, {"low": 0}, ">= 0"),
        (-BEYOND, {"low": 0}, ">= 0"),
        (6, {"low": 0, "high": 5}, "<= 5"),
        (2**53 + 1, {"low": 0}, "<= 9007199254740992"),
        (BEYOND, {"low": 0}, "<= 9007199254740992"),
    ],
)
def test_bounds_of_a_whole_number(value, bounds, says):
    refused(f"Call(count={shown(value)}): count must be {says}.", arguments.whole, "Call", "count", value, **bounds)
    assert arguments.whole("Call", "count", bounds["low"], **bounds) == bounds["low"]
    if "high" in bounds:
        assert arguments.whole("Call", "count", bounds["high"], **bounds) == bounds["high"]


# -- choices and flags ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [*OBJECTS, "Up", "up ", NAN, True, 0], ids=range(len(OBJECTS) + 5))
def test_what_is_no_choice_is_refused_with_the_choices(value):
    says = f"Call(way={shown(value)}): way must be one of 'up', 'down', None."
    if value is not None:
        refused(says, arguments.choice, "Call", "way", value, ("up", "down", None))
    else:
        arguments.choice("Call", "way", value, ("up", "down", None))
        refused("way must be one of 'up'.", arguments.choice, "Call", "way", value, ("up",))


def test_a_choice_is_taken():
    for value in ("up", np.str_("down")):
        arguments.choice("Call", "way", value, ("up", "down"))


@pytest.mark.parametrize("value", [*OBJECTS, 0, 1, 1.0, "yes", "True", NAN, np.True_], ids=range(len(OBJECTS) + 7))
def test_what_is_no_flag_is_refused(value):
    refused(f"Call(again={shown(value)}): again must be True or False.", arguments.flag, "Call", "again", value)


def test_a_flag_is_taken():
    arguments.flag("Call", "again", True)
    arguments.flag("Call", "again", False)


# -- texts ------------------------------------------------------------------------------------------------------------

NOT_TEXTS = [
    *((value, "why must be a text of 1 to 2000 characters.") for value in OBJECTS if value is not OBJECTS[2]),
    (5, "why must be a text of 1 to 2000 characters."),
    (" \n\t", "why must be a text of 1 to 2000 characters."),
    ("x" * 2001, "why must be a text of 1 to 2000 characters."),
    ("a\ud800b", "why holds a byte that is not UTF-8; set the terminal to UTF-8"),
    ("\udcff", "why holds a byte that is not UTF-8"),
    *(
        (f"a{c}b", f"holds the control character {c!r}; only newlines and tabs are taken.")
        for c in "\0\a\b\r\x1b\x7f\x9b"
    ),
]


@pytest.mark.parametrize(("value", "says"), NOT_TEXTS, ids=range(len(NOT_TEXTS)))
def test_what_is_no_text_is_refused(value, says):
    refused(f"Call(why={shown(value)}): ", arguments.text, "Call", "why", value)
    refused(says, arguments.text, "Call", "why", value)


@pytest.mark.parametrize("value", ["x", " x ", "two\nlines\tand a tab", "caf\u00e9 \u4e2d \U0001f600", "x" * 2000])
def test_a_text_is_taken_as_it_is(value):
    assert arguments.text("Call", "why", value) == value == arguments.cleaned(value)
    refused("of 1 to 0 characters", arguments.text, "Call", "why", value, longest=0)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("a\0b", "a\ufffdb"), ("a\ud800b", "a\ufffdb"), ("a\r\nb\rc", "a\nb\ufffdc"), ("x" * 2001, "x" * 1999 + "\u2026")],
)
def test_a_cleaned_text_is_taken(value, kept):
    assert arguments.cleaned(value) == kept == arguments.text("Call", "why", kept)


# -- devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["cpu", torch.device("cpu"), "cpu:0"])
def test_a_device_is_taken(value):
    assert arguments.device("Call", value).type == "cpu"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        *(
            (value, 'give a name: "cpu", or "cuda" if this machine has it.')
            for value in (None, 5, 1.5, {}, ("cpu",), b"cpu")
        ),
        *(
            (value, 'give "cpu", or "cuda" if this machine has it (')
            for value in ("gpu", "tpu9", "", "cpu:x", "cuda:99")
        ),
        ("meta", 'give "cpu", or "cuda" if this machine has it.'),
        (torch.device("meta"), 'give "cpu", or "cuda" if this machine has it.'),
    ],
)
def test_what_is_no_device_here_is_refused(value, says):
    refused(f"Call(device={shown(value)}): {says}", arguments.device, "Call", value)
