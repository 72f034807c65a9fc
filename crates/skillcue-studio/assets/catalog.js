// The view of the catalog: every skill in a table, one skill in detail, pairs that compete.
import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import { isExported, link, remember, useAnswer, useParameter } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, Table, bytes, count, digits, percent } from "./parts.js";

/** Whether models see it, and the tone of the word. */
function stateOf(skill) {
  if (skill.refused) return ["closed by policy", "bad"];
  if (!skill.enabled) return ["disabled", ""];
  return skill.disable_model_invocation ? ["hidden from models", "warn"] : ["on", "good"];
}

function State({ skill }) {
  const [word, tone] = stateOf(skill);
  return html`<${Chip} kind=${tone} title=${skill.refused ? skill.refused.reason : undefined}>${word}<//>`;
}

/** One skill, as `show` tells it; in an exported file, as the list has it. */
function Detail({ name, listed, about, version, onClose }) {
  const asked = useAnswer("show", isExported ? null : { name }, { version });
  const answer = isExported ? { data: { triggers: {}, diagnostics: [], files: [], ...listed }, error: null, busy: false } : asked;
  const heading = useRef(null);
  useEffect(() => {
    // By a link at the other end of the page: what it opens is seen, and read out.
    const opener = document.activeElement;
    if (heading.current && opener && opener !== document.body) heading.current.focus();
    return () => opener && opener.isConnected && opener.focus();
  }, [name]);
  return html`<aside class="panel" aria-label=${`The skill ${name}`}>
    <div class="bar"><h2 ref=${heading} tabindex="-1" dir="auto">${name}</h2><button type="button" onClick=${onClose}>Close</button></div>
    <${Answer} of=${answer} what="the skill" lines=${6}>${(skill) => html`<div>
      <p class="text" dir="auto">${skill.description}</p>
      <dl>
        <dt>Body</dt><dd>${digits(skill.tokens)} tokens, estimated</dd>
        <dt>State</dt><dd><${State} skill=${skill} />${skill.refused && ` ${skill.refused.reason}. ${skill.refused.help || ""}`}</dd>
        <dt>Source</dt><dd>${skill.plugin || skill.source}${skill.version && ` · version ${skill.version}`}</dd>
        <dt>File</dt><dd class="path">${about.home && skill.path.startsWith(`${about.home}/`) ? `~${skill.path.slice(about.home.length)}` : skill.path}</dd>
        ${skill.allowed_tools.length > 0 && html`<dt>Tools</dt><dd>${skill.allowed_tools.join(", ")}</dd>`}
        ${Object.entries(skill.triggers || {}).filter(([, values]) => values && values.length > 0).map(([kind, values]) => html`<dt>${kind}</dt><dd dir="auto">${values.slice(0, 40).join(", ")}</dd>`)}
      </dl>
      ${skill.diagnostics.length > 0 && html`<ul class="plain">${skill.diagnostics.map((found, at) => html`<li key=${at}><${Chip} kind=${found.severity === "error" ? "bad" : "warn"}>${found.code}<//> ${found.message}${found.help && html` <span class="dim">${found.help}</span>`}</li>`)}</ul>`}
      ${!isExported && html`<h3>${count(skill.files.length, "file")}</h3>
      <ul class="plain">${skill.files.slice(0, 50).map((file) => html`<li key=${file.path}><span class="path">${file.path}</span> <span class="dim">${bytes(file.size)}</span></li>`)}</ul>
      <p><a href=${link("why", { skill: name })}>Try another description</a></p>`}
    </div>`}<//>
  </aside>`;
}

function Pairs({ version }) {
  const answer = useAnswer("collisions", {}, { version });
  const words = (list) => list.slice(0, 8).join(", ") || "nothing";
  return html`<section><h2>Pairs that compete</h2><${Answer} of=${answer} what="competing pairs" lines=${5}>${(found) => html`
    <${Table} caption="pairs that compete" rows=${found.pairs} initial=${{ key: "nearness", down: true }} filter=${(row) => row.skills.join(" ")} empty=${html`<p class="dim">No two skills compete for the same messages.</p>`} columns=${[
      { key: "skills", title: "Skills", of: (row) => row.skills.join(" and "), show: (row) => html`<a href=${link("catalog", { skill: row.skills[0] })}>${row.skills[0]}</a><br /><a href=${link("catalog", { skill: row.skills[1] })}>${row.skills[1]}</a>` },
      { key: "nearness", title: "Alike", number: true, of: (row) => row.nearness, show: (row) => html`${percent(row.nearness)}${row.is_copy && html`<br /><${Chip} kind="bad">a copy<//>`}` },
      { key: "taken", title: "Taken for the other", number: true, of: (row) => row.messages[0] + row.messages[1] + row.uses[0] + row.uses[1], show: (row) => digits(row.messages[0] + row.messages[1] + row.uses[0] + row.uses[1]) },
      { key: "apart", title: "What tells them apart", wide: true, of: (row) => `${words(row.only[0])} / ${words(row.only[1])}`, show: (row) => html`<span class="dim">only ${row.skills[0]}:</span> ${words(row.only[0])}<br /><span class="dim">only ${row.skills[1]}:</span> ${words(row.only[1])}${row.clients.length > 0 && html`<br /><span class="dim">without a description in ${row.clients.map((cut) => cut.client).join(", ")}</span>`}` },
      { key: "next", title: "What to do", wide: true, of: (row) => row.next.join("; ") },
    ]} />`}<//></section>`;
}

export function CatalogView({ parameters, about, changes }) {
  const [name, setName] = useParameter(parameters, "skill", null);
  useEffect(() => remember("catalog", { skill: name }), [name, parameters]);
  const answer = useAnswer("list", {}, { version: changes.catalog });
  return html`<${Answer} of=${answer} what="the skills" lines=${12}>${(skills) => {
    const listed = name && skills.find((skill) => skill.name === name);
    const isOpen = name && (listed || !isExported);
    const tokens = skills.reduce((sum, skill) => sum + skill.tokens, 0);
    if (skills.length === 0) return html`<${Empty} icon="catalog" title="There are no skills yet"><p>Make one, or install some:</p><p><${Command} text="skillcue new release-notes" /></p><p><${Command} text="skillcue install DIRECTORY" /></p><//>`;
    return html`<div>
      <div class="figures">
        <${Figure} label="Skills" value=${digits(skills.length)} note=${`${digits(about.visible)} that models may see`} />
        <${Figure} label="All bodies" value=${digits(tokens)} unit="tokens" note="estimated" />
        <${Figure} label="Not usable" value=${digits(about.invalid)} tone=${about.invalid > 0 ? "bad" : ""} note=${about.invalid > 0 ? "`skillcue doctor` says why" : "every file is fine"} />
      </div>
      <div class=${isOpen ? "split" : ""}>
        <${Table} caption="skills" rows=${skills} filter=${(skill) => `${skill.name} ${skill.description} ${skill.source}`} onRow=${(skill) => setName(skill.name)} columns=${[
          { key: "name", title: "Name", of: (skill) => skill.name },
          { key: "source", title: "Source", of: (skill) => skill.plugin || skill.source },
          { key: "tokens", title: "Body, tokens", number: true, of: (skill) => skill.tokens, show: (skill) => digits(skill.tokens) },
          { key: "described", title: "Description, characters", number: true, of: (skill) => skill.description.length, show: (skill) => digits(skill.description.length) },
          { key: "state", title: "State", of: (skill) => stateOf(skill)[0], show: (skill) => html`<${State} skill=${skill} />` },
          { key: "brief", title: "What it does", wide: true, of: (skill) => skill.brief_description, show: (skill) => html`<span class="brief">${skill.brief_description}</span>` },
        ]} />
        ${isOpen && html`<${Detail} name=${name} listed=${listed} about=${about} version=${changes.catalog} onClose=${() => setName(null)} />`}
      </div>
      <${Pairs} version=${changes.catalog} />
    </div>`;
  }}<//>`;
}
