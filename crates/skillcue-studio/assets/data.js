// The data of the page: questions to the server, or answers that are in an exported file.
import { useState, useEffect, useLayoutEffect, useRef } from "./vendor/htm-preact.js";

const embedded = document.getElementById("answers");
const saved = embedded ? JSON.parse(embedded.textContent) : null;

/** Whether the page is a file with its answers inside. */
export const isExported = saved !== null;

/** JSON with sorted keys: equal fields give equal texts. */
function sorted(value) {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Asks the server, or the file. */
export async function ask(name, fields, signal) {
  if (saved) {
    const found = saved[`${name} ${sorted(fields)}`];
    if (!found) throw { code: "exported", message: "This is not in the exported file.", help: "Run `skillcue studio` to ask for it." };
    if (found.failure) throw found.failure;
    return found.answer;
  }
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(fields), signal });
  } catch (error) {
    if (error && error.name === "AbortError") throw error;
    throw { code: "gone", message: "The server does not answer.", help: "Start `skillcue studio` again; this page finds out by itself if it is still there." };
  }
  const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
  if (!isJson) throw { code: `${response.status}`, message: await response.text(), help: "Open the address that `skillcue studio` prints." };
  const answer = await response.json();
  if (!response.ok) throw answer.error || { code: `${response.status}`, message: "The question was refused.", help: "" };
  return answer;
}

const listeners = new Set();
const versions = { catalog: 0, ledger: 0, evals: 0, online: true, note: "" };

function changed(change) {
  Object.assign(versions, change);
  listeners.forEach((listener) => listener({ ...versions }));
}

function everything() {
  return { catalog: versions.catalog + 1, ledger: versions.ledger + 1, evals: versions.evals + 1 };
}

/** How often skills, the ledger and kept evaluations have changed since the page was opened, and whether the server is there. */
export function useChanges() {
  const [state, set] = useState({ ...versions });
  useEffect(() => {
    listeners.add(set);
    set({ ...versions });
    return () => listeners.delete(set);
  }, []);
  return state;
}

/** Listens for what changes on disk, while the page is seen: browsers open six connections at most to one server. */
export function listen() {
  if (saved) return;
  let source = null;
  let wasLost = false;
  const follow = () => {
    if (document.visibilityState === "hidden") {
      if (source) source.close();
      wasLost = source !== null;
      source = null;
    } else if (source === null) {
      source = new EventSource("/api/events");
      attend();
    }
  };
  const attend = () => {
    source.onopen = () => {
      // What happened meanwhile is not known.
      changed(wasLost ? { ...everything(), online: true } : { online: true });
      wasLost = false;
    };
    source.onerror = () => {
      wasLost = true;
      changed({ online: false });
    };
    source.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.event === "catalog") changed({ catalog: versions.catalog + 1, note: event.names.join(", ") });
      else if (event.event === "ledger") changed({ ledger: versions.ledger + 1 });
      else if (event.event === "evals") changed({ evals: versions.evals + 1 });
      // What is allowed decides which skills are shown, too.
      else if (event.event === "consent") changed({ catalog: versions.catalog + 1 });
      else changed(everything());
    };
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}

/** Tells views that skills have changed, before the watcher does. */
export function touchCatalog() {
  changed({ catalog: versions.catalog + 1 });
}

/**
 * The answer to a question that follows what is typed. Waits `delay` milliseconds for more, cancels what is outdated, and
 * never shows an older answer after a newer one. The last answer stays until the next is there, so that nothing jumps.
 * With `fields` of null, nothing is asked.
 */
export function useAnswer(name, fields, { delay = 0, version = 0 } = {}) {
  const [state, set] = useState({ data: null, error: null, busy: fields !== null, key: null });
  const sequence = useRef(0);
  const key = fields === null ? null : `${name} ${sorted(fields)} ${version}`;
  // Not after the next paint, as effects are: that would be a frame in which nothing is asked.
  useLayoutEffect(() => {
    const number = ++sequence.current;
    if (key === null) {
      set({ data: null, error: null, busy: false, key: null });
      return undefined;
    }
    const control = new AbortController();
    set((old) => ({ ...old, busy: true }));
    const start = () =>
      ask(name, fields, control.signal).then(
        (data) => number === sequence.current && set({ data, error: null, busy: false, key }),
        (error) => number === sequence.current && error.name !== "AbortError" && set((old) => ({ data: old.key && old.key.startsWith(`${name} `) && error.code === "gone" ? old.data : null, error, busy: false, key })),
      );
    const timer = delay > 0 ? setTimeout(start, delay) : (start(), 0);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [key]);
  return state;
}

/** A value that is kept for the next visit, if the browser allows it. */
export function useKept(name, initial) {
  const key = `skillcue.${name}`;
  const [value, set] = useState(() => {
    try {
      const text = localStorage.getItem(key);
      return text === null ? initial : JSON.parse(text);
    } catch {
      return initial;
    }
  });
  const keep = (next) => {
    set(next);
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      // A file may not keep anything.
    }
  };
  return [value, keep];
}

/** The address of a view with its parameters. */
export function link(view, parameters = {}) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "" && `${value}`.length <= 2000);
  const query = pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** The part of the address that the page has read or written last. */
let known = location.hash;

function readRoute() {
  known = location.hash;
  forget();
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parameters = {};
  for (const [key, value] of new URLSearchParams(query || "")) parameters[key] = value;
  return { view: view || "message", parameters };
}

/** The view and the parameters in the address. */
export function useRoute() {
  const [route, set] = useState(readRoute);
  useEffect(() => {
    const read = () => set(readRoute());
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return route;
}

/**
 * A part of the address: a value that follows it. An address without any parameter, as those of the navigation, leaves the
 * value as it is; one with others means the initial value.
 */
export function useParameter(parameters, key, initial, read = (text) => text) {
  const from = () => (parameters[key] === undefined ? initial : read(parameters[key]));
  const [value, set] = useState(from);
  useEffect(() => {
    if (Object.keys(parameters).length > 0) set(from());
  }, [parameters]);
  return [value, set];
}

let latestMessage = "";

/** Takes a message along to the view that is opened next: addresses have no room for very long ones. */
export function carryMessage(message) {
  latestMessage = message;
}

/** The message of the address, or the one that was typed last in another view. */
export function useMessage(parameters, messages) {
  const [message, set] = useParameter(parameters, "m", latestMessage || (isExported && messages.length > 0 ? messages[0].query : ""));
  useEffect(() => {
    latestMessage = message;
  }, [message]);
  return [message, set];
}

/** How long the address waits for more letters, in milliseconds. */
const ADDRESS_DELAY = 300;

let pendingAddress = null;
let addressTimer = 0;

/** Drops what is not written yet: the reader has gone to another address. */
function forget() {
  clearTimeout(addressTimer);
  pendingAddress = null;
}

/** Writes the address that is waiting. If the reader has just gone to another, which the page is about to read, that one stays. */
function writeAddress() {
  const next = pendingAddress;
  forget();
  if (next === null || location.hash === next || location.hash !== known) return;
  try {
    history.replaceState(null, "", next);
    known = location.hash;
  } catch {
    // Browsers limit how often an address changes. The view does not depend on it.
  }
}

/**
 * Puts parameters into the address without a new entry in the history. Not with every letter that is typed: Firefox allows
 * 200 changes in ten seconds. Never at once: after a new address, views show for a frame what they had before. What waits is
 * written before the reader follows a link or leaves the window.
 */
export function remember(view, parameters) {
  forget();
  pendingAddress = link(view, parameters);
  addressTimer = setTimeout(writeAddress, ADDRESS_DELAY);
}

document.addEventListener("click", writeAddress, true);
addEventListener("blur", writeAddress);
addEventListener("pagehide", writeAddress);
