"""What a suggestion is made in: whatever a part may need to know stands in one `Situation`.

Objectives, radii, beliefs, widths and context rules all take it, so that a later capability adds a field here and breaks no
signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.divergences import Ball, Divergence, OfTheProcess
from windward.space import Real, Space, Value
from windward.surrogate import Believed, Posterior, StatingKernel, kernel_of_contexts
from windward.trials.coming import Forecasts
from windward.trials.trials import Trials

if TYPE_CHECKING:
    from windward.objectives.protocol import Aim


def _nothing() -> Trials:
    return Trials(Space({"x": Real(0, 1)}))


@dataclass
class Moment:
    """A time that knows whether a part has looked at it: what was computed by it is not kept for later."""

    at: datetime | None = None
    read: bool = False


class NothingBelieved(IncompatibleError):
    """A part asked for the posterior where it is only tried."""


@dataclass(frozen=True)
class Situation:
    """The contexts, the trials, and what is believed of f. To try a part alone, the contexts are enough.

    >>> import torch
    >>> Situation(Contexts.uniform(torch.zeros(2, 1)), seen=9).columns
    1
    """

    contexts: Contexts
    seen: int = 0  # contexts that nature has shown: the t of every schedule
    trials: Trials = field(default_factory=_nothing)
    believed: Believed | None = None
    given: Mapping[str, Value] = field(default_factory=dict)  # what is known of the coming context
    forecasts: Forecasts = field(default_factory=dict)  # what is forecast of it
    moment: Moment = field(default_factory=Moment)
    horizon: int | None = None  # trials the study is meant to have
    status_quo: Mapping[str, Value] | None = None  # what is done without the study
    radius: float | None = None  # given with the ask, in place of the objective's own
    aim: Aim | None = None  # the policy's objective, bound; set where a guard is asked
    # Set where a guard is wary.
    plausible: tuple[Posterior, ...] = ()  # other posteriors that the data allow, equally probable
    judged: Contexts | None = None  # the contexts seen, with what is unknown of their weights

    @property
    def posterior(self) -> Posterior:
        """What is believed of f."""
        if self.believed is None:
            raise NothingBelieved(
                "this situation has no posterior; give Situation(contexts, believed=Believed(posterior))."
            )
        return self.believed.posterior

    def ball(self, divergence: Divergence) -> Ball:
        """Return a divergence's worst case around the contexts, by the fitted process's kernel where it measures by that."""
        if not isinstance(divergence, OfTheProcess) or not divergence.fitted:
            return divergence.on(self.contexts)
        posterior = self.posterior
        if not isinstance(posterior, StatingKernel):
            raise IncompatibleError(
                f"{shown(divergence)}: this surrogate does not say its kernel of contexts; use GaussianProcess(), or give a "
                "length-scale."
            )
        return divergence.on(self.contexts, kernel=partial(kernel_of_contexts, posterior))

    @property
    def now(self) -> datetime | None:
        """When it is; None where a part is only tried."""
        self.moment.read = True
        return self.moment.at

    @property
    def columns(self) -> int:
        """Number of context columns: the k of every schedule."""
        return self.contexts.points.shape[1]
