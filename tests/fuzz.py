"""The fuzzer: random spaces, policies and calls, with an oracle of what must hold. `make fuzz` runs it for an hour.

    python tests/fuzz.py --seconds 600              case after case, from seed 0 on
    python tests/fuzz.py --one 123456               one case again, its calls printed

Each case comes from one whole number. Where something does not hold, the number, the calls and the journal are named.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzz_harm
import torch
from fuzz_calls import add, step
from fuzz_case import Case
from fuzz_oracle import Failure
from fuzz_reads import replay

# Cases whose log two workers share, whose study is made again, whose log is damaged at the end: shares of all.
SHARED, REMADE, DAMAGED = 1 / 30, 1 / 10, 1 / 2
# A case that takes longer than this hangs.
LONGEST_CASE = 300
PROGRESS_SECONDS = 10.0


@dataclass
class Tally:
    """What was done so far."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failed: list[int] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """Count a case."""
        self.cases += 1
        self.kinds += case.kinds
        self.refused += case.refused

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.kinds.most_common())
        return f"{self.cases} cases, {sum(self.kinds.values())} calls ({kinds})"


def run_case(seed: int, folder: Path, *, quick: bool = False) -> Case:
    """Run one case; raise `Failure`, with the case in its arguments, where something does not hold.

    A `quick` one starts no workers and draws no figures.
    """
    case = Case(seed, folder, quick=quick)
    state = torch.get_rng_state()
    try:
        case.begin()
        shared, remade, damaged = (case.chance.random() < share for share in (SHARED, REMADE, DAMAGED))
        for _ in range(case.chance.choice((0, 0, 3, 8, 15))):  # history, so that there is something to fit
            add(case)
        rounds = case.chance.randint(5, 45)
        for place in range(rounds):
            step(case)
            if remade and place == rounds // 2:
                fuzz_harm.remake(case)
            if shared and not quick and place == rounds // 3:
                fuzz_harm.share(case)
        for _ in range(2):
            replay(case)
        if damaged:
            fuzz_harm.damage(case)
        if not torch.equal(state, torch.get_rng_state()):
            raise Failure("the global generator was used")
    except Failure as failure:
        failure.args = (failure.args[0], case)
        raise
    return case


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `Failure` in what takes longer."""

    def ring(*_: Any) -> None:
        raise Failure(f"a case takes longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tell_failure(seed: int, failure: Failure, folder: Path) -> None:
    """Say what did not hold, after which calls, and how to see it again."""
    case = failure.args[1] if len(failure.args) > 1 else None
    for line in case.calls if case is not None else ():
        print(f"  {line}")
    print(f"seed {seed}: {failure.args[0]}\nseed {seed}: python tests/fuzz.py --one {seed}; the journal is in {folder}")


def attempt_case(seed: int, tally: Tally, *, verbose: bool = False) -> bool:
    """Run a case and count it; where it fails say so, keep its folder and return False."""
    folder = Path(tempfile.mkdtemp(prefix=f"windward-fuzz-{seed}-"))
    try:
        with limited(LONGEST_CASE):
            case = run_case(seed, folder)
    except Failure as failure:
        tell_failure(seed, failure, folder)
        tally.failed.append(seed)
        return False
    tally.add(case)
    if verbose:
        print("\n".join(case.calls))
    shutil.rmtree(folder)
    return True


def main() -> int:
    """Run cases for a while; 1 where something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to begin new cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; each further one has the next")
    parser.add_argument("--one", type=int, metavar="SEED", help="run this case alone and print its calls")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure")
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the server that workers are forked from
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    tally = Tally()
    if arguments.one is not None:
        return 0 if attempt_case(arguments.one, tally, verbose=True) else 1
    began = said = time.monotonic()
    seed = arguments.seed
    while time.monotonic() - began < arguments.seconds and (arguments.keep_going or not tally.failed):
        attempt_case(seed, tally)
        seed += 1
        if time.monotonic() - said >= PROGRESS_SECONDS:
            said = time.monotonic()
            print(f"{said - began:.0f} s: {tally}", flush=True)
    errors = ", ".join(f"{kind} {count}" for kind, count in tally.refused.most_common())
    print(f"{time.monotonic() - began:.0f} s, seeds {arguments.seed} to {seed - 1}: {tally}")
    print(f"rightly refused: {errors or 'nothing'}")
    print(f"failed: {len(tally.failed)}{' (seeds ' + ', '.join(map(str, tally.failed)) + ')' if tally.failed else ''}")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
