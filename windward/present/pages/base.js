// What all of the page needs: nodes made of text, calls with the token, and numbers as people write them.
// Everything a user wrote goes into the page as text, never as markup.

export const state = { token: sessionStorage.getItem("token"), me: null, timer: null, view: 0, reasons: {} };

export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (/^aria[A-Z]/.test(name)) node.setAttribute(`aria-${name.slice(4).toLowerCase()}`, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list" && name !== "form") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// A label and its field; `field` must have an id.
export function labelled(text, field) {
  return make("div", {}, make("label", { htmlFor: field.id }, text), field);
}

// A table wider than the screen scrolls inside its own box, by the keyboard too.
export function wide(label, table) {
  return make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: label }, table);
}

let quiet = null;
// What was done, or why not. While a dialog is open everything else is out of reach, so it is said there.
export function say(text, bad = false) {
  const place = document.querySelector("dialog[open] .told") ?? document.getElementById("say");
  place.textContent = text;
  place.classList.toggle("bad-news", bad);
  clearTimeout(quiet);
  quiet = setTimeout(() => { place.textContent = ""; }, bad ? 8000 : 3500);
}

export function shown(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}

// With as many digits as its step has, where it has one and the value lies on it: 3.5 in steps of 0.05 is 3.50.
export function stepped(value, parameter) {
  const step = parameter?.step;
  if (typeof value !== "number" || !step || !/^\d+(\.\d+)?$/.test(String(step))) return shown(value);
  const digits = (String(step).split(".")[1] ?? "").length;
  return Math.abs(value - Number(value.toFixed(digits))) > 1e-6 * step ? shown(value) : value.toFixed(digits);
}

export function listed(values, parameters = {}) {
  const said = (name, value) => [name, stepped(value, parameters[name]), parameters[name]?.unit].filter(Boolean).join(" ");
  return Object.entries(values).map(([name, value]) => said(name, value)).join(", ");
}

export function named(name, parameter) {
  return parameter?.unit ? `${name} (${parameter.unit})` : name;
}

// What a result is called, with its unit where it has one.
export function valueName(study) {
  const [name, outcome] = Object.entries(study.outcomes ?? {})[0] ?? ["value", null];
  return named(name, outcome);
}

export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function age(seconds) {
  for (const [size, unit] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= size) return counted(Math.floor(seconds / size), unit);
  }
  return "less than a minute";
}

export function moment(text) {
  return text ? new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "";
}

// A number with a decimal point or a decimal comma.
export function number(text, name) {
  const value = Number(text.trim().replace(",", "."));
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`${name}: "${text}" is not a number.`);
  return value;
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export function forget() {
  sessionStorage.removeItem("token");
  state.token = state.me = null;
  document.getElementById("leave").hidden = true;
}

async function refused(answer) {
  const data = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (answer.status === 401) { forget(); return new Refused(401, "This token is not valid (any more)."); }
  return new Refused(answer.status, data.error);
}

export async function call(method, path, body, key) {
  const headers = { Authorization: `Bearer ${state.token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!answer.ok) throw await refused(answer);
  return answer.json();
}

// A call that may have been cut off is made again with the same key: it counts once.
export async function callOnce(method, path, body) {
  const key = newKey();
  try { return await call(method, path, body, key); } catch (error) {
    if (error instanceof Refused) throw error;
    return call(method, path, body, key);
  }
}

export async function download(path, name) {
  const answer = await fetch(path, { headers: { Authorization: `Bearer ${state.token}` } });
  if (!answer.ok) throw await refused(answer);
  const url = URL.createObjectURL(await answer.blob());
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function attempt(button, work) {
  button.disabled = true;
  try { await work(); } catch (error) { say(error.message, true); } finally { button.disabled = false; }
}

export const api = (name) => `/api/studies/${encodeURIComponent(name)}`;
export const query = (parts) => Object.entries(parts).filter(([, value]) => value !== "" && value !== null && value !== undefined)
  .map(([key, value]) => `${key}=${encodeURIComponent(typeof value === "object" ? JSON.stringify(value) : value)}`).join("&");
export const mayWrite = () => state.me.admin || state.me.scopes.includes("write");
