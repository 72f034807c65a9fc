// The view of the budget: the list of skills in a system prompt for a window to drag, and what other agents cut.
import { html, useEffect } from "./vendor/htm-preact.js";
import { isExported, remember, useAnswer, useParameter } from "./data.js";
import { Answer, Chip, Empty, Figure, Meter, ModelText, Range, Table, count, digits, percent } from "./parts.js";

const WINDOWS = [8000, 16000, 32000, 64000, 128000, 200000, 400000, 1000000];

function Section({ window: size, about, version }) {
  const answer = useAnswer("prompt", { window: size }, { delay: isExported ? 0 : 40, version });
  return html`<${Answer} of=${answer} what="the list" lines=${8}>${(section) => {
    const [cut, gone] = [section.shortened.length, section.omitted.length];
    const whole = Math.max(0, about.visible - cut - gone);
    return html`<div>
      <div class="figures">
        <${Figure} label="The list takes" value=${digits(section.tokens)} unit="tokens" note=${`${percent(section.tokens / size, 2)} of the window`} />
        <${Figure} label="Whole descriptions" value=${digits(whole)} unit=${whole === 1 ? "skill" : "skills"} />
        <${Figure} label="Shortened" value=${digits(cut)} unit="skills" tone=${cut > 0 ? "warn" : ""} />
        <${Figure} label="Left out" value=${digits(gone)} unit="skills" tone=${gone > 0 ? "bad" : ""} note=${gone > 0 ? "search finds them" : ""} />
      </div>
      <svg class="stack" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${`${whole} whole, ${cut} shortened, ${gone} left out`}><rect class="good" width=${(whole / Math.max(1, about.visible)) * 100} height="6" /><rect class="warn" x=${(whole / Math.max(1, about.visible)) * 100} width=${(cut / Math.max(1, about.visible)) * 100} height="6" /><rect class="bad" x=${((whole + cut) / Math.max(1, about.visible)) * 100} width=${(gone / Math.max(1, about.visible)) * 100} height="6" /></svg>
      ${gone > 0 && html`<details><summary>${count(gone, "skill")} left out</summary><p class="names">${section.omitted.slice(0, 500).join(", ")}${gone > 500 && " …"}</p></details>`}
      <details><summary>The text of the list</summary><${ModelText} text=${section.text} label=${`The list, ${count(section.tokens, "token")}`} /></details>
    </div>`;
  }}<//>`;
}

export function BudgetView({ parameters, about, changes }) {
  const nearest = (size) => WINDOWS.reduce((best, one) => (Math.abs(Math.log(one / size)) < Math.abs(Math.log(best / size)) ? one : best));
  const read = (text) => Math.min(10_000_000, Math.max(1000, Number(text) || about.window));
  const [asked, setSize] = useParameter(parameters, "window", about.window, read);
  const size = isExported ? nearest(asked) : asked;
  useEffect(() => remember("budget", { window: size }), [size, parameters]);
  const doctor = useAnswer("doctor", {}, { version: changes.catalog });
  // A window is dragged by its logarithm: small ones differ most.
  const place = isExported ? WINDOWS.indexOf(size) : Math.round(Math.log2(size / 1000) * 20);
  const drag = (at) => setSize(isExported ? WINDOWS[at] : Math.round((1000 * 2 ** (at / 20)) / 500) * 500 || 1000);
  return html`<div>
    <section><h2>Skillcue's own list</h2>
      <p class="dim">With the policies <code>catalog</code> and <code>hint</code> a system prompt lists the skills. Drag the model's window to see what fits.</p>
      <${Range} long label="Context window" min="0" max=${isExported ? WINDOWS.length - 1 : 200} step="1" value=${place} shown=${`${digits(size)} tokens`} onInput=${drag} />
      <${Section} window=${size} about=${about} version=${changes.catalog} />
    </section>
    <section><h2>What other agents show</h2>
      <p class="dim">Each agent makes a list of its own, and cuts it by its own rule.</p>
      <${Answer} of=${doctor} what="the lists of agents" lines=${8}>${(checkup) => html`<${Table} caption="lists of other agents" rows=${checkup.clients} initial=${{ key: "lost", down: true }} empty=${html`<${Empty} icon="budget" title="No agent is known here" />`} columns=${[
        { key: "client", title: "Agent", of: (list) => list.client, show: (list) => html`${list.client}<br /><span class="dim">${list.rule}${list.measured ? ` · measured with ${list.measured}` : " · not measured"}</span>` },
        { key: "read", title: "Skills it reads", number: true, of: (list) => list.read, show: (list) => html`${digits(list.read)}${list.unread.length > 0 && html`<br /><span class="dim">${digits(list.unread.length)} not in its folders</span>`}` },
        { key: "needed", title: "Needed", number: true, of: (list) => list.needed, copy: (list) => `${list.needed} ${list.unit}`, show: (list) => `${digits(list.needed)} ${list.unit}` },
        { key: "budget", title: "Room", number: true, of: (list) => list.budget, copy: (list) => (list.budget === null ? "no limit" : `${list.budget} ${list.unit}`), show: (list) => (list.budget === null ? "no limit" : `${digits(list.budget)} ${list.unit}`) },
        { key: "lost", title: "Lost", number: true, of: (list) => list.shortened.length + list.name_only.length + list.omitted.length, show: (list) => {
          const lost = list.shortened.length + list.name_only.length + list.omitted.length;
          if (list.read === 0) return html`<${Chip}>reads none<//>`;
          if (lost === 0) return html`<${Chip} kind="good">nothing<//>`;
          return html`<${Meter} value=${lost / Math.max(1, list.read)} tone="bad" label=${`${lost} of ${list.read}`} /><br /><span class="dim">${[[list.shortened.length, "shortened"], [list.name_only.length, "name only"], [list.omitted.length, "left out"]].filter(([number]) => number > 0).map(([number, word]) => `${digits(number)} ${word}`).join(", ")}</span>`;
        } },
      ]} />`}<//>
    </section>
  </div>`;
}
