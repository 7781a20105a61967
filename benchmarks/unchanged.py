"""Whether two versions of the code suggest and recommend the same, to the last bit.

`record` asks and recommends through `Study` alone, so that it runs with any version: every method of the papers on Ackley
2+1, Branin 2+2 and Hartmann 5+1 with 30, 100 and 600 observations, with the Matern kernel and on grids too, and a few small
studies with whole numbers, categories, constraints, given contexts, trials that are pending or lost, and a value that is to
be small. `compare` counts what is the same, and names what is not. Both records must come from one machine. Recommendations
take most of the time; `--recommended` without sizes leaves them out.

    python benchmarks/unchanged.py record after.json
    git worktree add ../before COMMIT
    PYTHONPATH=../before python benchmarks/unchanged.py record before.json
    python benchmarks/unchanged.py compare before.json after.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from observations import PROBLEMS, methods, observed

import windward as ww

SIZES = (30, 100, 600)
# A recommendation at the largest size takes as long as a hundred asks and shows nothing that the smaller ones do not.
RECOMMENDED = (30, 100)
# Of each kind of objective, on other kernels and searches than the paper's.
OTHERWISE = ("sbo_kde", "stable_opt", "drbo_kde", "wdrbo", "ts_bocu", "ucb_bocu_1", "bqo_ei", "gp_ucb_sdf", "mtbo")

Answers = dict[str, Any]


def written(values: Any) -> Any:
    """Return decisions and numbers so that two are equal where every bit is."""
    if isinstance(values, float):
        return values.hex()
    if isinstance(values, dict):
        return {name: written(value) for name, value in values.items()}
    return [written(value) for value in values] if isinstance(values, tuple | list) else values


def asked(study: ww.Study, *, advised: bool, **ask: Any) -> Answers:
    """Return a suggestion with its stand-in, a second one beside it, and a recommendation."""
    found: Answers = {}
    for turn in ("first", "second"):
        suggestion = study.ask(**ask)
        trial = study.trials[suggestion.id]
        found[turn] = written([dict(suggestion.decision), suggestion.context, trial.stand_in])
    if advised:
        advice = study.recommend()
        found["advice"] = written([dict(advice.decision), advice.value, advice.interval, advice.adversary])
    return found


def variants(name: str) -> Iterator[tuple[str, ww.Policy]]:
    """Yield the policies that are asked on a problem."""
    for label, policy in methods(name).items():
        yield label, policy
        if label in OTHERWISE:
            matern = ww.GaussianProcess(kernel="matern52")
            yield f"{label}+matern", replace(policy, surrogate=matern)
            yield f"{label}+grid", replace(policy, maximize=ww.OverGrid(9 if name.startswith("hartmann") else 33))


def of_papers(name: str, size: int, policy: ww.Policy, advised: bool) -> Answers:
    """Return what a method says after `size` observations."""
    history = observed(name, size, 0)
    study = ww.Study(history.space, policy, seed=1, direction="maximize")
    study.add_many([ww.Past(dict(t.decision), float(t.value or 0.0), dict(t.context)) for t in history])
    return asked(study, advised=advised)


def small(kind: str, advised: bool) -> Answers:
    """Return what a small study of this kind says."""
    space = ww.Space(
        decision={
            "order": ww.Real(0, 10),
            "trucks": ww.Integer(1, 6),
            "route": ww.Categorical(["rail", "road", "sea"]),
        },
        context={"demand": ww.Real(0, 10), "day": ww.Categorical(["week", "weekend"])},
        constraints=[ww.Linear({"order": 1.0, "trucks": 1.0}, upper=12.0)] if kind == "constrained" else [],
    )
    kernels, empirical = ww.KernelDensity(64), ww.Empirical()
    policies = {
        "mixed": ww.Policy(context_model=kernels),
        "constrained": ww.Policy(context_model=kernels, maximize=ww.MultiStart(screen=128, starts=4)),
        "wasserstein": ww.Policy(context_model=empirical, objective=ww.Robust(ww.Wasserstein(), 0.3)),
        "target": ww.Policy(context_model=empirical, objective=ww.Satisficing(ww.TotalVariation(), -3.0)),
        "samples": ww.Policy(context_model=kernels, belief=ww.Thompson(), objective=ww.MeanVariance(1.0)),
        "censored": ww.Policy(context_model=kernels, feedback=ww.Censor(30.0, 5)),
    }
    policy = policies.get(kind, policies["mixed"])
    study = ww.Study(space, policy, seed=3, direction="minimize" if kind in ("target", "censored") else "maximize")
    for turn in range(24):
        one = study.ask()
        context = {"demand": float(7 * turn % 10), "day": "weekend" if turn % 3 == 0 else "week"}
        apart = abs(float(one.decision["order"]) - float(context["demand"]))
        value = apart + 0.2 * float(one.decision["trucks"]) + (one.decision["route"] == "sea")
        study.reveal(one.id, context)
        if turn % 6 == 5:
            study.lose(one.id, "the line was busy")
        elif turn % 6 != 4:  # those stay pending
            study.tell(one.id, value if study.direction == "minimize" else -value)
    ask: dict[str, Any] = {}
    if kind == "given":
        ask = {"context": {"day": "weekend"}, "fix": {"trucks": 2}}
    return asked(study, advised=advised, **ask)


KINDS = ("mixed", "constrained", "wasserstein", "target", "samples", "censored", "given")


def cases(sizes: tuple[int, ...], recommended: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Answers]]]:
    """Yield what is to be recorded."""
    for kind in KINDS:
        yield f"small {kind}", partial(small, kind, bool(recommended))
    for size in sizes:
        for name in PROBLEMS:
            for label, policy in variants(name):
                if size < 600 or not label.endswith("+matern") or label.startswith("sbo_kde"):
                    yield f"{name} {size} {label}", partial(of_papers, name, size, policy, size in recommended)


def record(out: Path, sizes: tuple[int, ...], recommended: tuple[int, ...]) -> None:
    """Write what the code at hand says; what is there already is kept, so that a run can go on."""
    made: dict[str, Answers] = json.loads(out.read_text()) if out.exists() else {}
    for key, case in cases(sizes, recommended):
        if key in made:
            continue
        began = time.perf_counter()
        made[key] = case()
        out.write_text(json.dumps(made) + "\n")
        print(f"{key}  {time.perf_counter() - began:.1f} s", flush=True)


def compare(before: Path, after: Path) -> int:
    """Print what is the same and what is not; return how many are not."""
    one, other = (json.loads(path.read_text()) for path in (before, after))
    same: Counter[str] = Counter()
    differ = [(key, part) for key in one if key in other for part in one[key] if one[key][part] != other[key][part]]
    for key in one:
        same.update(part for part in one[key] if key in other and one[key][part] == other[key][part])
    for key, part in differ:
        print(f"{key}, {part}:\n  {one[key][part]}\n  {other[key][part]}"[:600])
    missing = sorted(set(one) ^ set(other))
    print(f"the same: {dict(same)}; different: {len(differ)}; in one record alone: {len(missing)} {missing[:3]}")
    return len(differ)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="ask the code at hand")
    recording.add_argument("out", type=Path)
    recording.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    recording.add_argument(
        "--recommended", type=int, nargs="*", default=list(RECOMMENDED), help="of these sizes recommendations too"
    )
    comparing = commands.add_parser("compare", help="say what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "compare":
        sys.exit(min(1, compare(arguments.before, arguments.after)))
    print(f"windward at {Path(ww.__file__).parent}")
    record(arguments.out, tuple(arguments.sizes), tuple(arguments.recommended))


if __name__ == "__main__":
    main()
