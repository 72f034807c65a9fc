// The view of evaluations: runs over time, what got worse first, who is taken for whom, a threshold to drag.
import { html, useState, useEffect } from "./vendor/htm-preact.js";
import { link, remember, useAnswer, useParameter } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, Range, Table, count, digits, percent, when } from "./parts.js";
import { Line } from "./charts.js";

const MAX_NAMES = 12;

function runName(run) {
  return run.id === "now" ? "These messages, now" : `${run.label ? `${run.label}, ` : ""}${when(run.time)}`;
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

function Worse({ comparison }) {
  if (!comparison) return html`<p class="dim">There is no earlier run of this set to compare with.</p>`;
  const list = (title, changes, tone) => changes.length > 0 && html`<div><h3>${count(changes.length, "message")} ${title}</h3><ul class="plain">${changes.slice(0, 30).map((change, at) => html`<li key=${at}><${Chip} kind=${tone}>${change.old.grade} → ${change.new.grade}<//> <a href=${link("why", { m: change.query, skill: change.expected[0] })} dir="auto">${change.query}</a> <span class="dim">${change.expected.length > 0 ? `needs ${change.expected.join(" or ")}` : "needs none"}, ${change.new.first ? `got ${change.new.first}` : "got none"}</span></li>`)}</ul></div>`;
  if (comparison.worse.length + comparison.better.length === 0) return html`<p><${Chip} kind="good">no change<//> Every message got what it got in the run before.</p>`;
  return html`<div>${list("got worse", comparison.worse, "bad")}${list("got better", comparison.better, "good")}</div>`;
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

/** Who is taken for whom: the pairs with most mistakes, each of which opens its messages. */
function Matrix({ cases, threshold }) {
  const [open, setOpen] = useState(null);
  const counts = new Map();
  for (const one of cases) {
    if (isRight(one, threshold)) continue;
    const key = JSON.stringify([expectedOf(one), gotOf(one, threshold)]);
    counts.set(key, [...(counts.get(key) || []), one]);
  }
  const pairs = [...counts].map(([key, list]) => ({ pair: JSON.parse(key), list })).sort((x, y) => y.list.length - x.list.length);
  if (pairs.length === 0) return html`<p><${Chip} kind="good">none<//> At this threshold no message gets the wrong thing.</p>`;
  const rows = [...new Set(pairs.map((one) => one.pair[0]))].slice(0, MAX_NAMES);
  const columns = [...new Set(pairs.filter((one) => rows.includes(one.pair[0])).map((one) => one.pair[1]))].slice(0, MAX_NAMES);
  const listed = open ? counts.get(open) : null;
  const most = pairs[0].list.length;
  return html`<div><div class="scroll" tabindex="0" role="region" aria-label="Confusions"><table class="matrix"><caption class="said">Needed, and what came instead</caption><thead><tr><th scope="col">needed ↓ got →</th>${columns.map((name) => html`<th key=${name} scope="col" dir="auto"><span>${name}</span></th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr key=${row}><th scope="row" dir="auto">${row}</th>${columns.map((column) => {
    const key = JSON.stringify([row, column]);
    const list = counts.get(key);
    return html`<td key=${column} class="number">${list ? html`<button type="button" class=${`heat h${Math.ceil((list.length / most) * 4)}`} aria-pressed=${open === key} aria-label=${`${list.length} messages that need ${row} got ${column}`} onClick=${() => setOpen(open === key ? null : key)}>${list.length}</button>` : html`<span class="dim" aria-hidden="true">·</span>`}</td>`;
  })}</tr>`)}</tbody></table></div>
  ${pairs.length > rows.length && html`<p class="dim">The ${rows.length} most frequent of ${count(pairs.length, "pair")}.</p>`}
  ${listed && html`<div class="panel" aria-live="polite"><ul class="plain">${listed.slice(0, 50).map((one, at) => html`<li key=${at}><a href=${link("why", { m: one.query, skill: one.relevant[0] || one.first })} dir="auto">${one.query}</a> <span class="dim">${percent(one.certainty)} sure of ${one.first || "nothing"}</span></li>`)}</ul></div>`}</div>`;
}

function Threshold({ cases, initial }) {
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
    <${Matrix} cases=${cases} threshold=${threshold} />
  </div>`;
}

function Run({ id, version }) {
  const answer = useAnswer("eval", { run: id }, { version });
  return html`<${Answer} of=${answer} what="the evaluation" lines=${10}>${(found) => html`<div>
    <${Figures} figures=${found.evaluation || found.run.figures} />
    <h2>Since the run before</h2><${Worse} comparison=${found.comparison} />
    <h2>Threshold</h2><${Threshold} key=${id} cases=${found.run.cases} initial=${found.threshold} />
    ${found.run.left_out > 0 && html`<p class="dim">${count(found.run.left_out, "message")} of this run are counted and not kept.</p>`}
    <h2>Messages</h2>
    <${Table} caption="messages of the run" rows=${found.run.cases} initial=${{ key: "right", down: false }} filter=${(one) => `${one.query} ${one.relevant.join(" ")} ${one.first || ""}`} columns=${[
      { key: "query", title: "Message", wide: true, of: (one) => one.query, show: (one) => html`<a href=${link("why", { m: one.query, skill: one.relevant[0] })}>${one.query}</a>` },
      { key: "needs", title: "Needs", of: (one) => one.relevant.join(" or ") || "none" },
      { key: "first", title: "Came first", of: (one) => one.first || "–" },
      { key: "certainty", title: "Sure", number: true, of: (one) => one.certainty, show: (one) => percent(one.certainty) },
      { key: "right", title: "Right", of: (one) => (one.right ? 1 : 0), show: (one) => html`<${Chip} kind=${one.right ? "good" : "bad"}>${one.right ? "right" : "wrong"}<//>` },
      { key: "tokens", title: "Tokens", number: true, of: (one) => one.tokens, show: (one) => digits(one.tokens) },
    ]} />
  </div>`}<//>`;
}

export function EvalsView({ parameters, changes }) {
  const version = `${changes.catalog}.${changes.evals}`;
  const runs = useAnswer("evals", {}, { version });
  const [id, setId] = useParameter(parameters, "run", null);
  useEffect(() => remember("evals", { run: id }), [id, parameters]);
  return html`<${Answer} of=${runs} what="the evaluations" lines=${10}>${(found) => {
    if (found.runs.length === 0) return html`<${Empty} icon="evals" title="No evaluation yet"><p>Write messages with the skills that they need, one JSON object a line, and run:</p><p><${Command} text="skillcue eval messages.jsonl" /></p><p>Runs are kept in <code>.skillcue/evals</code> if the project has a directory <code>.skillcue</code>. Or look at them at once:</p><p><${Command} text="skillcue studio --messages messages.jsonl" /></p><//>`;
    const current = found.runs.find((run) => run.id === id) || found.runs[0];
    const old = [...found.runs].reverse();
    return html`<div>
      ${found.unreadable.length > 0 && html`<p><${Chip} kind="warn">${count(found.unreadable.length, "file")}<//> cannot be read: ${found.unreadable.map((one) => `${one.path} (${one.why})`).join(", ")}</p>`}
      ${old.length > 1 && html`<${Line} label="Figures by run" format=${(value) => percent(value)} labels=${old.map((run) => (run.id === "now" ? "now" : new Date(run.time).toLocaleDateString(undefined, { month: "short", day: "numeric" })))} series=${[{ name: "right among the first 3", values: old.map((run) => run.figures.recall_at["3"] ?? null) }, { name: "right body shown", values: old.map((run) => run.figures.shown) }]} />`}
      <${Table} caption="evaluations" rows=${found.runs} initial=${{ key: "time", down: true }} onRow=${(run) => setId(run.id)} rowLabel=${(run) => `Open ${runName(run)}`} columns=${[
        { key: "time", title: "Run", of: (run) => (run.id === "now" ? "9999" : run.time), show: (run) => html`${run.id === current.id ? "▸ " : ""}${runName(run)}` },
        { key: "set", title: "Messages", mid: true, of: (run) => run.set, show: (run) => html`${digits(run.messages)} <span class="dim path">${run.set}</span>` },
        { key: "mode", title: "Matching", of: (run) => `${run.mode}${run.model ? `, ${run.model}` : ""}` },
        { key: "recall", title: "First 3", number: true, of: (run) => run.figures.recall_at["3"], show: (run) => percent(run.figures.recall_at["3"], 1) },
        { key: "shown", title: "Body shown", number: true, of: (run) => run.figures.shown, show: (run) => percent(run.figures.shown, 1) },
        { key: "wrong", title: "Wrongly shown", number: true, of: (run) => run.figures.wrongly_shown, show: (run) => percent(run.figures.wrongly_shown, 1) },
      ]} />
      <h2 class="title">${runName(current)}</h2>
      <${Run} key=${current.id} id=${current.id} version=${version} />
    </div>`;
  }}<//>`;
}
