// What another decision would be worth, beside the recommended one and the status quo.

import { api, call, make, named, query, shown, wide } from "./base.js";

// A control for one decision; numbers have a slider, on a log scale where the range is one.
function decisionControl(id, name, parameter, changed) {
  const label = make("label", { htmlFor: id }, named(name, parameter));
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
    const step = whole ? 1 : parameter.step;
    const near = step ? parameter.low + step * Math.round((value - parameter.low) / step) : Number(value.toPrecision(4));
    return Math.min(parameter.high, Math.max(parameter.low, Number(near.toPrecision(12))));
  };
  const tell = () => {
    shownAs.textContent = shown(read());
    field.setAttribute("aria-valuetext", shown(read()));
  };
  field.addEventListener("input", () => { exact = null; tell(); changed(); });
  return { node: make("div", {}, make("div", { className: "head" }, label, shownAs), field), read,
    set: (value) => { exact = value; field.value = String(Math.round(1000 * (bend(value) - low) / (high - low))); tell(); } };
}

const PAUSE_MS = 400;

// What a decision would be worth, beside the recommended one and the status quo.
export function whatIf(study, name) {
  const answer = make("div", { role: "status", ariaLive: "polite" });
  let timer = null, asked = 0, touched = false;
  const changed = () => { touched = true; clearTimeout(timer); timer = setTimeout(compare, PAUSE_MS); };
  const controls = Object.entries(study.decision).map(([each, parameter], at) =>
    [each, decisionControl(`what-if-${at}`, each, parameter, changed)]);

  async function compare() {
    const turn = ++asked;
    const decision = Object.fromEntries(controls.map(([each, control]) => [each, control.read()]));
    answer.classList.add("stale");
    try {
      const beside = await call("GET", `${api(name)}/comparison?${query({ first: decision })}`);
      const quo = node.statusQuo ? await call("GET", `${api(name)}/comparison?${query({ second: decision })}`) : null;
      if (turn !== asked) return;
      const rows = [["this decision", beside.first], [node.early ? "first guess" : "recommended", beside.second], ...(quo ? [["status quo", quo.first]] : [])];
      answer.replaceChildren(
        wide("What if", make("table", {},
          make("thead", {}, make("tr", {}, make("td", {}), ...["value", "90 % from", "to"].map((head) => make("th", { scope: "col" }, head)))),
          make("tbody", {}, rows.map(([label, found]) => make("tr", {}, make("th", { scope: "row" }, label),
            ...[found.value, ...found.interval].map((value) => make("td", {}, shown(value)))))))),
        ...[...beside.sentences, ...(quo ? quo.sentences : [])].map((line) => make("p", {}, line)));
    } catch (error) {
      if (turn === asked) answer.replaceChildren(make("p", { className: "bad" }, error.message));
    } finally { if (turn === asked) answer.classList.remove("stale"); }
  }

  const node = make("details", { id: "what-if" }, make("summary", {}, "What if I did something else?"),
    make("div", { className: "row sliders" }, controls.map(([, control]) => control.node)), answer);
  node.begin = (decision, statusQuo, early) => {
    Object.assign(node, { statusQuo, early });
    if (touched) { if (node.open) void compare(); return; }
    for (const [each, control] of controls) control.set(decision[each]);
  };
  return node;
}
