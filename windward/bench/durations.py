"""How long an experiment will take, before it starts: from records of the same runs, else from short trials.

A run takes `work(rounds)`, times what its method takes for a round on its problem. Rounds cost much the same up to a hundred;
from there each costs more than the one before. (In records of two sizes the seconds grew with the power 0.8 of the rounds up to
100, their beginning included, and with 0.5 to 1.4 from 30 to 305.)
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windward.bench import records
from windward.bench.compare import is_long
from windward.bench.experiment import Experiment, Record
from windward.bench.play import run_one
from windward.bench.provenance import outdated
from windward.bench.records import Key
from windward.bench.runner import Job, RunSettings, remaining, sized
from windward.bench.watching import in_words

# Up to here a round costs what the one before did; beyond, all rounds together grow with this power.
EVEN, POWER = 100, 1.5
# Rounds of a short trial beyond the design, of which the last few tell what a round costs.
TRIAL, LAST = 8, 4
PAST_DESIGN = 12  # the longest of the papers' designs
# A trial is worth it where the runs of its kind have so many times its rounds to do.
WORTH = 4
# Where records usually lie, seen from a checkout.
USUAL = (Path("benchmarks/records"), Path("bench-results"))


def work(rounds: int) -> float:
    """Return what some rounds cost together, in rounds of the first hundred.

    >>> work(50), work(100), round(work(400))
    (50.0, 100.0, 800)
    """
    return float(rounds) if rounds <= EVEN else EVEN * (rounds / EVEN) ** POWER


@dataclass(frozen=True)
class TimeNeeded:
    """How long `runs` will take: `each` has the seconds of those that something is known of.

    `measured`, `likened` and `tried` count the kinds of run (a method on a problem) known from their records, from their
    method's on other problems, and from trials; of `unknown` ones nothing is known.
    """

    runs: int
    each: Mapping[Key, float]
    measured: int = 0
    likened: int = 0
    tried: int = 0
    unknown: int = 0

    @property
    def seconds(self) -> float:
        """Seconds in one process."""
        return sum(self.each.values())

    def within(self, workers: int) -> float:
        """Return the seconds that so many processes take."""
        return max([self.seconds / max(workers, 1), *self.each.values()])

    def sentence(self, workers: int) -> str:
        """Return what a person is told before the first run."""
        if not self.runs:
            return "nothing to do"
        processes = f"{workers} processes" if workers > 1 else "one process"
        sources = [
            (self.measured, "by records"),
            (self.likened, "by their method on other problems"),
            (self.tried, "by short trials"),
            (self.unknown, "not known"),
        ]
        told = ", ".join(f"{count} {words}" for count, words in sources if count)
        if not self.each:
            return f"{self.runs} runs; how long they take is not known yet"
        least = "at least " if self.unknown else "about "
        return f"{self.runs} runs, {least}{in_words(self.within(workers))} in {processes} (kinds of run: {told})"


class Durations:
    """What runs took, by world, problem and method."""

    def __init__(self, known: Iterable[Record]) -> None:
        self._paces: dict[tuple[str, str, str], list[tuple[bool, int, float]]] = {}
        for record in known:
            if record.get("stand_in") is None:
                key, rounds = (record["world"], record["problem"], record["method"]), record["rounds"]
                found = not outdated(record), rounds, record["seconds"] / work(rounds)
                self._paces.setdefault(key, []).append(found)

    def pace(self, world: str, problem: str, method: str) -> float | None:
        """Return the seconds of a unit of work, by the longest runs known; None where there is none.

        Runs from before a change count only where there are no others: the program was another one.
        """
        found = self._paces.get((world, problem, method))
        if not found:
            return None
        best = max((current, rounds) for current, rounds, _ in found)
        return statistics.fmean(pace for current, rounds, pace in found if (current, rounds) == best)

    def like(self, world: str, method: str) -> float | None:
        """Return the mean pace of a method on the problems where it is known."""
        others = {key for key in self._paces if (key[0], key[2]) == (world, method)}
        paces = [pace for key in others if (pace := self.pace(*key)) is not None]
        return statistics.fmean(paces) if paces else None


def trial_pace(experiment: Experiment, job: Job, settings: RunSettings) -> float | None:
    """Return the seconds of a unit of work by a short run, None where it fails: the run itself will say why."""
    rounds = min(job.rounds, PAST_DESIGN + TRIAL)
    try:
        record = run_one(
            experiment, job.case, job.method, job.seed, rounds, settings.data, substitutes=settings.substitutes
        )
    except Exception:
        return None
    asks = record.get("ask_seconds")
    if not asks:
        return float(record["seconds"]) / work(rounds)
    others = max(record["seconds"] - sum(asks), 0.0) / rounds  # values, reports, and a beginning that weighs more here
    return float(statistics.fmean(asks[-LAST:]) + others)


def outlook(
    experiment: Experiment, settings: RunSettings, known: Iterable[Record], *, trials: bool, done: Iterable[Key] = ()
) -> TimeNeeded:
    """Return how long what is left of an experiment will take; `done` are runs that count although they lie elsewhere."""
    experiment, jobs = sized(experiment, settings)
    finished = set(done)
    left = [
        job
        for job in remaining(experiment, jobs, settings)
        if (experiment.world, job.case, job.method, job.seed) not in finished
    ]
    kinds: dict[tuple[str, str], list[Job]] = {}
    for job in left:
        kinds.setdefault((job.case, job.method), []).append(job)
    durations, counts, each = Durations(known), dict.fromkeys(("measured", "likened", "tried", "unknown"), 0), {}
    for (case, method), some in kinds.items():
        pace, source = durations.pace(experiment.world, case, method), "measured"
        if pace is None and trials and sum(job.rounds for job in some) >= WORTH * (PAST_DESIGN + TRIAL):
            pace, source = trial_pace(experiment, some[0], settings), "tried"
        if pace is None:
            pace, source = durations.like(experiment.world, method), "likened"
        counts[source if pace is not None else "unknown"] += 1
        for job in some:
            if pace is not None:
                each[experiment.world, case, method, job.seed] = work(job.rounds) * pace
    return TimeNeeded(len(left), each, **counts)


def left_over(
    experiment: Experiment, known: Sequence[Record], settings: RunSettings | None = None, *, trials: bool = False
) -> tuple[int, TimeNeeded]:
    """Return how many runs are there at full size, and how long the others will take; `known` are all records there are."""
    # What a run writes is not looked at here: records that are there count wherever they lie.
    nowhere = settings or RunSettings(out=Path("bench-results") / f"{experiment.name}.status")
    done = settled_runs(experiment, known)
    return len(done), outlook(experiment, nowhere, known, trials=trials, done=done)


def usual_records(more: Sequence[Path] = ()) -> list[Record]:
    """Return the records kept in the usual folders and in some more."""
    folders = [path for path in (*USUAL, *more) if path.exists()]
    inner = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.is_dir()]
    found = []
    for path in [*folders, *inner]:
        if path.is_file() or (path / records.FILE).exists() or any(path.glob("*.jsonl.gz")):
            found += records.read_all([path])[0]
    return found


def settled_runs(experiment: Experiment, known: Iterable[Record]) -> set[Key]:
    """Return the runs of an experiment that are there at full size and need not be made again."""
    methods = {case.name: experiment.runs_on(case) for case in experiment.cases}
    return {
        records.key_of(record)
        for record in known
        if record["world"] == experiment.world
        and record["method"] in methods.get(record["problem"], ())
        and record.get("stand_in") is None
        and is_long(experiment, record)
        and not outdated(record)
    }
