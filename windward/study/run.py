"""The loop behind `Study.run`: ask, evaluate, tell, one after the other or several at once."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from windward.basics import arguments
from windward.basics.errors import ArgumentError, JournalError, SpaceError, TrialError
from windward.basics.progress import Progress
from windward.basics.speech import shown
from windward.trials.records import Result, Settled, Suggestion

if TYPE_CHECKING:
    from windward.study.study import Study

Evaluate: TypeAlias = Callable[[Suggestion], float | Result]
Leftover: TypeAlias = Literal["keep", "retry", "lose"]

logger = logging.getLogger("windward")

# Rounds of a run that stops by itself, unless fewer are allowed.
MOST_ROUNDS = 1000
# An evaluation that fails this often in a row is broken, not unlucky.
MOST_FAILURES = 3


def run_rounds(
    study: Study,
    evaluate: Evaluate,
    rounds: int | None,
    until: int | Settled | None,
    *,
    executor: Executor | None,
    workers: int | None,
    leftover: Leftover,
    progress: bool,
) -> None:
    """Run a study's rounds; see `Study.run`."""
    count = _checked(study, evaluate, rounds, until, executor, workers, leftover, progress)
    again = _left(study, leftover)
    work = _Work(study, again, count, until if isinstance(until, Settled) else None)
    with Progress(len(again) + count, "rounds", show=progress) as bar:
        if executor is None:
            _one_by_one(work, evaluate, bar)
        else:
            _several(work, evaluate, executor, workers or os.cpu_count() or 1, bar)


def _checked(
    study: Study,
    evaluate: object,
    rounds: int | None,
    until: int | Settled | None,
    executor: object,
    workers: int | None,
    leftover: object,
    progress: object,
) -> int:
    """Return how many trials to ask, or raise `ArgumentError`."""
    if not callable(evaluate):
        raise ArgumentError(f"study.run(evaluate={shown(evaluate)}): give a function of a suggestion.")
    stopping = isinstance(until, Settled)
    if not stopping and (rounds is None) == (until is None):
        raise ArgumentError(
            "study.run: give either rounds (how many more) or until (how many in all, or Settled(delta) to stop by itself)."
        )
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentError(f"study.run(executor={shown(executor)}): give a concurrent.futures.Executor.")
    if workers is not None:
        arguments.whole("study.run", "workers", workers, low=1)
        if executor is None:
            raise ArgumentError(f"study.run(workers={workers}): workers go with an executor; give executor=....")
    arguments.choice("study.run", "leftover", leftover, ("keep", "retry", "lose"))
    arguments.flag("study.run", "progress", progress)
    study.sync()
    if rounds is not None:
        return arguments.whole("study.run", "rounds", rounds, low=0)
    if isinstance(until, Settled):
        return MOST_ROUNDS
    return max(0, arguments.whole("study.run", "until", until, low=0) - len(study.trials))


def _left(study: Study, leftover: Leftover) -> list[Suggestion]:
    """Return what a driver before this one left pending, to be evaluated again, after losing or naming it."""
    pending = study.trials.pending
    if not pending:
        return []
    ids = ", ".join(str(trial.id) for trial in pending)
    if leftover == "keep":
        choices = 'leftover="retry" evaluates them again, leftover="lose" gives them up'
        logger.warning("study %r: pending from before, left as they are: %s; %s", study.name, ids, choices)
        return []
    if leftover == "lose":
        for trial in pending:
            study.lose(trial.id, "left pending by an earlier run")
        return []
    return [Suggestion(trial.id, dict(trial.decision), dict(trial.context) or None) for trial in pending]


class _Work:
    """Suggestions to evaluate: those again, then new ones; and what to do with what comes back."""

    def __init__(self, study: Study, again: list[Suggestion], count: int, settled: Settled | None = None) -> None:
        self.study, self._again, self._left = study, list(again), count
        self.failures = self.arrived = 0
        self._settled, self._agreed, self._looked = settled, 0, -1

    def __iter__(self) -> Iterator[Suggestion]:
        while self._again:
            yield self._again.pop(0)
        while self._left > 0:
            far = False
            if self._settled is not None and self._seems_settled(self._settled):
                checks = [trial for trial in self.study.trials if trial.far and trial.state != "lost"]
                far = len(checks) < self._settled.checks
                if not far and all(trial.state == "told" for trial in checks):
                    return
            self._left -= 1
            yield self.study.ask(far=far)

    def _seems_settled(self, wanted: Settled) -> bool:
        """Whether enough looks in a row say that no decision is better by more than delta; one look for each new result."""
        policy, trials = self.study.policy, self.study.trials
        if not policy.past_design(trials):
            return False
        arrived = len(policy.view(trials).arrived)
        if arrived != self._looked:
            self._looked = arrived
            said = self.study.settled(wanted.delta) >= wanted.probability
            self._agreed = self._agreed + 1 if said else 0
        return self._agreed >= wanted.looks

    def failed(self, suggestion: Suggestion, error: Exception) -> str:
        """Lose the trial; raise after too many failures in a row."""
        why = arguments.cleaned(str(error))  # what the log refuses, a terminal may not show either
        _give_up(self.study, suggestion.id, f"{type(error).__name__}: {why}")
        self.failures += 1
        if self.failures == MOST_FAILURES:
            raise error
        logger.warning("study %r: trial %d lost: %s", self.study.name, suggestion.id, why)
        return f"trial {suggestion.id} lost: {why}"

    def returned(self, suggestion: Suggestion, result: object) -> str:
        """Tell what an evaluation returned."""
        self.failures = 0
        _tell(self.study, suggestion, result)
        self.arrived += 1
        return f"value {self.study.trials[suggestion.id].value:.4g}"


def _one_by_one(work: _Work, evaluate: Evaluate, bar: Progress) -> None:
    for suggestion in work:
        try:
            result = evaluate(suggestion)
        except Exception as error:
            bar.advance(work.failed(suggestion, error))
        else:
            bar.advance(work.returned(suggestion, result))


def _several(work: _Work, evaluate: Evaluate, executor: Executor, workers: int, bar: Progress) -> None:
    flying: dict[Future[Any], Suggestion] = {}
    suggestions = iter(work)

    def launch() -> None:
        while len(flying) < workers:
            suggestion = next(suggestions, None)
            if suggestion is None:
                return
            try:
                flying[executor.submit(evaluate, suggestion)] = suggestion
            except Exception as error:  # the executor is shut down or broken: this one never began
                _give_up(work.study, suggestion.id, f"not evaluated: {error}")
                if isinstance(error, RuntimeError):
                    raise
                # A cluster that lost its scheduler says so in an error of its own.
                raise BrokenExecutor(
                    f"study.run: the executor takes no more work ({type(error).__name__}: {error}). Trial {suggestion.id} was "
                    'given up; what was in flight is pending. Run again with leftover="retry".'
                ) from error

    try:
        launch()
        while flying:
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                _collect(work, flying[future], future, len(flying) - 1, bar)
                del flying[future]
            launch()
    except BaseException:
        # Interrupted, or something is broken: start nothing more, keep what has come, leave the rest pending.
        for future in flying:
            future.cancel()
        for future, suggestion in flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                _salvage(work, suggestion, future.result())
        raise


def _salvage(work: _Work, suggestion: Suggestion, result: object) -> None:
    """Tell a result that came while the run was ending; what cannot be told is said in the log, not raised."""
    try:
        work.returned(suggestion, result)
    except Exception as error:
        logger.warning("study %r: trial %d returned %r: %s", work.study.name, suggestion.id, result, error)


def _collect(work: _Work, suggestion: Suggestion, future: Future[Any], flying: int, bar: Progress) -> None:
    if future.cancelled():  # not by this run: the executor was closed, or a cluster lost its scheduler
        raise BrokenExecutor(
            f"study.run: the executor cancelled trial {suggestion.id}; what was in flight is pending. Run again with "
            'leftover="retry".'
        )
    error = future.exception()
    if isinstance(error, Exception) and not isinstance(error, BrokenExecutor):
        note = work.failed(suggestion, error)
    elif error is not None:
        raise error  # the executor's own failure: what was in flight stays pending, for leftover="retry"
    else:
        note = work.returned(suggestion, future.result())
    bar.advance(f"{flying} pending, {work.arrived} arrived, {note}")


def _give_up(study: Study, id: int, reason: str) -> None:
    """Lose a trial, unless it has a value by now: somebody else told it."""
    study.sync()
    if study.trials[id].value is None:
        study.lose(id, arguments.cleaned(reason).strip() or "no reason given")


def _tell(study: Study, suggestion: Suggestion, result: object) -> None:
    """Tell what an evaluation returned. A result that cannot be told is a fault of the evaluation, and ends the run."""
    told = result if isinstance(result, Result) else Result(result)  # type: ignore[arg-type]
    try:
        study.tell(suggestion.id, told.value, context=told.context, noise=told.noise, decision=told.decision)
    except (ArgumentError, SpaceError, TrialError) as error:
        _give_up(study, suggestion.id, f"{type(error).__name__}: {error}")
        message = (
            f"study.run: evaluate returned {shown(result)} for trial {suggestion.id}, which cannot be told: {error}"
        )
        raise type(error)(f"{message} Return a number or Result(value, context=...).") from error
    except JournalError as error:  # the value is good and the log is not: nothing is given up
        raise JournalError(f"{error} Trial {suggestion.id} is still pending; its told was {shown(told)}.") from error
    if suggestion.id in {trial.id for trial in study.policy.view(study.trials).awaiting_context}:
        missing = [name for name in study.space.context if name not in study.trials[suggestion.id].context]
        raise ArgumentError(
            f"study.run: evaluate returned no context for trial {suggestion.id}, and a value without it teaches nothing; "
            f"return Result(value, context={{{shown(missing[0])}: ...}}). The value is kept: reveal the context to use it."
        )
