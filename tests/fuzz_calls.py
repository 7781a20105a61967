"""The calls of the fuzzer: each makes one, with random arguments, and checks what it returned against the model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import fuzz_oracle as oracle
from fuzz_case import REFUSED, Case, words_of
from fuzz_forecasts import parted, with_forecasts
from fuzz_oracle import Kept, Wrong, expect
from fuzz_reads import assess, read, recommend, reopen, replay, show, use, wonder
from fuzz_spaces import BAD_TEXTS, HOSTILE_KEYS, random_outcome, random_values, some, spoiled

import windward as ww
from windward.trials.records import Suggestion

REASONS = ("the shop was closed", "ünïcode 🚀", "two\nlines\tand a tab", "=1+1", "<script>", "r" * 500)
NO_TEXTS: tuple[Any, ...] = ("", None, 5, b"why")


def step(case: Case) -> None:
    """Make one call."""
    case.now += timedelta(seconds=case.chance.choice((0, 1, 30, 3600, 10**5, -5)))
    if case.other is not None and case.chance.random() < 0.5:
        case.study, case.other = case.other, case.study
    case.chance.choices([call for call, _ in CALLS], [weight for _, weight in CALLS])[0](case)


# -- asking ----------------------------------------------------------------------------------------------------------


def ask(case: Case) -> None:
    """Ask, with a context, something fixed, a key, or an ask that was made before."""
    chance = case.chance
    arguments: dict[str, Any] = {}
    if chance.random() < 0.35:
        arguments["context"] = case.context(partial=chance.random() < 0.5)
    if chance.random() < 0.25 and isinstance(arguments.get("context", {}), dict):
        arguments["context"] = with_forecasts(chance, case.space.context, arguments.get("context", {}))
    if chance.random() < 0.25:  # of a decision that was asked, or of any
        known = bool(case.kept) and chance.random() < 0.4
        whole = chance.choice(case.kept).asked if known else random_values(chance, case.space.decision)
        fixed = {name: value for name, value in whole.items() if chance.random() < 0.5}
        arguments["fix"] = spoiled(chance, fixed, empty=False) if case.hostile else fixed
    if chance.random() < 0.1:
        arguments["far"] = some(chance, (None, 1, "yes")) if case.hostile and chance.random() < 0.5 else True
    if chance.random() < 0.25:
        arguments["key"] = f"ask{len(case.calls)}"
        if chance.random() < 0.5 and case.keys:
            arguments["key"] = chance.choice(sorted(case.keys))
            before = case.keys[arguments["key"]]
            if before[0] == "ask" and chance.random() < 0.8:
                arguments = {**before[2], "key": arguments["key"]}
        elif case.hostile:
            arguments["key"] = some(chance, HOSTILE_KEYS)
    _asked(case, arguments)


def _asked(case: Case, arguments: dict[str, Any]) -> None:
    said, key = words_of("study.ask", **arguments), arguments.get("key")
    try:
        context, fix = (({} if arguments.get(n) is None else arguments[n]) for n in ("context", "fix"))
        context, forecasts = parted(context)
        given = oracle.clean_values(case.space.context, context, partial=True)
        fixed = oracle.clean_values(case.space.decision, fix, partial=True, strict=True)
        before, far = case.keys.get(key) if isinstance(key, str) else None, arguments.get("far", False)
        if type(far) is not bool:
            raise Wrong
        if key in HOSTILE_KEYS or (before is not None and before[:2] != ("ask", (given, fixed, forecasts, far))):
            raise Wrong
    except Wrong:
        case.attempt("ask", said, lambda: case.study.ask(**arguments), REFUSED, must=True)
        return case.unchanged(said)
    refusals = (*case.unsatisfiable(fixed), *((ww.IncompatibleError,) if forecasts and case.unforeseeing else ()))
    found = case.attempt("ask", said, lambda: case.study.ask(**arguments), refusals)
    if isinstance(found, ww.WindwardError):
        return case.unchanged(said)
    if before is not None:
        expect(found == before[3], f"{said} with a key that was used gave {found}, before {before[3]}")
        return case.unchanged(said)
    news = case.written()
    expect(news == 1, f"{said} wrote {news} events")
    case.suggested(said, found, given, fixed)
    if key is not None:
        case.keys[key] = (
            "ask",
            (given, fixed, forecasts, far),
            {n: v for n, v in arguments.items() if n != "key"},
            found,
        )
    return case.settle(said)


def ask_many(case: Case) -> None:
    """Ask for several at once."""
    count = some(case.chance, (0, -1, True, "2", None, 1.5)) if case.hostile else case.chance.randint(1, 3)
    said, wrong, before = f"study.ask_many({count!r})", type(count) is not int or count < 1, len(case.kept)
    refusals = REFUSED if wrong else case.unsatisfiable({})
    found = case.attempt("ask_many", said, lambda: case.study.ask_many(count), refusals, must=wrong)
    if wrong:
        return case.unchanged(said)
    news = case.written()
    if isinstance(found, ww.WindwardError):  # those before the one that was refused stay
        found = [Suggestion(t.id, t.decision, t.context or None) for t in case.study.trials.rows[before:]]
    else:
        expect(len(found) == count, f"{said} gave {len(found)} suggestions")
    expect(len(found) == news, f"{said} wrote {news} events for {len(found)} suggestions")
    for one in found:
        case.suggested(said, one, {}, {})
    return case.settle(said)


def twin(case: Case) -> None:
    """Ask a copy of the log that is opened anew, then the study that has lived through it all: they suggest the same."""
    if not isinstance(case.journal, str):
        return None
    url = f"sqlite:///{case.copied('twin.db')}"
    opened = case.attempt("twin", "a copy", lambda: ww.Study.open(case.name, journal=url, clock=lambda: case.now))
    refusals = case.unsatisfiable({})
    theirs = case.attempt("twin", "study.ask() on a copy", opened.ask, refusals)
    opened.journal.close()
    ours = case.attempt("ask", "study.ask()", case.study.ask, refusals)
    if isinstance(ours, ww.WindwardError):
        return case.unchanged("study.ask()")
    case.written()
    case.suggested("study.ask()", ours, {}, {})
    expect(ours == theirs, f"study.ask() gave {ours}, on a copy of the log that was opened anew {theirs}")
    return case.settle("study.ask()")


# -- telling ---------------------------------------------------------------------------------------------------------


def _after(case: Case, rule: Callable[..., oracle.Outcome], id: Any, said: Any) -> oracle.Outcome:
    return rule(case.at(id), case.space, said)


def reveal(case: Case) -> None:
    """Reveal a context, whole or in part, again, or otherwise."""
    id = case.id("pending", "told")
    context = case.context(partial=case.chance.random() < 0.4, empty=True, near=case.near(id))
    said = words_of("study.reveal", id, context)
    right = partial(_after, case, oracle.after_reveal, id, context)
    case.changed("reveal", said, id, right, lambda: case.study.reveal(id, context))


def _told(case: Case) -> tuple[Any, dict[str, Any]]:
    """Return the arguments of a tell."""
    chance, id = case.chance, case.id("pending", "lost")
    near = case.near(id)
    again = None if near is None or chance.random() < 0.5 else near.value
    arguments = {"value": case.number(random_outcome(chance, case.scale)) if again is None else again}
    if chance.random() < 0.6:
        arguments["context"] = case.context(partial=chance.random() < 0.3, near=near)
    if chance.random() < 0.2:
        arguments["noise"] = case.number(chance.choice((0.0, 0.1 * case.scale, 1e140, -1.0)))
    if chance.random() < 0.15:
        arguments["decision"] = case.decision(beyond=0.2)
    return id, arguments


def _call_of(case: Case, id: Any, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a tell says: two calls with one key must say the same."""
    fields = [arguments.get(name) for name in ("value", "context", "noise", "decision")]
    return id, oracle.clean_told(case.space, *fields)


def _after_tell(case: Case, id: Any, arguments: dict[str, Any], key: Any = None) -> oracle.Outcome:
    """Return the trial after a tell: the same call with the same key changes nothing, another one is refused."""
    kept, (_, told) = case.at(id), _call_of(case, id, arguments)
    if key in HOSTILE_KEYS:
        raise Wrong
    if key in case.keys:
        return kept if case.keys[key][:2] == ("tell", (id, told)) else ww.TrialError
    return oracle.after_tell(kept, case.space, case.asks, told)


def tell(case: Case) -> None:
    """Tell a value, with or without more, with or without a key, or a tell that was made before."""
    chance, (id, arguments), key = case.chance, _told(case), None
    if chance.random() < 0.2:
        key = f"tell{len(case.calls)}"
        if chance.random() < 0.4 and case.keys:
            key = chance.choice(sorted(case.keys))
            if case.keys[key][0] == "tell" and chance.random() < 0.8:
                id, arguments = case.keys[key][2]
        elif case.hostile:
            key = some(chance, HOSTILE_KEYS)
    named = arguments if key is None else {**arguments, "key": key}
    said = words_of("study.tell", id, **named)
    wrote = case.changed(
        "tell", said, id, lambda: _after_tell(case, id, arguments, key), lambda: case.study.tell(id, **named)
    )
    if wrote and key is not None:
        case.keys[key] = ("tell", _call_of(case, id, arguments), (id, arguments))


def tell_many(case: Case) -> None:
    """Tell several in one transaction, some of them wrong: each is decided for itself."""
    before, tells, right = list(case.kept), list[ww.Tell](), list[Kept | tuple[type, ...]]()
    for _ in range(case.chance.randint(1, 4)):
        id, arguments = _told(case)
        tells.append(ww.Tell(id, **arguments))
        right.append(case.outcome(partial(_after_tell, case, id, arguments)))
        if isinstance(right[-1], Kept):
            case.kept[id] = right[-1]  # those after it see it
    said = words_of("study.tell_many", tells)
    case.kept, after, case.last = before, case.kept, None
    found = case.attempt("tell_many", said, lambda: case.study.tell_many(tells))
    for one, error, expected in zip(tells, found, right, strict=True):
        fits = error is None if isinstance(expected, Kept) else isinstance(error, expected)
        expect(fits, f"{said}: {one} gave {error!r}")
        if error is not None:
            oracle.check_plain(error)
            case.refused[type(error).__name__] += 1
    case.kept = after
    case.written()
    case.settle(said)


def _reason(case: Case) -> Any:
    """Return why a trial is lost, or a text that must not enter the log."""
    return some(case.chance, NO_TEXTS + BAD_TEXTS if case.chance.random() < 0.3 else REASONS)


def lose(case: Case) -> None:
    """Give a trial up."""
    id = case.id("pending")
    reason = _reason(case)
    said = words_of("study.lose", id, reason)
    right = partial(_after, case, oracle.after_lose, id, reason)
    case.changed("lose", said, id, right, lambda: case.study.lose(id, reason))


def amend(case: Case) -> None:
    """Correct what was told, revealed, done or given as a reason."""
    chance, id = case.chance, case.id("told", "lost")
    near = case.near(id)
    made: dict[str, Callable[[], Any]] = {
        "value": lambda: case.number(random_outcome(chance, case.scale)),
        "noise": lambda: case.number(chance.choice((0.0, 0.2 * case.scale, -1.0))),
        "decision": lambda: case.decision(beyond=0.2),
        "context": lambda: case.context(partial=True, empty=True, near=near),
        "reason": lambda: _reason(case),
    }
    changes = {name: made[name]() for name in chance.sample(sorted(made), chance.choice((0, 1, 1, 1, 2)))}
    said = words_of("study.amend", id, **changes)
    right = partial(_after, case, oracle.after_amend, id, changes)
    case.changed("amend", said, id, right, lambda: case.study.amend(id, **changes))


def note(case: Case) -> None:
    """Write a note, tags, or what is neither."""
    chance, id = case.chance, case.id("told", "pending")
    text = chance.choice((None, "", _reason(case)))
    tags = chance.choice((None, [], ["a", "b"], ["a, b"], "a"))
    said = words_of("study.note", id, text, tags=tags)
    right = partial(_after, case, oracle.after_note, id, (text, tags))
    case.changed("note", said, id, right, lambda: case.study.note(id, text, tags=tags))


def add(case: Case) -> None:
    """Add a finished trial."""
    chance = case.chance
    arguments: dict[str, Any] = {
        "decision": case.decision(beyond=0.1),
        "value": case.number(random_outcome(chance, case.scale)),
    }
    if case.space.context or chance.random() < 0.3:
        arguments["context"] = case.context(partial=chance.random() < 0.1)
    if chance.random() < 0.3:
        arguments["noise"] = case.number(0.1 * case.scale)
    said = words_of("study.add", **arguments)
    try:
        kept = oracle.after_add(case.space, *(arguments.get(n) for n in ("decision", "value", "context", "noise")))
    except Wrong:
        case.attempt("add", said, lambda: case.study.add(**arguments), REFUSED, must=True)
        return case.unchanged(said)
    id = case.attempt("add", said, lambda: case.study.add(**arguments))
    news = case.written()
    expect(id == len(case.kept) and news == 1, f"{said} gave the id {id}, wrote {news} events")
    case.kept.append(kept)
    return case.settle(said)


def again(case: Case) -> None:
    """Repeat the last call about a trial: harmless, and without a trace, unless something else was said since."""
    if case.last is None:
        return
    (said, work), case.last = case.last, None
    case.attempt("again", f"again {said}", work)
    case.unchanged(f"again {said}")


# How often each call is made, relative to the others; figures and reports take seconds.
CALLS: tuple[tuple[Callable[[Case], None], float], ...] = (
    (ask, 26),
    (ask_many, 2),
    (twin, 3),
    (reveal, 14),
    (tell, 24),
    (tell_many, 4),
    (lose, 6),
    (amend, 8),
    (note, 4),
    (add, 4),
    (again, 4),
    (use, 2),
    (recommend, 4),
    (assess, 3),
    (wonder, 1),
    (replay, 4),
    (reopen, 4),
    (read, 3),
    (show, 0.15),
)
