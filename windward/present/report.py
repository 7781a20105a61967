"""`windward report`: one self-contained HTML file, readable offline by a person who knows the problem, not the method.

All text that users brought is escaped; figures are JSON in script elements that no browser runs; the page's own policy
allows its two scripts by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from windward.basics.codec import encode
from windward.basics.errors import ArgumentError, IncompatibleError, TrialError
from windward.basics.speech import ages, and_list, counted
from windward.present import plots, records
from windward.present.plots.style import graph_objects
from windward.present.sentences import advised, basis, objective_name, settled
from windward.present.snapshot import Snapshot, Source
from windward.trials.records import Trial
from windward.version import __version__

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Rows of the table that are in sight; the rest opens on a click.
IN_SIGHT = 25
# Pending and lost trials told one by one.
MOST_LISTED = 20
# Columns of the table that hold words: they are broken into lines, and never cut.
WORDS = ("state", "asked", "came back", "note")
# Decisions drawn one by one where there are more than two.
MOST_DECISIONS = 6
START = """
const figures = [...document.querySelectorAll('script[type="application/json"]')].map((node) =>
  ({ place: document.getElementById(node.dataset.place), figure: JSON.parse(node.textContent) }));
function drawn() {
  for (const { place, figure } of figures) {
    const width = place.clientWidth;
    if (width === 0 || width === place.drawn) continue;
    place.drawn = width;
    const { data, layout } = fitted(figure, width);
    layout.width = width;
    place.style.height = `${layout.height}px`;
    Plotly.react(place, data, layout, { displaylogo: false });
  }
}
let resizing = null;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(drawn, 200); });
drawn();
"""


def write_report(study: Source, path: str | Path) -> None:
    """Write the report of a study."""
    target = Path(path)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ArgumentError(f"report {str(path)!r}: name a file in a folder that exists.")
    text = report_html(study)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(
            f"report {str(path)!r}: cannot be written ({error.strerror or error}); name another file, or make room for it."
        ) from error


def report_html(study: Source) -> str:
    """Return the report of a study as one HTML document."""
    graph_objects()  # a missing plotly is named before anything is fitted
    from plotly.offline import get_plotlyjs

    study = study.snapshot()
    drawn, missing = _figures(study)
    plotly, start = get_plotlyjs().replace("</script", "<\\/script"), _start()
    page = Template(resources.files("windward.present.pages").joinpath("report.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=text(f"{study.name}: report"),
        name=text(study.name),
        subtitle=text(f"{_goal(study)} Written {_when(study.now)}."),
        now=_now(study),
        trust=_trust(study) + _forecasts(study),
        decided=_decided(study),
        figures=_figure_sections(drawn, missing),
        trials=_trials(study),
        settings=_settings(study),
        footer=text(f"Made by Windward {__version__}. This file needs no network."),
        data="\n".join(
            f'<script type="application/json" data-place="figure-{name}">{embedded(figure.to_json())}</script>'
            for name, figure in drawn.items()
        ),
        plotly=plotly,
        start=start,
        script_hashes=" ".join(_hash(script) for script in (plotly, start)),
    )


def _start() -> str:
    """Return the script that draws the figures; how they are made to fit their place is the page's own."""
    fit = resources.files("windward.present.pages").joinpath("fit.js").read_text(encoding="utf-8")
    return fit.replace("export function", "function") + START


def text(value: object) -> str:
    """Return text as HTML shows it, whatever is in it."""
    return html.escape(str(value), quote=True)


def embedded(data: str) -> str:
    """Return JSON text that can stand inside a script element: nothing in it can end the element."""
    for sign in "<>&\u2028\u2029":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data


def _hash(script: str) -> str:
    # The browser sees a file with \n alone: hashes are of the text as it is written.
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _goal(study: Snapshot) -> str:
    word = "highest" if study.direction == "maximize" else "lowest"
    names = and_list(list(study.space.decision))
    return f"Choosing {names} for the {word} {study.outcome.name}."


def _now(study: Snapshot) -> str:
    try:
        found = study.recommendation("study.recommend")
    except TrialError:
        return (
            '<section class="now none"><h2>What to do now</h2><p class="do">There is no recommendation yet.</p>'
            f"{_warned(_changed(study))}{_told([*study.stage().sentences, basis(study.trials, study.now)])}</section>"
        )
    said = advised(study, found)
    warned = _warned([*said.warnings, *_doubts(study), *_changed(study)])
    head, *more = [*said.early, said.decision]
    rest = _told([*said.said, *([] if found.first_guess else _settled(study)), said.basis])
    kind = "now early" if found.first_guess else "now"
    return f'<section class="{kind}"><h2>What to do now</h2><p class="do">{text(head)}</p>{_told(more)}{warned}{rest}</section>'


def _told(lines: Iterable[str]) -> str:
    return "".join(f"<p>{text(line)}</p>" for line in lines)


def _warned(lines: Iterable[str]) -> str:
    return "".join(f'<p class="warning">{text(line)}</p>' for line in lines)


def _settled(study: Snapshot) -> list[str]:
    """Return whether the search can stop."""
    found = records.settled(study, None, None)
    return [settled(found["delta"], found["probability"], study.outcome)]


def _doubts(study: Snapshot) -> list[str]:
    """Return a line that leads to what a check of the model found, where it asks for something."""
    try:
        found = study.check("study.check")
    except (TrialError, IncompatibleError):
        return []
    said = "A check of the model found something: read the next section before you rely on this."
    return [said] if found.warnings else []


def _changed(study: Snapshot) -> list[str]:
    """Return that the contexts changed; nothing where there is no alarm."""
    found = study.shift()
    return [" ".join(found.sentences)] if found.alarms else []


def _trust(study: Snapshot) -> str:
    """Return what a check of the model found, or why there is none."""
    try:
        found = study.check("study.check")
    except (TrialError, IncompatibleError) as error:
        return f'<p class="note">Not checked: {text(error)}</p>'
    doubted = set(found.warnings)
    return "".join(
        f'<p class="warning">{text(line)}</p>' if line in doubted else f"<p>{text(line)}</p>"
        for line in found.sentences
    )


def _forecasts(study: Snapshot) -> str:
    """Return how good the forecasts of each context were; nothing where nobody forecast."""
    return "".join(f"<p>{text(' '.join(one.sentences))}</p>" for one in study.forecasters())


def _decided(study: Snapshot) -> str:
    trials = study.trials
    asked = [trial for trial in trials if trial.asked_at is not None]
    lines = []
    if asked:
        first, last = asked[0], asked[-1]
        assert first.asked_at is not None and last.asked_at is not None
        between = f"were asked for between {_when(first.asked_at)} and {_when(last.asked_at)}"
        lines.append(
            f"{counted(len(asked), 'decision')} {between}; the last was {_values(study, last.planned or last.decision)}."
            if len(asked) > 1
            else f"One decision was asked for, {_when(first.asked_at)}: {_values(study, first.planned or first.decision)}."
        )
    added = len(trials) - len(asked)
    if added:
        lines.append(f"{counted(added, 'finished trial')} {'was' if added == 1 else 'were'} added from before.")
    told = [trial for trial in trials if trial.value is not None]
    if told:
        sign = trials.sign
        best = max(told, key=lambda trial: sign * (trial.value or 0.0))
        where = f", with {_values(study, best.context)}" if best.context else ""
        lines.append(
            f"The best single result so far is {study.outcome.text(best.value)}, for {_values(study, best.decision)}{where}."
        )
    lost = trials.lost
    items = [
        f"Trial {t.id} was asked {_age(t, study.now)} ago and has not come back: {_values(study, t.decision)}."
        for t in trials.pending
    ]
    items += [f"Trial {t.id} was given up: {t.lost}.{_aside(study, t)}" for t in lost]
    more = len(items) - MOST_LISTED
    items = items[:MOST_LISTED] + ([f"And {more} more, in the table below."] if more > 0 else [])
    listed = f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>" if items else ""
    body = "".join(f"<p>{text(line)}</p>" for line in lines) or "<p>Nothing has been asked yet.</p>"
    late = " ".join(study.overdue().sentences)
    return body + _warned([late] if late else []) + listed


def _figures(study: Snapshot) -> tuple[dict[str, go.Figure], list[str]]:
    """Return the figures that can be drawn, and why others cannot."""
    drawn: dict[str, go.Figure] = {}
    missing = []
    names = list(study.space.decision)
    for kind, draw in plots.FIGURES.items():
        try:
            if kind == "landscape" and len(names) > 2:  # one by one: a plane through many dimensions misleads
                for place, name in enumerate(names[:MOST_DECISIONS]):
                    drawn[f"landscape-{place}"] = plots.landscape(study, name)
            else:
                drawn[kind] = draw(study)
        except (TrialError, IncompatibleError) as error:
            missing.append(str(error))
    return drawn, missing


def _figure_sections(drawn: Mapping[str, go.Figure], missing: Sequence[str]) -> str:
    # Titles and captions come from windward.plots, which has escaped the user's part of them for plotly already.
    parts = [
        f'<section><h3>{figure.layout.title.text}</h3><p class="caption">{figure.layout.meta["caption"]}</p>'
        f'<div class="figure" id="figure-{name}" role="img" aria-label="{text(html.unescape(figure.layout.title.text))}">'
        "</div></section>"
        for name, figure in drawn.items()
    ]
    reasons = dict.fromkeys(missing)
    parts += [f'<p class="note">Not drawn: {text(reason)}</p>' for reason in reasons]
    return "\n".join(parts)


def _trials(study: Snapshot) -> str:
    trials = list(study.trials)
    if not trials:
        return "<p>None yet.</p>"
    names = [study.space.headed(name) for name in (*study.space.decision, *study.space.context)]
    heads = ["trial", *names, study.outcome.head, "state", "asked", "came back"]
    heads += ["note"] * any(trial.note or trial.tags for trial in trials)
    recent = trials[::-1]
    table = _table(heads, [_row(study, trial, heads) for trial in recent[:IN_SIGHT]])
    if len(recent) > IN_SIGHT:
        rest = _table(heads, [_row(study, trial, heads) for trial in recent[IN_SIGHT:]])
        table += f"<details><summary>The {len(recent) - IN_SIGHT} before these</summary>{rest}</details>"
    return f'<p class="note">The newest first.</p>{table}'


def _aside(study: Snapshot, trial: Trial) -> str:
    if trial.set_aside is None:
        return ""
    return f" Its {study.outcome.name}, {study.outcome.text(trial.set_aside)}, is set aside until its context is known."


def _row(study: Snapshot, trial: Trial, heads: Sequence[str]) -> tuple[str, list[str]]:
    state = {"told": "arrived", "pending": "on the way", "lost": f"lost: {trial.lost}"}[trial.state]
    if trial.state == "told" and not study.trials.knows_context(trial):
        state = "waits for its context"

    def bare(name: str, value: object) -> str:
        return study.space.measure(name).bare(value)

    cells = [
        str(trial.id),
        *(bare(name, trial.decision[name]) for name in study.space.decision),
        *(bare(name, trial.context[name]) if name in trial.context else "" for name in study.space.context),
        "" if trial.value is None else study.outcome.measure.bare(trial.value),
        state,
        "added" if trial.asked_at is None else _when(trial.asked_at),
        "" if trial.told_at is None else _when(trial.told_at),
        "; ".join([*trial.tags, *([trial.note] if trial.note else [])]),
    ]
    return trial.state, cells[: len(heads)]


def _table(heads: Sequence[str], rows: Iterable[tuple[str, list[str]]]) -> str:
    kinds = [' class="text"' if head in WORDS else "" for head in heads]
    head = "".join(f'<th scope="col"{kind}>{text(each)}</th>' for each, kind in zip(heads, kinds, strict=True))
    body = "".join(
        f'<tr class="{state}">'
        + "".join(f"<td{kind}>{text(cell)}</td>" for cell, kind in zip(cells, kinds, strict=True))
        + "</tr>"
        for state, cells in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="Trials">{table}</div>'


def _settings(study: Snapshot) -> str:
    objective = study.policy.reported
    rows = [("decision", name, parameter.in_words()) for name, parameter in study.space.decision.items()]
    rows += [("context", name, parameter.in_words()) for name, parameter in study.space.context.items()]
    body = "".join("<tr>" + "".join(f'<td class="text">{text(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    rules = "".join(f"<li>{text(constraint)}</li>" for constraint in study.space.constraints)
    parts = text(json.dumps(encode(study.policy), indent=2, ensure_ascii=False))
    return (
        f'<table><thead><tr><th class="text">kind</th><th class="text">name</th><th class="text">range</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
        + (f"<p>Constraints:</p><ul>{rules}</ul>" if rules else "")
        + f"<p>The study looks at: {text(objective_name(objective, study.outcome))}. Direction: {text(study.direction)}. "
        f"Seed: {study.seed}.</p><details><summary>The whole policy</summary><pre>{parts}</pre></details>"
    )


def _values(study: Snapshot, values: Mapping[str, object]) -> str:
    return and_list([f"{name} = {study.space.said(name, value)}" for name, value in values.items()])


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _age(trial: Trial, now: datetime) -> str:
    return ages(None if trial.asked_at is None else (now - trial.asked_at).total_seconds())
