"""Suites of laws for parts of your own: each function takes a part and raises `AssertionError` where it breaks a law.

They need no test framework: call one from any test. Windward's own parts are held to the same suites.

>>> import windward as ww
>>> from windward.testing import check_divergence
>>> check_divergence(ww.TotalVariation(), 1.1)
"""

from windward.testing.belief import check_belief
from windward.testing.context_model import check_context_model
from windward.testing.design import check_design
from windward.testing.divergence import check_divergence
from windward.testing.feedback import check_feedback
from windward.testing.guard import check_guard
from windward.testing.journal import check_journal
from windward.testing.maximizer import check_maximizer
from windward.testing.objective import check_objective
from windward.testing.parameter import check_parameter
from windward.testing.rule import check_context_rule
from windward.testing.scaling import check_scaling
from windward.testing.surrogate import check_surrogate

__all__ = [
    "check_belief",
    "check_context_model",
    "check_context_rule",
    "check_design",
    "check_divergence",
    "check_feedback",
    "check_guard",
    "check_journal",
    "check_maximizer",
    "check_objective",
    "check_parameter",
    "check_scaling",
    "check_surrogate",
]
