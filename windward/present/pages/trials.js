// All trials: sorted and filtered by the service, and each of them in full, where it can be corrected and noted.

import { api, attempt, call, callOnce, counted, download, labelled, listed, make, mayWrite, moment, named, number, query, say, shown, stepped, valueName, wide } from "./base.js";
import { choiceOf, contextFields, forecastWords } from "./known.js";

const AT_ONCE = 25;
const PAUSE_MS = 300;
const STANDINGS = { "": "all", arrived: "arrived", pending: "pending", awaiting_context: "awaiting context", lost: "lost" };

function standing(study, trial) {
  if (trial.state === "lost") return `lost: ${trial.lost}`;
  if (trial.state === "pending") return "pending";
  return Object.keys(study.context).every((each) => each in trial.context) ? "arrived" : "awaiting context";
}

export function trialsTable(study, name, changed) {
  let latest = study, wanted = { sort: "id", descending: true }, many = AT_ONCE, turn = 0, typing = null;
  const state = make("select", { id: "trials-state" }, Object.entries(STANDINGS).map(([value, label]) => make("option", { value }, label)));
  const text = make("input", { id: "trials-text", type: "search", autocomplete: "off" });
  const place = make("div", {}), found = make("p", { className: "soft", role: "status" });
  const more = make("button", { type: "button", className: "quiet" }, "Show more");
  const csv = make("button", { type: "button", className: "quiet" }, "Download as CSV");
  const dialog = make("dialog", { id: "trial-detail", ariaLabelledBy: "trial-detail-title" });
  state.addEventListener("change", () => { many = AT_ONCE; void show(); });
  text.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => { many = AT_ONCE; void show(); }, PAUSE_MS); });
  more.addEventListener("click", () => { many += AT_ONCE; void show(); });
  csv.addEventListener("click", () => attempt(csv, () => download(`${api(name)}/trials?format=csv`, "trials.csv")));

  function heading(label, sort) {
    const own = wanted.sort === sort;
    const button = make("button", { type: "button", className: "sort", id: `sort-${sort}`, onclick: () => {
      wanted = { sort, descending: own ? !wanted.descending : false };
      void show().then(() => document.getElementById(`sort-${sort}`)?.focus());
    } }, label, make("span", { ariaHidden: "true" }, own ? (wanted.descending ? " ▼" : " ▲") : ""));
    const head = make("th", { scope: "col" }, button);
    head.setAttribute("aria-sort", own ? (wanted.descending ? "descending" : "ascending") : "none");
    return head;
  }

  async function show() {
    const mine = ++turn;
    const asked = query({ limit: many, standing: state.value, text: text.value.trim(), sort: wanted.sort, descending: wanted.descending });
    let answer;
    try { answer = await call("GET", `${api(name)}/trials?${asked}`); } catch (error) { say(error.message, true); return; }
    if (mine !== turn) return;
    const { trials, total, matching } = answer;
    const tagged = trials.some((trial) => trial.tags.length || trial.note);
    const heads = [heading("trial", "id"), ...Object.entries(latest.decision).map(([each, parameter]) => heading(named(each, parameter), `decision.${each}`)),
      ...Object.entries(latest.context).map(([each, parameter]) => heading(named(each, parameter), `context.${each}`)),
      heading(valueName(latest), "value"), make("th", { scope: "col" }, "state"), tagged ? make("th", { scope: "col" }, "tags and note") : null];
    const rows = trials.map((trial) => make("tr", {},
      make("th", { scope: "row" }, make("button", { type: "button", className: "link", onclick: () => open(trial.id), ariaLabel: `Trial ${trial.id} in full` }, String(trial.id))),
      ...Object.keys(latest.decision).map((each) => make("td", {}, stepped(trial.decision[each], latest.decision[each]))),
      ...Object.keys(latest.context).map((each) => make("td", {}, each in trial.context ? shown(trial.context[each]) : "")),
      make("td", {}, trial.value === null ? "" : shown(trial.value)), make("td", {}, standing(latest, trial)),
      tagged ? make("td", { className: "noted" }, ...trial.tags.map((tag) => make("span", { className: "tag" }, tag)), trial.note ?? "") : null));
    filters.hidden = total === 0;
    found.textContent = total === 0 ? "There are none yet." : matching === 0 ? "None of them is like that."
      : matching === trials.length ? counted(matching, "trial") : `${trials.length} of ${counted(matching, "trial")}`;
    more.hidden = matching <= trials.length;
    place.replaceChildren(...(rows.length === 0 ? [] : [wide("Trials", make("table", { id: "trials" },
      make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows)))]));
  }

  async function open(id) {
    try {
      const trial = await call("GET", `${api(name)}/trials/${id}`);
      dialog.replaceChildren(detail(latest, trial, dialog, async (words, button) => {
        await changed();
        await open(id);
        say(words);
        document.getElementById(button)?.focus();  // what was pressed has been made anew
      }));
      if (!dialog.open) dialog.showModal();
    } catch (error) { say(error.message, true); }
  }

  const filters = make("div", { className: "row", hidden: true }, labelled("state", state), labelled("look for, in notes, tags and choices", text));
  const node = make("div", { id: "all-trials" }, filters, found, place, make("div", { className: "actions" }, more, csv), dialog);
  node.update = (fresh) => { latest = fresh; csv.hidden = fresh.counts.trials === 0; return show(); };
  return node;
}

// -- one of them -----------------------------------------------------------------------------------------------------

function detail(study, trial, dialog, changed) {
  const facts = [["decision", listed(trial.decision)], ["asked for", trial.planned && listed(trial.planned)],
    ["context", listed(trial.context)], ["context, as planned", trial.context_planned && listed(trial.context_planned)],
    ["forecast", forecastWords(trial.forecast)], ["value", trial.value === null ? null : shown(trial.value)],
    ["value, set aside", trial.set_aside === null ? null : shown(trial.set_aside)], ["noise", trial.noise === null ? null : shown(trial.noise)],
    ["state", standing(study, trial)], ["asked", moment(trial.asked_at)], ["came back", moment(trial.told_at)],
    ["tags", trial.tags.join(", ")], ["note", trial.note]].filter(([, text]) => text);
  const close = make("button", { type: "button", className: "quiet", onclick: () => dialog.close() }, "Close");
  return make("div", {},
    make("div", { className: "bar" }, make("h2", { id: "trial-detail-title" }, `Trial ${trial.id}`), close),
    make("p", { className: "told", role: "status", ariaLive: "polite" }),
    make("dl", {}, facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    make("details", {}, make("summary", {}, "What was said of it, in order"),
      make("ol", {}, trial.story.map((one) => make("li", {}, `${moment(one.at)}: ${one.words}`)))),
    ...(mayWrite() ? [noteForm(study, trial, changed), trial.state === "lost" ? lateForm(study, trial, changed) : null, amendForm(study, trial, changed)] : []).filter(Boolean));
}

function noteForm(study, trial, changed) {
  const note = make("textarea", { id: "note-text", maxLength: 2000, className: "prose", value: trial.note ?? "" });
  const tags = make("input", { id: "note-tags", autocomplete: "off", value: trial.tags.join(", ") });
  const save = make("button", { type: "submit", id: "note-save" }, "Save the note");
  const form = make("form", { ariaLabel: "Note and tags" }, make("fieldset", {}, make("legend", {}, "Note and tags"),
    labelled("note", note), labelled("tags, with commas", tags), make("div", { className: "actions" }, save)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(save, async () => {
      const body = { note: note.value.trim(), tags: tags.value.split(/[,;]/).map((tag) => tag.trim()).filter(Boolean) };
      await call("POST", `${api(study.name)}/trials/${trial.id}/note`, body);
      await changed("The note is saved.", "note-save");
    });
  });
  return form;
}

// What was given up may come after all.
function lateForm(study, trial, changed) {
  const fields = contextFields("late", study, trial.context), value = make("input", { id: "late-value", inputMode: "decimal", autocomplete: "off" });
  const save = make("button", { type: "submit", id: "late-save" }, "Save the value");
  const form = make("form", { ariaLabel: "It came after all" }, make("fieldset", {}, make("legend", {}, "It came after all"),
    fields.nodes.length ? make("div", { className: "row" }, fields.nodes) : null, labelled(valueName(study), value), make("div", { className: "actions" }, save)));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(save, async () => {
      const context = fields.read();
      await callOnce("POST", `${api(study.name)}/trials/${trial.id}/tell`, { value: number(value.value, "value"), ...(Object.keys(context).length ? { context } : {}) });
      await changed("The value is saved.", "amend-save");
    });
  });
  return form;
}

// A field with what is there now; `read` returns what it was changed to, undefined where nothing was.
function correction(id, label, parameter, present) {
  if (parameter?.choices) {
    const field = choiceOf(id, parameter, present);
    return { node: labelled(label, field), read: () => {
      const chosen = field.value === "" ? undefined : parameter.choices[Number(field.value)];
      return chosen === present ? undefined : chosen;
    } };
  }
  const before = present === undefined ? "" : String(present);
  const field = make("input", { id, inputMode: "decimal", autocomplete: "off", value: before });
  return { node: labelled(label, field), read: () => (field.value.trim() === before ? undefined : number(field.value, label)) };
}

function amendForm(study, trial, changed) {
  const value = trial.value === null ? null : correction("amend-value", valueName(study), null, trial.value);
  const contexts = Object.entries(study.context).filter(([name]) => name in trial.context && !(study.dated ?? []).includes(name))
    .map(([name, parameter], at) => [name, correction(`amend-context-${at}`, named(name, parameter), parameter, trial.context[name])]);
  const decisions = trial.value === null ? [] : Object.entries(study.decision)
    .map(([name, parameter], at) => [name, correction(`amend-decision-${at}`, named(name, parameter), parameter, trial.decision[name])]);
  const reason = trial.lost === null ? null : make("input", { id: "amend-reason", maxLength: 2000, value: trial.lost });
  if (!value && contexts.length === 0 && !reason) return null;
  const save = make("button", { type: "submit", id: "amend-save" }, "Save the correction");
  const form = make("form", { ariaLabel: "Correct it" }, make("fieldset", {}, make("legend", {}, "Correct it"),
    make("p", { className: "soft" }, "The log keeps what was said before. The study goes on with what you save."),
    make("div", { className: "row" }, value?.node ?? null, contexts.map(([, each]) => each.node)),
    reason ? labelled("why it was lost", reason) : null,
    decisions.length ? make("details", {}, make("summary", {}, "Something else was done than was asked"),
      make("div", { className: "row" }, decisions.map(([, each]) => each.node))) : null,
    make("div", { className: "actions" }, save)));
  const readAll = (fields) => Object.fromEntries(fields.map(([name, each]) => [name, each.read()]).filter(([, found]) => found !== undefined));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(save, async () => {
      const body = {}, context = readAll(contexts), decision = readAll(decisions), right = value?.read();
      if (right !== undefined) body.value = right;
      if (Object.keys(context).length) body.context = context;
      if (Object.keys(decision).length) body.decision = { ...trial.decision, ...decision };
      if (reason && reason.value.trim() !== trial.lost) body.reason = reason.value.trim();
      if (Object.keys(body).length === 0) throw new Error("Nothing was changed: correct a field first.");
      await call("POST", `${api(study.name)}/trials/${trial.id}/amend`, body);
      await changed("The correction is saved.", "amend-save");
    });
  });
  return form;
}
