"""What each piece of the search's speed machinery buys: a suggestion with it, and one without, in time and in value.

An acquisition has cheaper functions beside it (docs/drafts.md). Each is left out in turn:

    draft     the posterior's draft that is climbed in its place (the second level then goes too)
    second    the draft of the draft that ranks the screen
    fewer     a minimum over some of the points, where they rank the screen
    ball      the worst case solved less closely, in a draft
    ceiling   the cheap bound of a worst case
    sketch    the quicker form of a posterior sample

Printed: seconds without over seconds with (the least of several runs, in turn), and by how much the decision without is better,
as a share of what lies between the best decision and the upper quarter of 256 random ones.

    python benchmarks/pieces.py [--observations 30 100 300] [--seeds 3] [--repeats 5] [--out pieces.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from machine import described
from observations import PROBLEMS, methods, observed

import windward as ww
from windward.beliefs import beliefs
from windward.beliefs.scores import ConfidenceScore, PathScore
from windward.objectives.protocol import Bound
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Start

# For each piece, methods that have it.
PIECES = {
    "draft": ("sbo_kde", "erbo", "stable_opt", "drbo_kde", "wdrbo", "wdrbo_exact", "gp_ucb"),
    "second": ("sbo_kde", "erbo", "stable_opt", "drbo_kde", "wdrbo", "wdrbo_exact", "gp_ucb"),
    "fewer": ("stable_opt", "ucb_ro"),
    "ball": ("wdrbo_exact", "drbo_mmd", "drbo_kde", "ucb_bocu_2"),
    "ceiling": ("drbo_mmd", "wdrbo_exact", "ucb_bocu_1", "ucb_bocu_2", "drbo_kde"),
    "sketch": ("ts_bocu", "bqo_ts", "asy_ts", "gp_bts", "drbqo"),
}


def built(without: str | None) -> Callable[[Any, Any, torch.device], ww.Acquisition]:
    """Return what makes an acquisition without one piece."""

    def acquisition(score: Any, reduction: Any, device: torch.device) -> ww.Acquisition:
        def scored(by: Any, what: Any) -> Any:
            return lambda x: by(what, x.to(device)).to(x.device)

        def bounded(by: Any, what: Any) -> Any:
            bound = what.ceiling if isinstance(what, Bound) and without != "ceiling" else None
            return None if bound is None else scored(by, Bound(bound, what.extra))

        value, ceiling = scored(score, reduction), bounded(score, reduction)
        rough = score.draft() if isinstance(score, ConfidenceScore) and without != "draft" else score
        simpler = reduction
        if isinstance(reduction, Bound) and reduction.draft is not None and without != "ball":
            simpler = reduction.draft
        if rough is score and simpler is reduction:
            quick = score.sketch() if isinstance(score, PathScore) and without != "sketch" else score
            return ww.Acquisition(
                value, rank=ceiling or (None if quick is score else scored(quick, reduction)), ceiling=ceiling
            )
        rougher = rough
        if isinstance(rough, ConfidenceScore) and rough is not score and without != "second":
            rougher = rough.draft()
        if isinstance(rougher, ConfidenceScore) and isinstance(simpler, Bound) and simpler.fewer and without != "fewer":
            rougher = rougher.thinned()
        rank = bounded(rougher, simpler) or (None if rougher is rough else scored(rougher, simpler))
        return ww.Acquisition(value, scored(rough, simpler), rank, ceiling)

    return acquisition


def measured(name: str, n: int, seed: int, label: str, piece: str, repeats: int) -> dict[str, Any]:
    """Return seconds with and without a piece, and how the decisions compare."""
    policy, trials = methods(name)[label], observed(name, n, seed)
    seen = policy.view(trials)
    data = policy.feedback.dataset(seen)
    fit = policy.surrogate.fit(data).hyperparameters
    request = Request(start=Start(fit, keep=True, fitted=n))
    made, kept = {}, beliefs.acquisition
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    values: list[ww.Acquisition] = []
    try:
        for repeat in range(repeats):
            for which, left_out in (("with", None), ("without", piece)):
                build = built(left_out)

                def keeping(*rest: Any, build: Any = build) -> ww.Acquisition:
                    values.append(build(*rest))
                    return values[-1]

                beliefs.acquisition = keeping  # type: ignore[assignment]
                began = time.perf_counter()
                made[which] = suggest(policy, trials, request, torch.Generator().manual_seed(seed)).x
                if repeat:  # the first warms up
                    seconds[which].append(time.perf_counter() - began)
    finally:
        beliefs.acquisition = kept
    random = torch.rand(256, len(made["with"]), dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    with torch.no_grad():
        worth = values[0](torch.cat([torch.stack([made["with"], made["without"]]), random]))
    spread = float(worth.max() - worth[2:].quantile(0.75))
    return {
        "problem": name,
        "n": n,
        "seed": seed,
        "method": label,
        "piece": piece,
        "ratio": min(seconds["without"]) / min(seconds["with"]),
        "seconds": min(seconds["with"]),
        "better": float(worth[1] - worth[0]) / spread if spread > 0.0 else 0.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, nargs="+", default=[30, 100, 300])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--pieces", nargs="+", default=list(PIECES), choices=list(PIECES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for piece in options.pieces:
        for n in options.observations:
            for label in PIECES[piece]:
                found = [
                    measured(name, n, seed, label, piece, options.repeats)
                    for name in options.problems
                    for seed in range(options.seeds)
                ]
                rows += found
                ratios, better = [row["ratio"] for row in found], [row["better"] for row in found]
                print(
                    f"{piece:>8} n={n:<4} {label:<14} without/with {statistics.median(ratios):5.2f} "
                    f"({min(ratios):.2f} to {max(ratios):.2f}), better {min(better):+.1e} to {max(better):+.1e}",
                    flush=True,
                )
                if options.out:
                    options.out.write_text(json.dumps({"machine": described(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
