// A new study: what is chosen, what the world shows, and how; then its two tokens, shown once.

import { attempt, call, make, number } from "./base.js";

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
    for (const end of ["low", "high"]) if (text(end) !== "") part[end] = number(text(end), `${name}, ${end}est`);
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

export async function showForm(main) {
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
      showTokens(main, made);
    });
  });
  document.title = "New study · Windward";
  main.replaceChildren(make("h1", {}, "New study"), form);
  name.focus();
}

function showTokens(main, made) {
  main.replaceChildren(make("h1", {}, make("span", {}, made.name), " is made"),
    make("p", {}, "Its tokens, for the people and systems that take part. They are shown this once."),
    make("dl", {}, make("dt", {}, "to look"), make("dd", {}, make("code", {}, made.tokens.read)),
      make("dt", {}, "to take part"), make("dd", {}, make("code", {}, made.tokens.write))),
    make("div", { className: "actions" },
      make("a", { className: "button", href: `#/study/${encodeURIComponent(made.name)}` }, "Go to the study")));
  main.focus();
}
