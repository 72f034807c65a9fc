// The view of reasons: which words decide, by how much, and what another description would change.
import { html, useState, useEffect, useRef } from "./vendor/htm-preact.js";
import { ask, isExported, link, remember, touchCatalog, useAnswer, useMessage, useParameter } from "./data.js";
import { Answer, Chip, Command, Diff, Empty, Failure, Loading, MessageBox, Meter, commandLine, count, litPieces, percent } from "./parts.js";
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

/** Descriptions that were changed and not saved, by skill: they outlast other messages, other views and changes on disk. */
const drafts = new Map();

function isDirty(draft) {
  return draft.text.trim() !== draft.base.trim();
}

function WhatIf({ message, name, description, about, version, onTouch }) {
  // A draft is its text, and the description that it began with.
  const [draft, setDraft] = useState(() => drafts.get(name) || { text: description, base: description });
  const { text } = draft;
  const keep = (next) => {
    if (isDirty(next)) drafts.set(name, next);
    else drafts.delete(name);
    setDraft(next);
  };
  const reset = () => keep({ text: description, base: description });
  useEffect(() => {
    // An untouched text follows the file; so does one that the file has now.
    if (!isDirty(draft) || text.trim() === description.trim()) reset();
  }, [description]);
  const isChanged = text.trim() !== description.trim() && text.trim() !== "";
  const isOutdated = isDirty(draft) && draft.base !== description;
  const answer = useAnswer("what_if", isChanged && message.trim() ? { message, name, description: text, config: {} } : null, { delay: 120, version });
  const [pending, setPending] = useState(null);
  const [failure, setFailure] = useState(null);
  const [said, setSaid] = useState("");
  const dialog = useRef(null);
  useEffect(() => {
    if (pending && dialog.current && !dialog.current.open) dialog.current.showModal();
  }, [pending]);
  const type = (event) => { onTouch(); setSaid(""); keep({ ...draft, text: event.currentTarget.value }); };
  const preview = () => { setFailure(null); setSaid(""); ask("preview", { name, description: text }).then((seen) => setPending({ ...seen, description: text }), setFailure); };
  // The text that was looked at, not one that was typed since.
  const save = () => ask("save", { name, description: pending.description, before: pending.before }).then((done) => { setPending(null); setSaid(`Saved ${done.path}${done.lapses.length > 0 ? ". Its consent has lapsed: allow it again" : ""}`); touchCatalog(); }, (error) => { setPending(null); setFailure(error); });
  return html`<section class="panel" aria-label="Another description">
    <h2>What if its description said …</h2>
    <label class="field wide"><span>Description of <span dir="auto">${name}</span></span><textarea rows="4" dir="auto" value=${text} onInput=${type}></textarea></label>
    <p class="dim">Judged by the same engine, in memory. Nothing is written${about.edit ? " before you have seen the change" : ""}.</p>
    ${isOutdated && html`<div class="held" role="status"><p><${Chip} kind="warn">the file has changed<//> Your draft is kept. The file says now:</p><p class="text" dir="auto">${description}</p></div>`}
    ${answer.error && html`<${Failure} error=${answer.error} />`}
    <div class="figures" aria-live="polite">${isChanged && answer.data ? html`<${Compared} name=${name} before=${answer.data.before} after=${answer.data.after} />` : html`<p class="dim hold">${isChanged ? "…" : "Change the text to see what would change."}</p>`}</div>
    <div class="bar">
      ${(isChanged || isDirty(draft)) && html`<button type="button" onClick=${reset}>${isOutdated ? "Take the text of the file" : "Undo"}</button>`}
      ${about.edit ? html`<button type="button" class="primary" disabled=${!isChanged} onClick=${preview}>Show the change …</button>` : !isExported && html`<span class="dim">Read-only. Start <code>skillcue studio --edit</code> to save.</span>`}
      <span role="status">${said}</span>
    </div>
    <${Failure} error=${failure} />
    ${pending && html`<dialog ref=${dialog} aria-label="The change" onClose=${() => setPending(null)}><h2>Change ${pending.path}</h2>
      ${pending.target && html`<p><${Chip} kind="warn">a link<//> The file that is written is <span class="path">${pending.target}</span>.</p>`}
      ${pending.lapses.length > 0 && html`<div class="held"><p><${Chip} kind="warn">consent lapses<//> What you have allowed counts for its content as it is. Allow it again after saving:</p><p><${Command} text=${commandLine("skillcue allow", name)} /></p></div>`}
      <${Diff} text=${pending.diff} /><div class="bar"><button type="button" class="primary" onClick=${save}>Save</button><button type="button" onClick=${() => dialog.current.close()}>Cancel</button></div></dialog>`}
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

function AskedSkill({ name, message, why, about, version, onTouch }) {
  const shown = useAnswer("show", isExported ? null : { name }, { version });
  if (isExported) return why.skill ? html`<${NearMiss} explanation=${why.skill} />` : null;
  return html`<div>
    ${why.skill && why.skill.name === name && html`<${NearMiss} explanation=${why.skill} />`}
    <${Answer} of=${shown} what="the skill" lines=${3}>${(skill) => html`<${WhatIf} message=${message} name=${name} description=${skill.description} about=${about} version=${version} onTouch=${onTouch} />`}<//>
  </div>`;
}

function Matches({ why, message, name, onOpen }) {
  return html`<div>
    <${LitMessage} message=${message} hits=${why.hits.slice(0, 5)} />
    <h2>${why.hits.length === 0 ? "Nothing matches" : `${count(why.matched, "skill")} matched`}</h2>
    <ol class="cards">${why.hits.slice(0, 10).map((hit, at) => html`<${HitCard} key=${hit.name} hit=${hit} rank=${at + 1} why=${why} isOpen=${name === hit.name || (!name && at === 0)} onOpen=${() => onOpen(hit.name)} />`)}</ol>
  </div>`;
}

/** A field for the name of a skill. It stays where it is, whatever the answer: an unknown name is no dead end. */
function Chooser({ names, onChoose }) {
  const [typed, setTyped] = useState("");
  const type = (event) => {
    const next = event.currentTarget.value;
    setTyped(next);
    if (names.includes(next)) onChoose(next);
  };
  return html`<form class="bar" onSubmit=${(event) => { event.preventDefault(); if (names.includes(typed)) onChoose(typed); }}><label class="field wide"><span>Ask about another skill</span><input list="names" value=${typed} placeholder="Its name" onInput=${type} /></label><datalist id="names">${names.slice(0, 2000).map((one) => html`<option key=${one} value=${one}></option>`)}</datalist></form>`;
}

export function WhyView({ parameters, about, changes }) {
  const [message, setMessage] = useMessage(parameters, about.messages);
  const [name, setName] = useParameter(parameters, "skill", null);
  useEffect(() => remember("why", { m: message, skill: name }), [message, name, parameters]);
  const isAsked = message.trim() !== "";
  const answer = useAnswer("why", isAsked ? { message, name: isExported ? null : name, config: {} } : null, { delay: 12, version: changes.catalog });
  const list = useAnswer("list", isExported ? null : {}, { version: changes.catalog });
  const names = list.data ? list.data.map((skill) => skill.name) : [];
  const why = answer.data;
  const asked = name || (why && why.hits.length > 0 ? why.hits[0].name : null);
  return html`<div>
    <${MessageBox} value=${message} onInput=${setMessage} messages=${about.messages} />
    ${!isAsked ? html`<${Empty} icon="why" title="Ask about a message"><p>Type a message to see which of its words speak for which skill, and what missed by little.</p><//>` : html`<div class="columns two">
      <section class="column" aria-label="What matches">
        <${Answer} of=${answer} what="the reasons" lines=${8}>${(found) => html`<${Matches} why=${found} message=${message} name=${name} onOpen=${setName} />`}<//>
        ${answer.error && !why && name && html`<button type="button" onClick=${() => setName(null)}>Show what matches instead</button>`}
      </section>
      <section class="column" aria-label="One skill">
        ${!isExported && html`<${Chooser} names=${names} onChoose=${setName} />`}
        ${why && (asked ? html`<div class=${answer.busy ? "stale" : ""}><${AskedSkill} key=${asked} name=${asked} message=${message} why=${why} about=${about} version=${changes.catalog} onTouch=${() => setName(asked)} /></div>` : html`<p class="dim">Name a skill to see what it would have taken.</p>`)}
      </section>
    </div>`}
    ${isAsked && html`<p><a href=${link("message", { m: message })}>What the model gets for this message</a></p>`}
  </div>`;
}
