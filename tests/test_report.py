"""The report: what it says, that it stands alone, and that nothing in it can run but its own script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from helpers import SHOP

import windward as ww
from windward.basics.speech import ages, number
from windward.present.report import embedded, report_html, write_report
from windward.present.sentences import advised, moves

EVIL = "</script><script>alert('x')</script>"
QUICK = {"design": ww.Sobol(3), "maximize": ww.MultiStart(screen=64, starts=2, evaluations=20)}


class Reader(HTMLParser):
    """Collects elements, texts and scripts, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.texts, self._inside = [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attributes), ""))

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside != "style":
            self.texts.append(data)


def played(policy, rounds=9, direction="maximize"):
    made = ww.Study(SHOP, policy, direction=direction, name=EVIL)

    def day(suggestion):
        demand = 0.2 + 0.09 * (suggestion.id % 7)
        return ww.Result((float(suggestion.decision["order"]) - demand) ** 2, context={"demand": demand})

    made.run(day, rounds, progress=False)
    return made


@pytest.fixture(scope="module")
def study():
    policy = ww.Policy(
        context_model=ww.KernelDensity(count=32), objective=ww.Robust(ww.TotalVariation(), radius=0.4), **QUICK
    )
    made = played(policy, direction="minimize")
    made.ask()
    made.lose(made.ask().id, f"closed {EVIL}")
    return made


@pytest.fixture(scope="module")
def page(study):
    return report_html(study)


def test_it_says_what_to_do_and_what_is_missing(study, page):
    text = " ".join(Reader(page).texts)
    found = study.recommend()
    assert f"Set order to {number(found.decision['order'])}." in text
    assert f"at most {number(found.value)} on average, even if up to 20 % of the cases" in text
    low, high = (number(end) for end in found.interval)
    assert f"between {low} and {high}" in text
    assert "This rests on the 9 results that have arrived. 1 result is still on the way" in text
    assert "1 result was lost; nothing is assumed about them here." in text
    assert "Trial 9 was asked less than a minute ago and has not come back" in text
    for heading in (
        "What to do now",
        "Can this be trusted?",
        "What was decided",
        "What is known",
        "All trials",
        "Settings",
    ):
        assert heading in text
    for caption in ("What each choice of order is worth", "What came back", "What protection costs", "What is late"):
        assert caption in text
    assert "0 to 1" in text and "best single result so far" in text


def test_it_stands_alone(page):
    read = Reader(page)
    for tag, attributes in read.tags:
        assert "src" not in attributes and "href" not in attributes, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    assert "@import" not in page.split("</style>")[0]


def test_only_its_own_two_scripts_run(page):
    read = Reader(page)
    data = [text for attributes, text in read.scripts if attributes.get("type") == "application/json"]
    run = [text for attributes, text in read.scripts if "type" not in attributes]
    assert len(data) == 9 and len(run) == 2
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert (
        policy.startswith("default-src 'none'") and "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    )
    for text in data:
        assert json.loads(text)["data"] and "<" not in text
    assert sum(text.count(EVIL) for text in read.texts) >= 3  # the title, the heading, the reason: as text
    assert "<script>alert" not in page


def test_embedded_json_cannot_end_its_element():
    said = {"a": "</script><!--<script>&\u2028"}
    text = embedded(json.dumps(said, ensure_ascii=False))
    assert json.loads(text) == said and not set("<>&\u2028") & set(text)


def test_no_recommendation_yet(tmp_path):
    made = ww.Study(SHOP, ww.papers.sbo_kde())
    write_report(made, tmp_path / "empty.html")
    text = (tmp_path / "empty.html").read_text()
    assert "There is no recommendation yet" in text and "Nothing has been asked yet" in text and "Not drawn:" in text
    made.tell(made.ask().id, 1.0)
    text = " ".join(Reader(report_html(made)).texts)
    assert "There is no recommendation yet" in text and "1 has a value but not yet the whole context" in text
    assert "waits for its context" in text
    assert "No result has come back together with its context. 1 has" in text and "rests on" not in text
    assert "One decision was asked for, 2" in text and "1 decisions" not in text
    with pytest.raises(ww.ArgumentError, match="name a file"):
        write_report(made, tmp_path)


def test_a_hundred_pending_trials_do_not_bury_the_report():
    made = played(ww.Policy(context_model=ww.Empirical(), objective=ww.Expected(), **QUICK), rounds=4)
    made.use(ww.papers.random())
    made.ask_many(60)
    text = " ".join(Reader(report_html(made)).texts)
    assert text.count("has not come back") == 20 and "And 40 more, in the table below." in text
    assert "60 results are still on the way" in text and "The 39 before these" in text


@pytest.mark.parametrize(
    ("objective", "says", "protected"),
    [
        (ww.Expected(), "on average over the contexts, as often as they have come", "It is not protected against"),
        (ww.Minimum(), "whichever of the contexts considered comes", "protected against"),
        (ww.CVaR(0.25), "over the worst 0.25 share of the contexts", "protected against"),
        (ww.VaR(0.25), "or more in all but the worst 0.25 share", ""),
        (ww.Robust(ww.Wasserstein(), 0.05), "even if contexts lie 0.05 away from those seen", "protected against"),
        (ww.Robust(ww.ChiSquare(), 0.1), "a chi-square divergence of 0.1", "protected against"),
        (ww.Robust(ww.MMD(0.2), 0.1), "a MMD of 0.1", ""),
        (ww.LipschitzRobust(0.05), "contexts lie 0.05 away", ""),
        (ww.Satisficing(ww.TotalVariation(), -5.0), "reach the target of -5 or more on average, however", ""),
        (ww.Satisficing(ww.TotalVariation(), 5.0), "The target is 5 or more on average; the decision is the one", ""),
    ],
    ids=str,
)
def test_every_objective_has_its_sentence(objective, says, protected):
    made = played(ww.Policy(context_model=ww.Empirical(), objective=objective, **QUICK), rounds=6)
    said = advised(made, made.recommend())
    assert says in said.value and protected.lower() in said.protection.lower(), said
    assert all(line.endswith(".") for line in said.lines())


def test_what_it_is_protected_against_is_counted_by_hand(study):
    found = ww.Recommendation(
        decision={"order": 0.5},
        value=1.0,
        interval=(0.5, 1.5),
        contexts=({"demand": 0.2}, {"demand": 0.6}),
        reference=(0.5, 0.5),
        adversary=(0.25, 0.75),
    )
    seen = [trial.context["demand"] for trial in study.trials if trial.context]
    assert min(seen) <= 0.2 and 0.6 <= max(seen) < 1.0
    assert moves(study, found) == ["higher demand than expected (0.5 on average instead of 0.4)"]
    same = ww.Recommendation(found.decision, 1.0, (0.5, 1.5), found.contexts, (0.5, 0.5), (0.51, 0.49))
    assert moves(study, same) == []
    # 0.08 goes to 1.0, where nothing was seen, 0.04 to 0.6: most of it.
    places = ({"demand": 0.2}, {"demand": 0.6}, {"demand": 1.0})
    unseen = ww.Recommendation(found.decision, 1.0, (0.5, 1.5), places, (0.6, 0.4, 0.0), (0.48, 0.44, 0.08))
    span = f"{number(min(seen))} to {number(max(seen))}"
    assert moves(study, unseen) == [f"8 % of the cases at demand near 1, which has not been seen (so far {span})"]
    # 0.04 there, 0.08 at 0.6: not most of it.
    mixed = ww.Recommendation(found.decision, 1.0, (0.5, 1.5), places, (0.6, 0.4, 0.0), (0.48, 0.48, 0.04))
    assert moves(study, mixed) == ["higher demand than expected (0.424 on average instead of 0.36)"]


def test_categories_are_told_by_their_share():
    space = ww.Space({"order": ww.Real(0, 1)}, {"sky": ww.Categorical(["sun", "rain"])})
    made = ww.Study(space, ww.Policy(context_model=ww.Empirical(), objective=ww.Minimum(), **QUICK))
    found = ww.Recommendation(
        {"order": 0.5}, 1.0, (0.5, 1.5), ({"sky": "sun"}, {"sky": "rain"}), (0.75, 0.25), (0.25, 0.75)
    )
    assert moves(made, found) == ["sky = rain more often than expected (75 % instead of 25 % of the time)"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (19.679878, "19.68"), (0.000123456, "0.0001235"), (1e-9, "1e-09"), (1234567.8, "1234568"), (7, "7")]  # noqa: RUF005
    + [(-0.5, "-0.5"), (1e9, "1e+09"), ("oral", "oral"), (True, "True"), (100.0, "100"), (99.999999, "100")],
)
def test_numbers_are_read_by_people(value, text):
    assert number(value) == text


def test_ages():
    assert [ages(s) for s in (None, 5, 60, 7200, 86400, 1e6)] == [
        "an unknown time",
        "less than a minute",
        "1 minute",
        "2 hours",
        "1 day",
        "11 days",
    ]
