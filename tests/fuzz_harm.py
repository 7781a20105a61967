"""What the fuzzer does to a log besides calls: damage it, make its study again, share it with a worker that is killed."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import fuzz_oracle as oracle
import fuzz_worker
from fuzz_calls import add
from fuzz_case import Case
from fuzz_oracle import Kept, expect
from fuzz_spaces import random_space, random_values

import windward as ww
from windward.trials.records import Trial

# Bodies that are no body of any event.
NO_BODIES = ("", "{", "null", "[]", '"x"', "5", "{}", "NaN", "[" * 5000, '{"v":null}', '{"v":99}', '{"v":"1"}', "\x00")
NO_VALUES: tuple[Any, ...] = (None, "x", [], {}, [[1]], {"x": None}, -1, 1e999, float("nan"), True, 10**400, "\ud800")
NO_TIMES = ("", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "0", "9999-99-99T00:00:00+00:00")
WORKERS_SECONDS = 120.0


# -- damage ----------------------------------------------------------------------------------------------------------


def damage(case: Case) -> None:
    """Damage a copy of the log: it is refused by name, or opens exactly as it was, and then works."""
    if not isinstance(case.journal, str):
        return
    for _ in range(3):
        copy = case.copied("damaged.db")
        harm = case.chance.choices([harm for harm, *_ in HARMS], [weight for _, weight, _ in HARMS])[0]
        kind = next(kind for each, _, kind in HARMS if each is harm)
        with contextlib.closing(sqlite3.connect(copy)) as target:
            try:
                said = harm(target, case.chance, case.name, case.head)
            except sqlite3.IntegrityError:  # the database itself refuses this one
                continue
            target.commit()
        if said is not None:
            _open_damaged(case, f"sqlite:///{copy}", f"the log with {said}", kind)


def _open_damaged(case: Case, url: str, said: str, kind: str) -> None:
    opened = case.attempt(
        "damage", said, lambda: ww.Study.open(case.name, journal=url, clock=lambda: case.now), (ww.JournalError,)
    )
    if isinstance(opened, ww.JournalError):
        named = re.search(r"event \d+|\d+ (events|trials)|format|no study named", str(opened))
        expect(named, f"{said} is refused without a word on which event: {opened}")
        gone = re.search(r"(event \d+) of \d+ deleted", said)
        expect(gone is None or f"{gone[1]} is missing" in str(opened), f"{said} is refused for another event: {opened}")
        return
    same = opened.trials.rows == case.study.trials.rows and all(
        getattr(opened, name) == getattr(case.study, name) for name in ("space", "policy", "direction", "seed")
    )
    expect(same or kind == "plausible", f"{said} was opened, and its history is another one")
    # A log that somebody could have written may hold a policy that does not go with its space: a call says so.
    other = (ww.IncompatibleError,) if kind == "plausible" else ()
    refusals = (ww.JournalError, ww.TrialError, *other, *case.unsatisfiable({}))
    # A damage that opening did not find may be found by a call, by name; no call may fall over it.
    calls: tuple[Callable[[], Any], ...] = (
        lambda: oracle.check_records(opened, case.now),
        opened.ask,
        opened.recommend,
        lambda: [opened.replay(trial.id) for trial in opened.trials if trial.turn is not None][:3],
    )
    for call in calls:
        case.attempt("damage", f"a call on {said}", call, refusals)


def _row(target: sqlite3.Connection, chance: Random, name: str) -> tuple[int, str, str]:
    rows = target.execute("SELECT seq, kind, body FROM events WHERE study = ? ORDER BY seq", (name,)).fetchall()
    found: tuple[int, str, str] = chance.choice(rows)
    return found


def _set(target: sqlite3.Connection, name: str, seq: int, column: str, value: object) -> str:
    target.execute(f"UPDATE events SET {column} = ? WHERE study = ? AND seq = ?", (value, name, seq))
    return f"{column} of event {seq} set to {value!r:.80}"


def _lost_event(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    seq = head if chance.random() < 0.4 else _row(target, chance, name)[0]
    target.execute("DELETE FROM events WHERE study = ? AND seq = ?", (name, seq))
    return f"event {seq} of {head} deleted"


def _counts(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    column, step = chance.choice(("head", "asks")), chance.choice((-1, 1, 5, 1000))
    target.execute(f"UPDATE studies SET {column} = {column} + ? WHERE name = ?", (step, name))
    return f"{column} moved by {step}"


def _format(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    target.execute("UPDATE studies SET format = ? WHERE name = ?", (chance.choice((0, 99, -1)), name))
    return "another format"


def _kind(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    kinds = ("", "forgotten", "Told", "apply", "created\0")
    return _set(target, name, _row(target, chance, name)[0], "kind", chance.choice(kinds))


def _body(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    return _set(target, name, _row(target, chance, name)[0], "body", chance.choice(NO_BODIES))


def _cut(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    seq, _, body = _row(target, chance, name)
    return _set(target, name, seq, "body", body[: chance.randrange(len(body))])


def _field(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str | None:
    """Set or remove one field of a body, at any depth: what comes out may be a log that somebody could have written."""
    seq, kind, body = _row(target, chance, name)
    data = json.loads(body)
    inner, path = data, []
    while isinstance(inner, dict) and inner:
        key = chance.choice(sorted(inner))
        path.append(key)
        if not isinstance(inner[key], dict) or chance.random() < 0.5:
            break
        inner = inner[key]
    if not path or not isinstance(inner, dict) or path[-1] not in inner:
        return None
    if chance.random() < 0.3:
        del inner[path[-1]]
        what = "removed"
    else:
        inner[path[-1]] = chance.choice(NO_VALUES)
        what = f"set to {inner[path[-1]]!r:.40}"
    _set(target, name, seq, "body", json.dumps(data))
    return f"{'.'.join(path)} of event {seq} ({kind}) {what}"


def _time(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str:
    return _set(target, name, _row(target, chance, name)[0], "at", chance.choice(NO_TIMES))


def _trial(target: sqlite3.Connection, chance: Random, name: str, head: int) -> str | None:
    seq, kind, _ = _row(target, chance, name)
    # Another trial of the study would be a log that somebody could have written.
    return _set(target, name, seq, "trial", chance.choice((-1, 10**6, "x", None))) if kind not in NO_TRIAL else None


NO_TRIAL = ("created", "policy_set", "declared", "noted")
# What each does, how often, and what it may be: "counts" and "broken" logs must be refused unless nothing changed; a
# "plausible" one may read as another history.
HARMS: tuple[tuple[Callable[..., str | None], float, str], ...] = (
    (_lost_event, 3, "counts"),
    (_counts, 2, "counts"),
    (_time, 1, "broken"),
    (_format, 0.5, "broken"),
    (_kind, 1, "broken"),
    (_body, 2, "broken"),
    (_cut, 1, "broken"),
    (_trial, 1, "broken"),
    (_field, 6, "plausible"),
)


# -- a study that is another one ---------------------------------------------------------------------------------------


def remake(case: Case) -> None:
    """Delete the study under an open handle and make another of its name: the handle is refused, whatever it does."""
    old, trials, known = case.study, len(case.kept), case.head
    journal = case.journal if isinstance(case.journal, str) else old.journal
    case.attempt("remake", "delete_study", lambda: ww.delete_study(case.name, journal=journal))
    again = case.chance.random() < 0.8
    calls = _every_call(case, old, trials)
    if not again:
        for said, call in calls:
            case.attempt("remake", f"{said} on a deleted study", call, (ww.JournalError,), must=True)
    case.journal = journal
    case.forget()
    case.space = case.space if case.chance.random() < 0.5 else random_space(case.chance)
    case.create()
    # A log that is longer than what the old handle has read hides from it that it is another one.
    longer = case.chance.random() < 0.7
    while again and (case.head <= known if longer else case.chance.random() < 0.5):
        add(case)
    if again:
        for said, call in calls:
            case.attempt("remake", f"{said} on a study made again", call, (ww.JournalError,), must=True)
    case.unchanged("calls on a handle of a deleted study")


def _every_call(case: Case, old: ww.Study, trials: int) -> list[tuple[str, Callable[[], Any]]]:
    decision = random_values(case.chance, old.space.decision)
    context = random_values(case.chance, old.space.context)
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("sync", old.sync),
        ("ask", old.ask),
        ("pending", old.pending),
        ("dataframe", old.dataframe),
        ("recommend", old.recommend),
        ("add", lambda: old.add(decision, 1.0, context=context)),
        ("use", lambda: old.use(old.policy)),
    ]
    if trials:
        calls += [
            ("tell", lambda: old.tell(0, 1.0)),
            ("lose", lambda: old.lose(trials - 1, "why")),
            ("replay", lambda: old.replay(0)),
            ("amend", lambda: old.amend(0, decision=decision)),
        ]
    if trials and context:
        calls.append(("reveal", lambda: old.reveal(0, context)))
    return calls


# -- several processes -------------------------------------------------------------------------------------------------


def share(case: Case) -> None:
    """Let two workers ask and tell on the same file, one of them killed: what a call returned from is there, once."""
    if not isinstance(case.journal, str) or case.space.constraints:
        return
    case.calls.append("two workers, one killed")
    case.kinds["share"] += 1
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fuzz_worker"])
    diaries = [case.folder / f"worker{len(case.calls)}.{place}" for place in range(2)]
    until = len(case.kept) + case.chance.randint(4, 12)
    workers = [
        context.Process(
            target=fuzz_worker.work, args=(case.journal, case.name, case.chance.randrange(2**32), until, str(path))
        )
        for path in diaries
    ]
    for worker in workers:
        worker.start()
    try:
        _strike(workers[0], diaries[0], case.chance.randint(1, 12))
        for worker in workers:
            worker.join(WORKERS_SECONDS)
            expect(worker.exitcode is not None, f"a worker is not done after {WORKERS_SECONDS:g} s")
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    expect(workers[1].exitcode == 0, f"the worker that lived ended with {workers[1].exitcode}: {_tail(diaries[1])}")
    expect(
        workers[0].exitcode in (0, -signal.SIGKILL), f"the other ended with {workers[0].exitcode}: {_tail(diaries[0])}"
    )
    _check_shared(case, diaries)


def _strike(worker: Any, diary: Path, lines: int) -> None:
    """Kill a worker once its diary has this many lines, in the middle of whatever it does then."""
    deadline = time.monotonic() + WORKERS_SECONDS
    while worker.is_alive() and time.monotonic() < deadline:
        if diary.exists() and diary.read_bytes().count(b"\n") >= lines:
            os.kill(worker.pid, signal.SIGKILL)
            return
        time.sleep(0.002)


def _tail(diary: Path) -> str:
    return diary.read_text()[-2000:] if diary.exists() else "no diary"


def _check_shared(case: Case, diaries: list[Path]) -> None:
    said = [json.loads(line) for diary in diaries if diary.exists() for line in diary.read_text().splitlines()]
    before = len(case.kept)
    case.study.sync()
    events = case.study.journal.read(case.name)
    expect([event.seq for event in events] == list(range(1, len(events) + 1)), "the log has gaps")
    expect(len({event.key for event in events}) == len(events), "a key is in the log twice")
    asked = [line["id"] for line in said if line["did"] == "asked"]
    new = {event.trial for event in events if event.kind == "asked" and event.trial >= before}
    expect(len(set(asked)) == len(asked) and set(asked) <= new, f"handed out {sorted(asked)}, in the log {sorted(new)}")
    for line in said:
        if line["did"] == "told":
            kept = case.study.trials[line["id"]].value
            expect(kept == line["value"], f"trial {line['id']} was told {line['value']!r} and has {kept!r}")
    begun = {line["id"]: line["value"] for line in said if line["did"] == "telling"}
    for trial in case.study.trials.rows[before:]:
        expect(trial.value in (None, begun.get(trial.id)), f"trial {trial.id} has {trial.value!r}, nobody told that")
        oracle.check_decision(case.space, trial.decision)
        case.kept.append(_kept(trial))
    case.head, case.asks, case.last = len(events), sum(event.kind == "asked" for event in events), None
    for id in case.chance.sample(sorted(new), min(3, len(new))):
        found = case.attempt("replay", f"study.replay({id}) of a worker's ask", partial(case.study.replay, id))
        expect(dict(found.decision) == case.kept[id].asked, f"replay({id}) gave {found.decision!r}")
    case.settle("two workers")


def _kept(trial: Trial) -> Kept:
    """Return a worker's trial as the model has it: workers reveal and tell, and do nothing else."""
    chosen = trial.context_source == "chosen"
    context, decision = dict(trial.context), dict(trial.decision)
    return Kept(
        decision,
        decision,
        trial.turn,
        context,
        context if chosen else {},
        seen=trial.context_seen,
        value=trial.value,
        noise=trial.noise,
        delay=trial.delay,
    )
