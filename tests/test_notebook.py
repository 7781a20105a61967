"""What a notebook shows, the figures by name, and the report in one call."""

from __future__ import annotations

import html
import re

import pytest
from test_units import POLICY, PROFIT, SPACE, told

import windward as ww
from windward.present import plots

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def study():
    return told(ww.Study(SPACE, POLICY, outcomes=PROFIT, status_quo={"price": 3.5, "crates": 48}, name=NASTY), 8)


def words(page):
    """What a person reads of HTML."""
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page)).strip()


def test_each_shows_itself_without_a_script(study):
    shown = [
        study,
        study.recommend(),
        study.ask(),
        study.trials,
        study.policy,
        study.compare(),
        ww.Study(SPACE, POLICY),
    ]
    for thing in shown:
        page = thing._repr_html_()
        assert page.startswith('<div class="windward"') and "<script" not in page and "color:inherit" in page, thing
        assert page.count("<div") == page.count("</div>") and page.count("<tr") == page.count("</tr>")


def test_cards_say_it_in_words(study):
    card = words(study._repr_html_())
    assert "9 trials" in card and "8 results have come back" in card
    assert "price 2.50 to 6.00 EUR, in steps of 0.05 EUR" in card
    assert "profit [EUR] the highest is wanted; the study looks at the average profit" in card
    assert "status quo price 3.50 EUR and crates 48 pieces" in card
    found = study.recommend()
    assert all(words(sentence) in words(found._repr_html_()) for sentence in found.sentences)
    asked = study.ask()
    card = words(asked._repr_html_())
    assert f"Trial {asked.id}: try this" in card and asked.named["price"] in card and asked.sentences[0] in card
    assert "how contexts are expected to come KernelDensity(" in words(study.policy._repr_html_())


def test_trials_show_the_newest_first():
    made = ww.Study(SPACE, POLICY, outcomes=PROFIT)
    for place in range(25):
        made.add({"price": 3.5, "crates": 12}, float(place), context={"rain": 1.0})
    card = words(made.trials._repr_html_())
    assert card.startswith(
        "Trials: 25 told, 0 pending, 0 lost trial price [EUR] crates [pieces] rain [mm] profit [EUR]"
    )
    assert "state 24 3.50 12 1 24 told 23 3.50" in card
    assert card.endswith("And 5 trials before these.")
    assert words(ww.Study(SPACE, POLICY).trials._repr_html_()) == "Trials: 0 told, 0 pending, 0 lost"


def test_a_recommendation_has_its_sentences(study):
    found = study.recommend()
    assert any(sentence.startswith("Its estimated profit is ") for sentence in found.sentences)
    asked = study.assess({"price": 3.5, "crates": 48})
    assert asked.sentences[0] == "This is what price 3.50 EUR and crates 48 pieces would be worth."
    assert "This is the status quo." in asked.sentences
    assert study.compare().sentences[-1].endswith(".")
    bare = ww.Recommendation({"price": 3.5}, 2.0, (1.0, 3.0))
    assert words(bare._repr_html_()) == "price = 3.5 It is worth 2, between 1 and 3 with 90 % probability."
    assert found == study.recommend()  # words are not part of what it is


def test_the_report_in_one_call(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = study.report()
    assert path.name == "report.html" and "What to do now" in path.read_text(encoding="utf-8")
    with pytest.raises(ww.ArgumentError, match="name a file in a folder that exists"):
        study.report(tmp_path / "no" / "report.html")


def test_every_figure_by_its_name(study):
    assert set(plots.FIGURES) <= set(dir(study.plots))
    for name, draw in plots.FIGURES.items():
        if name not in ("check", "price"):  # slow, or too few results
            assert getattr(study.plots, name)().layout.title.text == draw(study).layout.title.text
    assert study.plots.landscape("price").layout.xaxis.title.text == "price [EUR]"
    assert repr(study.plots).startswith("the figures of a study: landscape(), by_context()")
    with pytest.raises(ww.ArgumentError, match="figure must be"):
        study.plots.png("histroy", "x.png")


def test_an_image_in_one_call(study, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(plots, "png", lambda made, path, **size: written.append((made.layout.title.text, path, size)))
    assert study.plots.png("landscape", tmp_path / "price.png", "price").name == "price.png"
    assert written == [("What each choice of price is worth", tmp_path / "price.png", {"width": 900, "height": 480})]


def test_what_was_asked_of_a_study_shows_itself(study):
    days = study.by_context()
    card = words(days._repr_html_())
    assert card.startswith("This is what price ") and "profit [EUR] 90 % between" in card
    assert all(cell.words in card for cell in days.cells)
    for thing in (study.check(), study.importance()):
        page = thing._repr_html_()
        assert "<script" not in page and all(words(one) in words(page) for one in map(html.escape, thing.sentences))
