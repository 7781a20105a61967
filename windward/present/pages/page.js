// The page of the service: the token, the theme, which view is shown, and the list of studies.

import { call, forget, make, state, wide } from "./base.js";
import { redraw } from "./figures.js";
import { showForm } from "./new.js";
import { showStudy } from "./study.js";

const main = document.getElementById("main");

// -- theme -----------------------------------------------------------------------------------------------------------

const themeButton = document.getElementById("theme");
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to the ${theme === "dark" ? "light" : "dark"} theme`);
  redraw();
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
  document.title = "Windward";
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
    if (kind === "study" && name) await showStudy(main, decodeURIComponent(name));
    else if (kind === "new" && state.me.admin) await showForm(main);
    else if (state.me.admin) await showList();
    else location.hash = `#/study/${encodeURIComponent(state.me.study)}`;
  } catch (error) {
    if (error.status === 401) { showEntry(error.message); return; }
    document.title = "This did not work · Windward";
    main.replaceChildren(make("h1", {}, "This did not work"), make("p", { className: "bad", role: "alert" }, error.message),
      make("p", {}, make("a", { href: "#/" }, "Back to the studies")));
  }
}
addEventListener("hashchange", async () => {
  await route();
  if (main.contains(document.activeElement)) return;
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});

// -- the list of studies ---------------------------------------------------------------------------------------------

async function showList() {
  const { studies } = await call("GET", "/api/studies");
  const rows = studies.map((study) => make("tr", {},
    make("th", { scope: "row" }, study.reachable
      ? make("a", { href: `#/study/${encodeURIComponent(study.name)}` }, study.name) : `${study.name} (name cannot be a URL)`),
    ...(study.error ? [make("td", { colSpan: 4, className: "bad" }, study.error)]
      : [study.arrived, study.awaiting_context, study.pending, study.lost].map((count) => make("td", {}, String(count))))));
  document.title = "Studies · Windward";
  main.replaceChildren(
    make("h1", {}, "Studies"),
    make("div", { className: "actions" }, make("a", { className: "button", href: "#/new" }, "New study")),
    studies.length === 0 ? make("p", { className: "soft" }, "There are none yet.")
      : wide("Studies", make("table", {}, make("thead", {}, make("tr", {},
        ...["study", "arrived", "awaiting context", "pending", "lost"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows))));
}

route();
