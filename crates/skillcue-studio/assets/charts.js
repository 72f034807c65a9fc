// Charts as SVG. Each has a title for screen readers; its numbers are also in a table or a text beside it.
import { html } from "./vendor/htm-preact.js";
import { digits, milliseconds, percent } from "./parts.js";

/** Signed bars, one a row, the greatest first: what speaks for a skill and against it. */
export function SignalBars({ rows, label }) {
  const most = Math.max(...rows.map((row) => Math.abs(row.score)), 1e-9);
  return html`<table class="signals"><caption class="said">${label}</caption><tbody>${rows.map((row, at) => html`<tr key=${at}><th scope="row">${row.name}</th><td class="bars"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class=${row.score < 0 ? "bad" : "fill"} width=${(Math.abs(row.score) / most) * 100} height="10" rx="1.5" /></svg></td><td class="number">${row.score >= 0 ? "+" : "−"}${Math.abs(row.score).toFixed(2)}</td>${row.note !== undefined && html`<td class="dim" dir="auto">${row.note}</td>`}</tr>`)}</tbody></table>`;
}

/** A line over equal steps, from 0 to the greatest. */
export function Line({ series, labels, format, height = 120, label }) {
  const width = 640;
  const values = series.flatMap((one) => one.values.filter((value) => value !== null && value !== undefined));
  const most = Math.max(...values, 1e-9);
  // Room for the numbers of the axis on the left.
  const at = (index, all) => (all < 2 ? width / 2 : 48 + (index / (all - 1)) * (width - 56));
  const up = (value) => height - 18 - (value / most) * (height - 34);
  return html`<figure class="chart"><svg viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
    ${[0, 0.5, 1].map((part) => html`<g key=${part}><line class="grid" x1="8" x2=${width - 8} y1=${up(part * most)} y2=${up(part * most)} /><text class="axis" x="8" y=${up(part * most) - 3}>${format(part * most)}</text></g>`)}
    ${series.map((one, nth) => html`<g key=${nth} class=${`series s${nth}`}><polyline points=${one.values.map((value, index) => (value === null || value === undefined ? null : `${at(index, one.values.length)},${up(value)}`)).filter(Boolean).join(" ")} />${one.values.map((value, index) => value !== null && value !== undefined && html`<circle key=${index} cx=${at(index, one.values.length)} cy=${up(value)} r="3"><title>${labels[index]}: ${format(value)}</title></circle>`)}</g>`)}
    ${labels.map((text, index) => (labels.length <= 12 || index % Math.ceil(labels.length / 12) === 0) && html`<text key=${index} class="axis" x=${at(index, labels.length)} y=${height - 3} text-anchor=${index === 0 ? "start" : index === labels.length - 1 ? "end" : "middle"}>${text}</text>`)}
  </svg><figcaption>${series.map((one, nth) => html`<span key=${nth}><i class=${`swatch s${nth}`}></i>${one.name}</span>`)}</figcaption></figure>`;
}

const PARTS = [["system", "instructions"], ["skills_stable", "skills, every turn"], ["skills_turn", "skills, this turn"], ["tools", "tools"], ["history", "conversation"]];

/** The tokens of each turn by part, stacked. */
export function StackedTokens({ turns, label }) {
  const most = Math.max(...turns.map((turn) => turn.tokens.total), 1);
  const step = Math.max(6, Math.min(46, 620 / turns.length));
  const width = Math.max(320, turns.length * step + 20);
  return html`<figure class="chart"><div class="scroll" tabindex="0" role="region" aria-label=${label}><svg viewBox=${`0 0 ${width} 180`} width=${width} role="img" aria-label=${label}>${turns.map((turn, at) => {
    let top = 160;
    return html`<g key=${at}>${PARTS.map(([key, name], nth) => {
      const height = (turn.tokens[key] / most) * 145;
      top -= height;
      return height > 0 && html`<rect key=${key} class=${`part p${nth}`} x=${10 + at * step} y=${top} width=${step * 0.8} height=${height}><title>Turn ${turn.turn}, ${name}: ${digits(turn.tokens[key])} tokens</title></rect>`;
    })}${(step > 16 || at % 5 === 0) && html`<text class="axis" x=${10 + at * step + step * 0.4} y="175" text-anchor="middle">${turn.turn}</text>`}</g>`;
  })}</svg></div><figcaption>${PARTS.map(([key, name], nth) => html`<span key=${key}><i class=${`swatch p${nth}`}></i>${name}</span>`)}</figcaption></figure>`;
}

/** Requests over time: when each began, how long it took, when its first words came. */
export function Waterfall({ requests, label }) {
  const start = Math.min(...requests.map((one) => Date.parse(one.time)));
  const end = Math.max(...requests.map((one) => Date.parse(one.time) + one.latency_ms), start + 1);
  const scale = (time) => ((time - start) / (end - start)) * 100;
  return html`<table class="waterfall"><caption class="said">${label}</caption><thead><tr><th scope="col">Request</th><th scope="col">From the beginning, ${milliseconds(end - start)}</th><th scope="col" class="number">Took</th><th scope="col" class="number">Tokens</th></tr></thead><tbody>${requests.slice(0, 400).map((one, at) => {
    const [x, length] = [scale(Date.parse(one.time)), Math.max(0.4, (one.latency_ms / (end - start)) * 100)];
    const first = one.first_ms ? Math.min(length, (one.first_ms / (end - start)) * 100) : 0;
    return html`<tr key=${at}><th scope="row">Turn ${one.turn}.${one.round}${one.calls && one.calls.length > 0 && html` <span class="dim">${one.calls.join(", ")}</span>`}${one.error && html` <span class="chip bad">${one.error}</span>`}</th><td class="bars"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class=${one.error ? "bad" : "fill"} x=${x} width=${length} height="10" rx="1" />${first > 0 && html`<rect class="wait" x=${x} width=${first} height="10" rx="1" />`}</svg></td><td class="number">${milliseconds(one.latency_ms)}</td><td class="number">${digits(one.tokens.total)}</td></tr>`;
  })}</tbody></table>`;
}

/** Steps of which each is a part of the one before. */
export function Funnel({ steps, label }) {
  const most = Math.max(...steps.map((step) => step.value), 1);
  return html`<ol class="funnel" aria-label=${label}>${steps.map((step, at) => html`<li key=${at}><span class="label">${step.name}</span><span class="value">${digits(step.value)}<small> times</small></span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class=${`fill f${at}`} x=${50 - (step.value / most) * 50} width=${(step.value / most) * 100} height="10" rx="2" /></svg><span class="note">${at > 0 ? `${percent(steps[at - 1].value ? step.value / steps[at - 1].value : null)} of ${steps[at - 1].name}` : step.note || ""}</span></li>`)}</ol>`;
}
