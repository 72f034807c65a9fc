// Parts that views share: numbers, tables, empty states, controls.
import { html, useState, useEffect, useMemo, useRef } from "./vendor/htm-preact.js";
import { isExported } from "./data.js";

const whole = new Intl.NumberFormat("en");
const collator = new Intl.Collator("en");

export function count(number, noun) {
  return `${whole.format(number)} ${noun}${number === 1 ? "" : noun.endsWith("s") || noun.endsWith("ch") ? "es" : "s"}`;
}

export function digits(number) {
  return number === null || number === undefined ? "–" : whole.format(Math.round(number));
}

export function percent(share, places = 0) {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(places)} %`;
}

export function bytes(size) {
  if (size < 1024) return `${size} B`;
  return size < 1 << 20 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / (1 << 20)).toFixed(1)} MiB`;
}

export function milliseconds(time) {
  return time >= 1000 ? `${(time / 1000).toFixed(1)} s` : `${digits(time)} ms`;
}

export function microseconds(time) {
  return time >= 1000 ? `${(time / 1000).toFixed(1)} ms` : `${digits(time)} µs`;
}

export function when(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return time.toLocaleString(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

const PATHS = {
  message: "M4 5h16v11H9l-4 4v-4H4z",
  why: "M9.2 9a3 3 0 1 1 4.3 2.7c-1 .5-1.5 1.1-1.5 2.3M12 17.5v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  catalog: "M4 6h16M4 12h16M4 18h16M8 3v18",
  budget: "M12 4v8l6 3M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  evals: "M4 19V5m0 14h16M8 15l4-5 3 3 5-7",
  traces: "M4 6h7M8 11h9M12 16h8M4 20h16",
  use: "M4 5h16l-6 7v6l-4 2v-8z",
  trust: "M12 3l8 3v5c0 5-3.4 8.4-8 10-4.6-1.6-8-5-8-10V6z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  moon: "M20 14a8.5 8.5 0 1 1-10-10 7 7 0 0 0 10 10z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

/** A block that says what is missing and what to do. */
export function Empty({ icon, title, children }) {
  return html`<div class="empty"><${Icon} name=${icon} /><h2>${title}</h2><div>${children}</div></div>`;
}

/** A command line. Names of skills and directories are not ours: a shell must take each for one word, and for no option. */
export function commandLine(command, ...names) {
  const safe = (name) => (/^[A-Za-z0-9_.,:@%+/][A-Za-z0-9_.,:@%+/#=-]*$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
  return [command, ...(names.some((name) => name.startsWith("-")) ? ["--"] : []), ...names.map(safe)].join(" ");
}

/** A command to type, with a button that copies it. */
export function Command({ text }) {
  return html`<span class="command"><code>${text}</code><${Copy} text=${text} label=${`Copy: ${text}`} /></span>`;
}

export function Copy({ text, label }) {
  const [said, set] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      set("Copied");
    } catch {
      set("The browser does not allow it");
    }
    setTimeout(() => set(""), 1500);
  };
  return html`<button type="button" class="quiet" onClick=${copy} aria-label=${label} title=${label}><${Icon} name="copy" /><span aria-live="polite" class="said">${said}</span></button>`;
}

export function Failure({ error }) {
  if (!error) return null;
  return html`<div class="failure" role="alert"><strong>${error.message}</strong>${error.help && html`<p>${error.help}</p>`}</div>`;
}

/** A line that takes its place while something is loading. */
export function Loading({ lines = 4, what }) {
  return html`<div class="loading" role="status"><span class="said">Loading ${what}</span>${Array.from({ length: lines }, (_, at) => html`<i key=${at}></i>`)}</div>`;
}

/** Shows an answer: its failure, a place for it, or it. */
export function Answer({ of, what, lines, children }) {
  if (of.error && !of.data) return html`<${Failure} error=${of.error} />`;
  if (!of.data) return html`<${Loading} what=${what} lines=${lines} />`;
  return html`<div class=${of.busy ? "stale" : ""} aria-busy=${of.busy}>${of.error && html`<${Failure} error=${of.error} />`}${children(of.data)}</div>`;
}

export function Chip({ kind, children, title }) {
  return html`<span class=${`chip ${kind || ""}`} title=${title}>${children}</span>`;
}

/** A share as a bar, with marks such as thresholds. */
export function Meter({ value, marks = [], label, tone }) {
  const part = Math.max(0, Math.min(1, value || 0));
  return html`<span class="meter" role="img" aria-label=${label}>
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="100" height="8" rx="2" /><rect class=${tone || "fill"} width=${part * 100} height="8" rx="2" />${marks.map((mark) => html`<rect class="mark" x=${Math.min(99.2, mark * 100)} y="-1" width="0.8" height="10" />`)}</svg>
  </span>`;
}

export function Select({ label, value, options, onChange }) {
  return html`<label class="field"><span>${label}</span><select value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>${options.map((option) => {
    const [name, shown] = Array.isArray(option) ? option : [option, option];
    return html`<option key=${name} value=${name} selected=${name === value}>${shown}</option>`;
  })}</select></label>`;
}

export function Range({ label, value, min, max, step, onInput, shown, long }) {
  return html`<label class=${long ? "field long" : "field"}><span>${label} <output>${shown}</output></span><input type="range" min=${min} max=${max} step=${step} value=${value} aria-valuetext=${shown} onInput=${(event) => onInput(Number(event.currentTarget.value))} /></label>`;
}

/** The text of a message, which is answered as it is typed; in an exported file, the one that was chosen. */
export function MessageBox({ value, onInput, messages, label = "Message" }) {
  const box = useRef(null);
  useEffect(() => {
    // The first thing to do here is to type; a reader of the address bar is not interrupted.
    if (box.current && !isExported && document.activeElement === document.body) box.current.focus();
  }, []);
  return html`<div class="box">
    <label class="field wide"><span>${label}</span><textarea ref=${box} rows="3" dir="auto" spellcheck="false" readonly=${isExported} aria-describedby=${isExported ? "exported-note" : undefined} placeholder=${isExported ? "No message is chosen" : "Type what a user would write, for example: fill in the visa form in draft.pdf"} value=${value} onInput=${(event) => onInput(event.currentTarget.value)}></textarea></label>
    ${isExported && html`<p class="dim note" id="exported-note">${messages.length > 0 ? "This is an exported file: choose one of its messages." : "This is an exported file without messages: export it with --messages FILE to have some."} To type your own, run <code>skillcue studio</code>.</p>`}
    ${messages.length > 0 && html`<label class="field wide"><span>${count(messages.length, "message")} of your file</span><select value=${messages.some((one) => one.query === value) ? value : ""} onChange=${(event) => event.currentTarget.value && onInput(event.currentTarget.value)}><option value="">Choose one …</option>${messages.map((one, at) => html`<option key=${at} value=${one.query}>${one.query.length > 140 ? `${one.query.slice(0, 140)} …` : one.query}</option>`)}</select></label>`}
  </div>`;
}

const ROWS = 100;

/**
 * A table that sorts by any column, filters, copies as tab-separated text, and shows a hundred rows at a time.
 * Columns: {key, title, of(row) for sorting, copy(row) where that is no text to copy, show(row), number, wide or mid for more width}.
 */
export function Table({ caption, rows, columns, initial, filter, empty, onRow, rowLabel }) {
  const [by, setBy] = useState(initial || { key: columns[0].key, down: false });
  const [most, setMost] = useState(ROWS);
  const [wanted, setWanted] = useState("");
  const column = columns.find((one) => one.key === by.key) || columns[0];
  const words = wanted.trim().toLowerCase();
  const ranked = useMemo(() => [...rows].sort((a, b) => {
    const [x, y] = [column.of(a), column.of(b)];
    if (x === y) return 0;
    if (x === null || x === undefined) return 1;
    if (y === null || y === undefined) return -1;
    const way = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(`${x}`, `${y}`);
    return by.down ? -way : way;
  }), [rows, by.key, by.down]);
  const order = useMemo(() => (words && filter ? ranked.filter((row) => filter(row).toLowerCase().includes(words)) : ranked), [ranked, words]);
  const text = () => [columns.map((one) => one.title), ...order.map((row) => columns.map((one) => `${(one.copy || one.of)(row) ?? ""}`.replace(/\s+/g, " ")))].map((cells) => cells.join("\t")).join("\n");
  const sort = (one) => setBy({ key: one.key, down: by.key === one.key ? !by.down : Boolean(one.number) });
  return html`<div class="table">
    <div class="bar">
      ${filter && html`<label class="field"><span class="said">Filter ${caption}</span><input type="search" placeholder="Filter" value=${wanted} onInput=${(event) => { setWanted(event.currentTarget.value); setMost(ROWS); }} /></label>`}
      <span class="dim" aria-live="polite">${words ? `${digits(order.length)} of ${count(rows.length, "row")}` : count(rows.length, "row")}</span>
      <${Copy} text=${text} label=${`Copy the table ${caption}`} />
    </div>
    ${rows.length === 0 ? empty || html`<p class="dim">Nothing here.</p>` : html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
      <caption class="said">${caption}</caption>
      <thead><tr>${columns.map((one) => html`<th key=${one.key} scope="col" class=${one.number ? "number" : ""} aria-sort=${by.key === one.key ? (by.down ? "descending" : "ascending") : "none"}><button type="button" onClick=${() => sort(one)}>${one.title}<span aria-hidden="true">${by.key === one.key ? (by.down ? " ↓" : " ↑") : ""}</span></button></th>`)}</tr></thead>
      <tbody>${order.slice(0, most).map((row, at) => html`<tr key=${at}>${columns.map((one, nth) => html`<td key=${one.key} class=${`${one.number ? "number" : ""} ${one.wide ? "wide" : one.mid ? "mid" : ""}`} dir=${one.number ? undefined : "auto"}>${nth === 0 && onRow ? html`<button type="button" class="link" onClick=${() => onRow(row)} aria-label=${rowLabel ? rowLabel(row) : undefined}>${one.show ? one.show(row) : one.of(row)}</button>` : one.show ? one.show(row) : one.of(row) ?? "–"}</td>`)}</tr>`)}</tbody>
    </table></div>`}
    ${order.length > most && html`<button type="button" onClick=${() => setMost(most + ROWS)}>Show ${digits(Math.min(ROWS, order.length - most))} more of ${digits(order.length)}</button>`}
  </div>`;
}

/** A number with its unit and what it is. */
export function Figure({ label, value, unit, note, tone }) {
  return html`<div class=${`figure ${tone || ""}`}><span class="label">${label}</span><span class="value">${value}${unit && html`<small> ${unit}</small>`}</span>${note && html`<span class="note">${note}</span>`}</div>`;
}

/** The pieces of a text between byte offsets of its UTF-8 form, with those inside of spans marked. */
export function litPieces(text, spans) {
  const starts = [];
  let at = 0;
  const positions = new Map();
  let index = 0;
  for (const letter of text) {
    positions.set(at, index);
    const code = letter.codePointAt(0);
    at += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += letter.length;
  }
  positions.set(at, text.length);
  for (const span of spans) {
    const [start, end] = [positions.get(span.start), positions.get(span.end)];
    if (start !== undefined && end !== undefined && start < end) starts.push([start, end]);
  }
  starts.sort((a, b) => a[0] - b[0]);
  const pieces = [];
  let done = 0;
  for (const [start, end] of starts) {
    if (end <= done) continue;
    const from = Math.max(start, done);
    if (from > done) pieces.push({ text: text.slice(done, from), lit: false });
    pieces.push({ text: text.slice(from, end), lit: true });
    done = end;
  }
  if (done < text.length) pieces.push({ text: text.slice(done), lit: false });
  return pieces;
}

/** A text that a model reads, cut where it would be too long for a page. */
export function ModelText({ text, label }) {
  const [isWhole, set] = useState(false);
  const most = 20000;
  const shown = isWhole || text.length <= most ? text : text.slice(0, most);
  return html`<div class="model"><div class="bar"><span class="dim">${label}</span><${Copy} text=${text} label=${`Copy: ${label}`} /></div><pre tabindex="0" dir="auto" role="region" aria-label=${label}>${shown}</pre>${shown.length < text.length && html`<button type="button" onClick=${() => set(true)}>Show all ${digits(text.length)} characters</button>`}</div>`;
}

/** A diff, line by line. */
export function Diff({ text }) {
  const tone = (line) => (line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : line.startsWith("@") ? "place" : "");
  return html`<pre class="diff" tabindex="0" aria-label="The change, line by line">${text.split("\n").filter((line, at, all) => line || at < all.length - 1).map((line, at) => html`<span key=${at} class=${tone(line)}>${line}\n</span>`)}</pre>`;
}
