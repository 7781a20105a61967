"""What fitting processes compute. Each job gets the studies that its process keeps open; what comes back is plain data.

Answers that are kept come back as text, so that the service knows how much memory they take.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from windward.basics.times import read_moment
from windward.trials.coming import coming_at, read_coming
from windward.trials.forecast_file import read_forecasts

if TYPE_CHECKING:
    from windward.service.shelf import Shelf


def ask(shelf: Shelf, name: str, body: dict[str, Any], key: str | None) -> dict[str, Any]:
    """Return the next suggestion of a study, and the sentences that say why."""
    from windward.present import records

    study = shelf.study(name)
    file = body["forecast_csv"]
    columns = None if file is None else read_forecasts("forecast_csv", file, study.space)
    known = read_coming("study.ask", study.space, body["context"], body["forecast"], columns)
    wanted = {name: body[name] for name in ("fix", "radius", "far")}
    found = study.ask(context=known, key=key, when=_time(body["when"]), **wanted)
    return {**records.suggestion(found), "sentences": list(found.sentences)}


def create(shelf: Shelf, data: dict[str, Any]) -> dict[str, Any]:
    """Make a study, and return its declaration; trying a policy on its space can be heavy."""
    from windward.present.records import declaration
    from windward.study.declare import declared

    memory = shelf.memory
    return declaration(declared(data, memory=memory, plugins=shelf.plugins).create(shelf.journal, memory=memory))


def recommend(
    shelf: Shelf,
    name: str,
    context: dict[str, Any] | None,
    when: str | None = None,
    forecast: dict[str, Any] | None = None,
) -> str:
    """Return the recommendation of a study, and the sentences that say it, as JSON."""
    from windward.present import records, sentences

    study = shelf.study(name)
    known = read_coming("study.recommend", study.space, context, forecast)
    given = coming_at("study.recommend", study.space, known, _time(when))
    seen = study.snapshot()  # one state for the numbers, the sentences and the revision
    found = seen.recommendation("study.recommend", context=given)
    said = sentences.advised(seen, found)
    answer = {**records.recommendation(found), "sentences": said.lines(), "revision": seen.revision}
    return json.dumps(answer, allow_nan=False)


def compare(
    shelf: Shelf,
    name: str,
    first: dict[str, Any] | None,
    second: dict[str, Any] | None,
    context: dict[str, Any] | None,
    when: str | None = None,
) -> str:
    """Return two decisions of a study side by side, and the sentences that say it, as JSON."""
    from windward.present import records, sentences

    call, study = "study.compare", shelf.study(name)
    one, other = (None if each is None else study.space.check_decision(call, each) for each in (first, second))
    given = coming_at(call, study.space, read_coming(call, study.space, context), _time(when))
    seen = study.snapshot()
    found = seen.comparison(call, one, other, context=given)
    answer = {**records.comparison(found), "sentences": sentences.compared(seen, found), "revision": seen.revision}
    return json.dumps(answer, allow_nan=False)


def by_context(
    shelf: Shelf,
    name: str,
    decision: dict[str, Any] | None,
    over: list[str] | None,
    context: dict[str, Any] | None,
    when: str | None = None,
) -> str:
    """Return what a decision of a study is worth on each kind of day, as JSON."""
    from windward.present import records

    call, study = "study.by_context", shelf.study(name)
    one = None if decision is None else study.space.check_decision(call, decision)
    given = coming_at(call, study.space, read_coming(call, study.space, context), _time(when))
    seen = study.snapshot()
    found = seen.by_context(call, decision=one, over=over, context=given)
    return json.dumps({**records.by_context(found), "revision": seen.revision}, allow_nan=False)


def importance(shelf: Shelf, name: str, context: dict[str, Any] | None, when: str | None = None) -> str:
    """Return what matters in a study, as JSON."""
    from windward.present import records

    call, study = "study.importance", shelf.study(name)
    given = coming_at(call, study.space, read_coming(call, study.space, context), _time(when))
    seen = study.snapshot()
    found = seen.importance(call, context=given)
    return json.dumps({**records.importance(found), "revision": seen.revision}, allow_nan=False)


def settled(
    shelf: Shelf, name: str, delta: float | None, context: dict[str, Any] | None, when: str | None = None
) -> str:
    """Return how probable it is that no decision of a study is better than the recommended one by more, as JSON."""
    from windward.present import records, sentences

    study = shelf.study(name)
    known = read_coming("study.settled", study.space, context)
    given = coming_at("study.settled", study.space, known, _time(when))
    seen = study.snapshot()
    found = records.settled(seen, delta, given)
    said = sentences.settled(found["delta"], found["probability"], seen.outcome)
    return json.dumps({**found, "sentences": [said], "revision": seen.revision}, allow_nan=False)


def _time(text: str | None) -> datetime | None:
    return None if text is None else read_moment("when", text, None)


def check(shelf: Shelf, name: str) -> str:
    """Return a check of a study's model, as JSON."""
    from windward.present import records

    seen = shelf.study(name).snapshot()
    return json.dumps({**records.check(seen.check("study.check")), "revision": seen.revision}, allow_nan=False)


def figure(shelf: Shelf, name: str, kind: str) -> str:
    """Return a figure of a study as plotly's JSON."""
    from windward.present import plots

    return str(plots.FIGURES[kind](shelf.study(name)).to_json())


def report(shelf: Shelf, name: str) -> str:
    """Return the report of a study, as HTML."""
    from windward.present.report import report_html

    return report_html(shelf.study(name))
