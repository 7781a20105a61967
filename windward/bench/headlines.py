"""What the records say of each paper's headlines: an advantage pooled over the claims that belong together, or a ratio.

The advantage of a claim is the paired gap as a share of the mean size of the two methods, so that problems of other scales
can be put together; 200 % is the most where both are positive. Claims count alike. Those of one seed share their runs, so
seeds and not pairs are what the error is taken from, with as many degrees of freedom as the claim with the fewest seeds has.
A pair that is judged at several rounds counts once, at the last. Sizes do not mix: where one of several experiments was run
at full size, the others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from windward.bench.compare import Difference, Gaps, Runs, gaps_of, quantile, runs_of
from windward.bench.experiment import Curve, Headline, Panel, Published
from windward.bench.experiments import experiment, headlines
from windward.bench.provenance import since
from windward.bench.summary import span
from windward.bench.verdicts import Reproduction, in_a_word

Size: TypeAlias = Literal["full", "before a change", "smaller"]
Outcome: TypeAlias = Literal["agrees", "agrees in part", "differs", "undecided", "not run"]
Seeds: TypeAlias = Mapping[int, float]
# The advantage of nothing over something, as a share of their mean: no interval of what is never negative goes beyond.
MOST = 2.0
BEFORE: Final = "before a change"


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Found:
    """A headline beside what was found here.

    `pooled` is an advantage (0.2: better by 20 %), or the mean ratio of numbers found to numbers printed; `single` are those
    of each claim or number. `published` is the same advantage by the numbers the paper prints. `counts` says how many single
    ones hold, do not and are undecided. `size` and `run` say what was run.
    """

    headline: Headline
    reading: bool = False
    outcome: Outcome = "not run"
    pooled: Interval | None = None
    single: tuple[float, ...] = ()
    published: float | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    size: Size = "full"
    run: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Judged:
    """A claim with its panel, its gaps as shares of the methods' size, and the verdict on it alone."""

    reproduction: Reproduction
    panel: Panel
    entry: Difference
    gaps: Seeds
    bounded: bool


def found_headlines(reproductions: Sequence[Reproduction]) -> list[Found]:
    """Return every headline beside what these reproductions say of it."""
    by_name = {one.experiment.name: one for one in reproductions}
    return [
        (_numbers if headline.claims is None else _orders)(headline, [by_name[name] for name in headline.of])
        for headline in headlines()
    ]


def pooled(parts: Sequence[Seeds], printed: float = 0.0) -> Interval:
    """Return the mean of the parts' means, with an interval from seeds: what parts of one seed share counts once.

    `printed` is a standard error that comes on top.

    >>> found = pooled([{1: 1.0, 2: 2.0, 3: 3.0}, {1: 3.0, 2: 4.0, 3: 5.0}])
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (3.0, 0.516, 5.484)
    """
    means = [sum(part.values()) / len(part) for part in parts]
    least = min(map(len, parts))
    pulls = [
        sum((part[seed] - mean) / len(part) for part, mean in zip(parts, means, strict=True) if seed in part)
        / len(parts)
        for seed in sorted({seed for part in parts for seed in part})
    ]
    error = math.sqrt(least / (least - 1) * sum(pull * pull for pull in pulls))
    half = quantile(least - 1) * math.hypot(error, printed)
    mean = sum(means) / len(means)
    return Interval(mean, mean - half, mean + half)


def _orders(headline: Headline, reproductions: Sequence[Reproduction]) -> Found:
    assert headline.claims is not None
    claims = [claim for one in reproductions for claim in one.experiment.claims if headline.claims(claim)]
    reading = not any(claim.said for claim in claims)
    every = [judged for one in _of_one_size(reproductions) for judged in _judged(headline, one)]
    if not every:
        return Found(headline=headline, reading=reading)
    one = pooled([judged.gaps for judged in every])
    if all(judged.bounded for judged in every):
        one = Interval(one.mean, max(one.low, -MOST), min(one.high, MOST))
    told: list[float] = [gap for judged in every if (gap := _published_gap(judged)) is not None]
    counts = [
        sum(judged.entry.verdict == verdict for judged in every) for verdict in ("holds", "does not hold", "undecided")
    ]
    return Found(
        headline=headline,
        reading=reading,
        outcome="agrees" if one.low > 0.0 else "differs" if one.high < 0.0 else "undecided",
        pooled=one,
        single=tuple(sum(judged.gaps.values()) / len(judged.gaps) for judged in every),
        published=sum(told) / len(told) if told else None,
        counts=(counts[0], counts[1], counts[2]),
        size=_size(every),
        run=_run(headline, reproductions, every),
    )


def _of_one_size(reproductions: Sequence[Reproduction]) -> list[Reproduction]:
    full = [one for one in reproductions if one.full]
    return full or [one for one in reproductions if one.records][:1]


def _judged(headline: Headline, reproduction: Reproduction) -> list[_Judged]:
    """Return the claims of a headline that can be judged, each pair of methods on a problem once: at its last round."""
    panels = {panel.title: (panel, runs) for panel, runs in reproduction.shown}
    last: dict[tuple[object, ...], _Judged] = {}
    for entry in reproduction.claims:
        if headline.claims is None or not headline.claims(entry.claim) or entry.claim.panel not in panels:
            continue
        panel, runs = panels[entry.claim.panel]
        gaps = gaps_of(entry.claim, panel, runs)
        shares = _shares(gaps) if gaps is not None else None
        if shares is None:
            continue
        pair = (panel.metric.name, _run_of(runs[entry.claim.first]), _run_of(runs[entry.claim.second]))
        if pair not in last or entry.mark > last[pair].entry.mark:
            bounded = all(_mean(runs[label], entry.mark) >= 0.0 for label in (entry.claim.first, entry.claim.second))
            last[pair] = _Judged(reproduction, panel, entry, shares, bounded)
    return list(last.values())


def _mean(runs: Runs, mark: int) -> float:
    return float(runs.mean()[runs.at.index(mark)])


def _run_of(runs: Runs) -> tuple[str, str, str | None]:
    return (runs.curve.case, runs.curve.method, runs.curve.series)


def _shares(gaps: Gaps) -> Seeds | None:
    """Return the gaps as shares of the methods' size; None where they say nothing: one seed, or no number yet.

    The size is a mean over seeds too, and the share r a ratio of two means. Its error is that of r + (gap - r size) / size over
    seeds, to first order, which is what each seed stands for here.
    """
    if len(gaps.by_seed) < 2 or not all(map(math.isfinite, gaps.by_seed.values())):
        return None
    if gaps.size <= 0.0:
        return dict.fromkeys(gaps.by_seed, 0.0)
    share = sum(gaps.by_seed.values()) / len(gaps.by_seed) / gaps.size
    return {seed: share + (gap - share * gaps.sizes[seed]) / gaps.size for seed, gap in gaps.by_seed.items()}


def _published_gap(judged: _Judged) -> float | None:
    """Return the advantage by the numbers the paper prints for the panel's last mark."""
    printed = {
        entry.curve: entry.values.get(judged.panel.marks[-1])
        for entry in judged.reproduction.experiment.published
        if entry.panel == judged.panel.title
    }
    first, second = printed.get(judged.entry.claim.first), printed.get(judged.entry.claim.second)
    if first is None or second is None or not abs(first) + abs(second):
        return None
    return (-1.0 if judged.panel.metric.lower else 1.0) * (first - second) / (0.5 * (abs(first) + abs(second)))


def _size(every: Sequence[_Judged]) -> Size:
    """Return the size of what was run; other data than the paper's are never its full size."""
    several = list({id(judged.reproduction): judged.reproduction for judged in every}.values())
    if _instead(every) or not all(one.full for one in several):
        return "smaller"
    return BEFORE if any(since(one.records) for one in several) else "full"


def _instead(every: Iterable[_Judged]) -> list[str]:
    """Return the data that stand in for the paper's, for the claims that were judged."""
    cases = {
        (id(judged.reproduction), curve.case): judged.reproduction for judged in every for curve in _curves(judged)
    }
    always = {one.experiment.case(name).instead for (_, name), one in cases.items()}
    return sorted(
        {*always, *("made-up data" for one in cases.values() for r in one.records if r.get("stand_in"))} - {""}
    )


def _run(headline: Headline, reproductions: Sequence[Reproduction], every: Sequence[_Judged]) -> tuple[str, ...]:
    """Return how many seeds, rounds and problems of the paper's were run, as far as they are fewer, and what else differs."""
    assert headline.claims is not None
    curves = [curve for judged in every for curve in _curves(judged)]
    used = {id(judged.reproduction): judged.reproduction for judged in every}
    runs = {(curve.case, curve.method) for curve in curves}
    wanted = {
        (one.experiment.name, curve.case)
        for one in reproductions
        for panel in one.experiment.panels
        for claim in one.experiment.claims
        if claim.panel == panel.title and headline.claims(claim)
        for curve in panel.curves
        if curve.label == claim.first
    }
    ran = {(judged.reproduction.experiment.name, _curves(judged)[0].case) for judged in every}
    named = {
        label
        for one in reproductions
        for claim in one.experiment.claims
        if headline.claims(claim)
        for label in (claim.first, claim.second)
    }
    here = {label for judged in every for label in (judged.entry.claim.first, judged.entry.claim.second)}
    seeds = sorted({len(judged.gaps) for judged in every})
    words = [_seeds(seeds, max(len(one.experiment.seeds) for one in used.values()))]
    words += [text for one in used.values() if (text := _rounds(one, runs))][:1]
    words += [f"{len(ran)} of {len(wanted)} problems"] if len(ran) < len(wanted) else []
    words += [f"{len(here)} of {len(named)} methods"] if len(here) < len(named) else []
    words += _instead(every)
    return (*words, *_before(used.values()))


def _curves(judged: _Judged) -> tuple[Curve, Curve]:
    by_label = {curve.label: curve for curve in judged.panel.curves}
    return by_label[judged.entry.claim.first], by_label[judged.entry.claim.second]


def _seeds(here: Sequence[int], full: int) -> str:
    """Return how many seeds, and of how many where those are more."""
    many = f"{here[0]} to {here[-1]}" if len(here) > 1 else f"{here[0]}"
    return f"{many} seeds" if here[0] >= full else f"{many} of {full} seeds"


def _rounds(reproduction: Reproduction, runs: Iterable[tuple[str, str]]) -> str:
    """Return how many rounds were run of how many, nothing where it is all of them."""
    found, wanted = reproduction.experiment, set(runs)
    rounds = {record["rounds"] for record in reproduction.records if (record["problem"], record["method"]) in wanted}
    cases = {case.name: case for case in found.cases}
    full = {found.rounds_of(cases[case], method) for case, method in wanted if case in cases}
    return f"{span(sorted(rounds))} of {span(sorted(full))} rounds" if max(rounds) < max(full) else ""


def _before(reproductions: Iterable[Reproduction]) -> list[str]:
    return [BEFORE] if any(since(one.records) for one in reproductions) else []


def _numbers(headline: Headline, reproductions: Sequence[Reproduction]) -> Found:
    """Return the ratio of the numbers found to those printed; each counts alike."""
    (reproduction,) = reproductions
    same = [record for record in reproduction.records if not record.get("stand_in")]  # as the agreements have it
    panels = {panel.title: runs_of(panel, same) for panel, _ in reproduction.shown}
    comparable = [entry for entry in reproduction.experiment.published if entry.same_data]
    parts, errors = list[Seeds](), list[float]()
    for agreement in reproduction.agreements:
        runs = panels[agreement.panel][agreement.curve]
        values = runs.column(agreement.mark)
        assert values is not None
        parts.append(
            {seed: value / agreement.published for seed, value in zip(runs.seeds, values.tolist(), strict=True)}
        )
        own = float(runs.error()[runs.at.index(agreement.mark)])
        errors.append(_printed_error(comparable, agreement.panel, agreement.curve, agreement.mark, own))
    if not parts:
        return Found(headline=headline)
    shares = [error / agreement.published for error, agreement in zip(errors, reproduction.agreements, strict=True)]
    agreeing, count = reproduction.agreeing, len(parts)
    word = in_a_word(agreeing, count - agreeing, 0)
    outcome: Outcome = "agrees" if word == "matches" else "agrees in part" if word == "partly" else "differs"
    ran = {(runs.curve.case, runs.curve.method) for each in panels.values() for runs in each.values()}
    words = [_seeds(sorted({len(part) for part in parts}), len(reproduction.experiment.seeds))]
    words += [text] if (text := _rounds(reproduction, ran)) else []
    return Found(
        headline=headline,
        outcome=outcome,
        # Numbers of one table share their runs: their printed errors are taken to go together.
        pooled=pooled(parts, sum(shares) / len(shares)),
        single=tuple(sum(part.values()) / len(part) for part in parts),
        counts=(agreeing, count - agreeing, 0),
        size="smaller" if not reproduction.full else BEFORE if since(reproduction.records) else "full",
        run=(*words, *_before([reproduction])),
    )


def _printed_error(entries: Iterable[Published], panel: str, curve: str, mark: int, own: float) -> float:
    """Return the standard error the paper prints for a number; where it prints none, the number is as uncertain as ours."""
    return next(entry.errors.get(mark, own) for entry in entries if (entry.panel, entry.curve) == (panel, curve))


def sentences(found: Iterable[Found]) -> list[str]:
    """Return what each paper says, what was found here and whether it agrees, as a Markdown list with an entry a paper."""
    by_paper: dict[str, list[str]] = {}
    for each in found:
        told = by_paper.setdefault(each.headline.paper, [])
        told.append(_says(each, first=not told) + _found_here(each))
    return [f"- {' '.join(told)}" for told in by_paper.values()]


def _says(found: Found, *, first: bool) -> str:
    one, links = found.headline, ", ".join(f"[{_source(name)}](#{name})" for name in found.headline.of)
    if one.claims is None:
        return f"{f'**{one.paper}**: numbers' if first else 'Numbers'} are published for {one.says} ({links}): "
    start = f"**{one.paper}** says" if first else "It also says"
    return f"{start}{', as we read it,' if found.reading else ''} that {one.says} ({links}): "


def _source(name: str) -> str:
    return experiment(name).source.partition(", ")[2]


def place(found: Found) -> str:
    """Return where the paper says so and shows it, without its words: they stand in the tables."""
    figures = " and ".join(map(_source, found.headline.of))
    said = found.headline.said.partition(":")[0]
    if found.headline.claims is None:
        return said
    return f"{figures}, {'our reading of ' if found.reading else ''}{said}"


def _found_here(found: Found) -> str:
    if found.pooled is None:
        return "**not run** here."
    return f"{amount(found)}, **{in_words(found)}** ({', '.join(found.run)})."


def amount(found: Found) -> str:
    """Return what was found in words, with its interval."""
    assert found.pooled is not None
    if found.headline.claims is None:
        return "here {:.2f} times as large [{:.2f}, {:.2f}]".format(*_ends(found.pooled, 1.0))
    mean, low, high = _ends(found.pooled, 100.0)
    return f"here {percent(abs(mean))} % {'better' if mean >= 0.0 else 'worse'} [{percent(low)}, {percent(high)}]"


def _ends(one: Interval, scale: float) -> tuple[float, float, float]:
    return scale * one.mean, scale * one.low, scale * one.high


def percent(value: float) -> str:
    """Return a number of percents: whole ones, or with a decimal where it is small.

    >>> percent(28.4), percent(-3.42), percent(-0.01)
    ('28', '-3.4', '0')
    """
    text = f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}"
    return "0" if float(text) == 0.0 else text


def in_words(found: Found) -> str:
    """Return whether a headline agrees, and whether that may change when it is run in full."""
    word = {"differs": "does not agree"}.get(found.outcome, found.outcome)
    return word if found.size != "smaller" or found.outcome in ("not run", "undecided") else f"{word} so far"


def singles(found: Found) -> str:
    """Return how many single claims hold, or single numbers agree, of how many; nothing where there is only one."""
    holding, count = found.counts[0], sum(found.counts)
    return f"{holding} of {count}" if count > 1 else ""
