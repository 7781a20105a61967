"""Declarations as newcomers mistype them: each error names the table, what was given and what is needed."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

import windward as ww
from windward.basics.errors import WindwardError
from windward.study.declare import declared, declared_in_file, methods

TOP = 'name = "shop"\n'
ORDER = '[decision.order]\npart = "Real"\nlow = 0\nhigh = 100\n'
KINDS = "a decision is a Real, an Integer or a Categorical"
RIGHT = (
    TOP + ORDER + '[context.demand]\npart = "Real"\nlow = 0\nhigh = 100\n[policy]\nmethod = "sbo_kde"\nsamples = 16\n'
)


def refused(text):
    with pytest.raises(WindwardError) as caught:
        declared(tomllib.loads(text))
    return str(caught.value)


MISTAKES = {
    "unknown kind": (
        "[decision.boxes]\npart = 'Int'\nlow = 0\nhigh = 9",
        "[decision.boxes]: unknown part 'Int' (did you mean 'Integer'?)",
        KINDS,
    ),
    "kind of context": (
        ORDER + "[context.sky]\npart = 'Cat'\nchoices = ['sun']",
        "[context.sky]: unknown part 'Cat' (did you mean 'Categorical'?)",
        "a context is a Real",
    ),
    "kind by another name": (
        "[decision.a]\npart = 'float'\nlow = 0\nhigh = 9",
        "[decision.a]: unknown part 'float'",
        KINDS,
    ),
    "a part of policies": ("[decision.a]\npart = 'Robust'", "[decision.a]: unknown part 'Robust'", KINDS),
    "kind as a number": ("[decision.a]\npart = 5", "[decision.a]: unknown part 5", KINDS),
    "no part": (
        "[decision.a]\nlow = 0\nhigh = 9",
        "[decision.a] needs its kind",
        'part = "Real", part = "Integer" or part = "Categorical"',
    ),
    "options": (
        "[decision.a]\npart = 'Categorical'\noptions = ['x', 'y']",
        "[decision.a]: part 'Categorical' has no field 'options'",
        "it has choices",
    ),
    "misspelt field": (
        "[decision.a]\npart = 'Real'\nlow = 0\nhihg = 9",
        "[decision.a]: part 'Real' has no field 'hihg' (did you mean 'high'?)",
        "it has low, high, log, outside",
    ),
    "no choices": (
        "[decision.a]\npart = 'Categorical'",
        "[decision.a]: part 'Categorical' needs the field 'choices'",
        "it has choices",
    ),
    "choices as text": (
        "[decision.a]\npart = 'Categorical'\nchoices = 'red, blue'",
        "[decision.a]: Categorical('red, blue')",
        "give a list of choices",
    ),
    "one choice": (
        "[decision.a]\npart = 'Categorical'\nchoices = ['red']",
        "[decision.a]: Categorical(['red'])",
        "at least two",
    ),
    "swapped": (
        "[decision.a]\npart = 'Real'\nlow = 9\nhigh = 0",
        "[decision.a]: Real(9.0, 0.0)",
        "low must be below high",
    ),
    "bound as text": (
        "[decision.a]\npart = 'Real'\nlow = '0'\nhigh = 9",
        "[decision.a]: Real(low='0')",
        "low must be a number",
    ),
    "fraction": (
        "[decision.a]\npart = 'Integer'\nlow = 0.5\nhigh = 9",
        "[decision.a]: Integer(low=0.5)",
        "whole number",
    ),
    "no bound": (
        "[decision.a]\npart = 'Real'\nlow = 0",
        "[decision.a]: a decision needs both bounds",
        "add high = ...",
    ),
    "no bounds": (
        "[decision.a]\npart = 'Integer'",
        "[decision.a]: a decision needs both bounds",
        "add low = ... and high = ...",
    ),
    "log as text": (
        "[decision.a]\npart = 'Real'\nlow = 1\nhigh = 9\nlog = 'yes'",
        "[decision.a]: Real(log='yes')",
        "True or False",
    ),
    "value for a table": (
        "[decision]\norder = 5",
        "order = 5 stands in the table [decision]",
        "write a table [decision.order]",
    ),
    "list for a table": ("context = ['demand']\n" + ORDER, "context = ['demand']", "[context.name]"),
    "plural": (
        "[decisions.a]\npart = 'Real'\nlow = 0\nhigh = 9",
        "no field 'decisions' (did you mean 'decision'",
        "it has name, direction",
    ),
    "constraint in one bracket": (
        ORDER + "[constraints]\npart = 'Linear'",
        "constraints = {'part': 'Linear'}",
        "[[constraints]]",
    ),
    "constraint without part": (
        ORDER + "[[constraints]]\nupper = 5",
        "[[constraints]], the table number 1",
        'needs part = "Linear"',
    ),
    "constraint misspelt": (
        ORDER + "[[constraints]]\npart = 'Linear'\ncoefs = {order = 1}\nupper = 5",
        "[[constraints]], the table number 1: part 'Linear' has no field 'coefs'",
        "it has coefficients, lower, upper",
    ),
    "method": (
        ORDER + "[policy]\nmethod = 'sbo'",
        "[policy]: unknown method 'sbo' (did you mean 'sbo_kde'?)",
        "known are",
    ),
    "argument": (
        ORDER + "[policy]\nmethod = 'sbo_kde'\nsample = 5",
        "[policy]: method 'sbo_kde' has no argument 'sample' (did you mean 'samples'?)",
        "it has width, samples",
    ),
    "argument of a wrong type": (
        ORDER + "[policy]\nmethod = 'sbo_kde'\nsamples = 'many'",
        "[policy]: sbo_kde(samples='many')",
        "whole number",
    ),
    "policy without either": (
        ORDER + "[policy]\nsamples = 5",
        "[policy]: policy={'samples': 5}",
        "give either a method",
    ),
    "part of a policy": (
        ORDER + "[policy]\npart = 'Policy'\n[policy.context_model]\npart = 'KDE'",
        "[policy]: unknown part 'KDE'",
        "parts=",
    ),
    "field of a policy": (
        ORDER + "[policy]\npart = 'Policy'\n[policy.context_model]\npart = 'KernelDensity'\nsamples = 5",
        "[policy]: part 'KernelDensity' has no field 'samples'",
        "it has count",
    ),
    "policy lacks a part": (
        ORDER + "[policy]\npart = 'Policy'",
        "[policy]: part 'Policy' needs the field 'context_model'",
        "it has",
    ),
    "direction": ("direction = 'min'\n" + ORDER, "direction='min'", "'maximize', 'minimize'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_declaration_is_named_with_its_table(mistake):
    text, *parts = MISTAKES[mistake]
    said = refused(TOP + text)
    for part in parts:
        assert part in said
    assert "__init__" not in said and "positional" not in said and "keyword argument" not in said


def test_a_right_declaration_is_read():
    found = declared(tomllib.loads(RIGHT))
    assert found.name == "shop" and list(found.space.decision) == ["order"] and list(found.space.context) == ["demand"]
    constrained = RIGHT.replace(
        "[policy]", "[[constraints]]\npart = 'Linear'\ncoefficients = {order = 2}\nupper = 90\n[policy]"
    )
    assert declared(tomllib.loads(constrained)).space.constraints[0].upper == 90.0


def test_the_default_takes_parts_in_place_of_its_own():
    moving = """
[policy]
method = "auto"
objective = {part = "Robust", divergence = {part = "TotalVariation"}, radius = {part = "Confidence", level = 0.9}}
context_model = {part = "KernelDensity", half_life = "learnt"}
surrogate = {part = "GaussianProcess", drift = "learnt"}
"""
    objective = ww.Robust(ww.TotalVariation(), ww.Confidence(0.9))
    demand = "[context.demand]\npart = 'Real'\n"
    assert declared(tomllib.loads(TOP + ORDER + demand + moving)).policy == replace(
        ww.auto(objective),
        context_model=ww.KernelDensity(half_life="learnt"),
        surrogate=ww.GaussianProcess(drift="learnt"),
    )
    assert declared(tomllib.loads(TOP + ORDER + "[policy]\nmethod = 'auto'")).policy == ww.auto()
    assert "and the space has none; declare a context" in refused(TOP + ORDER + moving)


def test_parts_of_the_default_are_checked():
    default = TOP + ORDER + "[policy]\nmethod = 'auto'\n"
    misspelt = refused(default + "context = {part = 'Empirical'}")
    assert (
        "method 'auto' has no argument 'context' (did you mean 'context_model'" in misspelt and "surrogate" in misspelt
    )
    assert "surrogate" in refused(default + "surrogate = {part = 'Empirical'}")
    assert "'method': 'auto'" in refused(TOP + ORDER + "[policy.context_model]\npart = 'Empirical'")


@pytest.mark.parametrize("name", sorted(methods()))
def test_every_method_names_its_arguments(name):
    said = refused(TOP + ORDER + f"[policy]\nmethod = '{name}'\nmagic_number = 1")
    assert f"[policy]: method '{name}' has no argument 'magic_number'" in said and "; it has " in said


def test_a_file_with_a_number_too_long_is_refused_in_plain_words(tmp_path):
    file = tmp_path / "shop.toml"
    file.write_text(TOP + ORDER + "[context.c]\npart = 'Real'\nhigh = " + "9" * 5000)
    with pytest.raises(WindwardError, match="holds a whole number of more than 4300 digits"):
        declared_in_file(file)
