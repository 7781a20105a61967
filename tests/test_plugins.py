"""Parts of installed packages: found by their entry points, checked, and refused by a service that does not allow them."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from dataclasses import dataclass, make_dataclass

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from service_helpers import ADMIN, SHOP, bearer

import windward as ww
from windward.basics import plugins
from windward.basics.errors import ArgumentError, MissingDependency
from windward.cli.main import main
from windward.service import run as service_run
from windward.service.app import create_app
from windward.service.settings import Settings
from windward.study.declare import declared

HALFWAY = """
from dataclasses import dataclass
from typing import ClassVar
import windward as ww
from windward.objectives.protocol import Bound

@dataclass(frozen=True)
class Halfway:
    share: float = 0.5
    monotone: ClassVar[bool] = True

    def bind(self, situation):
        worst, mean = ww.Minimum().bind(situation), ww.Expected().bind(situation)
        return Bound(lambda values: (1 - self.share) * worst(values) + self.share * mean(values))

    def oriented(self, sign):
        return self
"""
DIAL = """
from dataclasses import dataclass
from windward.space.parameters import Real

def passed(name):
    return property(lambda dial: getattr(Real(0.0, dial.around), name))

@dataclass(frozen=True)
class Dial:
    around: float

    width = continuous = step = choices = low = high = log = None

for name in dir(Real):
    if not name.startswith("_") and name not in ("outside", "kept_outside"):
        setattr(Dial, name, passed(name))
Dial.kept_outside = lambda dial: dial
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution with a module and entry points on the path, and take it back afterwards."""
    modules = []

    def installed(text, *, module="half_parts", package="half-parts", offers="Halfway = half_parts:Halfway"):
        home = tmp_path / package
        facts = home / f"{package.replace('-', '_')}-1.2.dist-info"
        facts.mkdir(parents=True)
        (home / f"{module}.py").write_text(text)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (facts / "entry_points.txt").write_text(f"[windward.parts]\n{offers}\n")
        monkeypatch.syspath_prepend(str(home))
        modules.append(module)

    yield installed
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
def halfway(install):
    install(HALFWAY)


def policy_of(part):
    return {**SHOP["policy"], "objective": {"part": part}}


@pytest.mark.usefixtures("halfway")
def test_a_tag_that_nobody_else_knows_is_looked_up():
    part = ww.from_json('{"part": "Halfway", "share": 0.25}')
    assert type(part) is sys.modules["half_parts"].Halfway and part.share == 0.25
    assert ww.from_json(ww.to_json(ww.Policy(context_model=ww.Empirical(), objective=part))).objective == part


@pytest.mark.usefixtures("halfway")
def test_nothing_is_looked_up_for_names_that_are_known(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    assert ww.from_json('{"part": "Expected"}') == ww.Expected()
    mine = make_dataclass("Halfway", [], frozen=True)
    assert type(ww.from_json('{"part": "Halfway"}', parts=[mine])) is mine
    assert "half_parts" not in sys.modules


def test_the_installed_packages_are_looked_through_once_for_a_study(halfway, monkeypatch):
    study = ww.Study(
        ww.Space({"a": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}), ww.from_json(json.dumps(policy_of("Halfway")))
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    study.use(study.policy)
    assert study.ask().id == 0


def test_windwards_own_parts_win(install):
    install("raise RuntimeError('imported')", offers="Expected = half_parts:Expected\nRobust = half_parts:Robust")
    assert type(ww.from_json('{"part": "Expected"}')) is ww.Expected
    with pytest.raises(ArgumentError, match=r"\[decision.order\]: unknown part 'Robust'"):
        declared({**SHOP, "decision": {"order": {"part": "Robust"}}})
    assert "half_parts" not in sys.modules


@pytest.mark.parametrize("tag", ["os:system", "half_parts:Halfway", "half_parts.Halfway", "Halfway ", "halfway", ""])
def test_a_document_names_no_module(halfway, tag):
    with pytest.raises(ArgumentError, match="unknown part"):
        ww.from_json(json.dumps({"part": tag}))
    assert "half_parts" not in sys.modules


WRONG = {
    "a package that is missing": ("import no_such_package", MissingDependency, "No module named 'no_such_package'"),
    "no such class": ("", ArgumentError, "AttributeError: .*'Halfway'"),
    "an error while it is imported": ("1 / 0", ArgumentError, "ZeroDivisionError: division by zero"),
    "text that is no Python": ("def", ArgumentError, "SyntaxError"),
    "a function": ("def Halfway(): ...", ArgumentError, "is not a frozen dataclass"),
    "a plain class": ("class Halfway: ...", ArgumentError, "is not a frozen dataclass"),
    "a dataclass that changes": (HALFWAY.replace("frozen=True", ""), ArgumentError, "is not a frozen dataclass"),
    "an object": (HALFWAY + "\nHalfway = Halfway()", ArgumentError, "is not a frozen dataclass"),
    "another name": (HALFWAY + "\nHalfway.__name__ = 'Middle'", ArgumentError, "is a class named 'Middle'; the entry"),
}


@pytest.mark.parametrize(("text", "error", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_refused_with_its_package(install, text, error, says):
    install(text)
    with pytest.raises(error, match=f"part 'Halfway' of the package half-parts 1.2, 'half_parts:Halfway', .*{says}"):
        ww.from_json('{"part": "Halfway"}')


@pytest.mark.parametrize("place", ["half_parts", "not a place", "no_such_module:Halfway"])
def test_an_entry_point_that_leads_nowhere_is_refused_with_its_package(install, place):
    install(HALFWAY, offers=f"Halfway = {place}")
    with pytest.raises((ArgumentError, MissingDependency), match=r"part 'Halfway' of the package half-parts 1.2"):
        ww.from_json('{"part": "Halfway"}')


def test_two_packages_with_one_name_are_refused(install):
    install(HALFWAY)
    install(HALFWAY, module="other_parts", package="other-parts", offers="Halfway = other_parts:Halfway")
    both = "the package half-parts 1.2 and the package other-parts 1.2; uninstall all but one"
    with pytest.raises(ArgumentError, match=f"part 'Halfway' is offered by {both}"):
        ww.from_json('{"part": "Halfway"}')
    assert "half_parts" not in sys.modules and "other_parts" not in sys.modules


@pytest.mark.usefixtures("halfway")
def test_a_study_keeps_a_part_of_a_package(journal):
    made = declared({**SHOP, "policy": policy_of("Halfway")}).create(journal)
    made.run(lambda s: ww.Result(-(s.decision["order"] ** 2), context={"demand": 0.1 * s.id}), 5, progress=False)
    opened = ww.Study.open("shop", journal=journal)
    assert opened.recommend() == made.recommend() and opened.replay(4).decision == made.trials[4].decision
    with pytest.raises(
        ww.JournalError, match=r"part 'Halfway' comes from the package half-parts 1.2, and plugins are off"
    ):
        ww.Study.open("shop", journal=journal, plugins=False)
    with pytest.raises(ArgumentError, match="plugins must be True or False"):
        ww.Study.open("shop", journal=journal, plugins="yes")


def test_a_part_that_is_gone_is_unknown(install, journal):
    install(HALFWAY)
    declared({**SHOP, "policy": policy_of("Halfway")}).create(journal)
    sys.path.remove(next(each for each in sys.path if each.endswith("half-parts")))
    importlib.invalidate_caches()
    with pytest.raises(ww.JournalError, match="unknown part 'Halfway'"):
        ww.Study.open("shop", journal=journal)


def test_a_parameter_of_a_package(install, tmp_path):
    """Also for the commands that read the space alone."""
    install(DIAL, offers="Dial = half_parts:Dial")
    (tmp_path / "shop.json").write_text(
        json.dumps({"name": "shop", "decision": {"turn": {"part": "Dial", "around": 8}}, "seed": 1})
    )
    url = f"sqlite:///{tmp_path}/shop.db"
    for words in (["new", str(tmp_path / "shop.json")], ["ask", "shop"], ["tell", "shop", "0", "2.5", "-d", "turn=4"]):
        answer = CliRunner().invoke(main, [*words, "--journal", url])
        assert answer.exit_code == 0, answer.output
    assert ww.Study.open("shop", journal=url).trials[0].decision == {"turn": 4.0}


def test_a_part_of_another_kind_is_no_parameter(halfway):
    with pytest.raises(ww.SpaceError, match="Halfway"):
        declared({**SHOP, "decision": {"order": {"part": "Halfway"}}})


@dataclass(frozen=True)
class Served:
    client: TestClient
    url: str


@pytest.fixture
def served(halfway, tmp_path, request):
    url = f"sqlite:///{tmp_path}/studies.db"
    with TestClient(create_app(Settings(url, ADMIN, plugins=request.param)), raise_server_exceptions=False) as client:
        client.headers.update(bearer(ADMIN))
        yield Served(client, url)


@pytest.mark.parametrize("served", [False], indirect=True)
def test_a_service_refuses_them_and_says_how_to_allow_them(served):
    refused = served.client.post("/api/studies", json={**SHOP, "policy": policy_of("Halfway")})
    says = f"part 'Halfway' comes from the package half-parts 1.2, and {plugins.OFF}."
    assert refused.status_code == 422 and refused.json()["error"] == f"[policy]: {says}"
    dial = {**SHOP, "decision": {"order": {"part": "Halfway"}}}
    assert served.client.post("/api/studies", json=dial).json()["error"] == f"[decision.order]: {says}"
    declared({**SHOP, "policy": policy_of("Halfway")}).create(served.url)  # from Python, in the same journal
    for method, path in (("GET", ""), ("POST", "/ask"), ("GET", "/recommendation"), ("POST", "/tokens")):
        body = None if method == "GET" else {"scopes": ["read"]} if path == "/tokens" else {}
        refused = served.client.request(method, f"/api/studies/shop{path}", json=body)
        assert refused.json()["error"] == f"study 'shop': event 1 (created): {says}"
        assert refused.status_code == 503
    (line,) = served.client.get("/api/studies").json()["studies"]
    assert says in line["error"]
    unknown = served.client.post("/api/studies", json={**SHOP, "policy": policy_of("Nobodys")}).json()["error"]
    assert "unknown part 'Nobodys'" in unknown and "plugins" not in unknown


@pytest.mark.parametrize("served", [True], indirect=True)
def test_a_service_with_plugins_asks_them(served):
    made = served.client.post("/api/studies", json={**SHOP, "policy": policy_of("Halfway")})
    assert made.status_code == 201, made.text
    asked = served.client.post("/api/studies/shop/ask", json={})
    assert asked.status_code == 201 and 0 <= asked.json()["decision"]["order"] <= 1
    assert ww.Study.open("shop", journal=served.url).policy.objective.share == 0.5


@pytest.mark.parametrize("words", [[], ["--plugins"]])
def test_the_command_says_whether_the_service_allows_them(words, monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(service_run, "serve", lambda settings, *_: given.append(settings))
    answer = CliRunner().invoke(main, ["serve", "--journal", f"sqlite:///{tmp_path}/x.db", *words])
    assert answer.exit_code == 0, answer.output
    assert given[0].plugins is bool(words)
    with pytest.raises(ArgumentError, match="plugins must be True or False"):
        Settings("sqlite:///x.db", ADMIN, plugins="yes")
