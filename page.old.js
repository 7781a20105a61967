// The page of the service. Everything a user wrote goes into the page as text, never as markup.

const main = document.getElementById("main");
const state = { token: sessionStorage.getItem("token"), me: null, timer: null, view: 0, reasons: {} };
const LOOK_AGAIN_MS = 2000;

// -- small helpers ---------------------------------------------------------------------------------------------------

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

let quiet = null;
function say(text, bad = false) {
  const place = document.getElementById("say");
  place.textContent = text;
  place.className = bad ? "bad-news" : "";
  clearTimeout(quiet);
  quiet = setTimeout(() => { place.textContent = ""; }, bad ? 8000 : 3500);
}

function shown(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}

function age(seconds) {
  for (const [size, unit] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= size) {
      const count = Math.floor(seconds / size);
      return `${count} ${unit}${count === 1 ? "" : "s"}`;
    }
  }
  return "less than a minute";
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function call(method, path, body, key) {
  const headers = { Authorization: `Bearer ${state.token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const data = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (answer.status === 401) { forget(); throw new Refused(401, "This token is not valid (any more)."); }
  if (!answer.ok) throw new Refused(answer.status, data.error);
  return data;
}

// A call that may have been cut off is made again with the same key: it counts once.
async function callOnce(method, path, body) {
  const key = newKey();
  try { return await call(method, path, body, key); } catch (error) {
    if (error instanceof Refused) throw error;
    return call(method, path, body, key);
  }
}

async function attempt(button, work) {
  button.disabled = true;
  try { await work(); } catch (error) { say(error.message, true); } finally { button.disabled = false; }
}

const api = (name) => `/api/studies/${encodeURIComponent(name)}`;

// -- theme -----------------------------------------------------------------------------------------------------------

const themeButton = document.getElementById("theme");
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to the ${theme === "dark" ? "light" : "dark"} theme`);
  for (const node of document.querySelectorAll(".plot")) if (node.figure) draw(node, node.figure);
}
themeButton.addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", next);
  setTheme(next);
});
setTheme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));

// -- tokens ----------------------------------------------------------------------------------------------------------

const leaveButton = document.getElementById("leave");
leaveButton.addEventListener("click", () => { forget(); route(); });

function forget() {
  sessionStorage.removeItem("token");
  state.token = state.me = null;
  leaveButton.hidden = true;
}

function showEntry(message) {
  leaveButton.hidden = true;
  const field = make("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const form = make("form", {}, make("label", { htmlFor: "token" }, "Token"), field,
    make("div", { className: "actions" }, make("button", { type: "submit" }, "Enter")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    state.token = field.value.trim();
    sessionStorage.setItem("token", state.token);
    route();
  });
  main.replaceChildren(make("h1", {}, "Windward"),
    make("p", { className: "soft" }, "Enter the admin token, or a token of one study. It is kept until this tab is closed."),
    ...(message ? [make("p", { className: "bad", role: "alert" }, message)] : []), form);
  field.focus();
}

// -- routes ----------------------------------------------------------------------------------------------------------

async function route() {
  clearTimeout(state.timer);
  state.view += 1;
  const place = location.hash.slice(1);
  if (place.startsWith("token=")) {
    state.token = decodeURIComponent(place.slice("token=".length));
    sessionStorage.setItem("token", state.token);
    history.replaceState(null, "", "#/");
    return route();
  }
  if (!state.token) return showEntry();
  try {
    state.me ??= await call("GET", "/api/me");
  } catch (error) { return showEntry(error.message); }
  leaveButton.hidden = false;
  const [, kind, name] = place.split("/");
  try {
    if (kind === "study" && name) await showStudy(decodeURIComponent(name));
    else if (kind === "new" && state.me.admin) await showForm();
    else if (state.me.admin) await showList();
    else location.hash = `#/study/${encodeURIComponent(state.me.study)}`;
  } catch (error) {
    main.replaceChildren(make("h1", {}, "This did not work"), make("p", { className: "bad" }, error.message),
      make("p", {}, make("a", { href: "#/" }, "Back to the studies")));
  }
}
addEventListener("hashchange", async () => {
  await route();
  if (!main.contains(document.activeElement)) main.focus();
});

// -- the list of studies ---------------------------------------------------------------------------------------------

async function showList() {
  const { studies } = await call("GET", "/api/studies");
  const rows = studies.map((study) => make("tr", {},
    make("td", {}, study.reachable
      ? make("a", { href: `#/study/${encodeURIComponent(study.name)}` }, study.name) : `${study.name} (name cannot be a URL)`),
    ...(study.error ? [make("td", { colSpan: 4, className: "bad" }, study.error)]
      : [study.arrived, study.awaiting_context, study.pending, study.lost].map((count) => make("td", {}, String(count))))));
  document.title = "Studies · Windward";
  main.replaceChildren(
    make("h1", {}, "Studies"),
    make("div", { className: "actions" }, make("a", { className: "button", href: "#/new" }, "New study")),
    studies.length === 0 ? make("p", { className: "soft" }, "There are none yet.")
      : make("div", { className: "wide" }, make("table", {}, make("thead", {}, make("tr", {},
        ...["study", "arrived", "awaiting context", "pending", "lost"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows))));
}

// -- a new study -----------------------------------------------------------------------------------------------------

function parameterRow(role, index) {
  const id = `${role}-${index}`;
  const kind = make("select", { id: `${id}-kind` },
    ...["Real", "Integer", "Categorical"].map((each) => make("option", { value: each },
      { Real: "a number", Integer: "a whole number", Categorical: "one of a list" }[each])));
  const field = (name, label, extra = {}) => [make("label", { htmlFor: `${id}-${name}` }, label),
    make("input", { id: `${id}-${name}`, ...extra })];
  const low = make("div", {}, field("low", "lowest", { inputMode: "decimal" }));
  const high = make("div", {}, field("high", "highest", { inputMode: "decimal" }));
  const choices = make("div", { hidden: true }, field("choices", "choices, with commas"));
  kind.addEventListener("change", () => {
    const listed = kind.value === "Categorical";
    low.hidden = high.hidden = listed;
    choices.hidden = !listed;
  });
  const row = make("div", { className: "row" }, make("div", {}, field("name", "name")),
    make("div", {}, make("label", { htmlFor: `${id}-kind` }, "it is"), kind), low, high, choices);
  row.read = () => {
    const name = row.querySelector(`#${id}-name`).value.trim();
    if (!name) return null;
    const text = (part) => row.querySelector(`#${id}-${part}`).value.trim();
    if (kind.value === "Categorical") {
      return [name, { part: "Categorical", choices: text("choices").split(",").map((each) => each.trim()).filter(Boolean) }];
    }
    const part = { part: kind.value };
    for (const end of ["low", "high"]) if (text(end) !== "") part[end] = Number(text(end));
    return [name, part];
  };
  return row;
}

function parameterField(role, title, hint) {
  const rows = make("div", {}, parameterRow(role, 0));
  const more = make("button", { type: "button", className: "quiet", onclick: () => {
    rows.append(parameterRow(role, rows.children.length));
    rows.lastChild.querySelector("input").focus();
  } }, "Another one");
  const field = make("fieldset", {}, make("legend", {}, title), make("p", { className: "soft" }, hint), rows, more);
  field.read = () => Object.fromEntries([...rows.children].map((row) => row.read()).filter(Boolean));
  return field;
}

async function showForm() {
  const { methods } = await call("GET", "/api/methods");
  const name = make("input", { id: "new-name", required: true, maxLength: 200 });
  const direction = make("select", { id: "new-direction" }, make("option", { value: "maximize" }, "the highest value"),
    make("option", { value: "minimize" }, "the lowest value"));
  const decisions = parameterField("decision", "What you choose", "Each needs a lowest and a highest value, or a list.");
  const contexts = parameterField("context", "What the world shows afterwards", "Leave it empty where there is nothing.");
  const method = make("select", { id: "new-method" }, make("option", { value: "" }, "the default"),
    ...methods.map((each) => make("option", { value: each.name }, each.name)));
  const own = "Windward's own policy. It learns how often each context comes and chooses the best on average.";
  const about = make("p", { className: "soft" }, own);
  method.addEventListener("change", () => {
    about.textContent = methods.find((each) => each.name === method.value)?.about ?? own;
  });
  const parts = make("textarea", { id: "new-parts", spellcheck: false,
    placeholder: '{"part": "Policy", "context_model": {"part": "KernelDensity"}}' });
  const button = make("button", { type: "submit" }, "Make the study");
  const form = make("form", {},
    make("div", { className: "row" }, make("div", {}, make("label", { htmlFor: "new-name" }, "name"), name),
      make("div", {}, make("label", { htmlFor: "new-direction" }, "better is"), direction)),
    decisions, contexts,
    make("fieldset", {}, make("legend", {}, "How"), make("label", { htmlFor: "new-method" }, "method"), method, about,
      make("details", {}, make("summary", {}, "A policy by its parts, as JSON"),
        make("label", { htmlFor: "new-parts" }, "policy"), parts)),
    make("div", { className: "actions" }, button, make("a", { className: "button quiet", href: "#/" }, "Cancel")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(button, async () => {
      const body = { name: name.value, direction: direction.value, decision: decisions.read(), context: contexts.read() };
      if (parts.value.trim()) body.policy = JSON.parse(parts.value);
      else if (method.value) body.policy = { method: method.value };
      const made = await call("POST", "/api/studies", body);
      showTokens(made);
    });
  });
  document.title = "New study · Windward";
  main.replaceChildren(make("h1", {}, "New study"), form);
  name.focus();
}

function showTokens(made) {
  main.replaceChildren(make("h1", {}, make("span", {}, made.name), " is made"),
    make("p", {}, "Its tokens, for the people and systems that take part. They are shown this once."),
    make("dl", {}, make("dt", {}, "to look"), make("dd", {}, make("code", {}, made.tokens.read)),
      make("dt", {}, "to take part"), make("dd", {}, make("code", {}, made.tokens.write))),
    make("div", { className: "actions" },
      make("a", { className: "button", href: `#/study/${encodeURIComponent(made.name)}` }, "Go to the study")));
  main.focus();
}

// -- one study -------------------------------------------------------------------------------------------------------

function contextInput(id, parameter, known) {
  if (parameter.part === "Categorical") {
    const options = parameter.choices.map((choice, at) => make("option", { value: String(at), selected: choice === known }, String(choice)));
    return make("select", { id, disabled: known !== undefined }, make("option", { value: "", selected: known === undefined }, ""), ...options);
  }
  return make("input", { id, inputMode: "decimal", autocomplete: "off", value: known === undefined ? "" : shown(known),
    disabled: known !== undefined });
}

function contextFields(prefix, study, known = {}) {
  const entries = Object.entries(study.context).map(([name, parameter], at) => {
    const input = contextInput(`${prefix}-${at}`, parameter, known[name]);
    return { name, parameter, input, node: make("div", {}, make("label", { htmlFor: `${prefix}-${at}` }, name), input) };
  });
  return {
    nodes: entries.map((entry) => entry.node),
    read: () => {
      const found = {};
      for (const { name, parameter, input } of entries) {
        if (input.disabled || input.value.trim() === "") continue;
        found[name] = parameter.part === "Categorical" ? parameter.choices[Number(input.value)] : number(input.value, name);
      }
      return found;
    },
  };
}

function number(text, name) {
  const value = Number(text.trim().replace(",", "."));
  if (!Number.isFinite(value)) throw new Error(`${name}: "${text}" is not a number.`);
  return value;
}

function card(study, trial, changed) {
  const id = `trial-${trial.id}`;
  const fields = contextFields(`${id}-context`, study, trial.context);
  const value = make("input", { id: `${id}-value`, inputMode: "decimal", autocomplete: "off",
    value: trial.value === null ? "" : shown(trial.value), disabled: trial.value !== null });
  const reason = make("input", { id: `${id}-reason`, maxLength: 2000 });
  const save = make("button", { type: "submit" }, "Save");
  const lose = make("button", { type: "button", className: "quiet" }, "Mark as lost");
  const write = state.me.admin || state.me.scopes.includes("write");
  const form = make("form", { ariaLabel: `Trial ${trial.id}` },
    fields.nodes.length ? make("div", { className: "row" }, fields.nodes) : null,
    make("div", { className: "row" }, make("div", {}, make("label", { htmlFor: `${id}-value` }, "value"), value)),
    make("div", { className: "actions" }, save),
    trial.state === "pending" ? make("details", {}, make("summary", {}, "It will not come"),
      make("label", { htmlFor: `${id}-reason` }, "why"), reason, make("div", { className: "actions" }, lose)) : null);
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
    });
  });
  lose.addEventListener("click", () => attempt(lose, async () => {
    if (!reason.value.trim()) { reason.focus(); throw new Error("Say in a few words why it will not come."); }
    await call("POST", `${api(study.name)}/trials/${trial.id}/lose`, { reason: reason.value });
    say(`Trial ${trial.id} is given up.`);
    await changed();
  }));
  const when = make("p", { className: "age" });
  const node = make("article", { className: "card", id }, make("h3", {}, `Trial ${trial.id}`), when,
    make("dl", {}, Object.entries(trial.decision).flatMap(([name, each]) => [make("dt", {}, name), make("dd", {}, shown(each))])),
    state.reasons[`${study.name}/${trial.id}`] ? make("p", { className: "soft" }, state.reasons[`${study.name}/${trial.id}`]) : null,
    write ? form : null);
  node.dataset.known = JSON.stringify([trial.context, trial.value]);
  node.setAge = (fresh) => {
    when.textContent = fresh.age === null ? "has its value, waits for its context" : `asked ${age(fresh.age)} ago`;
  };
  node.setAge(trial);
  return node;
}

// -- what if ---------------------------------------------------------------------------------------------------------

// A control for one decision; numbers have a slider, on a log scale where the range is one.
function decisionControl(id, name, parameter, changed) {
  const label = make("label", { htmlFor: id }, name);
  if (parameter.choices) {
    const field = make("select", { id, onchange: changed },
      ...parameter.choices.map((choice, at) => make("option", { value: String(at) }, String(choice))));
    return { node: make("div", {}, label, field), read: () => parameter.choices[Number(field.value)],
      set: (value) => { field.value = String(parameter.choices.indexOf(value)); } };
  }
  const bend = parameter.log ? Math.log : (value) => value;
  const back = parameter.log ? Math.exp : (value) => value;
  const [low, high] = [bend(parameter.low), bend(parameter.high)];
  const whole = parameter.part === "Integer";
  const field = make("input", { id, type: "range", min: "0", max: "1000", step: "1" });
  const shownAs = make("output", { htmlFor: id });
  let exact = null;  // the value that was set: a slider knows a thousand places
  const read = () => {
    if (exact !== null) return exact;
    const value = back(low + (high - low) * Number(field.value) / 1000);
    return Math.min(parameter.high, Math.max(parameter.low, whole ? Math.round(value) : Number(value.toPrecision(4))));
  };
  const tell = () => {
    shownAs.textContent = shown(read());
    field.setAttribute("aria-valuetext", shown(read()));
  };
  field.addEventListener("input", () => { exact = null; tell(); changed(); });
  return { node: make("div", {}, label, field, shownAs), read,
    set: (value) => { exact = value; field.value = String(Math.round(1000 * (bend(value) - low) / (high - low))); tell(); } };
}

const PAUSE_MS = 400;

// What a decision would be worth, beside the recommended one and the status quo.
function whatIf(study, name) {
  const answer = make("div", { role: "status", ariaLive: "polite" });
  let timer = null, asked = 0, touched = false;
  const changed = () => { touched = true; clearTimeout(timer); timer = setTimeout(compare, PAUSE_MS); };
  const controls = Object.entries(study.decision).map(([each, parameter], at) =>
    [each, decisionControl(`what-if-${at}`, each, parameter, changed)]);
  const query = (parts) => Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(JSON.stringify(value))}`).join("&");

  async function compare() {
    const turn = ++asked;
    const decision = Object.fromEntries(controls.map(([each, control]) => [each, control.read()]));
    answer.classList.add("stale");
    try {
      const beside = await call("GET", `${api(name)}/comparison?${query({ first: decision })}`);
      const quo = node.statusQuo ? await call("GET", `${api(name)}/comparison?${query({ second: decision })}`) : null;
      if (turn !== asked) return;
      const rows = [["this decision", beside.first], ["recommended", beside.second], ...(quo ? [["status quo", quo.first]] : [])];
      answer.replaceChildren(
        make("div", { className: "wide" }, make("table", {},
          make("thead", {}, make("tr", {}, ...["", "value", "90 % from", "to"].map((head) => make("th", { scope: "col" }, head)))),
          make("tbody", {}, rows.map(([label, found]) => make("tr", {}, make("th", { scope: "row" }, label),
            ...[found.value, ...found.interval].map((value) => make("td", {}, shown(value)))))))),
        ...[...beside.sentences, ...(quo ? quo.sentences : [])].map((line) => make("p", {}, line)));
    } catch (error) {
      if (turn === asked) answer.replaceChildren(make("p", { className: "bad" }, error.message));
    } finally { if (turn === asked) answer.classList.remove("stale"); }
  }

  const node = make("details", { id: "what-if" }, make("summary", {}, "What if I did something else?"),
    make("div", { className: "row sliders" }, controls.map(([, control]) => control.node)), answer);
  node.begin = (decision, statusQuo) => {
    node.statusQuo = statusQuo;
    if (touched) { if (node.open) void compare(); return; }
    for (const [each, control] of controls) control.set(decision[each]);
  };
  return node;
}

async function showStudy(name) {
  const view = state.view;
  let study = await call("GET", api(name));
  if (view !== state.view) return;
  const write = state.me.admin || state.me.scopes.includes("write");
  const summary = make("p", { className: "soft" });
  const advice = make("section", { className: "now", ariaLive: "polite", id: "recommendation" });
  const cards = make("div", { className: "cards", id: "pending" });
  const none = make("p", { className: "soft" }, "Nothing is pending.");
  const table = make("div", { className: "wide" });
  const ask = make("button", { type: "button", id: "ask" }, "Ask for the next decision");
  const known = contextFields("ask", study);
  const plots = study.figures.map((kind) => make("section", { className: "figure", id: `figure-${kind}` }));
  const report = make("button", { type: "button", className: "quiet" }, "Download the report");
  const tried = whatIf(study, name);
  let revision = -1;

  async function refresh() {
    const fresh = await call("GET", api(name));
    if (view !== state.view) return;
    study = fresh;
    const { arrived, awaiting_context: waiting, pending, lost } = fresh.counts;
    summary.textContent = `${fresh.direction}: ${arrived} arrived, ${waiting ? `${waiting} awaiting context, ` : ""}${pending} pending, ${lost} lost`;
    updateCards(fresh);
    if (fresh.revision !== revision) {
      revision = fresh.revision;
      void updateAdvice(advice, name, fresh, tried, () => view === state.view && revision === fresh.revision);
      void updateTable(table, fresh, name);
      void updateFigures(plots, name, () => view === state.view && revision === fresh.revision);
    }
  }

  // Cards stay where they are while somebody types in them; one is made anew only when its trial changed.
  function updateCards(fresh) {
    const rows = [...fresh.pending, ...fresh.awaiting_context];
    none.hidden = rows.length > 0;
    const wanted = new Set(rows.map((trial) => `trial-${trial.id}`));
    for (const node of [...cards.children]) if (!wanted.has(node.id)) node.remove();
    for (const trial of rows) {
      const old = document.getElementById(`trial-${trial.id}`);
      if (old && old.dataset.known === JSON.stringify([trial.context, trial.value])) old.setAge(trial);
      else if (old) old.replaceWith(card(fresh, trial, refresh));
      else cards.append(card(fresh, trial, refresh));
    }
  }

  ask.addEventListener("click", () => attempt(ask, async () => {
    ask.textContent = "Asking…";
    try {
      const context = known.read();
      const found = await callOnce("POST", `${api(name)}/ask`, Object.keys(context).length ? { context } : {});
      state.reasons[`${name}/${found.id}`] = found.sentences.join(" ");
      say(`Trial ${found.id} is asked.`);
      await refresh();
      document.querySelector(`#trial-${found.id} input:not(:disabled), #trial-${found.id} select:not(:disabled)`)?.focus();
    } finally { ask.textContent = "Ask for the next decision"; }
  }));
  report.addEventListener("click", () => attempt(report, async () => {
    const answer = await fetch(`${api(name)}/report`, { headers: { Authorization: `Bearer ${state.token}` } });
    if (!answer.ok) throw new Error((await answer.json()).error);
    const url = URL.createObjectURL(await answer.blob());
    make("a", { href: url, download: "report.html" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }));

  document.title = `${name} · Windward`;
  main.replaceChildren(
    state.me.admin ? make("p", {}, make("a", { href: "#/" }, "All studies")) : "",
    make("h1", {}, name), summary, advice,
    make("div", { className: "actions" }, write ? ask : null, report),
    write && known.nodes.length ? make("details", {}, make("summary", {}, "Something is known of the coming context"),
      make("div", { className: "row" }, known.nodes)) : "",
    tried,
    make("h2", {}, "On the way"), none, cards,
    make("h2", {}, "Figures"), make("div", { className: "figures" }, plots),
    make("h2", {}, "Latest trials"), table);

  async function look() {
    if (view !== state.view) return;
    try { await refresh(); } catch (error) { say(error.message, true); }
    if (view === state.view) state.timer = setTimeout(look, document.hidden ? 5 * LOOK_AGAIN_MS : LOOK_AGAIN_MS);
  }
  await look();
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
    tried.begin(advised.decision, study.status_quo);
    tried.hidden = false;
    if (!stage.first_guess) lines = [...lines, stage.sentences.slice(1).join(" ")];
  } catch (error) {
    if (error.status !== 409) { say(error.message, true); return; }
    found = false;
    tried.hidden = true;
    lines = ["There is no recommendation yet.", ...stage.sentences, "A first guess takes one value with its context."];
  }
  place.replaceChildren(make("h2", {}, "What to do now"), make("p", { className: "do" }, lines[0]),
    ...lines.slice(1).map((line) => make("p", {}, line)));
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

async function updateTable(place, study, name) {
  const after = Math.max(-1, study.counts.trials - 21);
  const { trials } = await call("GET", `${api(name)}/trials?after=${after}&limit=20`);
  const decisions = Object.keys(study.decision);
  const contexts = Object.keys(study.context);
  const heads = ["trial", ...decisions, ...contexts, "value", "state"];
  const rows = trials.reverse().map((trial) => make("tr", {}, make("td", {}, String(trial.id)),
    ...decisions.map((each) => make("td", {}, shown(trial.decision[each]))),
    ...contexts.map((each) => make("td", {}, each in trial.context ? shown(trial.context[each]) : "")),
    make("td", {}, trial.value === null ? "" : shown(trial.value)),
    make("td", {}, trial.state === "lost" ? `lost: ${trial.lost}` : trial.state === "pending" ? "pending"
      : contexts.every((each) => each in trial.context) ? "arrived" : "awaiting context")));
  place.replaceChildren(rows.length === 0 ? make("p", { className: "soft" }, "There are none yet.")
    : make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows)));
}

// -- figures ---------------------------------------------------------------------------------------------------------

let plotly = null;
function loadPlotly() {
  plotly ??= new Promise((done, failed) => {
    document.head.append(make("script", { src: "plotly.js", onload: done, onerror: () => failed(new Error("plotly.js did not load.")) }));
  });
  return plotly;
}

function unescaped(text) {
  return new DOMParser().parseFromString(text, "text/html").documentElement.textContent;
}

async function updateFigures(places, name, current) {
  for (const place of places) if (!place.firstChild) place.append(make("p", { className: "soft" }, "Drawing…"));
  await loadPlotly();
  for (const place of places) {
    if (!current()) return;
    const kind = place.id.replace("figure-", "");
    try {
      const figure = await call("GET", `${api(name)}/figures/${kind}`);
      if (!current()) return;
      let node = place.querySelector(".plot");
      if (!node) {
        node = make("div", { className: "plot", role: "img" });
        place.replaceChildren(make("h3", {}), make("p", { className: "soft" }), node);
      }
      const title = unescaped(figure.layout.title.text);
      place.querySelector("h3").textContent = title;
      place.querySelector("p").textContent = unescaped(figure.layout.meta.caption);
      node.setAttribute("aria-label", title);
      node.figure = figure;
      await draw(node, figure);
    } catch (error) {
      if (error.status === 409 || error.status === 422) place.replaceChildren();
      else place.replaceChildren(make("p", { className: "bad" }, error.message));
    }
  }
}

function draw(node, figure) {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const layout = structuredClone(figure.layout);
  Object.assign(layout, { title: undefined, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", height: Math.max(380, figure.layout.height - 40) });
  layout.font = { ...layout.font, color: color("--ink") };
  layout.margin = { ...layout.margin, t: 30, l: 55, r: 12 };
  for (const [name, axis] of Object.entries(layout)) {
    if (/^[xy]axis\d*$/.test(name)) Object.assign(axis, { gridcolor: color("--grid"), zerolinecolor: color("--line"), linecolor: color("--line") });
  }
  return globalThis.Plotly.react(node, figure.data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
}

route();
