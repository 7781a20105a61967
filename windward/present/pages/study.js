// One study: what to do now, what to ask next, what is on the way. The rest stands in modules of its own.

import { age, api, attempt, call, callOnce, counted, download, labelled, listed, make, mayWrite, number, say, shown, state, valueName } from "./base.js";
import { updateFigures } from "./figures.js";
import { historyForm } from "./history.js";
import { comingFields, contextFields, forecastWords } from "./known.js";
import { trialsTable } from "./trials.js";
import { whatIf } from "./whatif.js";

const LOOK_AGAIN_MS = 2000;
// With more cards than these only the newest are unfolded.
const UNFOLDED = 3;

// -- cards -----------------------------------------------------------------------------------------------------------

function card(study, trial, changed, open) {
  const id = `trial-${trial.id}`;
  const fields = contextFields(`${id}-context`, study, trial.context);
  const value = make("input", { id: `${id}-value`, inputMode: "decimal", autocomplete: "off",
    value: trial.value === null ? "" : shown(trial.value), disabled: trial.value !== null });
  const reason = make("input", { id: `${id}-reason`, maxLength: 2000 });
  const save = make("button", { type: "submit" }, "Save");
  const lose = make("button", { type: "button", className: "quiet" }, "Mark as lost");
  const form = make("form", { ariaLabel: `Trial ${trial.id}` },
    fields.nodes.length ? make("div", { className: "row" }, fields.nodes) : null,
    make("div", { className: "row" }, labelled(valueName(study), value)),
    make("div", { className: "actions" }, save),
    trial.state === "pending" ? make("details", {}, make("summary", {}, "It will not come"),
      labelled("why", reason), make("div", { className: "actions" }, lose)) : null);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(save, async () => {
      const context = fields.read();
      const path = `${api(study.name)}/trials/${trial.id}`;
      if (value.value.trim() !== "" && !value.disabled) {
        const body = { value: number(value.value, "value") };
        if (Object.keys(context).length) body.context = context;
        await callOnce("POST", `${path}/tell`, body);
      } else if (Object.keys(context).length) await call("POST", `${path}/reveal`, { context });
      else throw new Error("Enter a context or a value first.");
      say(`Trial ${trial.id} is saved.`);
      await changed();
      goOn();
    });
  });
  lose.addEventListener("click", () => attempt(lose, async () => {
    if (!reason.value.trim()) { reason.focus(); throw new Error("Say in a few words why it will not come."); }
    await call("POST", `${api(study.name)}/trials/${trial.id}/lose`, { reason: reason.value });
    say(`Trial ${trial.id} is given up.`);
    await changed();
    goOn();
  }));
  const when = make("span", { className: "age" });
  const why = state.reasons[`${study.name}/${trial.id}`], forecast = forecastWords(trial.forecast);
  const node = make("details", { className: "card", id, open },
    make("summary", {}, make("h3", {}, `Trial ${trial.id}`), make("span", { className: "short" }, listed(trial.decision, study.decision)), when),
    make("dl", {}, Object.entries(trial.decision).flatMap(([name, each]) => [make("dt", {}, name), make("dd", {}, listed({ "": each }, { "": study.decision[name] }))])),
    why ? make("p", { className: "soft" }, why) : null,
    forecast ? make("p", { className: "soft" }, `Forecast when it was asked: ${forecast}.`) : null,
    trial.tags.length || trial.note ? make("p", { className: "soft" }, [trial.tags.join(", "), trial.note].filter(Boolean).join(" · ")) : null,
    mayWrite() ? form : null);
  node.dataset.known = JSON.stringify([trial.context, trial.value, trial.note, trial.tags]);
  node.setAge = (fresh, late) => {
    when.textContent = fresh.age === null ? "has its value, waits for its context" : `asked ${age(fresh.age)} ago${late ? ", overdue" : ""}`;
    node.classList.toggle("late", late);
  };
  return node;
}

// A card that is done with takes the focus along: go on with the next one, or with asking.
function goOn() {
  if (document.activeElement !== document.body) return;
  (document.querySelector("#pending .card > summary") ?? document.getElementById("ask"))?.focus({ preventScroll: true });
}

// The cards of what is on the way. They stay where they are while somebody types in them; one is made anew only when
// its trial changed, and folded or not as it was.
function cardsOf(changed) {
  const cards = make("div", { className: "cards", id: "pending" });
  const none = make("p", { className: "soft" }, "Nothing is pending.");
  const fold = make("button", { type: "button", className: "quiet", id: "fold" });
  const folded = () => [...cards.children].every((node) => !node.open);
  const name = () => { fold.textContent = folded() ? "Unfold all" : "Fold all"; };
  fold.addEventListener("click", () => {
    const open = folded();
    for (const node of cards.children) node.open = open;
    name();
  });
  cards.addEventListener("toggle", name, true);
  const node = make("div", {}, make("div", { className: "actions" }, fold), none, cards);
  node.update = (study, opened) => {
    const rows = [...study.pending, ...study.awaiting_context];
    const late = new Set(study.overdue.trials.map((one) => one.id));
    const newest = new Set(rows.map((trial) => trial.id).sort((one, other) => other - one).slice(0, UNFOLDED));
    none.hidden = rows.length > 0;
    fold.hidden = rows.length < 2;
    const wanted = new Set(rows.map((trial) => `trial-${trial.id}`));
    for (const each of [...cards.children]) if (!wanted.has(each.id)) each.remove();
    for (const trial of rows) {
      let old = document.getElementById(`trial-${trial.id}`);
      if (!old || old.dataset.known !== JSON.stringify([trial.context, trial.value, trial.note, trial.tags])) {
        const fresh = card(study, trial, changed, old ? old.open : newest.has(trial.id) || trial.id === opened);
        if (old) old.replaceWith(fresh); else cards.append(fresh);
        old = fresh;
      }
      old.setAge(trial, late.has(trial.id));
    }
    name();
  };
  return node;
}

// -- overdue ---------------------------------------------------------------------------------------------------------

function updateOverdue(place, study) {
  const { trials, sentences } = study.overdue;
  place.hidden = trials.length === 0;
  const said = JSON.stringify(sentences);
  if (place.hidden || place.dataset.said === said) return;
  place.dataset.said = said;
  const [usual, ...each] = sentences;
  const open = (id) => () => {
    const node = document.getElementById(`trial-${id}`);
    if (!node) return;
    node.open = true;
    node.querySelector("summary").focus();
    node.scrollIntoView({ block: "center" });
  };
  place.replaceChildren(make("h2", {}, `${counted(trials.length, "result")} to ask after`), make("p", {}, usual),
    make("ul", {}, trials.map((one, at) => make("li", {}, `${each[at]} `,
      make("button", { type: "button", className: "link", onclick: open(one.id), ariaLabel: `Go to it: trial ${one.id}` }, "Go to it")))));
}

// -- deleting --------------------------------------------------------------------------------------------------------

function deleteForm(name) {
  const typed = make("input", { id: "delete-name", autocomplete: "off", spellcheck: false });
  const button = make("button", { type: "submit", className: "danger", disabled: true }, "Delete this study for ever");
  typed.addEventListener("input", () => { button.disabled = typed.value !== name; });
  const form = make("form", {}, make("p", {}, "Its log, its results and its tokens are gone then, for everybody. Nothing brings them back."),
    labelled(`To delete it, type its name: ${name}`, typed), make("div", { className: "actions" }, button));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(button, async () => {
      clearTimeout(state.timer);  // nobody asks after it any more
      await call("DELETE", `${api(name)}?typed=${encodeURIComponent(typed.value)}`);
      location.hash = "#/";
      say(`The study ${name} is deleted.`);
    });
  });
  return make("details", { id: "delete" }, make("summary", {}, "Delete this study"), form);
}

// -- all of it -------------------------------------------------------------------------------------------------------

export async function showStudy(main, name) {
  const view = state.view;
  let study = await call("GET", api(name));
  if (view !== state.view) return;
  const write = mayWrite();
  const summary = make("p", { className: "soft" });
  const advice = make("section", { className: "now", ariaLive: "polite", id: "recommendation" });
  const overdue = make("section", { className: "overdue", id: "overdue", hidden: true });
  const cards = cardsOf(refresh);
  const ask = make("button", { type: "button", id: "ask" }, "Ask for the next decision");
  const coming = comingFields(study);
  const plots = study.figures.map((kind) => make("section", { className: "figure", id: `figure-${kind}` }));
  const report = make("button", { type: "button", className: "quiet" }, "Download the report");
  const tried = whatIf(study, name);
  const table = trialsTable(study, name, refresh);
  let revision = -1, opened = null;

  async function refresh() {
    const fresh = await call("GET", api(name));
    if (view !== state.view) return;
    study = fresh;
    const { arrived, awaiting_context: waiting, pending, lost } = fresh.counts;
    summary.textContent = `${arrived} arrived, ${waiting ? `${waiting} awaiting context, ` : ""}${pending} pending, ${lost} lost. `
      + `${fresh.direction === "maximize" ? "Higher" : "Lower"} values are better.`;
    cards.update(fresh, opened);
    updateOverdue(overdue, fresh);
    if (fresh.revision !== revision) {
      revision = fresh.revision;
      const current = () => view === state.view && revision === fresh.revision;
      void updateAdvice(advice, name, fresh, tried, current);
      void table.update(fresh);
      void updateFigures(plots, `${api(name)}/figures`, current);
    }
  }

  ask.addEventListener("click", () => attempt(ask, async () => {
    ask.textContent = "Asking…";
    try {
      const found = await callOnce("POST", `${api(name)}/ask`, await coming.read());
      state.reasons[`${name}/${found.id}`] = found.sentences.join(" ");
      opened = found.id;
      coming.clear();
      say(`Trial ${found.id} is asked.`);
      await refresh();
      document.querySelector(`#trial-${found.id} :is(input, select):not(:disabled)`)?.focus();
    } finally { ask.textContent = "Ask for the next decision"; }
  }));
  report.addEventListener("click", () => attempt(report, () => download(`${api(name)}/report`, "report.html")));

  document.title = `${name} · Windward`;
  main.replaceChildren(...[
    state.me.admin ? make("p", {}, make("a", { href: "#/" }, "All studies")) : null,
    make("h1", {}, name), summary, advice, overdue,
    make("div", { className: "actions" }, write ? ask : null, report),
    write ? coming.node : null,
    tried,
    make("h2", {}, "On the way"), cards,
    make("h2", {}, "Figures"), make("div", { className: "figures" }, plots),
    make("h2", {}, "All trials"), table,
    write ? historyForm(study, name, refresh) : null,
    state.me.admin ? deleteForm(name) : null].filter(Boolean));

  async function look() {
    if (view !== state.view) return;
    try { await refresh(); } catch (error) {
      if (error.status === 404 || error.status === 401) { gone(main, error); return; }
      say(error.message, true);
    }
    if (view === state.view) state.timer = setTimeout(look, document.hidden ? 5 * LOOK_AGAIN_MS : LOOK_AGAIN_MS);
  }
  await look();
}

// The study was deleted while somebody looked at it, or the token was revoked.
function gone(main, error) {
  state.view += 1;
  main.replaceChildren(make("h1", {}, "This study is gone"), make("p", { className: "bad", role: "alert" }, error.message),
    make("p", {}, make("a", { href: "#/" }, "Back to the studies")));
  main.focus();
}

async function updateAdvice(place, name, study, tried, current) {
  const { stage } = study;
  place.classList.add("stale");
  let lines;
  let found = true;
  try {
    const advised = await call("GET", `${api(name)}/recommendation`);
    if (!current()) return;
    lines = advised.sentences;
    tried.begin(advised.decision, study.status_quo, stage.first_guess);
    tried.hidden = false;
    if (!stage.first_guess) lines = [...lines, stage.sentences.slice(1).join(" ")];
  } catch (error) {
    if (!current()) return;
    if (error.status !== 409) { say(error.message, true); return; }
    found = false;
    tried.hidden = true;
    lines = ["There is no recommendation yet.", ...stage.sentences, "A first guess takes one value with its context."];
  }
  // Of a first guess little is worth reading: what else is known of it waits to be asked for.
  const guess = lines.findIndex((line) => line.startsWith("The first guess is"));
  const [told, rest] = guess < 0 ? [lines, []] : [lines.slice(0, guess + 1), lines.slice(guess + 1)];
  const said = (each) => each.filter(Boolean).map((line) => make("p", {}, line));
  place.replaceChildren(make("h2", {}, "What to do now"), make("p", { className: "do" }, told[0]), ...said(told.slice(1)),
    ...(rest.length ? [make("details", {}, make("summary", {}, "What little is known of this guess"), said(rest))] : []));
  place.classList.remove("stale");
  place.classList.toggle("none", !found);
  place.classList.toggle("early", found && stage.first_guess);
  if (found && !stage.first_guess) await updateSettled(place, name, current);
}

// Whether the search can stop takes longer than the advice, so it is asked for afterwards.
async function updateSettled(place, name, current) {
  try {
    const { sentences } = await call("GET", `${api(name)}/settled`);
    if (current()) place.append(make("p", {}, sentences.join(" ")));
  } catch (error) {
    if (error.status !== 409 && error.status !== 422) say(error.message, true);
  }
}
