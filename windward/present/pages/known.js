// Fields for contexts: what was seen of one, and, before it is seen, what is known or forecast of it.

import { make, named, number, shown } from "./base.js";

const CATEGORY = (parameter) => Boolean(parameter.choices);
const USUAL = [10, 50, 90];  // the quantiles that are offered first, in percent
const PER_CENT = 0.5;  // by how much typed chances may miss 100 %: they are rounded

// What is known from the time is typed by nobody.
function typedContexts(study) {
  return Object.entries(study.context).filter(([name]) => !(study.dated ?? []).includes(name));
}

export function choiceOf(id, parameter, present, extra = {}) {
  return make("select", { id, ...extra }, make("option", { value: "", selected: present === undefined }, ""),
    ...parameter.choices.map((choice, at) => make("option", { value: String(at), selected: choice === present }, String(choice))));
}

function inputFor(id, parameter, known) {
  if (CATEGORY(parameter)) return choiceOf(id, parameter, known, { disabled: known !== undefined });
  return make("input", { id, inputMode: "decimal", autocomplete: "off", value: known === undefined ? "" : shown(known),
    disabled: known !== undefined });
}

// Fields for what was seen; what is known already is shown and cannot be typed over.
export function contextFields(prefix, study, known = {}) {
  const entries = typedContexts(study).map(([name, parameter], at) => {
    const input = inputFor(`${prefix}-${at}`, parameter, known[name]);
    return { name, parameter, input, node: make("div", {}, make("label", { htmlFor: input.id }, named(name, parameter)), input) };
  });
  return {
    nodes: entries.map((entry) => entry.node),
    read: () => {
      const found = {};
      for (const { name, parameter, input } of entries) {
        if (input.disabled || input.value.trim() === "") continue;
        found[name] = CATEGORY(parameter) ? parameter.choices[Number(input.value)] : number(input.value, name);
      }
      return found;
    },
  };
}

// -- before it is seen: nothing, a value, or a forecast ----------------------------------------------------------------

// Each way is a set of fields and what they say; `read` returns undefined where nothing was typed.
function ways(id, name, parameter) {
  const exact = { label: "its value", make: () => {
    const field = inputFor(`${id}-value`, parameter, undefined);
    return { node: make("div", {}, make("label", { htmlFor: field.id }, `${named(name, parameter)}, its value`), field),
      read: () => (field.value.trim() === "" ? undefined
        : CATEGORY(parameter) ? parameter.choices[Number(field.value)] : number(field.value, name)) };
  } };
  if (CATEGORY(parameter)) return { value: exact, chances: { label: "the chance of each", make: () => chances(id, name, parameter) } };
  if (parameter.part === "Cyclic") return { value: exact };  // contexts that come round cannot be forecast yet
  return { value: exact, quantiles: { label: "a range, by quantiles", make: () => quantiles(id, name, parameter) },
    samples: { label: "samples", make: () => samples(id, name, parameter) } };
}

function chances(id, name, parameter) {
  const fields = parameter.choices.map((choice, at) => [choice, make("input", { id: `${id}-chance-${at}`, inputMode: "decimal", autocomplete: "off" })]);
  return {
    node: make("div", { className: "row" }, fields.map(([choice, field]) =>
      make("div", {}, make("label", { htmlFor: field.id }, `${choice}, in %`), field))),
    read: () => {
      if (fields.every(([, field]) => field.value.trim() === "")) return undefined;
      const found = fields.map(([choice, field]) => [choice, field.value.trim() === "" ? 0 : number(field.value, String(choice))]);
      const total = found.reduce((sum, [, share]) => sum + share, 0);
      if (Math.abs(total - 100) > PER_CENT) throw new Error(`${name}: the chances sum to ${shown(total)} %; they must sum to 100 %.`);
      return { chances: found.map(([choice, share]) => [choice, share / total]) };
    },
  };
}

function quantiles(id, name, parameter) {
  const rows = make("div", {});
  const add = (share) => {
    const at = rows.children.length;
    const level = make("input", { id: `${id}-level-${at}`, inputMode: "decimal", value: share === undefined ? "" : String(share) });
    const value = make("input", { id: `${id}-quantile-${at}`, inputMode: "decimal", autocomplete: "off" });
    const row = make("div", { className: "row" }, make("div", {}, make("label", { htmlFor: level.id }, "with a chance of, in %"), level),
      make("div", {}, make("label", { htmlFor: value.id }, `${named(name, parameter)} is at most`), value));
    row.read = () => (value.value.trim() === "" ? null : [number(level.value, "chance") / 100, number(value.value, name)]);
    rows.append(row);
  };
  USUAL.forEach(add);
  return {
    node: make("div", {}, rows, make("button", { type: "button", className: "quiet", onclick: () => { add(); rows.lastChild.querySelector("input").focus(); } }, "Another one")),
    read: () => {
      const found = [...rows.children].map((row) => row.read()).filter(Boolean);
      return found.length ? { quantiles: found } : undefined;
    },
  };
}

function samples(id, name, parameter) {
  const field = make("textarea", { id: `${id}-samples`, spellcheck: false });
  return {
    node: make("div", {}, make("label", { htmlFor: field.id }, `${named(name, parameter)}: values it may have, with blanks or on lines between them`), field),
    read: () => {
      const texts = field.value.split(/[\s;]+/).map((text) => text.replace(/,$/, "")).filter(Boolean);
      return texts.length ? { samples: texts.map((text) => number(text, name)) } : undefined;
    },
  };
}

// Fields for what is known of the coming context; `read` returns the body of an ask.
export function comingFields(study) {
  const entries = typedContexts(study).map(([name, parameter], at) => {
    const id = `ask-${at}`, offered = ways(id, name, parameter), place = make("div", {});
    const kind = make("select", { id: `${id}-kind` }, make("option", { value: "" }, "nothing"),
      ...Object.entries(offered).map(([value, way]) => make("option", { value }, way.label)));
    const entry = { name, fields: null, clear: () => { kind.value = ""; place.replaceChildren(); entry.fields = null; } };
    kind.addEventListener("change", () => {
      entry.fields = kind.value ? offered[kind.value].make() : null;
      place.replaceChildren(...(entry.fields ? [entry.fields.node] : []));
    });
    entry.node = make("fieldset", {}, make("legend", {}, named(name, parameter)),
      make("label", { htmlFor: kind.id }, "what is known of it"), kind, place);
    return entry;
  });
  const file = make("input", { type: "file", id: "ask-file", accept: ".csv,text/csv,text/plain" });
  const node = entries.length === 0 ? null : make("details", { id: "coming" }, make("summary", {}, "Something is known of what comes"),
    make("div", { className: "beside" }, entries.map((entry) => entry.node)),
    make("p", {}, make("label", { htmlFor: "ask-file" },
      "or a forecast from a CSV file: a column for each context, rows of samples; a column “weight”, “quantile” or “chance” beside them"), file));
  return {
    node,
    read: async () => {
      const body = {}, context = {};
      for (const { name, fields } of entries) {
        const found = fields?.read();
        if (found !== undefined) context[name] = found;
      }
      if (Object.keys(context).length) body.context = context;
      if (file.files?.length) body.forecast_csv = await textOf(file.files[0]);
      return body;
    },
    // What was said was about one decision.
    clear: () => { entries.forEach((entry) => entry.clear()); file.value = ""; },
  };
}

// The text of a file; spreadsheets still write the alphabet of an older Windows.
export async function textOf(file) {
  const bytes = await file.arrayBuffer();
  try { return new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch { return new TextDecoder("windows-1252").decode(bytes); }
}

// What a forecast says, in a line.
export function forecastWords(said) {
  return (said ?? []).map((one) => {
    const about = one.names.join(" and ");
    if (one.quantiles) return `${about}: ${one.quantiles.map(([level, value]) => `${shown(100 * level)} % at most ${shown(value)}`).join(", ")}`;
    if (one.chances) return `${about}: ${one.chances.map(([choice, share]) => `${choice} ${shown(100 * share)} %`).join(", ")}`;
    if (one.samples) return `${about}: ${one.samples.length} samples`;
    return `${about}: ${one.point === undefined ? "a distribution" : shown(one.point)}`;
  }).join("; ");
}
