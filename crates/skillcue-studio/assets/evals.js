// The view of evaluations: runs over time, what got worse first, which skill is taken for which, a threshold to drag.
import { html, useState, useEffect } from "./vendor/htm-preact.js";
import { carryMessage, isExported, link, remember, useAnswer, useParameter } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, Range, Table, count, digits, percent, when } from "./parts.js";
import { Line } from "./charts.js";

const MAX_NAMES = 12;
const MAX_CHANGED = 8;
const MAX_SHOWN = 200;

function runName(run) {
  return run.id === "now" ? "These messages, now" : `${run.label ? `${run.label}, ` : ""}${when(run.time)}`;
}

/** Which messages of a run the view of reasons can open: in a file those inside, otherwise those that were kept whole. */
function openable(found, about) {
  const cut = new Set(found.cut.map((at) => found.run.cases[at].query));
  const inside = new Set(about.messages.map((one) => one.query));
  return (query) => (isExported ? inside.has(query) : !cut.has(query));
}

/** A message, which opens in the view of reasons if it can. Of a long one, the beginning is shown. */
function Message({ query, skill, isOpenable }) {
  const shown = query.length > MAX_SHOWN ? `${query.slice(0, MAX_SHOWN)} …` : query;
  if (isOpenable(query)) return html`<a href=${link("why", { m: query, skill })} onClick=${() => carryMessage(query)} dir="auto">${shown}</a>`;
  return html`<span dir="auto" title=${isExported ? "Its reasons are not in the exported file" : "The run has kept only its beginning"}>${shown}</span>`;
}

/** Messages whose result changed: the first of them, and all if asked for. */
function Changed({ title, changes, tone, isOpenable }) {
  const [isWhole, setWhole] = useState(false);
  if (changes.length === 0) return null;
  return html`<div><h3>${count(changes.length, "message")} ${title}</h3><ul class="plain">${changes.slice(0, isWhole ? changes.length : MAX_CHANGED).map((change, at) => html`<li key=${at}><${Chip} kind=${tone}>${change.old.grade} → ${change.new.grade}<//> <${Message} query=${change.query} skill=${change.expected[0]} isOpenable=${isOpenable} /> <span class="dim">${change.expected.length > 0 ? `needs ${change.expected.join(" or ")}` : "needs none"}, ${change.new.first ? `got ${change.new.first}` : "got none"}</span></li>`)}</ul>${changes.length > MAX_CHANGED && !isWhole && html`<button type="button" onClick=${() => setWhole(true)}>Show all ${digits(changes.length)} that ${title}</button>`}</div>`;
}

function Figures({ figures }) {
  const one = (label, value, note, tone) => html`<${Figure} label=${label} value=${value} note=${note} tone=${tone} />`;
  return html`<div class="figures" id="figures">
    ${one("Right skill among the first 1", percent(figures.recall_at["1"], 1))}
    ${one("… the first 3", percent(figures.recall_at["3"], 1))}
    ${one("… the first 5", percent(figures.recall_at["5"], 1), `${digits(figures.positives)} messages need a skill`)}
    ${one("Right body shown", percent(figures.shown, 1))}
    ${one("Right one shown or named", percent(figures.named, 1))}
    ${one("Body shown though none is needed", percent(figures.wrongly_shown, 1), `${digits(figures.negatives)} messages`)}
    ${one("A turn costs", figures.tokens.all ? digits(figures.tokens.all.mean) : "–", figures.tokens.all ? `tokens on average, ${digits(figures.tokens.all.p95)} at most for 95 of 100` : "")}
    ${one("Calibration error", figures.calibration_error === null ? "–" : figures.calibration_error.toFixed(3))}
  </div>`;
}

function Worse({ comparison, isOpenable }) {
  if (!comparison) return html`<p class="dim">There is no earlier run of this set to compare with.</p>`;
  if (comparison.worse.length + comparison.better.length === 0) return html`<p><${Chip} kind="good">no change<//> Every message got what it got in the run before.</p>`;
  return html`<div><${Changed} title="got worse" changes=${comparison.worse} tone="bad" isOpenable=${isOpenable} /><${Changed} title="got better" changes=${comparison.better} tone="good" isOpenable=${isOpenable} /></div>`;
}

function expectedOf(one) {
  return one.relevant.length > 0 ? (one.relevant.includes(one.first) ? one.first : one.relevant[0]) : "none needed";
}

function gotOf(one, threshold) {
  return one.first && one.certainty >= threshold ? one.first : "nothing";
}

function isRight(one, threshold) {
  const got = gotOf(one, threshold);
  if (one.relevant.length > 0) return one.relevant.includes(got);
  return one.not_relevant.length > 0 ? !one.not_relevant.includes(got) : got === "nothing";
}

/** Which skill is taken for which: the pairs with most mistakes, each of which opens its messages. */
function Matrix({ cases, threshold, isOpenable }) {
  const [open, setOpen] = useState(null);
  const [isWhole, setWhole] = useState(false);
  const counts = new Map();
  for (const one of cases) {
    if (isRight(one, threshold)) continue;
    const key = JSON.stringify([expectedOf(one), gotOf(one, threshold)]);
    counts.set(key, [...(counts.get(key) || []), one]);
  }
  const pairs = [...counts].map(([key, list]) => ({ key, pair: JSON.parse(key), list })).sort((x, y) => y.list.length - x.list.length);
  if (pairs.length === 0) return html`<p><${Chip} kind="good">none<//> At this threshold no message gets the wrong thing.</p>`;
  const rows = [...new Set(pairs.map((one) => one.pair[0]))].slice(0, MAX_NAMES);
  const columns = [...new Set(pairs.filter((one) => rows.includes(one.pair[0])).map((one) => one.pair[1]))].slice(0, MAX_NAMES);
  const shown = pairs.filter((one) => rows.includes(one.pair[0]) && columns.includes(one.pair[1]));
  const listed = open ? counts.get(open) : null;
  const most = pairs[0].list.length;
  const toggle = (key) => setOpen(open === key ? null : key);
  return html`<div><div class="scroll" tabindex="0" role="region" aria-label="Confusions"><table class="matrix"><caption class="said">Needed, and what came instead</caption><thead><tr><th scope="col">needed ↓ got →</th>${columns.map((name) => html`<th key=${name} scope="col" dir="auto"><span>${name}</span></th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr key=${row}><th scope="row" dir="auto">${row}</th>${columns.map((column) => {
    const key = JSON.stringify([row, column]);
    const list = counts.get(key);
    return html`<td key=${column} class="number">${list ? html`<button type="button" class=${`heat h${Math.ceil((list.length / most) * 4)}`} aria-pressed=${open === key} aria-label=${`${count(list.length, "message")} for ${row} got ${column}`} onClick=${() => toggle(key)}>${list.length}</button>` : html`<span class="dim" aria-hidden="true">·</span>`}</td>`;
  })}</tr>`)}</tbody></table></div>
  ${listed && html`<div class="panel" aria-live="polite"><ul class="plain">${listed.slice(0, 50).map((one, at) => html`<li key=${at}><${Message} query=${one.query} skill=${one.relevant[0] || one.first} isOpenable=${isOpenable} /> <span class="dim">${percent(one.certainty)} sure of ${one.first || "nothing"}</span></li>`)}</ul>${listed.length > 50 && html`<p class="dim">The first 50 of ${count(listed.length, "message")}.</p>`}</div>`}
  <p class="dim" id="pairs">${shown.length < pairs.length ? `${digits(shown.length)} of ${count(pairs.length, "pair")}, the most frequent first, in ${count(rows.length, "row")}.` : `${count(pairs.length, "pair")} in ${count(rows.length, "row")}.`} ${shown.length < pairs.length && html`<button type="button" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>${isWhole ? "Hide the list" : "Show all pairs"}</button>`}</p>
  ${isWhole && html`<${Table} caption="all pairs" rows=${pairs} initial=${{ key: "messages", down: true }} filter=${(one) => one.pair.join(" ")} onRow=${(one) => toggle(one.key)} rowLabel=${(one) => `Messages for ${one.pair[0]} that got ${one.pair[1]}`} columns=${[
    { key: "needed", title: "Needed", of: (one) => one.pair[0] },
    { key: "got", title: "Got", of: (one) => one.pair[1] },
    { key: "messages", title: "Messages", number: true, of: (one) => one.list.length },
  ]} />`}</div>`;
}

function Threshold({ cases, initial, isOpenable }) {
  const [threshold, set] = useState(initial);
  const positives = cases.filter((one) => one.relevant.length > 0);
  const negatives = cases.filter((one) => one.relevant.length === 0);
  const share = (list, test) => (list.length > 0 ? list.filter(test).length / list.length : null);
  const steps = Array.from({ length: 21 }, (_, at) => at / 20);
  const right = (at) => share(positives, (one) => one.relevant.includes(gotOf(one, at)));
  const wrong = (at) => share(negatives, (one) => !isRight(one, at));
  return html`<div>
    <${Range} long label="A first hit gets its body from a certainty of" min="0" max="1" step="0.01" value=${threshold} shown=${percent(threshold)} onInput=${set} />
    <div class="figures"><${Figure} label="Right body" value=${percent(right(threshold), 1)} note=${`of ${count(positives.length, "message")} that need one`} /><${Figure} label="Wrong body" value=${percent(wrong(threshold), 1)} note=${`of ${count(negatives.length, "message")} that need none`} tone=${(wrong(threshold) || 0) > 0.05 ? "warn" : ""} /><${Figure} label="Messages that get the wrong thing" value=${digits(cases.filter((one) => !isRight(one, threshold)).length)} unit=${`of ${digits(cases.length)}`} /></div>
    <${Line} label="Right and wrong bodies by threshold" format=${(value) => percent(value)} labels=${steps.map((at) => at.toFixed(2))} series=${[{ name: "right body", values: steps.map(right) }, { name: "wrong body", values: steps.map(wrong) }]} />
    <h2>Taken for another</h2>
    <${Matrix} cases=${cases} threshold=${threshold} isOpenable=${isOpenable} />
  </div>`;
}

function Run({ id, about, version, chart }) {
  const answer = useAnswer("eval", { run: id }, { version });
  return html`<${Answer} of=${answer} what="the evaluation" lines=${10}>${(found) => {
    const isOpenable = openable(found, about);
    return html`<div>
    <h2>Since the run before</h2><${Worse} comparison=${found.comparison} isOpenable=${isOpenable} />
    <h2>Figures</h2><${Figures} figures=${found.evaluation || found.run.figures} />
    ${chart}
    <h2>Threshold</h2><${Threshold} key=${id} cases=${found.run.cases} initial=${found.threshold} isOpenable=${isOpenable} />
    ${found.run.left_out > 0 && html`<p class="dim">${count(found.run.left_out, "message")} of this run are counted and not kept.</p>`}
    <h2>Messages</h2>
    ${isExported && about.messages.length < found.run.cases.length && html`<p class="dim">The reasons of ${count(about.messages.length, "message")} are in this file; the others are listed only.</p>`}
    ${!isExported && found.cut.length > 0 && html`<p class="dim">Of ${count(found.cut.length, "long message")} this run has kept only the beginning. Start <code>skillcue studio --messages FILE</code> with the set to open them.</p>`}
    <${Table} caption="messages of the run" rows=${found.run.cases} initial=${{ key: "right", down: false }} filter=${(one) => `${one.query} ${one.relevant.join(" ")} ${one.first || ""}`} columns=${[
      { key: "query", title: "Message", wide: true, of: (one) => one.query, show: (one) => html`<${Message} query=${one.query} skill=${one.relevant[0]} isOpenable=${isOpenable} />` },
      { key: "needs", title: "Needs", of: (one) => one.relevant.join(" or ") || "none" },
      { key: "first", title: "Came first", of: (one) => one.first || "–" },
      { key: "certainty", title: "Sure", number: true, of: (one) => one.certainty, show: (one) => percent(one.certainty) },
      { key: "right", title: "Right", of: (one) => (one.right ? 1 : 0), copy: (one) => (one.right ? "right" : "wrong"), show: (one) => html`<${Chip} kind=${one.right ? "good" : "bad"}>${one.right ? "right" : "wrong"}<//>` },
      { key: "tokens", title: "Tokens", number: true, of: (one) => one.tokens, show: (one) => digits(one.tokens) },
    ]} />
  </div>`;
  }}<//>`;
}

export function EvalsView({ parameters, about, changes }) {
  const version = `${changes.catalog}.${changes.evals}`;
  const runs = useAnswer("evals", {}, { version });
  const [id, setId] = useParameter(parameters, "run", null);
  useEffect(() => remember("evals", { run: id }), [id, parameters]);
  return html`<${Answer} of=${runs} what="the evaluations" lines=${10}>${(found) => {
    if (found.runs.length === 0) return html`<${Empty} icon="evals" title="No evaluation yet"><p>Write messages with the skills that they need, one JSON object a line, and run:</p><p><${Command} text="skillcue eval messages.jsonl" /></p><p>Runs are kept in <code>.skillcue/evals</code> if the project has a directory <code>.skillcue</code>. Or look at them at once:</p><p><${Command} text="skillcue studio --messages messages.jsonl" /></p><//>`;
    const current = found.runs.find((run) => run.id === id) || found.runs[0];
    const old = [...found.runs].reverse();
    const chart = old.length > 1 && html`<${Line} label="Figures by run" format=${(value) => percent(value)} labels=${old.map((run) => (run.id === "now" ? "now" : new Date(run.time).toLocaleDateString(undefined, { month: "short", day: "numeric" })))} series=${[{ name: "right among the first 3", values: old.map((run) => run.figures.recall_at["3"] ?? null) }, { name: "right body shown", values: old.map((run) => run.figures.shown) }]} />`;
    return html`<div>
      ${found.unreadable.length > 0 && html`<p><${Chip} kind="warn">${count(found.unreadable.length, "file")}<//> cannot be read: ${found.unreadable.map((one) => `${one.path} (${one.why})`).join(", ")}</p>`}
      <${Table} caption="evaluations" rows=${found.runs} initial=${{ key: "time", down: true }} onRow=${(run) => setId(run.id)} rowLabel=${(run) => `Open ${runName(run)}`} columns=${[
        { key: "time", title: "Run", of: (run) => (run.id === "now" ? "9999" : run.time), copy: (run) => (run.id === "now" ? "now" : run.time), show: (run) => html`${run.id === current.id ? "▸ " : ""}${runName(run)}` },
        { key: "set", title: "Messages", mid: true, of: (run) => run.set, copy: (run) => `${run.messages} in ${run.set}`, show: (run) => html`${digits(run.messages)} <span class="dim path">${run.set}</span>` },
        { key: "mode", title: "Matching", of: (run) => `${run.mode}${run.model ? `, ${run.model}` : ""}` },
        { key: "recall", title: "First 3", number: true, of: (run) => run.figures.recall_at["3"], show: (run) => percent(run.figures.recall_at["3"], 1) },
        { key: "shown", title: "Body shown", number: true, of: (run) => run.figures.shown, show: (run) => percent(run.figures.shown, 1) },
        { key: "wrong", title: "Wrongly shown", number: true, of: (run) => run.figures.wrongly_shown, show: (run) => percent(run.figures.wrongly_shown, 1) },
      ]} />
      <h2 class="title">${runName(current)}</h2>
      <${Run} key=${current.id} id=${current.id} about=${about} version=${version} chart=${chart} />
    </div>`;
  }}<//>`;
}
