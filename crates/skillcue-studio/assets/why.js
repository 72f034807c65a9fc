// The view of reasons: which words decide, by how much, and what another description would change.
import { html, useState, useEffect, useRef } from "./vendor/htm-preact.js";
import { ask, isExported, link, remember, touchCatalog, useAnswer, useMessage, useParameter } from "./data.js";
import { Answer, Chip, Diff, Empty, Failure, Loading, MessageBox, Meter, count, litPieces, percent } from "./parts.js";
import { SignalBars } from "./charts.js";
import { decisionTone } from "./message.js";

const MAX_LIT = 20000;

function LitMessage({ message, hits }) {
  const spans = hits.flatMap((hit) => hit.reasons.map((reason) => reason.span)).filter(Boolean);
  const text = message.slice(0, MAX_LIT);
  return html`<p class="lit" dir="auto" aria-label="The message, with the words that decide marked">${litPieces(text, spans).map((piece, at) => (piece.lit ? html`<mark key=${at}>${piece.text}</mark>` : html`<span key=${at}>${piece.text}</span>`))}${message.length > MAX_LIT && " …"}</p>`;
}

const LATE = { included: "its body is shown", shortened: "its body is shown, shortened", named: "its name is shown", omitted: "it is not shown" };

function HitCard({ hit, rank, why, isOpen, onOpen }) {
  const decided = why.decisions.find((one) => one.name === hit.name);
  const decision = decided ? decided.decision : "omitted";
  return html`<li class=${isOpen ? "card open" : "card"}>
    <button type="button" class="head" aria-expanded=${isOpen} onClick=${onOpen}>
      <span class="rank">${rank}</span><span class="name" dir="auto">${hit.name}</span>
      <${Chip} kind=${decisionTone(decision)}>${LATE[decision]}<//>
      <${Meter} value=${hit.certainty} marks=${[why.thresholds.body]} label=${`${percent(hit.certainty)} sure, bodies from ${percent(why.thresholds.body)}`} />
      <span class="number">${percent(hit.certainty)} sure</span>
    </button>
    ${isOpen && html`<div class="inside">
      ${decided && decided.why && html`<p>${decided.why}: certainty ${percent(hit.certainty, 1)}, bodies from ${percent(why.thresholds.body)}; likelihood ${percent(hit.likelihood, 1)}, names from ${percent(why.thresholds.name, 1)}.</p>`}
      <h3>Words of the message</h3>
      ${hit.reasons.length > 0 ? html`<${SignalBars} label=${`Words that speak for ${hit.name}`} rows=${hit.reasons.slice(0, 20).map((reason) => ({ name: `${reason.kind}: ${reason.trigger}`, score: reason.score, note: reason.text ? `“${reason.text}”` : "" }))} />` : html`<p class="dim">No single word.</p>`}
      ${hit.evidence && hit.evidence.length > 0 && html`<h3>Signals of its text</h3><${SignalBars} label=${`Signals for ${hit.name}`} rows=${[...hit.evidence].sort((x, y) => Math.abs(y.score) - Math.abs(x.score)).map((part) => ({ name: part.kind, score: part.score }))} />`}
    </div>`}
  </li>`;
}

function NearMiss({ explanation }) {
  const missed = (explanation.triggers || []).filter((trigger) => !trigger.matched).slice(0, 12);
  return html`<div class="card open"><div class="inside">
    ${explanation.hit ? null : html`<p><strong dir="auto">${explanation.name}</strong> does not match. What it would have taken:</p>`}
    ${explanation.excluded && explanation.excluded.length > 0 && html`<p>Its description says that it is not for ${explanation.excluded.map((word) => `“${word}”`).join(", ")}.</p>`}
    ${missed.length > 0 && html`<h3>${explanation.hit ? "Triggers that did not match" : "Its triggers"}</h3><ul class="plain">${missed.map((trigger, at) => html`<li key=${at}><${Chip}>${trigger.kind}<//> <span dir="auto">${trigger.trigger}</span> <span class="dim" dir="auto">${trigger.note || ""}</span></li>`)}</ul>`}
    ${!explanation.hit && missed.length === 0 && html`<p class="dim">It has no triggers, and its own words are not like those of the message.</p>`}
  </div></div>`;
}

function place(why, name) {
  const at = why.hits.findIndex((hit) => hit.name === name);
  const hit = at >= 0 ? why.hits[at] : why.skill && why.skill.hit;
  const rank = at >= 0 ? at : why.skill && why.skill.before;
  const decided = why.decisions.find((one) => one.name === name);
  return { rank: rank === null || rank === undefined || !hit ? null : rank + 1, certainty: hit ? hit.certainty : 0, decision: decided ? decided.decision : "omitted" };
}

function Change({ label, before, after, isBetter }) {
  return html`<div class="figure"><span class="label">${label}</span><span class="value">${before} → <b class=${isBetter === null ? "" : isBetter ? "better" : "worse"}>${after}</b></span></div>`;
}

function WhatIf({ message, name, description, about, version }) {
  const [text, setText] = useState(description);
  useEffect(() => setText(description), [name, description]);
  const isChanged = text.trim() !== description.trim() && text.trim() !== "";
  const answer = useAnswer("what_if", isChanged && message.trim() ? { message, name, description: text, config: {} } : null, { delay: 120, version });
  const [pending, setPending] = useState(null);
  const [failure, setFailure] = useState(null);
  const [said, setSaid] = useState("");
  const dialog = useRef(null);
  useEffect(() => {
    if (pending && dialog.current && !dialog.current.open) dialog.current.showModal();
  }, [pending]);
  const preview = () => { setFailure(null); setSaid(""); ask("preview", { name, description: text }).then(setPending, setFailure); };
  const save = () => ask("save", { name, description: text, before: pending.before }).then((done) => { setPending(null); setSaid(`Saved ${done.path}`); touchCatalog(); }, (error) => { setPending(null); setFailure(error); });
  return html`<section class="panel" aria-label="Another description">
    <h2>What if its description said …</h2>
    <label class="field wide"><span>Description of <span dir="auto">${name}</span></span><textarea rows="4" dir="auto" value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea></label>
    <p class="dim">Judged by the same engine, in memory. Nothing is written${about.edit ? " before you have seen the change" : ""}.</p>
    ${answer.error && html`<${Failure} error=${answer.error} />`}
    <div class="figures" aria-live="polite">${isChanged && answer.data ? html`<${Compared} name=${name} before=${answer.data.before} after=${answer.data.after} />` : html`<p class="dim hold">${isChanged ? "…" : "Change the text to see what would change."}</p>`}</div>
    <div class="bar">
      ${isChanged && html`<button type="button" onClick=${() => setText(description)}>Undo</button>`}
      ${about.edit ? html`<button type="button" class="primary" disabled=${!isChanged} onClick=${preview}>Show the change …</button>` : !isExported && html`<span class="dim">Read-only. Start <code>skillcue studio --edit</code> to save.</span>`}
      <span role="status">${said}</span>
    </div>
    <${Failure} error=${failure} />
    ${pending && html`<dialog ref=${dialog} aria-label="The change" onClose=${() => setPending(null)}><h2>Change ${pending.path}</h2><${Diff} text=${pending.diff} /><div class="bar"><button type="button" class="primary" onClick=${save}>Save</button><button type="button" onClick=${() => dialog.current.close()}>Cancel</button></div></dialog>`}
  </section>`;
}

function Compared({ name, before, after }) {
  const [old, now] = [place(before, name), place(after, name)];
  const rank = (one) => (one.rank === null ? "no match" : `#${one.rank}`);
  const moved = after.hits.slice(0, 10).filter((hit) => hit.name !== name).map((hit) => ({ name: hit.name, from: place(before, hit.name), to: place(after, hit.name) })).filter((one) => one.from.decision !== one.to.decision);
  return html`
    <${Change} label="Rank" before=${rank(old)} after=${rank(now)} isBetter=${old.rank === now.rank ? null : (now.rank || 1e9) < (old.rank || 1e9)} />
    <${Change} label="Certainty" before=${percent(old.certainty, 1)} after=${percent(now.certainty, 1)} isBetter=${Math.abs(now.certainty - old.certainty) < 0.0005 ? null : now.certainty > old.certainty} />
    <${Change} label="The model gets" before=${LATE[old.decision]} after=${LATE[now.decision]} isBetter=${old.decision === now.decision ? null : now.decision !== "omitted"} />
    ${moved.length > 0 && html`<p>Others: ${moved.map((one) => `${one.name} (${LATE[one.from.decision]} → ${LATE[one.to.decision]})`).join(", ")}</p>`}`;
}

function AskedSkill({ name, message, why, about, version }) {
  const shown = useAnswer("show", isExported ? null : { name }, { version });
  if (isExported) return why.skill ? html`<${NearMiss} explanation=${why.skill} />` : null;
  return html`<div>
    ${why.skill && why.skill.name === name && html`<${NearMiss} explanation=${why.skill} />`}
    <${Answer} of=${shown} what="the skill" lines=${3}>${(skill) => html`<${WhatIf} message=${message} name=${name} description=${skill.description} about=${about} version=${version} />`}<//>
  </div>`;
}

export function WhyView({ parameters, about, changes }) {
  const [message, setMessage] = useMessage(parameters, about.messages);
  const [name, setName] = useParameter(parameters, "skill", null);
  useEffect(() => remember("why", { m: message, skill: name }), [message, name, parameters]);
  const isAsked = message.trim() !== "";
  const answer = useAnswer("why", isAsked ? { message, name: isExported ? null : name, config: {} } : null, { delay: 12, version: changes.catalog });
  const list = useAnswer("list", isExported ? null : {}, { version: changes.catalog });
  const names = list.data ? list.data.map((skill) => skill.name) : [];
  const [typed, setTyped] = useState("");
  return html`<div>
    <${MessageBox} value=${message} onInput=${setMessage} messages=${about.messages} />
    ${!isAsked ? html`<${Empty} icon="why" title="Ask about a message"><p>Type a message to see which of its words speak for which skill, and what missed by little.</p><//>` : html`<${Answer} of=${answer} what="the reasons" lines=${8}>${(why) => html`<div class="columns two">
      <section class="column" aria-label="What matches">
        <${LitMessage} message=${message} hits=${why.hits.slice(0, 5)} />
        <h2>${why.hits.length === 0 ? "Nothing matches" : `${count(why.matched, "skill")} matched`}</h2>
        <ol class="cards">${why.hits.slice(0, 10).map((hit, at) => html`<${HitCard} key=${hit.name} hit=${hit} rank=${at + 1} why=${why} isOpen=${name === hit.name || (!name && at === 0)} onOpen=${() => setName(hit.name)} />`)}</ol>
      </section>
      <section class="column" aria-label="One skill">
        ${!isExported && html`<form class="bar" onSubmit=${(event) => { event.preventDefault(); if (names.includes(typed)) setName(typed); }}><label class="field wide"><span>Ask about another skill</span><input list="names" value=${typed} placeholder="Its name" onInput=${(event) => { const next = event.currentTarget.value; setTyped(next); if (names.includes(next)) setName(next); }} /></label><datalist id="names">${names.slice(0, 2000).map((one) => html`<option key=${one} value=${one}></option>`)}</datalist></form>`}
        ${name || why.hits.length > 0 ? html`<${AskedSkill} key=${name || why.hits[0].name} name=${name || why.hits[0].name} message=${message} why=${why} about=${about} version=${changes.catalog} />` : html`<p class="dim">Name a skill to see what it would have taken.</p>`}
      </section>
    </div>`}<//>`}
    ${isAsked && html`<p><a href=${link("message", { m: message })}>What the model gets for this message</a></p>`}
  </div>`;
}
