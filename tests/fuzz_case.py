"""One case of the fuzzer: a study, a model of it made from the calls alone, and a look at everything after each call."""

from __future__ import annotations

import contextlib
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import fuzz_oracle as oracle
from fuzz_oracle import Failure, Kept, Wrong, expect
from fuzz_policies import BAD_PARTS, random_policy
from fuzz_spaces import (
    BAD_SPACES,
    HOSTILE_IDS,
    HOSTILE_NUMBERS,
    STUDY_NAMES,
    random_space,
    random_values,
    some,
    spoiled,
)

import windward as ww
from windward.policy import Policy
from windward.space.parameters import Integer
from windward.trials.records import Suggestion

# Refusals of input that is wrong, or that contradicts what the log says.
REFUSED = (ww.ArgumentError, ww.SpaceError, ww.TrialError)
# The share of arguments that are hostile.
HOSTILE = 0.12
# A space that goes with none of this many policies goes with none at all.
MOST_POLICIES = 100


def shown(value: object) -> str:
    """Return a value as it would be typed, cut; a number too long for Python to write is described."""
    try:
        text = repr(value)
    except ValueError:
        text = f"<a number too long to write: {type(value).__name__}>"
    return text if len(text) <= 300 else f"{text[:297]}..."


def words_of(call: str, *places: Any, **named: Any) -> str:
    """Return a call as it would be typed."""
    arguments = [shown(each) for each in places] + [f"{name}={shown(value)}" for name, value in named.items()]
    return f"{call}({', '.join(arguments)})"


class Case:
    """A study, a model of it, and the calls made so far."""

    def __init__(self, seed: int, folder: Path, *, quick: bool = False) -> None:
        self.seed, self.folder, self.chance, self.quick = seed, folder, Random(seed), quick
        self.calls: list[str] = []  # as text, for a report of what failed
        self.kinds: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()  # errors that were right
        self.now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.chance.randrange(10**6))
        self.scale = self.chance.choice((1.0, 1.0, 1.0, 100.0, 1e-9, 1e9, 1e60))  # of outcomes
        self.direction: Any = self.chance.choice(("maximize", "minimize"))
        self.space = random_space(self.chance)
        self.name = self.chance.choice(STUDY_NAMES)
        in_memory = self.chance.random() < 0.25
        self.journal: Any = ww.MemoryJournal() if in_memory else f"sqlite:///{folder}/study.db"
        self.forget()

    def forget(self) -> None:
        """Begin the model anew, for a study without a trial."""
        self.kept: list[Kept] = []
        self.keys: dict[str, tuple[Any, ...]] = {}  # of calls that wrote something
        self.head = 0  # events that must be in the log
        self.asks = 0
        self.last: tuple[str, Callable[[], object]] | None = None  # a call that may be repeated
        self.study: ww.Study
        self.other: ww.Study | None = None  # a second handle on the same study

    # -- one call ----------------------------------------------------------------------------------------------------

    def attempt(
        self, kind: str, words: str, work: Callable[[], Any], refusals: tuple[type, ...] = (), *, must: bool = False
    ) -> Any:
        """Return what a call returns, or the error that it is rightly refused with."""
        self.calls.append(f"{words:.2000}")
        self.kinds[kind] += 1
        try:
            result = work()
        except ww.WindwardError as error:
            oracle.check_plain(error)
            expect(isinstance(error, refusals), f"{words} raised {type(error).__name__}: {error}")
            self.calls[-1] += f"  # {type(error).__name__}"
            self.refused[type(error).__name__] += 1
            return error
        except Failure:
            raise
        except Exception as error:
            where = traceback.format_exc(limit=-4)
            raise Failure(f"{words} raised {type(error).__name__}, not a WindwardError: {error}\n{where}") from error
        expect(not must, f"{words} was accepted and returned {shown(result)}; it must be refused")
        return result

    def written(self) -> int:
        """Return how many events the log has grown by, and count them."""
        news = self.study.journal.read(self.name, self.head)
        self.head += len(news)
        return len(news)

    def unchanged(self, words: str) -> None:
        """After an error, or a call that only reads: nothing was written."""
        news = self.written()
        expect(news == 0, f"{words} wrote {news} events")
        self.settle(words)

    def settle(self, words: str) -> None:
        """Compare the study with the model, as every handle sees it."""
        for study in (self.study, self.other):
            if study is None:
                continue
            study.sync()
            trials = study.trials
            expect(study.revision == self.head, f"after {words} revision is {study.revision}, the log has {self.head}")
            expect(len(trials) == len(self.kept), f"after {words} there are {len(trials)} trials, not {len(self.kept)}")
            for trial, kept in zip(trials, self.kept, strict=True):
                wrong = oracle.difference(kept, trial)
                expect(wrong is None, f"after {words} trial {trial.id}: {wrong}")
            oracle.check_counts(study, self.kept)
        if self.chance.random() < 0.15:
            self.attempt("records", "records", lambda: oracle.check_records(self.study, self.now))

    def changed(
        self, kind: str, words: str, id: Any, rule: Callable[[], oracle.Outcome], work: Callable[[], Any]
    ) -> bool:
        """Make a call that may change one trial, as a rule of the model says; return whether it wrote something."""
        right = self.outcome(rule)
        if not isinstance(right, Kept):
            self.attempt(kind, words, work, right, must=True)
            self.unchanged(words)
            return False
        self.attempt(kind, words, work)
        news = self.written()
        self.kept[int(id)] = right
        self.last = (words, work)
        self.settle(words)
        return news > 0

    # -- the study ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make bad parts, which must be refused, then the study."""
        for makers in (BAD_SPACES, BAD_PARTS):
            place = self.chance.randrange(len(makers))
            self.attempt("bad part", f"bad part {place}", makers[place], (ww.WindwardError,), must=True)
        oracle.check_round_trip(self.space)
        self.create()

    def create(self) -> None:
        """Make the study in its journal, with the first policy that goes with its space."""
        options = {"seed": self.chance.randrange(2**53), "direction": self.direction, "name": self.name}
        if (
            self.chance.random() < 0.5
        ):  # a guard needs one; constraints may refuse it, and the next policy is tried without
            options["status_quo"] = random_values(self.chance, self.space.decision)
        refusals = (ww.IncompatibleError, ww.ArgumentError, ww.SpaceError)
        for _ in range(MOST_POLICIES):
            policy = self.policy()
            words = words_of("Study", self.space, policy, **options)
            self.calls.append(f"{self.space!r}\n    {policy!r}")

            def make(policy: Policy = policy) -> ww.Study:
                return ww.Study(self.space, policy, journal=self.journal, clock=lambda: self.now, **options)

            made = self.attempt("create", words, make, refusals)
            if isinstance(made, ww.Study):
                break
            if isinstance(made, ww.SpaceError):
                options.pop("status_quo", None)
        expect(isinstance(made, ww.Study), f"{MOST_POLICIES} policies were refused for {self.space!r}: {made}")
        self.study = made
        expect(self.written() == 1, "a new study has one event")
        self.settle(words)

    def policy(self) -> Policy:
        """Return a policy whose parts go together; those that do not must be refused."""
        refusals = (ww.IncompatibleError, ww.ArgumentError)
        while True:
            made = self.attempt(
                "policy", "a policy", lambda: random_policy(self.chance, self.space, self.scale), refusals
            )
            self.calls.pop()
            if isinstance(made, Policy):
                oracle.check_round_trip(made)
                return made

    def suggested(self, words: str, found: Suggestion, given: dict[str, Any], fixed: dict[str, Any]) -> None:
        """Check a suggestion and take it into the model."""
        expect(found.id == len(self.kept), f"{words} has the id {found.id}, should be {len(self.kept)}")
        oracle.check_decision(self.space, found.decision)
        for name, value in fixed.items():
            expect(found.decision[name] == value, f"{words} gave {name!r}={found.decision[name]!r}, not as fixed")
        context = dict(found.context or {})
        oracle.check_context(self.space, context, whole=bool(set(context) - set(given)))
        for name, value in given.items():
            expect(context.get(name) == value, f"{words} has the context {context!r}, not as given")
        chooses = not isinstance(self.study.policy.context_rule, ww.Nature)
        expect(chooses or context == given, f"{words} has the context {context!r}, and nobody chose it")
        decision = dict(found.decision)
        self.kept.append(Kept(decision, decision, self.asks, context, context))
        self.asks += 1

    def copied(self, name: str) -> Path:
        """Return the path of a copy of the log, which is in a file."""
        whole, copy = self.folder / "study.db", self.folder / name
        copy.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(whole)) as source, contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    # -- arguments ---------------------------------------------------------------------------------------------------

    @property
    def hostile(self) -> bool:
        """Whether the next argument is a hostile one."""
        return self.chance.random() < HOSTILE

    @property
    def blind(self) -> bool:
        """Whether the policy looks at no contexts."""
        return isinstance(self.study.policy.context_model, ww.NoContext)

    def id(self, *states: str) -> Any:
        """Return a trial's id, most often of one in these states, now and then no id at all."""
        if not self.kept or self.chance.random() < 0.04:
            return some(self.chance, HOSTILE_IDS)
        wanted = [id for id, one in enumerate(self.kept) if one.state in states]
        return self.chance.choice(wanted if wanted and self.chance.random() < 0.85 else range(len(self.kept)))

    def at(self, id: Any) -> Kept:
        """Return the trial with this id, or raise `Wrong`."""
        if type(id) is not int or not 0 <= id < len(self.kept):
            raise Wrong
        return self.kept[id]

    def near(self, id: Any) -> Kept | None:
        """Return the trial with this id, None where there is none."""
        return self.kept[id] if type(id) is int and 0 <= id < len(self.kept) else None

    def context(self, *, partial: bool, empty: bool = False, near: Kept | None = None) -> Any:
        """Return a context, now and then as it is known already, now and then a hostile one."""
        found = random_values(self.chance, self.space.context, partial=partial, beyond=0.08)
        if near is not None and self.chance.random() < 0.3:
            found |= {name: value for name, value in near.context.items() if name in found}
        return spoiled(self.chance, found, empty=empty) if self.hostile else found

    def decision(self, *, beyond: float = 0.0) -> Any:
        """Return a decision that was made, now and then a hostile one."""
        found = random_values(self.chance, self.space.decision, beyond=beyond)
        return spoiled(self.chance, found, empty=True) if self.hostile else found

    def number(self, good: Any) -> Any:
        """Return this number, now and then a hostile one."""
        return some(self.chance, HOSTILE_NUMBERS) if self.hostile else good

    @property
    def unforeseeing(self) -> bool:
        """Whether the policy refuses forecasts: it ignores contexts or chooses them."""
        return self.study.policy.context_model.blind or self.study.policy.context_rule.chooses

    def unsatisfiable(self, fixed: dict[str, Any]) -> tuple[type, ...]:
        """Return how a call may be refused because no decision satisfies the constraints, or none could be certified."""
        names = {name for constraint in self.space.constraints for name in constraint.coefficients}
        whole = any(isinstance(self.space.decision[name], Integer) for name in names)
        on_grid = isinstance(self.study.policy.maximize, ww.OverGrid)
        guarded = bool(fixed) and self.study.policy.guard != ww.NoGuard()
        searched = (ww.SpaceError,) if guarded or (names and (fixed or whole)) else ()
        # MMD certifies its answers: at hostile radii it refuses, and says what to change.
        uncertified = (names and on_grid) or "MMD(" in repr(self.study.policy)
        return (*searched, ww.SolverError) if uncertified else searched

    def outcome(self, rule: Callable[[], oracle.Outcome]) -> Kept | tuple[type, ...]:
        """Return what a rule of the model says: the trial as it then is, or the refusals that are right."""
        try:
            right = rule()
        except Wrong:
            return REFUSED
        return right if isinstance(right, Kept) else (right,)
