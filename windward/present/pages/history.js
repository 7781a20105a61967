// History from a file or from pasted lines: what was understood of it is shown, and only then is it added.

import { api, attempt, call, counted, labelled, make, say, shown, wide } from "./base.js";
import { textOf } from "./known.js";

const LEFT_OUT = "", DATE = "date";

// What a column may hold, and how that is called.
function roles(study) {
  const found = [["value", "the value"], ["noise", "the noise of the value"], [DATE, "the date"], ["note", "a note"], ["tags", "tags"]];
  return [...Object.keys(study.decision).map((name) => [`decision.${name}`, `decision: ${name}`]),
    ...Object.keys(study.context).map((name) => [`context.${name}`, `context: ${name}`]), ...found];
}

// From what the service made of a heading to what a column may hold.
function roleOf(meaning) {
  if (meaning === null || meaning === "ignored") return LEFT_OUT;
  const [role, ...rest] = meaning.split(" ");
  return rest.length ? `${role}.${rest.join(" ")}` : meaning;
}

export function historyForm(study, name, changed) {
  const file = make("input", { type: "file", id: "history-file", accept: ".csv,.tsv,.txt,text/csv,text/plain" });
  const text = make("textarea", { id: "history-text", spellcheck: false,
    placeholder: [...Object.keys(study.decision), ...Object.keys(study.context), "value"].join(",") });
  const look = make("button", { type: "submit" }, "Show what is understood");
  const answer = make("div", { id: "history-answer" });
  let said = {};  // what a person said of the columns
  file.addEventListener("change", async () => {
    if (file.files.length) text.value = await textOf(file.files[0]);
    answer.replaceChildren();
  });
  text.addEventListener("input", () => answer.replaceChildren());

  const send = (more) => call("POST", `${api(name)}/history`, { csv: text.value, ...said, ...more });

  async function preview() {
    if (!text.value.trim()) throw new Error("Choose a file, or paste its lines, first.");
    let found = await send({ preview: true });
    if (found.unknown.length && Object.keys(said).length === 0) {
      guess(found);
      found = await send({ preview: true });
    }
    answer.replaceChildren(...understood(found));
  }

  // A column that is called a date is one; others that nobody knows are left out, where nothing else is missing.
  function guess({ unknown, missing }) {
    const dates = unknown.filter((heading) => /^(date|day|time|when|datum|tag|zeit)$/i.test(heading));
    said = { ignore: missing.length ? [] : unknown.filter((heading) => heading !== dates[0]), ...(dates.length ? { date: dates[0] } : {}) };
  }

  function understood(found) {
    const open = found.unknown.length > 0 || found.missing.length > 0;
    const selects = Object.entries(found.columns).map(([heading, meaning], at) => {
      const present = roleOf(meaning);
      return [heading, make("select", { id: `column-${at}`, onchange: () => attempt(look, async () => { read(selects); await preview(); document.getElementById(`column-${at}`)?.focus(); }) },
        make("option", { value: LEFT_OUT, selected: present === LEFT_OUT }, "is left out"),
        ...roles(study).map(([value, label]) => make("option", { value, selected: value === present }, label)))];
    });
    const broken = found.problems_in_all, skip = make("input", { type: "checkbox", id: "history-skip" });
    const add = make("button", { type: "button", id: "history-add", disabled: open || found.new === 0 || broken > 0 }, `Add ${counted(found.new, "row")}`);
    skip.addEventListener("change", () => { add.disabled = found.new === 0 || !skip.checked; });
    add.addEventListener("click", () => attempt(add, async () => {
      const done = await send({ leave_out: skip.checked });
      text.value = file.value = "";
      said = {};
      answer.replaceChildren(make("p", {}, `${counted(done.added.length, "row")} added, ${done.already_there} already there.`));
      say(`${counted(done.added.length, "row")} added.`);
      await changed();
    }));
    const counts = `${counted(found.read, "row")} read: ${found.new} new, ${found.already_there} already there`
      + `${found.without_value ? `; ${found.without_value} without a value, left out` : ""}. Nothing has been added yet.`;
    return [
      make("h3", {}, "The columns"),
      make("div", { className: "row" }, selects.map(([heading, select]) => labelled(`“${heading}”`, select))),
      open ? make("p", { className: "bad", role: "alert" }, missingWords(found)) : null,
      open ? null : make("p", { role: "status" }, counts),
      broken ? make("div", { className: "problems", role: "alert" },
        make("p", { className: "bad" }, `${counted(broken, "line")} cannot be read:`),
        make("ul", {}, found.problems.map((one) => make("li", {}, `Line ${one.line}: ${one.what}`))),
        broken > found.problems.length ? make("p", {}, `And ${broken - found.problems.length} more.`) : null) : null,
      broken && found.new ? make("p", { className: "check" }, skip, make("label", { htmlFor: "history-skip" }, `Leave ${broken === 1 ? "it" : "them"} out and add the others`)) : null,
      found.notes.length ? make("div", {}, make("p", {}, "To know:"), make("ul", {}, found.notes.map((note) => make("li", {}, note)),
        found.notes_in_all > found.notes.length ? make("li", {}, `And ${found.notes_in_all - found.notes.length} more like these.`) : null)) : null,
      found.rows.length ? firstRows(found) : null,
      make("div", { className: "actions" }, add),
    ].filter(Boolean);
  }

  // What the service calls a column and what is asked for must go together: every column is said.
  function read(selects) {
    said = { columns: {}, ignore: [] };
    for (const [heading, select] of selects) {
      if (select.value === LEFT_OUT) said.ignore.push(heading);
      else if (select.value === DATE) said.date = heading;
      else said.columns[heading] = select.value;
    }
  }

  function firstRows(found) {
    const names = [...Object.keys(study.decision), ...Object.keys(study.context)];
    const dated = found.rows.some((row) => row.date);
    const cells = (row) => [...(dated ? [row.date?.slice(0, 10) ?? ""] : []), ...names.map((each) => row.decision[each] ?? row.context[each] ?? ""), row.value];
    return make("div", {}, make("p", {}, found.read > found.rows.length ? `The first ${found.rows.length} rows, as they were read:` : "The rows, as they were read:"),
      wide("Rows as they were read", make("table", {},
        make("thead", {}, make("tr", {}, ["line", ...(dated ? ["date"] : []), ...names, "value", ""].map((head) => make(head ? "th" : "td", head ? { scope: "col" } : {}, head)))),
        make("tbody", {}, found.rows.map((row) => make("tr", {}, make("th", { scope: "row" }, String(row.line)),
          ...cells(row).map((cell) => make("td", {}, shown(cell))), make("td", {}, row.there ? "already there" : "")))))));
  }

  const form = make("form", {}, make("p", {}, "A CSV file with a heading, a row for each finished trial: a column for each decision and context, and one for the value. "
    + "Commas, semicolons or tabs stand between cells. Nothing is added before you have seen what was understood."),
  labelled("a file", file), labelled("or its lines, pasted here", text), make("div", { className: "actions" }, look));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(look, async () => { said = {}; await preview(); });
  });
  return make("details", { id: "history" }, make("summary", {}, "Add history"), form, answer);
}

function missingWords({ missing, unknown }) {
  const none = missing.length ? `No column holds ${missing.join(", ")} yet. ` : "";
  return `${none}Say above what each column is${unknown.length ? `; not known are ${unknown.map((each) => `“${each}”`).join(", ")}` : ""}.`;
}
