"""The same acquisition maximised by Windward and by BoTorch: seconds of both, and one common score of both decisions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from observations import observed
from peers import (
    Counted,
    ExpectedUpperConfidence,
    LipschitzUpperConfidence,
    batch_rows,
    botorch_model,
    botorch_seconds,
    botorch_suggestion,
)
from torch import Tensor

import windward as ww
from windward.contexts import Contexts, bandwidths
from windward.search.acquisition import value_and_gradient, values_of
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import GaussianPosterior, Start

WIDTH = 1.5
SAMPLES, RAW, RESTARTS, FRESH = 1024, 1024, 50, 4096
# Up to here BoTorch makes its evaluations a second time without its optimiser; beyond, and for WDRBO, that takes minutes.
REPEATED = 100


Save = Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Duel:
    """An acquisition both can maximise: the policy, the peer's function, and the score that judges both."""

    policy: ww.Policy
    peer: Callable[[Any, ww.Trials, int], Any]
    score: Callable[[GaussianPosterior, ww.Trials, int], Callable[[Tensor], Tensor]]
    raw: int = RAW
    restarts: int = RESTARTS


def kde_samples(trials: ww.Trials, count: int, seed: int) -> Contexts:
    """Return independent draws from the kernel density estimate, as the paper takes them."""
    generator = torch.Generator().manual_seed(seed)
    seen = trials.seen_contexts
    centres = seen[torch.randint(len(seen), (count,), generator=generator)]
    steps = torch.randn(count, seen.shape[1], generator=generator, dtype=torch.float64) * bandwidths(trials.space, seen)
    return Contexts.uniform((centres + steps).clamp(0.0, 1.0))


def own_contexts(policy: ww.Policy, trials: ww.Trials, seed: int) -> Contexts:
    """Return the contexts that Windward's suggestion takes."""
    generator = torch.Generator().manual_seed(seed)
    found = policy.context_model(trials.space, trials, trials.space.encode_given(None), generator)
    assert found is not None
    return found


def lipschitz_contexts(trials: ww.Trials) -> Contexts:
    """Return what WDRBO takes: the contexts seen, and 100 points of weight zero."""
    return own_contexts(ww.papers.wdrbo(), trials, 0)


def kde_score(posterior: GaussianPosterior, trials: ww.Trials, seed: int) -> Any:
    """Return SBO-KDE's acquisition over fresh samples."""
    samples = kde_samples(trials, FRESH, seed + 2000)
    return by_reduction(ww.papers.sbo_kde(), samples, posterior, trials.contexts_seen)


def by_reduction(policy: ww.Policy, contexts: Contexts, posterior: GaussianPosterior, seen: int) -> Any:
    """Return the policy's acquisition over given contexts."""
    from windward.surrogate import Believed

    device = posterior.zx.device
    contexts = contexts.to(device)
    nothing = replace(ww.Situation(contexts).trials, device=device)
    situation = ww.Situation(contexts, seen, nothing, Believed(posterior))
    return policy.belief(situation, policy.objective.bind(situation), torch.Generator()).value


def radius_now(trials: ww.Trials) -> float:
    return 0.3 / trials.contexts_seen**0.5


DUELS = {
    "sbo_kde": Duel(
        ww.papers.sbo_kde(),
        lambda model, trials, seed: ExpectedUpperConfidence(
            model, kde_samples(trials, SAMPLES, seed + 1000).points, WIDTH
        ),
        kde_score,
    ),
    # BoTorch with Windward's own 128 points, as many decisions screened and as many climbed.
    "sbo_kde_small": Duel(
        ww.papers.sbo_kde(),
        lambda model, trials, seed: ExpectedUpperConfidence(
            model, own_contexts(ww.papers.sbo_kde(), trials, seed).points, WIDTH
        ),
        kde_score,
        raw=512,
        restarts=8,
    ),
    "erbo": Duel(
        ww.papers.erbo(),
        lambda model, trials, seed: ExpectedUpperConfidence(model, trials.seen_contexts, WIDTH),
        lambda posterior, trials, seed: by_reduction(
            ww.papers.erbo(), Contexts.uniform(trials.seen_contexts), posterior, trials.contexts_seen
        ),
    ),
    "wdrbo": Duel(
        ww.papers.wdrbo(),
        lambda model, trials, seed: LipschitzUpperConfidence(
            model, lipschitz_contexts(trials), WIDTH, radius_now(trials)
        ),
        lambda posterior, trials, seed: by_reduction(
            ww.papers.wdrbo(), lipschitz_contexts(trials), posterior, trials.contexts_seen
        ),
    ),
}


def duel(name: str, label: str, n: int, seed: int, device: str = "cpu") -> dict[str, Any]:
    trials, rules = replace(observed(name, n, seed), device=torch.device(device)), DUELS[label]
    began = time.perf_counter()
    proposal = suggest(rules.policy, trials, Request(seed=seed), torch.Generator().manual_seed(seed))
    ours = time.perf_counter() - began
    fit = proposal.hyperparameters
    assert fit is not None
    began = time.perf_counter()
    start = Start(fit, keep=True, fitted=n)
    suggest(rules.policy, trials, Request(seed=seed, start=start), torch.Generator().manual_seed(seed))
    search = time.perf_counter() - began

    peer = rules.peer(botorch_model(trials.dataset, fit), trials, seed)
    torch.manual_seed(seed)  # BoTorch draws its raw points from the global generator
    peer_x, peer_seconds = botorch_suggestion(
        peer, len(trials.space.decision), raw=rules.raw, restarts=rules.restarts, batch=batch_rows(peer, n)
    )
    counted, peer.counted = peer.counted, Counted()
    posterior = ww.GaussianProcess().at(trials.dataset, fit)
    judge = rules.score(posterior, trials, seed)
    score, peer_score = values_of(judge, torch.stack([proposal.x, peer_x])).tolist()
    row: dict[str, Any] = {
        "problem": name,
        "method": label,
        "observations": n,
        "seed": seed,
        "windward_seconds": ours,
        "windward_search_seconds": search,
        "botorch_seconds": peer_seconds,
        "evaluations": counted.rows,
        "windward_score": score,
        "botorch_score": peer_score,
    }
    if label != "wdrbo" and n <= REPEATED:
        own = by_reduction(rules.policy, Contexts.uniform(peer.contexts.cpu()), posterior, trials.contexts_seen)
        for side in ("windward", "botorch"):  # each in batches that suit it
            row[f"{side}_same_evaluations_seconds"] = 0.0
        for wants_gradient, evaluate in ((False, values_of), (True, value_and_gradient)):
            points = counted.points(wants_gradient)
            here = points.cpu()
            began = time.perf_counter()
            for block in here.split(RESTARTS):
                evaluate(own, block)
            row["windward_same_evaluations_seconds"] += time.perf_counter() - began
            row["botorch_same_evaluations_seconds"] += botorch_seconds(
                peer, points, wants_gradient, batch_rows(peer, n)
            )
    return row


def peer_table(names: list[str], sizes: list[int], seeds: int, only: list[str] | None, device: str, save: Save) -> None:
    """Print a row for each problem, size and method as it is done, and save its runs."""
    print("median over seeds; ratios are BoTorch's time over Windward's")
    print(
        f"{'problem':>14} {'method':>13} {'n':>5} {'windward s':>11} {'of it search':>13} {'botorch s':>10} "
        f"{'end to end':>11} {'same evals':>11} {'score - peer':>13} {'least':>9}"
    )
    for name in names:
        for n in sizes:
            for label in DUELS:
                if only and label not in only:
                    continue
                rows = []
                for seed in range(seeds):
                    rows.append(duel(name, label, n, seed, device))
                    save(rows)

                def median(part: str, rows: list[dict[str, Any]] = rows) -> float:
                    return statistics.median(row[part] for row in rows)

                same = (
                    f"{median('botorch_same_evaluations_seconds') / median('windward_same_evaluations_seconds'):.0f}"
                    if "botorch_same_evaluations_seconds" in rows[0]
                    else "-"
                )
                gains = [row["windward_score"] - row["botorch_score"] for row in rows]
                print(
                    f"{name:>14} {label:>13} {n:>5} {median('windward_seconds'):>11.4f} "
                    f"{median('windward_search_seconds'):>13.4f} {median('botorch_seconds'):>10.2f} "
                    f"{median('botorch_seconds') / median('windward_seconds'):>11.0f} {same:>11} "
                    f"{statistics.median(gains):>13.1e} {min(gains):>9.1e}",
                    flush=True,
                )
