"""The page and the report in a real Chromium: a study made, asked, revealed and told by hand; hostile text shown as text."""

from __future__ import annotations

import re
import urllib.error
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from page_helpers import accessible
from service_helpers import ADMIN, SHOP, chromium, request, warm_server

import windward as ww
from windward.present.report import write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# What the page said is kept: it shows it for some seconds, which on a busy machine may pass before somebody looks.
KEEP_SAYING = """
  window.saidSoFar = [];
  addEventListener("DOMContentLoaded", () => {
    const place = document.getElementById("say");
    const keep = () => { if (place.checkVisibility()) window.saidSoFar.push(place.textContent); };
    if (place) new MutationObserver(keep).observe(place, { childList: true });
  });
"""
EVIL = "<img src=x onerror=\"document.title='taken'\"><b>bold</b>"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    journal = f"sqlite:///{tmp_path_factory.mktemp('page')}/page.db"
    with warm_server(journal) as (told, _):
        yield told["url"], journal


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def desk(browser):
    """The tab of most tests, one after the other: a new one would be a process, and read all scripts again."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    watched(page)
    return page


def watched(page):
    page.set_default_timeout(60_000)
    page.add_init_script(KEEP_SAYING)
    page.wrong, page.asked = [], []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda each: page.asked.append(each.url))


@pytest.fixture
def tab(browser, desk, request, service):
    """A tab in which no script may fail, nothing may be refused by the page's policy, and nothing comes from elsewhere."""
    options = getattr(request, "param", None)
    if options is None:
        page = desk
        page.wrong.clear()
        page.asked.clear()
    else:
        page = browser.new_context(**options).new_page()
        watched(page)
    yield page
    wrong, asked = [*page.wrong], [*page.asked]
    page.context.set_offline(False)
    page.goto(f"{service[0]}/health")  # a page of the same place, to forget what it remembers
    page.evaluate("sessionStorage.clear(); localStorage.clear()")
    page.context.clear_cookies()
    if options is not None:
        page.context.close()
    # A refused call (409: no recommendation yet; 404: deleted a moment ago) is a line in the console too; it is no fault of
    # the page.
    faults = [line for line in wrong if not re.search(r"status of (409|422|401|404)", line)]
    assert faults == []
    assert all(re.match(r"(http://127\.0\.0\.1:|file:|data:|blob:)", url) for url in asked), asked


def enter(tab, url, place="#/"):
    tab.goto(f"{url}/#token={ADMIN}")
    tab.wait_for_selector("text=New study")
    tab.goto(f"{url}/{place}")


def until(tab, expression):
    """Wait until an expression is true; Playwright's own way would evaluate text, which the page's policy forbids."""
    for _ in range(600):
        if tab.evaluate(expression):
            return
        tab.wait_for_timeout(100)
    pytest.fail(f"never true: {expression}")


def said(tab, text):
    """Wait until the page has said something since this was last asked; it is shown for a while, and is visible then."""
    until(tab, f"window.saidSoFar.some((each) => each.includes({text!r}))")
    tab.evaluate("window.saidSoFar = []")


def advice(tab):
    return tab.inner_text("#recommendation >> text=The first guess is")


def test_a_study_by_hand(service, tab):
    url, journal = service
    enter(tab, url)
    tab.click("text=New study")
    tab.fill("#new-name", "by hand")
    tab.fill("#decision-0-name", "order")
    tab.fill("#decision-0-low", "0")
    tab.fill("#decision-0-high", "100")
    tab.fill("#context-0-name", "demand")
    tab.fill("#context-0-low", "0")
    tab.select_option("#new-method", "sbo_kde")
    tab.click("text=Make the study")
    tab.wait_for_selector("code")
    tokens = tab.locator("code").all_inner_texts()
    assert len(tokens) == 2 and all(token.startswith("ww_") for token in tokens)
    tab.click("text=Go to the study")
    tab.wait_for_selector("text=There is no recommendation yet.")
    advised = set()
    for id, (demand, value) in enumerate(((30, "12,5"), (60, "-40"), (20, "80"))):
        tab.click("#ask")
        card = tab.wait_for_selector(f"#trial-{id}")
        assert "asked less than a minute ago" in card.inner_text()
        # The context first: it is saved by itself, and the card stays.
        tab.fill(f"#trial-{id}-context-0", str(demand))
        tab.press(f"#trial-{id}-context-0", "Enter")
        until(tab, f"document.querySelector('#trial-{id}-context-0')?.disabled")
        tab.fill(f"#trial-{id}-value", value)
        tab.press(f"#trial-{id}-value", "Enter")
        tab.wait_for_selector(f"#trial-{id}", state="detached")
        tab.wait_for_selector("#recommendation >> text=The first guess is order")
        for _ in range(300):
            if advice(tab) not in advised:
                break
            tab.wait_for_timeout(100)
        advised.add(advice(tab))
    assert len(advised) == 3  # the recommendation changed with every value
    study = ww.Study.open("by hand", journal=journal)
    assert study.policy == ww.papers.sbo_kde()  # what was chosen
    assert [trial.value for trial in study.trials] == [12.5, -40.0, 80.0]
    assert [trial.context["demand"] for trial in study.trials] == [30, 60, 20]
    until(tab, "document.querySelectorAll('.plot.js-plotly-plot').length >= 5")
    assert "What protection costs" in tab.inner_text("#figure-price")


def test_what_another_decision_would_be_worth(service, tab):
    url, journal = service
    space = ww.Space({"order": ww.Real(0, 100), "route": ww.Categorical(["sea", "air"])}, {"demand": ww.Real(0, 100)})
    study = ww.Study(space, journal=journal, name="tried", status_quo={"order": 30, "route": "sea"})
    rows = [(7 * at % 100, ["sea", "air"][at % 2], 20 + 7 * (at % 5)) for at in range(14)]
    study.add_many([ww.Past({"order": o, "route": r}, 9 * min(o, d) - 5 * o, {"demand": d}) for o, r, d in rows])
    enter(tab, url, "#/study/tried")
    tab.wait_for_selector("#recommendation .do >> text=Set order to")
    tab.wait_for_selector("#recommendation >> text=no decision is better than the recommended one")
    tab.click("#what-if summary")
    best = study.recommend().decision
    assert tab.input_value("#what-if-1") == str(["sea", "air"].index(best["route"]))
    tab.focus("#what-if-0")
    tab.keyboard.press("End")  # the keyboard moves a slider
    tab.select_option("#what-if-1", label="air")
    tab.wait_for_selector("#what-if tbody tr >> nth=2")
    said = tab.inner_text("#what-if [role=status]")
    found = study.compare({"order": 100, "route": "air"}, best)
    assert "status quo" in said and "Order 100 and route air is better than order 30 and route sea with" in said
    assert f"{found.first.value:.4g}" in said and tab.inner_text("output[for=what-if-0]") == "100"
    assert tab.get_attribute("#what-if-0", "aria-valuetext") == "100"


def test_history_with_a_mistake_in_it(service, tab):
    url, journal = service
    study = ww.Study(ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 100)}), journal=journal, name="past")
    enter(tab, url, "#/study/past")
    tab.wait_for_selector("text=There is no recommendation yet.")
    accessible(tab)
    tab.click("#history > summary")
    tab.fill(
        "#history-text",
        "Datum;order;demand;profit\n2026-05-01;40,5;61;193,5\n2026-05-02;55;viel;12\n2026-05-03;130;30;9\n",
    )
    tab.click("text=Show what is understood")
    tab.wait_for_selector("#history-answer >> text=No column holds value yet.")
    tab.select_option("#column-3", label="the value")
    tab.wait_for_selector("#history-answer >> text=Line 3: context 'demand' must be a number")
    said = tab.inner_text("#history-answer")
    assert "2 rows read: 2 new, 0 already there" in said and "line 4: order = 130 is above 100" in said
    assert tab.input_value("#column-0") == "date" and tab.is_disabled("#history-add")
    accessible(tab)
    assert study.journal.read("past")[-1].kind == "created"  # nothing was added
    tab.check("#history-skip")
    tab.click("#history-add")
    tab.wait_for_selector("#trials tbody tr >> nth=1")
    assert [trial.value for trial in ww.Study.open("past", journal=journal).trials] == [193.5, 9.0]
    tab.fill("#history-text", "order,demand,value\n40.5,61,193.5\n")
    tab.click("text=Show what is understood")
    tab.wait_for_selector("#history-answer >> text=0 new, 1 already there")
    assert tab.is_disabled("#history-add")


def test_a_trial_is_found_corrected_and_noted(service, tab):
    url, journal = service
    space = ww.Space({"order": ww.Real(0, 100)}, {"demand": ww.Real(0, 100), "sky": ww.Categorical(["dry", "wet"])})
    study = ww.Study(space, journal=journal, name="noted")
    study.add_many([ww.Past({"order": n}, 3.0 * n, {"demand": 50 - n, "sky": "dry"}) for n in range(30)])
    study.lose(study.ask().id, "closed")
    enter(tab, url, "#/study/noted")
    tab.wait_for_selector("#all-trials >> text=25 of 31 trials")
    tab.click("#trials >> text=value")
    tab.wait_for_selector("#trials tbody tr:first-child th >> text='0'")  # the lowest value first
    tab.click("#trials tbody tr:first-child button")
    tab.wait_for_selector("#trial-detail >> text=Correct it")
    accessible(tab)
    tab.click("#trial-detail >> text=Save the correction")
    tab.wait_for_selector("#trial-detail .told >> text=Nothing was changed")
    tab.fill("#amend-value", "12,75")
    tab.select_option("#amend-context-1", label="wet")
    tab.click("#trial-detail >> text=Save the correction")
    tab.wait_for_selector("#trial-detail dd >> text=12.75")
    tab.fill("#note-text", "the till was wrong")
    tab.fill("#note-tags", "till; holiday")
    tab.click("#trial-detail >> text=Save the note")
    tab.wait_for_selector("#trial-detail dd >> text=till, holiday")
    tab.click("#trial-detail >> text=What was said of it")
    assert "Amended: value 12.75 and sky wet" in tab.inner_text("#trial-detail ol")
    tab.keyboard.press("Escape")
    tab.fill("#trials-text", "holi")
    tab.wait_for_selector("#all-trials >> text=1 trial")
    tab.fill("#trials-text", "")
    tab.select_option("#trials-state", "lost")
    tab.wait_for_selector("#trials >> text=lost: closed")
    tab.click("#trials tbody button")
    tab.fill("#amend-reason", "closed for stocktaking")
    tab.click("#trial-detail >> text=Save the correction")
    tab.wait_for_selector("#trial-detail >> text=lost: closed for stocktaking")
    again = ww.Study.open("noted", journal=journal)
    one = again.trials[0]
    assert (one.value, one.context["sky"], one.note, one.tags) == (
        12.75,
        "wet",
        "the till was wrong",
        ("till", "holiday"),
    )
    assert again.trials[30].lost == "closed for stocktaking"


def test_asking_with_a_forecast(service, tab, tmp_path):
    url, journal = service
    space = {"sky": {"part": "Categorical", "choices": ["dry", "wet"]}, **SHOP["context"]}
    request(url, "POST", "/api/studies", {**SHOP, "context": space, "name": "foreseen"})
    enter(tab, url, "#/study/foreseen")
    tab.click("#coming > summary")
    tab.select_option("#ask-0-kind", "chances")
    tab.fill("#ask-0-chance-0", "60")
    tab.fill("#ask-0-chance-1", "30")
    tab.select_option("#ask-1-kind", "quantiles")
    tab.fill("#ask-1-quantile-0", "0,2")
    tab.fill("#ask-1-quantile-2", "0,6")
    accessible(tab)
    tab.click("#ask")
    said(tab, "the chances sum to 90 %; they must sum to 100 %")
    tab.fill("#ask-0-chance-1", "40")
    tab.click("#ask")
    tab.wait_for_selector("#trial-0 >> text=Forecast when it was asked: sky: dry 60 %, wet 40 %")
    (tmp_path / "demand.csv").write_text("demand;weight\n0,1;1\n0,4;3\n")
    tab.set_input_files("#ask-file", tmp_path / "demand.csv")
    tab.click("#ask")
    tab.wait_for_selector("#trial-1 >> text=demand: 2 samples")
    study = ww.Study.open("foreseen", journal=journal)
    assert study.trials[0].forecast["demand"].quantiles == {0.1: 0.2, 0.9: 0.6}
    assert study.trials[1].forecast["demand"].weights == (0.25, 0.75)


def test_overdue_cards_fold_and_a_study_is_deleted(service, tab):
    url, journal = service
    now = datetime.now(UTC) - timedelta(days=40)
    study = ww.Study(ww.Space({"order": ww.Real(0, 1)}), journal=journal, name="late", clock=lambda: now)
    for day in range(6):
        now += timedelta(days=1)
        asked = study.ask()
        now += timedelta(hours=9)
        if day:
            study.tell(asked.id, float(day))
    now = datetime.now(UTC)
    for _ in range(4):
        study.ask()
    enter(tab, url, "#/study/late")
    tab.wait_for_selector("#overdue >> text=1 result to ask after")
    assert "Nine in ten results so far came within 9 hours." in tab.inner_text("#overdue")
    assert tab.locator(".card").count() == 5 and tab.locator(".card[open]").count() == 3  # the newest
    assert not tab.is_visible("#trial-0-value")
    tab.click("#overdue button")
    assert tab.is_visible("#trial-0-value") and tab.evaluate("document.activeElement.closest('.card').id") == "trial-0"
    accessible(tab)
    tab.click("#theme")
    accessible(tab)
    tab.click("#theme")
    tab.click("#fold")
    assert tab.locator(".card[open]").count() == 0
    tab.click("#delete > summary")
    tab.fill("#delete-name", "Late")
    assert tab.is_disabled("text=Delete this study for ever")
    tab.fill("#delete-name", "late")
    tab.click("text=Delete this study for ever")
    said(tab, "The study late is deleted.")
    assert "late" not in ww.studies(journal)


def test_a_result_of_another_system_appears_by_itself(service, tab):
    url, journal = service
    request(url, "POST", "/api/studies", {**SHOP, "name": "live"})
    enter(tab, url, "#/study/live")
    tab.wait_for_selector("text=Nothing is pending.")
    study = ww.Study.open("live", journal=journal)
    study.ask()
    tab.wait_for_selector("#trial-0")  # asked elsewhere, seen here without a click
    tab.fill("#trial-0-value", "1.2")
    study.ask()
    tab.wait_for_selector("#trial-1")
    assert tab.input_value("#trial-0-value") == "1.2"  # what somebody types is not taken away
    study.tell(0, 3.0, context={"demand": 0.5})
    tab.wait_for_selector("#trial-0", state="detached")
    tab.wait_for_selector("#recommendation >> text=The first guess is order")
    tab.click("#trial-1 >> text=It will not come")
    tab.click("#trial-1 >> text=Mark as lost")
    said(tab, "Say in a few words")
    tab.fill("#trial-1-reason", "the till was broken")
    tab.click("#trial-1 >> text=Mark as lost")
    tab.wait_for_selector("text=lost: the till was broken")
    assert ww.Study.open("live", journal=journal).trials[1].lost == "the till was broken"


def test_a_wrong_value_is_refused_with_its_reason(service, tab):
    url, _ = service
    request(url, "POST", "/api/studies", {**SHOP, "name": "wrong"})
    request(url, "POST", "/api/studies/wrong/ask", {})
    enter(tab, url, "#/study/wrong")
    tab.wait_for_selector("#trial-0")
    tab.click("#trial-0 >> text=Save")
    said(tab, "Enter a context or a value first.")
    tab.fill("#trial-0-value", "much")
    tab.click("#trial-0 >> text=Save")
    said(tab, "is not a number")
    tab.fill("#trial-0-value", "1e300")
    tab.click("#trial-0 >> text=Save")
    said(tab, "must be finite")
    assert request(url, "GET", "/api/studies/wrong")["counts"]["told"] == 0


def test_hostile_text_is_text(service, tab):
    url, _ = service
    name = EVIL.replace("/", "|")
    space = {
        "decision": {EVIL: {"part": "Categorical", "choices": [EVIL, "<i>plain</i>"]}},
        "context": {f"sky {EVIL}": {"part": "Categorical", "choices": [EVIL, "rain"]}},
    }
    request(url, "POST", "/api/studies", {**SHOP, **space, "name": name, "policy": {"method": "erbo"}})
    path = "/api/studies/" + quote(name)
    for id in range(4):
        request(url, "POST", f"{path}/ask", {})
        if id < 3:
            body = {"value": float(id), "context": {f"sky {EVIL}": EVIL if id % 2 else "rain"}}
            request(url, "POST", f"{path}/trials/{id}/tell", body)
    enter(tab, url)
    tab.wait_for_selector(f"text={name}")
    tab.goto(f"{url}/#/study/{quote(name)}")
    tab.wait_for_selector("#recommendation >> text=The first guess is <img")
    until(tab, "document.querySelectorAll('.plot.js-plotly-plot').length >= 4")
    assert tab.inner_text("h1") == name
    assert tab.locator("main img, main b, main i").count() == 0
    assert EVIL in tab.inner_text("#trial-3")
    assert "<img src=x" in tab.inner_text("#figure-contexts")
    assert tab.title() == f"{name} · Windward"


def test_the_keyboard_alone(service, tab):
    url, _ = service
    request(url, "POST", "/api/studies", {**SHOP, "name": "keys"})
    tab.goto(url)
    tab.wait_for_selector("#token")
    assert "null" not in tab.inner_text("main") and not tab.is_visible("#leave")  # there is no token to forget
    tab.keyboard.type(ADMIN)  # the field has the focus
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=New study")
    tab.goto(f"{url}/#/study/keys")
    tab.wait_for_selector("#ask")

    def reach(selector):
        for _ in range(40):
            if tab.evaluate(f"document.activeElement?.matches({selector!r})"):
                return
            tab.keyboard.press("Tab")
        pytest.fail(f"{selector} cannot be reached with Tab")

    reach("#ask")
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"  # it can be seen where one is
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#trial-0")
    until(tab, "document.activeElement?.id === 'trial-0-context-0'")  # on to the next thing to do
    tab.keyboard.type("0.4")
    reach("#trial-0-value")
    tab.keyboard.type("1.5")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#recommendation >> text=The first guess is order")
    for control in tab.locator("input, select, textarea").all():
        named = control.evaluate("node => node.labels.length > 0 || !!node.getAttribute('aria-label')")
        assert named, control.evaluate("node => node.outerHTML")


PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@pytest.mark.parametrize("tab", [{**PHONE, "color_scheme": "dark"}, {**PHONE, "color_scheme": "light"}], indirect=True)
def test_on_a_phone(service, tab):
    url, _ = service
    listed = {each["name"] for each in request(url, "GET", "/api/studies")["studies"]}
    if "phone" not in listed:
        request(url, "POST", "/api/studies", {**SHOP, "name": "phone"})
        for id in range(4):
            request(url, "POST", "/api/studies/phone/ask", {})
            if id < 3:
                body = {"value": 1.0 - id, "context": {"demand": id / 3}}
                request(url, "POST", f"/api/studies/phone/trials/{id}/tell", body)
    enter(tab, url, "#/study/phone")
    until(tab, "document.querySelectorAll('.plot.js-plotly-plot').length >= 5")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390  # nothing to scroll sideways
    small = tab.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((node) => node.offsetParent !== null"
        " && node.getBoundingClientRect().height < 43).map((node) => node.outerHTML)"
    )
    assert small == []  # a finger hits them

    def brightness():
        color = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", color)[:3])

    before = brightness()
    tab.click("#theme")
    assert abs(brightness() - before) > 300  # dark to light, or light to dark
    tab.click("#theme")
    assert brightness() == before


def test_a_reading_token_sees_and_cannot_write(service, tab):
    url, _ = service
    made = request(url, "POST", "/api/studies", {**SHOP, "name": "watched"})
    request(url, "POST", "/api/studies/watched/ask", {})
    tab.goto(f"{url}/#token={made['tokens']['read']}")
    tab.wait_for_selector("#trial-0")  # straight to its study
    assert tab.locator("#ask").count() == 0 and tab.locator("#trial-0 form").count() == 0
    assert "token" not in tab.url
    tab.click("#leave")
    tab.wait_for_selector("#token")
    tab.fill("#token", "wrong")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=This token is not valid")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        request(url, "POST", "/api/studies/watched/ask", {}, token=made["tokens"]["read"])


def test_the_report_draws_itself_offline(tab, tmp_path):
    space = ww.Space({"order": ww.Real(0, 1)}, {"sky": ww.Categorical(["sun", EVIL])})
    study = ww.Study(space, ww.papers.erbo(), name=EVIL)
    for id in range(11):
        study.tell(study.ask().id, id / 10, context={"sky": ["sun", EVIL][id % 2]})
    write_report(study, tmp_path / "report.html")
    tab.context.set_offline(True)
    tab.goto(f"file://{tmp_path}/report.html")
    until(tab, "document.querySelectorAll('.figure.js-plotly-plot').length >= 5")
    assert tab.inner_text("h1") == EVIL and tab.locator("main img").count() == 0
    assert tab.title() == f"{EVIL}: report"
    assert [url for url in tab.asked if not url.startswith(("file:", "data:", "blob:"))] == []
