"""What a reader takes away from each paper: declared once, pooled over claims, drawn and said from the records."""

from __future__ import annotations

import math

import pytest
from bench_helpers import OLD, made

from windward.bench import forest, headlines, verdicts
from windward.bench.compare import Gaps
from windward.bench.experiments import experiment, experiments
from windward.bench.experiments import headlines as declared

NEW = "2099-01-01T00:00:00+00:00"
LATE = "verma2022-fig1"
# The gap to GP-UCB is 2, 3, 4 of a mean size of (1 + 4) / 2, t(2 degrees) = 4.302653 and s / sqrt(3) = 1 / sqrt(3).
HALF = 4.302653 / math.sqrt(3)


def found_of(records):
    return headlines.found_headlines([verdicts.reproduction_of(each, records) for each in experiments().values()])


def late(values, *, problem="Poisson(10)", rounds=105, began=NEW, name=LATE):
    return [
        made(name, problem, method, seed, value, rounds=rounds, began=began)
        for method, row in values.items()
        for seed, value in enumerate(row)
    ]


def first(records, name=LATE, numbers=False):
    return next(
        found for found in found_of(records) if name in found.headline.of and (found.headline.claims is None) == numbers
    )


def test_every_paper_has_one_or_two_headlines_that_exist():
    papers = list(dict.fromkeys(each.source.partition(",")[0] for each in experiments().values()))
    assert list(dict.fromkeys(one.paper for one in declared())) == papers
    for paper in papers:
        own = [one for one in declared() if one.paper == paper]
        assert 1 <= sum(one.claims is not None for one in own) <= 2
        assert sum(one.claims is None for one in own) <= 1  # and the numbers it prints
    for one in declared():
        for name in one.of:
            found = experiment(name)
            assert found.source.startswith(one.paper)
            if one.claims is None:
                assert any(entry.same_data for entry in found.published), one.says
            else:
                meant = [claim for claim in found.claims if one.claims(claim)]
                assert meant and {claim.relation for claim in meant} == {"ahead"}, one.says
                assert len({bool(claim.said) for claim in meant}) == 1, one.says  # the paper's sentence, or our reading
                assert all(claim.said.partition(":")[2] in one.said for claim in meant) or "and" in one.said


def test_what_is_pooled_has_the_error_of_its_seeds():
    alone = headlines.pooled([{1: 1.0, 2: 2.0, 3: 3.0}])
    assert (alone.mean, alone.high - alone.mean) == pytest.approx((2.0, HALF), abs=1e-5)
    # The same runs twice say no more than once; runs that balance each other in every seed leave no error.
    twice = headlines.pooled([{1: 1.0, 2: 2.0, 3: 3.0}] * 2)
    assert twice.high == pytest.approx(alone.high)
    assert headlines.pooled([{1: 1.0, 2: 2.0}, {1: 2.0, 2: 1.0}]) == headlines.Interval(1.5, 1.5, 1.5)
    # A printed error comes on top.
    more = headlines.pooled([{1: 1.0, 2: 2.0, 3: 3.0}], printed=1.0)
    assert more.high - more.mean == pytest.approx(4.302653 * math.hypot(1.0, 1.0 / math.sqrt(3)), abs=1e-5)
    # Claims of which one has a seed less: each mean counts alike, degrees of freedom by the fewest.
    fewer = headlines.pooled([{1: 1.0, 2: 2.0, 3: 3.0}, {1: 4.0, 2: 4.0}])
    assert fewer.mean == 3.0 and fewer.high - fewer.mean == pytest.approx(12.7062 * math.sqrt(2 * 2 / 36), abs=1e-4)


def test_an_advantage_is_a_share_of_the_methods_size():
    found = first(late({"GP-UCB-SDF": [1.0] * 3, "GP-UCB": [3.0, 4.0, 5.0]}))
    assert found.pooled is not None and found.pooled.mean == pytest.approx(3.0 / 2.5)
    # A ratio of two means: gaps 2, 3, 4 and sizes 2, 2.5, 3 leave 1.2 + (gap - 1.2 size) / 2.5 = 1.04, 1.2, 1.36.
    assert found.pooled.low == pytest.approx(1.2 - 0.16 * HALF, abs=1e-5)
    assert found.pooled.high == pytest.approx(1.2 + 0.16 * HALF, abs=1e-5)
    # Never more than 2, which is something against nothing.
    nothing = first(late({"GP-UCB-SDF": [0.0, 0.0, 1.0], "GP-UCB": [3.0, 4.0, 5.0]}))
    assert nothing.pooled is not None and nothing.pooled.high == 2.0
    assert (found.outcome, found.size, found.counts) == ("agrees", "full", (1, 0, 0))
    assert found.run == ("3 of 10 seeds", "1 of 2 problems", "2 of 3 methods")
    assert not found.reading and found.published is None
    other = first(late({"GP-UCB-SDF": [3.0, 4.0, 5.0], "GP-UCB": [1.0] * 3, "GP-BUCB": [1.0] * 3}))
    assert (other.outcome, other.counts, len(other.single)) == ("differs", (0, 2, 0), 2)
    assert headlines.in_words(other) == "does not agree"
    open_ = first(late({"GP-UCB-SDF": [1.0, 2.0, 3.0], "GP-UCB": [3.0, 2.0, 1.0]}))
    assert (open_.outcome, headlines.singles(open_)) == ("undecided", "")
    alike = headlines._shares(Gaps(105, {1: 0.0, 2: 0.0}, 0.0))
    assert alike == {1: 0.0, 2: 0.0}
    assert headlines._shares(Gaps(105, {1: 1.0}, 1.0)) is None
    assert headlines._shares(Gaps(105, {1: 1.0, 2: math.nan}, 1.0)) is None


def test_less_than_the_paper_looks_so():
    values = {"GP-UCB-SDF": [1.0] * 3, "GP-UCB": [3.0, 4.0, 5.0]}
    quick, old = first(late(values, rounds=40)), first(late(values, began=OLD))
    assert quick.size == "smaller" and "40 of 105 rounds" in quick.run and headlines.in_words(quick) == "agrees so far"
    assert old.size == headlines.BEFORE and old.run[-1] == headlines.BEFORE and headlines.in_words(old) == "agrees"
    shapes = [forest._shape(size, "black") for size in ("full", headlines.BEFORE, "smaller")]
    looks = [(shape["markerfacecolor"], shape["fillstyle"]) for shape in shapes]
    assert looks == [("black", "full"), ("black", "left"), ("white", "full")]
    # Other data are never the paper's size, however long they ran.
    table = "nguyen2020-table1"
    tuned = [
        made(table, "CNN", method, seed, value + seed, rounds=99, began=NEW)
        for method, value in (("DRBQO 5", 1.0), ("BQO-TS", 9.0))
        for seed in range(20)
    ]
    found = first(tuned, table)
    assert found.size == "smaller" and "digits for MNIST" in found.run
    # The paper prints 1.321 and 1.820.
    assert found.published == pytest.approx((1.820 - 1.321) / 1.5705)


def test_sizes_do_not_mix_over_figures():
    full = late({"GP-UCB-SDF": [1.0] * 3, "GP-UCB": [3.0] * 3}, problem="LR fixed 10", name="verma2022-fig3")
    values = {"GP-UCB-SDF": [9.0] * 3, "GP-UCB": [1.0] * 3}
    quick = late(values, problem="SVM fixed 10", name="verma2022-fig2", rounds=30)
    found = first([*full, *quick], "verma2022-fig3")
    assert len(found.single) == 1 and found.outcome == "agrees" and "1 of 6 problems" in found.run


def test_a_pair_counts_once_at_its_last_round():
    name = "huang2024-fig1"  # its runs here are those of the longer figure
    records = [
        made(name, "Ackley", method, 100 + seed, value + seed, rounds=300, began=NEW)
        for method, value in (("SBO-KDE", 1.0), ("GP-UCB", 9.0))
        for seed in range(3)
    ]
    found = first(records, name)
    assert len(found.single) == 1 and found.counts == (1, 0, 0)


def test_printed_numbers_are_ratios():
    name = "huang2024-table2"
    printed = {10: 0.3222, 100: 0.1315}
    records = [
        made(name, "Normal", "as drawn", 100 + seed, 0.0, rounds=300, began=NEW)
        | {
            "at": list(printed),
            "series": {"total_variation": [value * (2.0 + 0.01 * (seed - 1)) for value in printed.values()]},
        }
        for seed in range(3)
    ]
    found = first(records, name, numbers=True)
    assert found.pooled is not None and found.pooled.mean == pytest.approx(2.0)
    share = 0.5 * (0.0327 / 0.3222 + 0.0088 / 0.1315)
    assert found.pooled.high - 2.0 == pytest.approx(4.302653 * math.hypot(share, 0.01 / math.sqrt(3)), rel=1e-4)
    assert (found.outcome, headlines.singles(found), found.run) == ("differs", "0 of 2", ("3 of 20 seeds",))


def test_every_paper_has_a_sentence_that_follows_from_its_records():
    values = {"GP-UCB-SDF": [1.0] * 3, "GP-UCB": [3.0, 4.0, 5.0]}
    lines = headlines.sentences(found_of(late(values)))
    assert [line.split("**")[1] for line in lines] == list(dict.fromkeys(one.paper for one in declared()))
    told = next(line for line in lines if "Verma2022" in line)
    assert "(#verma2022-fig1)): here 120 % better [80, 160], **agrees** (3 of 10 seeds," in told
    assert all("**not run** here." in line for line in lines) and "as we read it" in lines[2]
    worse = headlines.sentences([first(late({"GP-UCB-SDF": [9.0] * 3, "GP-UCB": [3.0, 4.0, 5.0]}, rounds=40))])
    assert "% worse [" in worse[0] and "**does not agree so far** (3 of 10 seeds, 40 of 105 rounds" in worse[0]


def test_the_figure_is_drawn_with_and_without_records(tmp_path):
    pytest.importorskip("matplotlib")
    drawn = []
    for records in ([], late({"GP-UCB-SDF": [1.0] * 3, "GP-UCB": [3.0, 4.0, 5.0]})):
        forest.draw_forest(found_of(records), tmp_path / "headlines.png")
        drawn.append((tmp_path / "headlines.png").read_bytes())
        assert drawn[-1].startswith(b"\x89PNG") and len(drawn[-1]) > 10_000
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("interval", [(-4.0, -3.0, -2.0), (3.0, 4.0, 5.0), (-9.0, 0.5, 9.0), (2.5, 2.5, 2.5)])
def test_what_lies_beyond_the_axis_is_drawn_at_its_end(interval):
    from matplotlib.figure import Figure

    low, mean, high = interval
    found = headlines.Found(
        headline=declared()[0],
        outcome="agrees",
        pooled=headlines.Interval(mean, low, high),
        single=(low, high),
        published=mean,
    )
    axis = Figure().add_subplot()
    forest._mark(axis, found, 1.0, (-0.75, 2.0))
    drawn = [float(x) for line in axis.lines for x in line.get_xdata()]
    assert min(drawn) >= -0.75 and max(drawn) <= 2.0
    arrows = [line.get_marker() for line in axis.lines if line.get_marker() in ("<", ">")]
    assert arrows == (["<"] if high < -0.75 else [">"] if low > 2.0 else ["<", ">"])
