"""Run by test_budget.py in a process of its own: how much memory each case takes at its peak, in a fork of a warm process.

Standard input has one case per line, (policy, decisions, contexts, observations, kind) as JSON; standard output has the bytes
measured and the bytes counted for each.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import UTC, datetime

import torch

import windward as ww
from windward.basics import budget
from windward.policy import SAMPLES
from windward.suggest.assess import assess, base_of
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.trials.records import Trial
from windward.trials.trials import Trials

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(decisions: int, contexts: int, observations: int) -> Trials:
    space = ww.Space(
        {f"x{i}": ww.Real(0, 1) for i in range(decisions)}, {f"c{i}": ww.Real(0, 1) for i in range(contexts)}
    )
    numbers = torch.rand(observations, decisions + contexts, generator=torch.Generator().manual_seed(0)).tolist()
    rows = []
    for id, row in enumerate(numbers):
        x, c = dict(zip(space.decision, row, strict=False)), dict(zip(space.context, row[decisions:], strict=True))
        value = -sum((number - 0.4) ** 2 for number in row)
        rows.append(Trial(id, x, context=c, context_source="revealed", value=value, asked_at=NOW, changed=id + 2))
    return Trials(space, tuple(rows))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def done(policy: ww.Policy, trials: Trials, kind: str) -> None:
    generator, request = torch.Generator().manual_seed(0), Request(round=1000, memory=2**50)
    if kind == "suggest":
        suggest(policy, trials, request, generator)
    else:
        base = base_of(policy, trials, request, generator)
        assert base is not None
        assess(base, None)


def measured(policy: ww.Policy, trials: Trials, kind: str) -> int:
    """Return by how many bytes the peak of a forked process grows."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before = peak()
        done(policy, trials, kind)
        os.write(writing, str(peak() - before).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return int(answer.read())


def counted(policy: ww.Policy, trials: Trials, kind: str) -> int:
    judged, samples = (policy, 0) if kind == "suggest" else (policy.reporting, SAMPLES)
    n = len(trials)
    return budget.total(
        budget.needs_of(judged, budget.sizes_of(judged, trials.space, seen=n, observations=n, samples=samples))
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for kind in ("suggest", "recommend"):  # what a first call loads is not the policy's
        done(ww.Policy(context_model=ww.KernelDensity(8)), made(1, 1, 6), kind)
    for line in sys.stdin:
        text, decisions, contexts, observations, kind = json.loads(line)
        policy, trials = ww.from_json(text), made(decisions, contexts, observations)
        print(json.dumps([measured(policy, trials, kind), counted(policy, trials, kind)]), flush=True)
