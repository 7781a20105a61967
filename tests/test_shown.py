"""Values in messages: whatever a caller gives, the error is Windward's own, and short."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import windward as ww
from windward import papers
from windward.basics.errors import WindwardError
from windward.basics.speech import LONGEST, shown
from windward.study.declare import declared

BIG = 10**5000  # Python refuses to write a whole number of more than 4300 digits
SPACE = ww.Space(decision={"order": ww.Real(0, 10), "boxes": ww.Integer(0, 9)}, context={"demand": ww.Real(0, 10)})
CONTEXTS = ww.Contexts(torch.zeros(2, 1).double(), torch.full((2,), 0.5).double())
VALUES = torch.zeros(2).double()


class Silent:
    def __repr__(self):
        raise RuntimeError("no words")


SHOWN = [
    (BIG, "<whole number of 5001 digits>"),
    (-(10**4999) - 7, "-<whole number of 5000 digits>"),
    ([1, BIG], "[1, <whole number of 5001 digits>]"),
    ({"a": (BIG,)}, "{'a': (<whole number of 5001 digits>,)}"),
    (Fraction(BIG, 3), "<Fraction>"),
    (Silent(), "<Silent>"),
    (frozenset({3}), "frozenset({3})"),
    ([], "[]"),
    (set(), "set()"),
    ((), "()"),
    ((1, "x"), "(1, 'x')"),
    (10**100, "1" + 100 * "0"),
    (True, "True"),
    (ww.Real(0, 1), "Real(low=0.0, high=1.0, log=False, outside='keep')"),
]


@pytest.mark.parametrize("row", range(len(SHOWN)))
def test_how_values_are_shown(row):
    value, text = SHOWN[row]
    assert shown(value) == text


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_short_is_shown_as_python_writes_it(value):
    text = shown(value)
    assert len(text) <= LONGEST + 3
    if len(repr(value)) <= LONGEST and repr(value).count("[") + repr(value).count("{") <= 4:
        assert text == repr(value)


def test_huge_collections_and_nests_are_cut_at_once():
    deep: list[object] = []
    for _ in range(10**5):
        deep = [deep]
    for value in ("x" * 10**7, list(range(10**6)), {str(n): n for n in range(10**5)}, deep, [["y" * 10**6] * 50] * 50):
        assert len(shown(value)) <= LONGEST + 3


def study():
    made = ww.Study(SPACE, papers.sbo_kde())
    made.ask()
    return made


ENTRANCES = {
    "Real.low": lambda: ww.Real(BIG, 1),
    "Real.high": lambda: ww.Real(0, BIG),
    "Real.log": lambda: ww.Real(0, 1, log=BIG),
    "Real.outside": lambda: ww.Real(0, 1, outside=BIG),
    "Integer.low": lambda: ww.Integer(-BIG, 1),
    "Integer.high": lambda: ww.Integer(0, BIG),
    "Categorical": lambda: ww.Categorical(BIG),
    "Categorical.choices": lambda: ww.Categorical([BIG]),
    "Categorical.choice": lambda: ww.Categorical([BIG, 1]),
    "Linear": lambda: ww.Linear(BIG),
    "Linear.coefficient": lambda: ww.Linear({"order": BIG}, upper=1),
    "Linear.upper": lambda: ww.Linear({"order": 1}, upper=BIG),
    "Linear.lower": lambda: ww.Linear({"order": 1}, lower=BIG),
    "Linear.name": lambda: ww.Space(SPACE.decision, {}, [ww.Linear({BIG: 1}, upper=1)]),
    "Space.decision": lambda: ww.Space(BIG),
    "Space.name": lambda: ww.Space({BIG: ww.Real(0, 1)}),
    "Space.parameter": lambda: ww.Space({"x": BIG}),
    "Space.constraints": lambda: ww.Space(SPACE.decision, {}, [BIG]),
    "Study.space": lambda: ww.Study(BIG),
    "Study.policy": lambda: ww.Study(SPACE, BIG),
    "Study.name": lambda: ww.Study(SPACE, name=BIG),
    "Study.seed": lambda: ww.Study(SPACE, seed=BIG),
    "Study.direction": lambda: ww.Study(SPACE, direction=BIG),
    "Study.journal": lambda: ww.Study(SPACE, journal=BIG),
    "Study.clock": lambda: ww.Study(SPACE, clock=BIG),
    "Study.open": lambda: ww.Study.open(BIG, journal=ww.MemoryJournal()),
    "ask.context": lambda: study().ask(context={"demand": BIG}),
    "ask.context name": lambda: study().ask(context={BIG: 1}),
    "ask.fix": lambda: study().ask(fix={"boxes": BIG}),
    "ask.key": lambda: study().ask(key=BIG),
    "ask_many": lambda: study().ask_many(BIG),
    "reveal.id": lambda: study().reveal(BIG, {"demand": 1}),
    "reveal.context": lambda: study().reveal(0, {"demand": BIG}),
    "tell.id": lambda: study().tell(BIG, 1.0),
    "tell.value": lambda: study().tell(0, BIG),
    "tell.noise": lambda: study().tell(0, 1.0, noise=BIG),
    "tell.context": lambda: study().tell(0, 1.0, context={"demand": BIG}),
    "tell.decision": lambda: study().tell(0, 1.0, decision={"order": BIG, "boxes": 1}),
    "tell_many": lambda: study().tell_many(BIG),
    "lose.id": lambda: study().lose(BIG, "gone"),
    "lose.reason": lambda: study().lose(0, BIG),
    "amend.id": lambda: study().amend(BIG, value=1.0),
    "amend.value": lambda: study().amend(0, value=BIG),
    "add": lambda: study().add({"order": BIG, "boxes": BIG}, 1.0, context={"demand": 1}),
    "add.value": lambda: study().add({"order": 1, "boxes": 1}, BIG, context={"demand": 1}),
    "recommend": lambda: study().recommend(context={"demand": BIG}),
    "replay": lambda: study().replay(BIG),
    "pending": lambda: study().pending(older_than=BIG),
    "run.rounds": lambda: study().run(lambda suggestion: 1.0, BIG),
    "run.evaluate": lambda: study().run(BIG, 1),
    "Known": lambda: ww.Known(BIG),
    "Known.values": lambda: ww.Known({"demand": BIG}),
    "Known.value": lambda: ww.Policy(context_model=ww.Known({"demand": [BIG]})).check(SPACE),
    "Known.weights": lambda: ww.Known({"demand": [1, 2]}, weights=[BIG, 1]),
    "Known.distributions": lambda: ww.Known(distributions={"demand": BIG}),
    "Distribution": lambda: ww.Distribution("norm", {"loc": BIG}),
    "KernelDensity.count": lambda: ww.KernelDensity(count=BIG),
    "Robust.radius": lambda: ww.Robust(ww.TotalVariation(), BIG),
    "Robust.divergence": lambda: ww.Robust(BIG, 0.1),
    "Robust.schedule": lambda: ww.Robust(ww.TotalVariation(), lambda t, k: BIG),
    "Robust.text schedule": lambda: ww.Robust(ww.TotalVariation(), lambda t, k: "x" * 10**6),
    "worst_case.radius": lambda: ww.TotalVariation().worst_case(VALUES, CONTEXTS, BIG),
    "worst_case.values": lambda: ww.TotalVariation().worst_case(BIG, CONTEXTS, 0.1),
    "worst_case.contexts": lambda: ww.TotalVariation().worst_case(VALUES, BIG, 0.1),
    "Tradeoff": lambda: ww.Tradeoff(ww.TotalVariation(), BIG),
    "MMD": lambda: ww.MMD(BIG),
    "MMD.matrix": lambda: ww.MMD(matrix=[[BIG]]),
    "Satisficing.target": lambda: ww.Satisficing(ww.TotalVariation(), BIG),
    "CVaR": lambda: ww.CVaR(BIG),
    "UpperConfidence": lambda: ww.UpperConfidence(BIG),
    "Censor.worst": lambda: ww.Censor(BIG, timedelta(days=1)),
    "Censor.patience": lambda: ww.Censor(0.0, BIG),
    "Sobol": lambda: ww.Sobol(BIG),
    "MultiStart": lambda: ww.MultiStart(screen=BIG),
    "Policy.objective": lambda: ww.Policy(context_model=ww.NoContext(), objective=BIG),
    "Policy.belief": lambda: ww.Policy(context_model=ww.NoContext(), belief=BIG),
    "GaussianProcess.fixed": lambda: ww.GaussianProcess(fixed=BIG),
    "Hyperparameters": lambda: ww.GaussianProcess(fixed=ww.Hyperparameters(BIG, (0.5,), 1.0, 0.1)),
    "papers.samples": lambda: papers.sbo_kde(samples=BIG),
    "papers.width": lambda: papers.sbo_kde(width=BIG),
    "from_json": lambda: ww.from_json(BIG),
    "from_json.part": lambda: ww.from_json('{"part": "Real", "low": ' + "1" * 5000 + "}"),
    "parts": lambda: ww.from_json("{}", parts=BIG),
    "declared": lambda: declared(BIG),
    "declared.name": lambda: declared({"name": BIG, "decision": {"x": {"part": "Real", "low": 0, "high": 1}}}),
    "declared.seed": lambda: declared(
        {"name": "a", "seed": BIG, "decision": {"x": {"part": "Real", "low": 0, "high": 1}}}
    ),
    "declared.low": lambda: declared({"name": "a", "decision": {"x": {"part": "Real", "low": BIG, "high": 1}}}),
    "declared.policy": lambda: declared(
        {"name": "a", "decision": {"x": {"part": "Real", "low": 0, "high": 1}}, "policy": BIG}
    ),
    "declared.method": lambda: declared(
        {"name": "a", "decision": {"x": {"part": "Real", "low": 0, "high": 1}}, "policy": {"method": BIG}}
    ),
}


@pytest.mark.parametrize("where", ENTRANCES)
def test_a_number_too_long_to_write_is_refused_in_windwards_words(where):
    with pytest.raises(WindwardError) as caught:
        ENTRANCES[where]()
    assert len(str(caught.value)) <= 3 * LONGEST + 200
    assert "Exceeds the limit" not in str(caught.value)
