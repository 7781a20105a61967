"""Figures of what decisions are worth at few places, where a test looks at other things; test_plots.py has them as they are.

Imported by what tests run in: their own process, what processes are forked from, and the shell's `windward`.
"""

from __future__ import annotations

from windward.present.plots import worth

AS_THEY_ARE = worth.STEPS, worth.STEPS_OF_TWO
worth.STEPS, worth.STEPS_OF_TWO = 11, 7
worth.SOLVED_STEPS, worth.SOLVED_STEPS_OF_TWO = 5, 3
