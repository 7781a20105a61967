"""BoTorch, Optuna and Ax, blind to contexts, in the worlds of `default.py`: records that its report shows beside our methods.

    python benchmarks/default_peers.py list --half choose
    python benchmarks/default_peers.py run --half held --seeds 0 5 --out FILE.jsonl
    python benchmarks/default.py report FILE.jsonl OURS.jsonl --half held --baseline sbo_kde --methods ax optuna_gp

The problems are the first eight of a half by the SHA-256 of their names, ascending (`--problems` names others). Contexts, noise
and delays of a problem and seed are those of `default.py`; a peer sees its decision and the noisy value, when that is due.
The peers, their designs and their advice are in `blind_peers.py`; one that a problem's space refuses is recorded as refused.
`run` goes on where it stopped. A record has the keys of `default.py`, and the `version` of the peer.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import blind_peers
import default
import torch
from blind_peers import Peer

import windward as ww
from windward.bench import suite
from windward.bench.metrics import Trace
from windward.bench.play import World, numbers_of, rounded, world_seed
from windward.bench.problem import Problem

COUNT = 8
DEPENDS = (*default.DEPENDS, "benchmarks/blind_peers.py", "benchmarks/default_peers.py")


def problems(half: suite.Half) -> list[str]:
    """Return the problems of a half that the peers play.

    >>> len(problems("held"))
    8
    """
    return sorted(suite.names(half), key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:COUNT]


def play(problem: Problem, peer: Peer, rounds: int, seed: int, after: Callable[[int, Trace], None]) -> Trace:
    """Play the rounds in the world of `default.py`; `after(round, what happened so far)` is called at the end of each.

    As in `windward.bench.play`, a value is told after the ask at which it is due.
    """
    nature = World.of(problem, default.WORLD, problem.name, seed)
    trace = _nothing(problem, rounds)
    due: dict[int, list[int]] = {}
    for turn in range(rounds):
        context, noise, delay = nature.draw(turn)
        began = time.perf_counter()
        chosen = peer.ask()
        trace.seconds[turn] = time.perf_counter() - began
        decision = numbers_of(problem.space.decision, chosen)
        value = float(problem.value(decision[None], context[None])[0])
        trace.decisions[turn], trace.contexts[turn] = decision, context
        trace.values[turn], trace.received[turn] = value, value + noise
        if delay is not None:
            due.setdefault(turn + delay, []).append(turn)
        for place in due.pop(turn, []):
            peer.tell(place, float(trace.received[place]))
            trace.arrived[place] = turn
        after(turn, trace)
    return trace


def _nothing(problem: Problem, rounds: int) -> Trace:
    columns = torch.full((4, rounds), torch.nan, dtype=torch.float64)
    return Trace(
        decisions=torch.zeros(rounds, len(problem.space.decision), dtype=torch.float64),
        contexts=torch.zeros(rounds, len(problem.space.context), dtype=torch.float64),
        values=columns[0],
        received=columns[1],
        arrived=torch.full((rounds,), -1),
        seconds=columns[2],
    )


def peer_for(problem: Problem, name: str, seed: int) -> Peer:
    """Return a new peer for a problem, or raise `IncompatibleError`."""
    if problem.space.constraints or problem.decisions is not None:
        raise ww.IncompatibleError("constraints and lists of decisions are not translated for the peers.")
    return blind_peers.PEERS[name](problem.space, seed)


def played(problem: Problem, unit: default.Unit, name: str, scale: tuple[float, float]) -> default.Record:
    """Play one run of a peer and judge it."""
    record: default.Record = {"horizon": None, "best": scale[0], "scale": scale[1]}
    advised: dict[int, torch.Tensor] = {}
    # Optuna and numpy take 32 bits.
    seed = world_seed(default.WORLD, problem.name, unit.seed, "peer") % 2**32
    began = time.perf_counter()
    with blind_peers.seeded(seed):
        try:
            peer = peer_for(problem, name, seed)
        except ww.IncompatibleError as error:
            return record | {"refused": str(error)}

        def advice(turn: int, trace: Trace) -> None:
            if turn + 1 in default.MARKS and bool((trace.arrived >= 0).any()):
                advised[turn + 1] = numbers_of(problem.space.decision, peer.advice())

        trace = play(problem, peer, unit.rounds, unit.seed, advice)
    record |= {"version": blind_peers.version(name), "seconds": rounded(time.perf_counter() - began, 4)}
    return record | default.regrets(problem, unit.objective, trace, advised, scale[0])


def work(unit: default.Unit) -> list[default.Record]:
    """Return the records of a unit."""
    return default.work(unit, played)


def run(arguments: argparse.Namespace) -> None:
    """Play what is not in the file yet."""
    for name in arguments.peers:
        blind_peers.version(name)
    default.whole_lines(arguments.out)
    names = arguments.problems or problems(arguments.half)
    arguments.objective = "expected"
    waiting = list(default.units(arguments, names, arguments.peers, default.commit(DEPENDS)))
    default.record_all(waiting, arguments.out, arguments.jobs, work)


def listed(arguments: argparse.Namespace) -> None:
    """Print the problems that the peers play."""
    print("\n".join(arguments.problems or problems(arguments.half)))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = whole.add_subparsers(required=True)
    listing = verbs.add_parser("list", help=listed.__doc__)
    listing.set_defaults(function=listed)
    running = verbs.add_parser("run", help=run.__doc__)
    running.set_defaults(function=run, together=None)
    running.add_argument("--seeds", type=int, nargs=2, default=(0, 5), metavar=("FROM", "TO"))
    running.add_argument("--rounds", type=int, default=60)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--peers", nargs="+", default=list(blind_peers.PEERS), choices=list(blind_peers.PEERS))
    for verb in (listing, running):
        verb.add_argument("--half", choices=("choose", "held", "third"), default="choose")
        verb.add_argument("--problems", nargs="+", default=[], choices=suite.names())
    return whole


def main() -> None:
    """Read the command line."""
    arguments = parser().parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
