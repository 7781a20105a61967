"""What the searches find and what they cost, to compare two versions of the code.

`record` makes fits (first ones, and next ones from the hyper-parameters of a fit one observation ago) and suggestions on
Ackley 2+1, Branin 2+2 and Hartmann 5+1, and writes what they found: log densities with the likelihoods they took, and
decisions. `--starts FILE` takes the starting hyper-parameters from another record, so that both versions search the same.
`compare` says how they differ: densities by size, decisions by the acquisition of the code at hand, as a share of what
lies between the best of 256 random decisions and their upper quarter.

    python benchmarks/searches.py record after.json
    git worktree add ../before COMMIT
    PYTHONPATH=../before python benchmarks/searches.py record before.json --starts after.json
    python benchmarks/searches.py compare before.json after.json
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from observations import PROBLEMS, methods, observed

import windward as ww
from windward.policy import Request, suggest
from windward.surrogate import Believed, Start
from windward.surrogate.fit import Likelihood

SIZES = (6, 20, 50, 100, 200)
KERNELS = ("squared_exponential", "matern52")
ASKED = (30, 100)
# One of each kind of acquisition: smooth, minimum over points, divergence, slope, transport, bound of bounds, MMD, samples.
METHODS = (
    *("sbo_kde", "stable_opt", "drbo_kde", "wdrbo", "wdrbo_exact", "ucb_bocu_2", "drbo_mmd"),
    *("ts_bocu", "bqo_ts", "maximin_bqo_ts", "gp_bts", "asy_ts"),
)
CHANGED = 1e-3  # a log density, or a share of the spread, that differs by less is called the same

Record = dict[str, dict[str, Any]]


def packed(fit: ww.Hyperparameters) -> list[float]:
    return [fit.mean, fit.amplitude, fit.noise, *fit.length_scales]


def unpacked(numbers: list[float]) -> ww.Hyperparameters:
    mean, amplitude, noise, *scales = numbers
    return ww.Hyperparameters(mean, tuple(scales), amplitude, noise)


class Counting:
    """Counts the likelihoods that fits evaluate, and evaluates one without counting."""

    def __init__(self) -> None:
        self.rows = 0
        self.evaluate = Likelihood.values_and_gradients

        def counted(problem: Likelihood, thetas: Any) -> Any:
            self.rows += len(thetas)
            return self.evaluate(problem, thetas)

        Likelihood.values_and_gradients = counted  # type: ignore[method-assign]

    def density(self, problem: Likelihood, fit: ww.Hyperparameters) -> float:
        return float(self.evaluate(problem, np.log([[*fit.length_scales, fit.noise]]))[0][0])

    def fitted(self, gp: ww.GaussianProcess, data: Any, start: ww.Hyperparameters | None = None) -> dict[str, Any]:
        self.rows = 0
        fit = gp.fitted(data, start)
        return {"likelihoods": self.rows, "density": self.density(gp.likelihood(data), fit), "fit": packed(fit)}


def fits(seeds: int, starts: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield first and next fits of both kernels, with and without contexts."""
    counting = Counting()
    for kernel in KERNELS:
        gp = ww.GaussianProcess(kernel=kernel)  # type: ignore[arg-type]
        for n, name, blind, seed in (
            (n, p, b, s) for n in SIZES for p in PROBLEMS for b in (0, 1) for s in range(seeds)
        ):
            before, now = observed(name, n - 1, seed), observed(name, n, seed)
            if blind:
                before, now = before.blind(), now.blind()
            case = f"{kernel} {name} {blind} {seed} {n}"
            first = counting.fitted(gp, before.dataset)
            yield f"first {case}", first
            start = starts.get(f"first {case}", first)["fit"]
            yield f"next {case}", counting.fitted(gp, now.dataset, unpacked(start))


def suggestions(seeds: int, starts: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield decisions by one method of each kind, all with the same hyper-parameters."""
    for name, n, seed in ((p, n, s) for p in PROBLEMS for n in ASKED for s in range(seeds)):
        trials = observed(name, n, seed)
        fit = packed(ww.GaussianProcess().fitted(trials.dataset))
        for label in METHODS:
            key = f"ask {name} {n} {seed} {label}"
            used = starts.get(key, {"fit": fit})["fit"]
            start = Start(_fit_of(methods(name)[label], used), keep=True, fitted=n)
            proposal = suggest(methods(name)[label], trials, Request(start=start), torch.Generator().manual_seed(seed))
            yield key, {"x": proposal.x.tolist(), "fit": used}


def _fit_of(policy: ww.Policy, numbers: list[float]) -> ww.Hyperparameters:
    assert isinstance(policy.surrogate, ww.GaussianProcess)
    return policy.surrogate.fixed or unpacked(numbers)


def gain(key: str, before: dict[str, Any], after: dict[str, Any]) -> float:
    """Return by how much the second decision is better, in units of what the best random ones differ."""
    _, name, size, seed, label = key.split()
    trials, policy = observed(name, int(size), int(seed)), methods(name)[label]
    assert isinstance(policy.surrogate, ww.GaussianProcess)
    posterior = policy.surrogate.at(trials.dataset, _fit_of(policy, before["fit"]))
    generator = torch.Generator().manual_seed(int(seed))  # as the suggestion had it: contexts first, then a sample of f
    contexts = policy.context_model(trials.space, trials, trials.space.encode_given(None), generator)
    assert contexts is not None
    score = policy.belief(Believed(posterior), trials, contexts, generator)
    random = torch.rand(256, len(before["x"]), dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    with torch.no_grad():
        both = torch.tensor([before["x"], after["x"]], dtype=torch.float64)
        values = score(policy.objective.bind(contexts, trials.contexts_seen), torch.cat([both, random]))
    return float((values[1] - values[0]) / (values.max() - values[2:].quantile(0.75)))


def counted_line(what: str, differences: list[float], beside: str = "") -> str:
    better = sum(value > CHANGED for value in differences)
    worse = sum(value < -CHANGED for value in differences)
    return (
        f"{what:>22} {len(differences):>5} {better:>7} {worse:>6} {statistics.mean(differences):>10.1e} "
        f"{min(differences):>10.1e} {max(differences):>10.1e}  {beside}"
    )


def compare(before: Record, after: Record) -> None:
    """Print how densities and decisions differ."""
    print(
        f"{'':>22} {'cases':>5} {'better':>7} {'worse':>6} {'mean':>10} {'least':>10} {'most':>10}  likelihoods a fit"
    )
    shared = [key for key in before if key in after]
    for kind in ("first", "next"):
        for n in SIZES:
            keys = [key for key in shared if key.startswith(kind + " ") and key.endswith(f" {n}")]
            if keys:
                counts = [statistics.mean(record[key]["likelihoods"] for key in keys) for record in (before, after)]
                differences = [after[key]["density"] - before[key]["density"] for key in keys]
                print(counted_line(f"{kind} fit, n = {n}", differences, f"{counts[0]:.1f} -> {counts[1]:.1f}"))
    gains: dict[str, list[float]] = defaultdict(list)
    for key in (key for key in shared if key.startswith("ask ")):
        gains[key.split()[-1]].append(gain(key, before[key], after[key]))
    for label, values in gains.items():
        print(counted_line(label, values))
    if gains:
        print(counted_line("all decisions", [value for values in gains.values() for value in values]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="search with the code at hand")
    recording.add_argument("out", type=Path)
    recording.add_argument("--starts", type=Path, help="a record whose starting hyper-parameters are taken")
    recording.add_argument("--seeds", type=int, default=4)
    comparing = commands.add_parser("compare", help="say how two records differ")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "compare":
        compare(json.loads(arguments.before.read_text()), json.loads(arguments.after.read_text()))
        return
    print(f"windward at {Path(ww.__file__).parent}")
    starts = json.loads(arguments.starts.read_text()) if arguments.starts else {}
    made = {**dict(fits(arguments.seeds, starts)), **dict(suggestions(arguments.seeds, starts))}
    arguments.out.write_text(json.dumps(made) + "\n")
    print(f"{len(made)} searches written to {arguments.out}")


if __name__ == "__main__":
    main()
