"""The calls of the fuzzer that decide and read: none of them but `use` may change the log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import fuzz_oracle as oracle
from fuzz_case import REFUSED, Case, words_of
from fuzz_oracle import Wrong, expect
from fuzz_spaces import HOSTILE_IDS, some, spoiled

import windward as ww
from windward import plots
from windward.present import records, sentences
from windward.present.report import report_html
from windward.space.parameters import Categorical


def use(case: Case) -> None:
    """Go on with another policy."""
    policy = some(case.chance, (None, ww.Policy, "sbo_kde")) if case.hostile else case.policy()
    said, before = words_of("study.use", policy), case.study.policy
    case.calls.append(f"{policy!r}")
    wrong = not isinstance(policy, ww.Policy)
    refusals = (ww.IncompatibleError, ww.ArgumentError, ww.SpaceError)
    found = case.attempt("use", said, lambda: case.study.use(policy), refusals, must=wrong)
    if isinstance(found, ww.WindwardError):
        case.unchanged(said)
    else:
        expect(case.written() == 1, f"{said} did not write one event")
        case.settle(said)
    right = before if isinstance(found, ww.WindwardError) else policy
    expect(case.study.policy == right, f"after {said} the policy is {case.study.policy!r}")


def _unknowable(case: Case) -> tuple[tuple[type, ...], bool]:
    """Return how a recommendation may be refused, and whether it must be: nothing has arrived, no context is known."""
    space = case.space
    told = [one for one in case.kept if one.state == "told"]
    arrived = [one for one in told if case.blind or len(one.context) == len(space.context)]
    numeric = [parameter for parameter in space.context.values() if not isinstance(parameter, Categorical)]
    unbounded = any(parameter.low is None or parameter.high is None for parameter in numeric)
    nowhere = unbounded and not case.blind and case.study.trials.contexts_seen == 0
    refusals = (ww.TrialError,) if not arrived or nowhere else ()
    return refusals + case.unsatisfiable({}), not arrived


def recommend(case: Case) -> None:
    """Ask for the decision to deploy."""
    given = case.context(partial=True) if case.chance.random() < 0.3 else None
    _assessed(
        case, words_of("study.recommend", context=given), given, lambda: case.study.recommend(context=given), None
    )


def assess(case: Case) -> None:
    """Ask what one decision is worth: one that was suggested, which can always be, or a hostile one."""
    asked = [one.asked for one in case.kept if one.turn is not None]
    decision: Any = case.chance.choice(asked) if asked else {}
    decision = spoiled(case.chance, decision, empty=True) if case.hostile or not asked else decision
    said = words_of("study.assess", decision)
    try:
        oracle.clean_values(case.space.decision, decision, strict=True)
    except Wrong:
        case.attempt("assess", said, lambda: case.study.assess(decision), REFUSED, must=True)
        return case.unchanged(said)
    return _assessed(case, said, None, lambda: case.study.assess(decision), decision)


def _assessed(case: Case, said: str, given: Any, work: Callable[[], Any], decision: Any) -> None:
    try:
        oracle.clean_values(case.space.context, {} if given is None else given, partial=True)
    except Wrong:
        case.attempt("recommend", said, work, REFUSED, must=True)
        return case.unchanged(said)
    case.study.sync()
    refusals, must = _unknowable(case)
    found = case.attempt("recommend", said, work, refusals, must=must)
    if not isinstance(found, ww.WindwardError):
        constrained = decision is None and case.study.policy.report.candidates == "space"
        oracle.check_recommendation(case.space, found, constrained=constrained, blind=case.blind)
        expect(decision is None or found.decision == decision, f"{said} assessed {found.decision!r}")
        oracle.check_sendable(records.recommendation(found))
        oracle.check_sendable(sentences.advice(case.study, found))
    return case.unchanged(said)


def wonder(case: Case) -> None:
    """Ask where the study stands, what each kind of day is worth, and what matters."""
    stage = case.attempt("wonder", "study.stage()", case.study.stage)
    oracle.check_sendable(records.stage(stage))
    refusals = (ww.TrialError, ww.IncompatibleError, *case.unsatisfiable({}))
    found = case.attempt("wonder", "study.by_context()", case.study.by_context, refusals)
    if not isinstance(found, ww.WindwardError):
        oracle.check_sendable(records.by_context(found))
        for name in found.names:
            share = sum(cell.share for cell in found.cells if name in cell.where)
            expect(abs(share - 1.0) < 1e-6, f"the cells of {name!r} come {share} of the time")
        inside = all(cell.interval[0] <= cell.value <= cell.interval[1] for cell in found.cells)
        expect(inside, f"a value outside its interval: {found!r:.2000}")
    found = case.attempt("wonder", "study.importance()", case.study.importance, refusals)
    if not isinstance(found, ww.WindwardError):
        oracle.check_sendable(records.importance(found))
        for one in found.inputs:
            inside = one.first_interval[0] <= one.first <= one.first_interval[1]
            expect(inside and -1e-9 <= one.first <= one.total + 0.05, f"{one!r} is no share")
    case.unchanged("questions")


def replay(case: Case) -> None:
    """Compute a suggestion again: the same to the last bit."""
    id = some(case.chance, HOSTILE_IDS) if not case.kept or case.hostile else case.chance.randrange(len(case.kept))
    near, said = case.near(id), words_of("study.replay", id)
    must = near is None or near.turn is None
    refusals = REFUSED if must else ()
    found = case.attempt("replay", said, lambda: case.study.replay(id), refusals, must=must)
    if not must and near is not None:
        same = dict(found.decision) == near.asked and dict(found.context or {}) == near.given
        expect(same, f"{said} gave {found}, it was {near.asked!r} with the context {near.given!r}")
    case.unchanged(said)


def reopen(case: Case) -> None:
    """Open the study again: everything is as it was; the new handle takes the place of the old, or stands beside it."""
    journal = case.journal if isinstance(case.journal, str) else case.study.journal
    opened = case.attempt("reopen", "reopen", lambda: ww.Study.open(case.name, journal=journal, clock=lambda: case.now))
    case.study.sync()
    for name in ("space", "policy", "direction", "seed", "revision"):
        here, there = getattr(case.study, name), getattr(opened, name)
        expect(here == there, f"reopened, {name} is {there!r}, was {here!r}")
    expect(opened.trials.rows == case.study.trials.rows, "reopened, the trials are not equal")
    case.other = case.study if case.chance.random() < 0.4 else None
    case.study = opened
    case.unchanged("reopen")


def read(case: Case) -> None:
    """Read what is pending, all as a table, one trial that is not there."""
    older = some(case.chance, (None, timedelta(0), timedelta(days=1)))
    waiting = case.attempt("read", f"study.pending(older_than={older!r})", lambda: case.study.pending(older_than=older))
    right = [id for id, one in enumerate(case.kept) if one.state == "pending"]
    found = [trial.id for trial in waiting]
    expect(found == right if older is None else set(found) <= set(right), f"pending {found}, should be {right}")
    for wrong in (timedelta(-1), 5):
        case.attempt(
            "read", f"study.pending({wrong!r})", lambda w=wrong: case.study.pending(older_than=w), REFUSED, must=True
        )
    frame = case.attempt("read", "study.dataframe()", case.study.dataframe)
    expect(list(frame["state"]) == [one.state for one in case.kept], f"the table says {list(frame['state'])}")
    try:
        case.study.trials[len(case.kept)]
        expect(False, "a trial that does not exist was returned")
    except IndexError as error:
        oracle.check_plain(error)
    case.unchanged("reads")


def show(case: Case) -> None:
    """Draw a figure or write the report."""
    if case.quick:
        return
    name = case.chance.choice((*sorted(plots.FIGURES), "report"))
    draw = report_html if name == "report" else plots.FIGURES[name]
    refusals = (ww.TrialError, ww.IncompatibleError, ww.ArgumentError, *case.unsatisfiable({}))
    made = case.attempt("show", f"{name}(study)", lambda: draw(case.study), refusals if name != "report" else ())
    if not isinstance(made, ww.WindwardError):
        (made if isinstance(made, str) else made.to_json()).encode()
    case.unchanged(name)
