"""What the searches find and what they cost, to compare two versions of the code.

`record` makes fits (first ones, and next ones from the hyper-parameters of a fit one observation ago) and suggestions on
Ackley 2+1, Branin 2+2 and Hartmann 5+1, and writes what they found: log densities with the likelihoods they took, and
decisions. `--starts FILE` takes the starting hyper-parameters from another record, so that both versions search the same.
`compare` says how they differ, both judged by the code at hand: densities by size, decisions by their acquisition, as a
share of what lies between the best decision and the upper quarter of 256 random ones.

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
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from observations import PROBLEMS, methods, observed

import windward as ww
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Believed, Start
from windward.surrogate.fit import Likelihood

SIZES = (6, 20, 50, 100, 200)
KERNELS = ("squared_exponential", "matern52")
ASKED = (30, 100)
# One of each kind of acquisition: smooth, minimum over points, divergence, slope, transport, bound of bounds, MMD, samples.
METHODS = (
    *("sbo_kde", "stable_opt", "drbo_kde", "wdrbo", "wdrbo_exact", "ucb_bocu_2", "drbo_mmd"),
    *("ts_bocu", "bqo_ts", "asy_ts"),
)
CHANGED = 1e-3  # a log density, or a share of the spread, that differs by less is called the same

Record = dict[str, dict[str, Any]]


def packed(fit: ww.Hyperparameters) -> list[float]:
    return [fit.mean, fit.amplitude, fit.noise, *fit.length_scales]


def unpacked(numbers: list[float]) -> ww.Hyperparameters:
    mean, amplitude, noise, *scales = numbers
    return ww.Hyperparameters(mean, tuple(scales), amplitude, noise)


def data_of(name: str, n: int, seed: int, blind: bool) -> Any:
    trials = observed(name, n, seed)
    return (trials.blind() if blind else trials).dataset


def density(key: str, found: dict[str, Any]) -> float:
    """Return the log posterior density of the hyper-parameters that a fit found."""
    kind, kernel, name, blind, seed, n = key.split()
    data = data_of(name, int(n) - (kind == "first"), int(seed), blind == "True")
    fit = unpacked(found["fit"])
    likelihood = ww.GaussianProcess(kernel=kernel).likelihood(data)  # type: ignore[arg-type]
    return float(likelihood.values_and_gradients(np.log([[*fit.length_scales, fit.noise]]))[0][0])


def fits(seeds: int, starts: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield first and next fits of both kernels, with and without contexts, and the likelihoods each took."""
    made, evaluate = [0], Likelihood.values_and_gradients

    def counted(problem: Likelihood, thetas: Any) -> Any:
        made[0] += len(thetas)
        return evaluate(problem, thetas)

    def fitted(gp: ww.GaussianProcess, data: Any, start: ww.Hyperparameters | None = None) -> dict[str, Any]:
        made[0] = 0
        fit = packed(gp.fitted(data, start))
        return {"fit": fit, "likelihoods": made[0]}

    Likelihood.values_and_gradients = counted  # type: ignore[method-assign]
    for kernel, n, name, blind, seed in product(KERNELS, SIZES, PROBLEMS, (False, True), range(seeds)):
        gp = ww.GaussianProcess(kernel=kernel)  # type: ignore[arg-type]
        case = f"{kernel} {name} {blind} {seed} {n}"
        first = fitted(gp, data_of(name, n - 1, seed, blind))
        yield f"first {case}", first
        start = unpacked(starts.get(f"first {case}", first)["fit"])
        yield f"next {case}", fitted(gp, data_of(name, n, seed, blind), start)
    Likelihood.values_and_gradients = evaluate  # type: ignore[method-assign]


def suggestions(seeds: int, starts: Record) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield decisions by one method of each kind, all with the same hyper-parameters."""
    for name, n, seed in product(PROBLEMS, ASKED, range(seeds)):
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
    if before["x"] == after["x"]:
        return 0.0
    if before["fit"] != after["fit"]:
        raise SystemExit(f"{key}: the two records had different hyper-parameters; record one with --starts OTHER.")
    _, name, size, seed, label = key.split()
    trials, policy = observed(name, int(size), int(seed)), methods(name)[label]
    assert isinstance(policy.surrogate, ww.GaussianProcess)
    posterior = policy.surrogate.at(trials.dataset, _fit_of(policy, before["fit"]))
    # The generator's order is that of `suggest`: contexts, then a stand-in, then a sample of f. Where the two versions
    # differ in it, methods that sample cannot be compared.
    generator = torch.Generator().manual_seed(int(seed))
    contexts = policy.context_model(trials.space, trials, trials.space.encode_given(None), generator)
    assert contexts is not None
    contexts.draw(generator)
    situation = ww.Situation(contexts, trials.contexts_seen, trials, Believed(posterior))
    value = policy.belief(situation, policy.objective.bind(situation), generator)
    others = torch.Generator().manual_seed(9)
    random = torch.rand(256, len(before["x"]), dtype=torch.float64, generator=others)
    with torch.no_grad():
        both = torch.tensor([before["x"], after["x"]], dtype=torch.float64)
        values = value(torch.cat([both, random]))
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
    if not shared:
        raise SystemExit("The two records have no search in common.")
    for kind in ("first", "next"):
        for n in SIZES:
            keys = [key for key in shared if key.startswith(kind + " ") and key.endswith(f" {n}")]
            if keys:
                counts = [statistics.mean(record[key]["likelihoods"] for key in keys) for record in (before, after)]
                differences = [density(key, after[key]) - density(key, before[key]) for key in keys]
                print(counted_line(f"{kind} fit, n = {n}", differences, f"{counts[0]:.1f} -> {counts[1]:.1f}"))
    gains: dict[str, list[float]] = defaultdict(list)
    for key in (key for key in shared if key.startswith("ask ")):
        gains[key.split()[-1]].append(gain(key, before[key], after[key]))
    for label, values in gains.items():
        print(counted_line(label, values))
    if gains:
        print(counted_line("all decisions", [value for values in gains.values() for value in values]))


def read(path: Path) -> Record:
    """Return a record, or end with what is wrong with its file."""
    try:
        found: Record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SystemExit(f"{path}: not a record of `searches.py record`: {error}") from None
    return found


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
        compare(read(arguments.before), read(arguments.after))
        return
    print(f"windward at {Path(ww.__file__).parent}")
    starts = read(arguments.starts) if arguments.starts else {}
    arguments.out.touch()  # a path that cannot be written is found before the searches, not after
    made = {**dict(fits(arguments.seeds, starts)), **dict(suggestions(arguments.seeds, starts))}
    arguments.out.write_text(json.dumps(made) + "\n")
    print(f"{len(made)} searches written to {arguments.out}")


if __name__ == "__main__":
    main()
