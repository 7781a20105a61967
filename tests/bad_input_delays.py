"""Wrong calls of what deals with late results."""

from __future__ import annotations

from datetime import timedelta

from bad_input_cases import Row, each, numbers, wholes, words

import windward as ww
from windward.basics.errors import ArgumentError, IncompatibleError

PAST = timedelta(seconds=-1)
NOT_PARTS = (ww.Empirical, ww.Sobol())


def delayed(name: str) -> list[Row]:
    """Wrong context models and objectives of a method for late results."""
    method = getattr(ww.papers, name)
    values = (0.0, 5) if name.endswith("sdf") else ()
    return [
        *words(
            f"papers.{name}.context_model",
            lambda v: method(*values, context_model=v),
            *NOT_PARTS,
            error=IncompatibleError,
        ),
        *words(f"papers.{name}.objective", lambda v: method(*values, objective=v), *NOT_PARTS, error=IncompatibleError),
        *words(f"papers.{name}.surrogate", lambda v: method(*values, surrogate=v), *NOT_PARTS, error=IncompatibleError),
    ]


def censored(name: str) -> list[Row]:
    """Wrong worst values and patience of a method that censors."""
    method = getattr(ww.papers, name)
    return [
        *delayed(name),
        *numbers(f"papers.{name}.worst", lambda v: method(v, 5), None),
        *wholes(f"papers.{name}.patience", lambda v: method(0.0, v), -1, PAST),
        *wholes(f"papers.{name}.terms", lambda v: method(0.0, 5, terms=v), -1),
        *words(f"papers.{name}.learn_from", lambda v: method(0.0, 5, learn_from=v), "some", 1),
        *words(f"papers.{name}.late", lambda v: method(0.0, 5, late=v), "never", 1),
    ]


DELAYS: list[Row] = [
    *numbers("Censor.worst", lambda v: ww.Censor(v, 5), None),
    *wholes("Censor.patience", lambda v: ww.Censor(0.0, v), -1, PAST),
    *words("Censor.late", lambda v: ww.Censor(0.0, 5, v), None, "never", 1),
    *words("Censor.learn_from", lambda v: ww.Censor(0.0, 5, learn_from=v), None, "some", 1),
    *numbers("DelayedWidth.bound", ww.DelayedWidth, None, -1),
    *numbers("DelayedWidth.base", lambda v: ww.DelayedWidth(1.0, v), None, -1),
    *wholes("DelayedWidth.terms", lambda v: ww.DelayedWidth(1.0, 1.0, v), -1),
    *wholes("delayed_width.terms", lambda v: ww.delayed_width(1.0, 1.0, v), -1),
    *numbers("delayed_width.bound", ww.delayed_width, None, -1),
    *numbers("delayed_width.base", lambda v: ww.delayed_width(1.0, v), None, -1),
    *censored("gp_ucb_sdf"),
    *censored("gp_ts_sdf"),
    *delayed("gp_bucb"),
    *delayed("gp_bts"),
    *delayed("asy_ts"),
]

RUNS: list[Row] = [
    *words("Study.run.executor", lambda s, v: s.run(print, 1, executor=v), 5, "threads", print),
    *each(
        "Study.run.workers",
        lambda s, v: s.run(print, 1, workers=v),
        ArgumentError,
        [(2, "workers go with an executor"), (0, "workers must be >= 1"), (1.5, "workers must be a whole number")],
    ),
    *words("Study.run.leftover", lambda s, v: s.run(print, 1, leftover=v), None, "forget", 1),
]
