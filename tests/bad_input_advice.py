"""Wrong calls about advice and the default policy; see `bad_input_cases`."""

from __future__ import annotations

import torch
from bad_input_cases import (
    CONTEXT,
    DECISION,
    LACKING,
    NAN,
    NOT_CONTEXTS,
    NOT_DECISIONS,
    SPACE,
    Row,
    each,
    misfits,
    numbers,
    wholes,
    words,
)

import windward as ww
from windward.basics.errors import ArgumentError, TrialError

POINTS = torch.zeros(2, 1, dtype=torch.float64)
HALVES, MASS = torch.full((2,), 0.5, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
BOTH = torch.tensor([0, 1])
FAR = (DECISION | {"order": 1.5}, "must lie in [0, 1], got 1.5")
BEYOND_THEM = [
    (ww.Unknown(MASS, torch.tensor([0, 2])), "2 points"),
    (ww.Unknown(MASS, torch.tensor([-1, 0])), "2 points"),
]

ADVICE: list[Row] = [
    *numbers("Report.caution", lambda v: ww.Report(caution=v), -1.0, None, "much"),
    *numbers("Settled.delta", ww.Settled, 0.0, -1.0, None),
    *numbers("Settled.probability", lambda v: ww.Settled(1.0, v), 0.0, 1.5, None),
    *wholes("Settled.looks", lambda v: ww.Settled(1.0, 0.9, v), 0),
    *wholes("Settled.checks", lambda v: ww.Settled(1.0, checks=v), -1),
    *words("Contexts.unknown", lambda v: ww.Contexts(POINTS, HALVES, v), 5, MASS, ww.Unknown),
    *each("Contexts.unknown", lambda v: ww.Contexts(POINTS, HALVES, v), ArgumentError, BEYOND_THEM),
    *each(
        "Unknown.mass",
        lambda v: ww.Unknown(v, BOTH),
        ArgumentError,
        [
            ([1.0, 1.0], "mass=[1.0, 1.0]"),
            (torch.ones(2, 2), "one for each point"),
            (torch.ones(3), "got 3 and 2"),
            (torch.tensor([1.0, 0.0]), "finite and > 0"),
            (torch.tensor([1.0, NAN]), "finite and > 0"),
        ],
    ),
    *each(
        "Unknown.places",
        lambda v: ww.Unknown(MASS, v),
        ArgumentError,
        [([0, 1], "places=[0, 1]"), (MASS, "whole numbers"), (torch.tensor([0]), "got 2 and 1")],
    ),
    *wholes("Unknown.unseen", lambda v: ww.Unknown(MASS, BOTH, v), None, -1, 3),
]

DEFAULT: list[Row] = [
    *wholes("Central.count", ww.Central, None, 0),
    *numbers("Central.share", lambda v: ww.Central(4, v), None, 0.0, 1.5),
    *numbers("NearBest.reach", ww.NearBest, None, 0.0, 1.5),
    *wholes("NearBest.of", lambda v: ww.NearBest(of=v), None, 0),
    *wholes("NearBest.until", lambda v: ww.NearBest(until=v), None, -1),
    *words("NearBest.search", lambda v: ww.NearBest(search=v), None, ww.MultiStart, ww.OverGrid(), 5),
    *numbers("OverallConfidence.width", ww.OverallConfidence, None, -1),
    *wholes("OverallConfidence.doubts", lambda v: ww.OverallConfidence(doubts=v), None, -1),
    *numbers("Wider.first", ww.Wider, None, -1),
    *numbers("Wider.then", lambda v: ww.Wider(0.5, v), None, -1),
    *wholes("Wider.after", lambda v: ww.Wider(0.5, 1.0, v), None, -1),
]

COMPARED: list[Row] = [
    *misfits("Study.compare.first", lambda s, v: s.compare(v, DECISION), [*NOT_DECISIONS, LACKING, FAR]),
    *misfits("Study.compare.second", lambda s, v: s.compare(DECISION, v), [*NOT_DECISIONS, LACKING, FAR]),
    *misfits("Study.compare.context", lambda s, v: s.compare(DECISION, context=v), NOT_CONTEXTS),
    *numbers("Study.shift.level", lambda s, v: s.shift(level=v), None, 0, 1, -1),
    *misfits("Study.by_context.decision", lambda s, v: s.by_context(v), [*NOT_DECISIONS, LACKING, FAR]),
    *misfits("Study.by_context.context", lambda s, v: s.by_context(context=v), NOT_CONTEXTS),
    *misfits("Study.importance.context", lambda s, v: s.importance(context=v), NOT_CONTEXTS),
    *words("Study.importance.when", lambda s, v: s.importance(when=v), 5, "yesterday"),
    *words("Study.by_context.over", lambda s, v: s.by_context(over=v), 5, "x", [], ["demand", "demand"]),
    *words("Study.by_context.when", lambda s, v: s.by_context(when=v), 5, "yesterday"),
    Row("Study.compare.first", lambda s: s.compare(), ArgumentError, "this study has no status quo"),
    Row("Study.compare.first", lambda s: s.compare(None, DECISION), ArgumentError, "study.declare(status_quo={...})"),
    Row("Study.compare.first", lambda s: ww.Study(SPACE).compare(DECISION), TrialError, "nothing has arrived"),
    *numbers("Study.settled.delta", lambda s, v: s.settled(v), 0.0, -1.0, None),
    *misfits("Study.settled.context", lambda s, v: s.settled(1.0, context=v), NOT_CONTEXTS),
    Row(
        "Study.settled.delta",
        lambda s: ww.Study(SPACE).settled(1.0, context=CONTEXT),
        TrialError,
        "nothing has arrived",
    ),
]
