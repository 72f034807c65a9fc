// The view of a message: what the model would get as you type, under one configuration or two.
import { html, useEffect } from "./vendor/htm-preact.js";
import { isExported, link, remember, useAnswer, useMessage, useParameter } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, MessageBox, Meter, ModelText, Range, Select, commandLine, count, digits, microseconds, percent } from "./parts.js";

const TIERS = ["nothing", "how many skills there are", "a list of names", "documentation"];

/** The fields of a configuration that differ from the user's. */
export function chosen(config, about) {
  const fields = {};
  for (const key of ["mode", "policy", "eagerness", "budget", "per_skill"]) {
    if (config[key] !== undefined && config[key] !== about[key]) fields[key] = config[key];
  }
  return fields;
}

export function readConfig(text) {
  const config = {};
  for (const pair of (text || "").split(",").filter(Boolean)) {
    const [key, value] = pair.split(":");
    if (["mode", "policy"].includes(key)) config[key] = value;
    else if (["eagerness", "budget", "per_skill"].includes(key) && Number.isFinite(Number(value))) config[key] = Number(value);
  }
  return config;
}

export function writeConfig(config, about) {
  return Object.entries(chosen(config, about)).map(([key, value]) => `${key}:${value}`).join(",");
}

export function ConfigPanel({ name, config, about, onChange, onRemove }) {
  const value = { ...about, ...config };
  const set = (change) => onChange({ ...config, ...change });
  return html`<fieldset class="config"><legend>${name}</legend>
    <${Select} label="Matching" value=${value.mode} options=${about.modes} onChange=${(mode) => set({ mode })} />
    <${Select} label="Policy" value=${value.policy} options=${about.policies} onChange=${(policy) => set({ policy })} />
    <${Range} label="Eagerness" min="0" max="1" step="0.05" value=${value.eagerness} shown=${Number(value.eagerness).toFixed(2)} onInput=${(eagerness) => set({ eagerness })} />
    <${Range} label="Budget" min="0" max="32000" step="500" value=${value.budget} shown=${value.budget === 0 ? "no limit" : `${digits(value.budget)} tokens`} onInput=${(budget) => set({ budget })} />
    ${onRemove && html`<button type="button" onClick=${onRemove}>Remove</button>`}
  </fieldset>`;
}

export function decisionTone(decision) {
  return { included: "good", shortened: "good", named: "info", omitted: "" }[decision] || "";
}

const DECISIONS = { included: "body shown", shortened: "body, shortened", named: "named", omitted: "not shown" };

/** What agents and hooks hold back, because it came with a checkout and no person has allowed it. */
function Held({ names, version }) {
  const answer = useAnswer("held", names.length > 0 ? { names } : null, { version });
  const held = answer.data ? answer.data.held : [];
  if (held.length === 0) return null;
  return html`<div class="held" role="note"><p><${Chip} kind="warn">not allowed<//> ${held.length === 1 ? "This skill" : "These skills"} came with the checkout. Agents and hooks hold ${held.length === 1 ? "its text" : "their texts"} back until you allow it:</p>${held.map((name) => html`<p key=${name}><${Command} text=${commandLine("skillcue allow", name)} /></p>`)}</div>`;
}

function Shown({ shown, message, label, about, version }) {
  const spent = shown.tokens.stable + shown.tokens.turn;
  const saved = shown.tokens.eager > 0 ? spent / shown.tokens.eager - 1 : null;
  const text = [shown.stable, shown.turn].filter(Boolean).join("\n\n");
  const rows = shown.skills.slice(0, 12);
  return html`<div>
    <div class="figures">
      <${Figure} label="The model gets" value=${TIERS[shown.tier]} note=${`tier ${shown.tier}`} />
      <${Figure} label="This turn" value=${digits(shown.tokens.turn)} unit="tokens" note=${shown.tokens.stable > 0 ? `and ${digits(shown.tokens.stable)} in every turn` : "nothing in other turns"} />
      <${Figure} label="All skills at once" value=${digits(shown.tokens.eager)} unit="tokens" note=${saved === null ? "" : `${saved < 0 ? "−" : "+"}${Math.min(spent > 0 && saved < 0 ? 99.9 : Infinity, Math.abs(saved * 100)).toFixed(1)} % with Skillcue`} />
      <${Figure} label="Decided in" value=${microseconds(shown.elapsed_us)} note=${`${count(shown.matched, "skill")} matched`} />
    </div>
    ${rows.length > 0 && html`<ol class="hits" aria-label=${`Skills for the message, ${label}`}>${rows.map((skill) => html`<li key=${skill.name}>
      <span class="name" dir="auto">${skill.name}</span>
      <${Chip} kind=${decisionTone(skill.decision)} title=${skill.why}>${DECISIONS[skill.decision] || skill.decision}<//>
      <${Meter} value=${skill.certainty} marks=${[shown.thresholds.body]} label=${`${percent(skill.certainty)} sure; bodies from ${percent(shown.thresholds.body)}, names by likelihood from ${percent(shown.thresholds.name, 1)}`} />
      <span class="number">${percent(skill.certainty)} sure</span>
      <span class="number dim">${skill.tokens > 0 ? `${digits(skill.tokens)} tokens` : ""}</span>
      <a href=${link("why", { m: message, skill: skill.name })} aria-label=${`Why ${skill.name}`}>why</a>
    </li>`)}</ol>`}
    ${about.foreign && !isExported && html`<${Held} names=${rows.filter((skill) => skill.decision !== "omitted").map((skill) => skill.name)} version=${version} />`}
    ${text ? html`<${ModelText} text=${text} label=${`The text, ${count(spent, "token")}`} />` : html`<p class="dim">The prompt gets nothing: no token is spent.</p>`}
  </div>`;
}

function Column({ name, message, config, about, version, onChange, onRemove }) {
  const fields = message.trim() ? { message, config: chosen(config, about) } : null;
  const answer = useAnswer("context", fields, { delay: 12, version });
  return html`<section class="column" aria-label=${name}>
    ${!isExported && html`<${ConfigPanel} name=${name} config=${config} about=${about} onChange=${onChange} onRemove=${onRemove} />`}
    ${fields === null ? null : html`<${Answer} of=${answer} what="the answer" lines=${8}>${(shown) => html`<${Shown} shown=${shown} message=${message} label=${name} about=${about} version=${version} />`}<//>`}
  </section>`;
}

const NO_CHANGES = {};

export function MessageView({ parameters, about, changes }) {
  const [message, setMessage] = useMessage(parameters, about.messages);
  const [a, setA] = useParameter(parameters, "a", NO_CHANGES, readConfig);
  const [b, setB] = useParameter(parameters, "b", null, readConfig);
  useEffect(() => {
    remember("message", { m: message, a: writeConfig(a, about), b: b === null ? undefined : writeConfig(b, about) || "same:" });
  }, [message, a, b, parameters]);
  return html`<div>
    <${MessageBox} value=${message} onInput=${setMessage} messages=${about.messages} />
    ${!message.trim() && html`<${Empty} icon="message" title="Type a message"><p>You will see, letter by letter, what a model would get for it from ${count(about.visible, "skill")}, and what that costs.</p><//>`}
    <div class=${b === null ? "columns" : "columns two"}>
      <${Column} name=${b === null ? "Configuration" : "Configuration A"} message=${message} config=${a} about=${about} version=${changes.catalog} onChange=${setA} />
      ${b !== null && html`<${Column} name="Configuration B" message=${message} config=${b} about=${about} version=${changes.catalog} onChange=${setB} onRemove=${() => setB(null)} />`}
    </div>
    ${b === null && !isExported && html`<button type="button" onClick=${() => setB({ ...a, mode: a.mode === "keyword" ? "hybrid" : "keyword" })}>Compare with a second configuration</button>`}
  </div>`;
}
