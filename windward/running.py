"""The loop behind `Study.run`: ask, evaluate, tell, over and over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windward import check
from windward.errors import ArgumentError
from windward.progress import Progress
from windward.results import Outcome, Suggestion

if TYPE_CHECKING:
    from windward.study import Study

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
                outcome = result if isinstance(result, Outcome) else Outcome(result)
                study.tell(
                    suggestion.id,
                    outcome.value,
                    context=outcome.context,
                    noise=outcome.noise,
                    decision=outcome.decision,
                )
            except Exception as error:
                study.lose(suggestion.id, f"{type(error).__name__}: {error}")
                failures += 1
                if failures == MOST_FAILURES:
                    raise
                bar.advance(f"trial {suggestion.id} lost: {error}")
                continue
            failures = 0
            bar.advance(f"value {outcome.value:.4g}")
