"""The loop behind `Study.run`: ask, evaluate, tell, over and over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from windward import check
from windward.errors import ArgumentError, JournalError, SpaceError, TrialError
from windward.progress import Progress
from windward.results import Outcome, Suggestion

if TYPE_CHECKING:
    from windward.study import Study

logger = logging.getLogger("windward")

# An evaluation that fails this often in a row is broken, not unlucky.
MOST_FAILURES = 3


def run_rounds(
    study: Study,
    evaluate: Callable[[Suggestion], float | Outcome],
    rounds: int | None,
    *,
    until: int | None,
    progress: bool,
) -> None:
    """Run a study's rounds one after the other; see `Study.run`."""
    if not callable(evaluate):
        raise ArgumentError(f"study.run(evaluate={evaluate!r}): give a function of a suggestion.")
    if (rounds is None) == (until is None):
        raise ArgumentError("study.run: give either rounds (how many more) or until (how many in all).")
    check.flag("study.run", "progress", progress)
    study.sync()
    if rounds is not None:
        count = check.whole("study.run", "rounds", rounds, low=0)
    else:
        count = max(0, check.whole("study.run", "until", until, low=0) - len(study.trials))
    failures = 0
    with Progress(count, "rounds", show=progress) as bar:
        for _ in range(count):
            suggestion = study.ask()
            try:
                result = evaluate(suggestion)
            except Exception as error:
                study.lose(suggestion.id, f"{type(error).__name__}: {error}")
                failures += 1
                if failures == MOST_FAILURES:
                    raise
                logger.warning("study %r: trial %d lost: %s", study.name, suggestion.id, error)
                bar.advance(f"trial {suggestion.id} lost: {error}")
                continue
            failures = 0
            _tell(study, suggestion, result)
            bar.advance(f"value {study.trials[suggestion.id].value:.4g}")


def _tell(study: Study, suggestion: Suggestion, result: object) -> None:
    """Tell what an evaluation returned. A result that cannot be told is a fault of the evaluation, and ends the run."""
    outcome = result if isinstance(result, Outcome) else Outcome(result)  # type: ignore[arg-type]
    try:
        study.tell(
            suggestion.id, outcome.value, context=outcome.context, noise=outcome.noise, decision=outcome.decision
        )
    except (ArgumentError, SpaceError, TrialError) as error:
        study.lose(suggestion.id, f"{type(error).__name__}: {error}")
        message = f"study.run: evaluate returned {result!r} for trial {suggestion.id}, which cannot be told: {error}"
        raise type(error)(f"{message} Return a number or Outcome(value, context=...).") from error
    except JournalError as error:  # the value is good and the log is not: nothing is given up
        raise JournalError(f"{error} Trial {suggestion.id} is still pending; its outcome was {outcome!r}.") from error
    if suggestion.id in {trial.id for trial in study.policy.view(study.trials).awaiting_context}:
        missing = [name for name in study.space.context if name not in study.trials[suggestion.id].context]
        raise ArgumentError(
            f"study.run: evaluate returned no context for trial {suggestion.id}, and a value without it teaches nothing; "
            f"return Outcome(value, context={{{missing[0]!r}: ...}}). The value is kept: reveal the context to use it."
        )
