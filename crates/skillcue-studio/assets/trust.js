// The view of trust: what is suspicious, what has drifted from its lock, what was allowed, and how to take each back.
import { html } from "./vendor/htm-preact.js";
import { link, useAnswer } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, Table, bytes, commandLine, count, digits, when } from "./parts.js";

const STANDING = { locked: "as it was installed", unlocked: "not in skillcue.lock", absent: "not there", stray: "not known to the registry" };

function subjectName(subject) {
  return subject.name && subject.label ? `${subject.label}:${subject.name}` : subject.skill || subject.path || subject.dir || "";
}

/** What a person has denied stays denied, whatever its content, until it is allowed. */
function Denied({ version }) {
  const answer = useAnswer("denied", {}, { version });
  if (!answer.data || answer.data.length === 0) return null;
  return html`<div><h3>Denied</h3><${Table} caption="what is denied" rows=${answer.data} columns=${[
    { key: "subject", title: "What", of: (row) => subjectName(row.subject) },
    { key: "kind", title: "May not", of: (row) => KINDS[row.subject.kind] || row.subject.kind },
    { key: "since", title: "Since", of: (row) => row.since, show: (row) => when(row.since) },
    { key: "allow", title: "Allow it", of: (row) => commandLine("skillcue allow", subjectName(row.subject)), show: (row) => html`<${Command} text=${commandLine("skillcue allow", subjectName(row.subject))} />` },
  ]} /></div>`;
}

const KINDS = { project: "settings of the project", remote_skill: "a remote skill", load: "models may load it", script: "a script may run", toolset: "its toolsets may run", tool: "a tool may be called" };

function Consent({ version }) {
  const answer = useAnswer("allowed", {}, { version });
  return html`<section><h2>Allowed</h2><${Answer} of=${answer} what="what is allowed" lines=${3}>${(rows) => rows.length === 0 ? html`<p class="dim">Nothing is allowed. Scripts, toolsets, remote skills and settings of projects ask first.</p>` : html`<${Table} caption="what is allowed" rows=${rows} columns=${[
    { key: "subject", title: "What", of: (row) => subjectName(row.subject) },
    { key: "kind", title: "May", of: (row) => KINDS[row.subject.kind] || row.subject.kind, show: (row) => html`${KINDS[row.subject.kind] || row.subject.kind}${row.subject.kind === "script" && html` <span class="path">${row.subject.path}</span>`}` },
    { key: "current", title: "State", of: (row) => (row.current ? "counts" : "changed"), show: (row) => html`<${Chip} kind=${row.current ? "good" : "warn"}>${row.current ? "counts" : "changed since: counts no longer"}<//>` },
    { key: "since", title: "Since", of: (row) => row.since, show: (row) => when(row.since) },
    { key: "back", title: "Take it back", of: (row) => commandLine("skillcue deny", subjectName(row.subject)), show: (row) => html`<${Command} text=${commandLine("skillcue deny", subjectName(row.subject))} />` },
  ]} />`}<//><${Denied} version=${version} /></section>`;
}

/** The command that undoes what happened to something installed: brings its files back, or takes it away. */
function undone(one) {
  const where = one.project ? " --project" : "";
  if (one.standing === "stray") return "delete it by hand";
  if (one.standing === "absent") return `skillcue install${where}`;
  return commandLine(one.drift.length > 0 ? `skillcue update${where} --overwrite-edits --yes` : `skillcue remove${where}`, one.name);
}

function standingOf(one) {
  return one.drift.length > 0 ? `${count(one.drift.length, "file")} changed` : STANDING[one.standing] || one.standing;
}

function Drift({ version }) {
  const answer = useAnswer("verify", {}, { version });
  return html`<section><h2>Installed, against the lock</h2><${Answer} of=${answer} what="installed skills" lines=${3}>${(found) => found.verified.length === 0 ? html`<p class="dim">Nothing is installed. <code>skillcue install</code> keeps a digest of every file.</p>` : html`<${Table} caption="installed skills" rows=${found.verified} initial=${{ key: "state", down: true }} columns=${[
    { key: "name", title: "Name", of: (one) => one.name },
    { key: "state", title: "State", of: (one) => one.drift.length, copy: standingOf, show: (one) => html`<${Chip} kind=${one.standing === "locked" && one.drift.length === 0 ? "good" : "bad"}>${standingOf(one)}<//>` },
    { key: "drift", title: "Files", wide: true, of: (one) => one.drift.map((file) => `${file.what} ${file.path}`).join(", ") || "–" },
    { key: "back", title: "Undo", of: undone, show: (one) => (one.standing === "stray" ? html`<span class="dim">delete it by hand</span>` : html`<${Command} text=${undone(one)} />`) },
  ]} />`}<//></section>`;
}

const ORDER = { high: 3, medium: 2, low: 1 };

function Audit({ version }) {
  const answer = useAnswer("audit", {}, { version });
  return html`<section><h2>Audit</h2><${Answer} of=${answer} what="the audit, which reads every byte of every file" lines=${6}>${(found) => {
    const findings = found.audits.flatMap((audit) => audit.findings.map((finding) => ({ ...finding, skill: audit.name })));
    const number = (severity) => findings.filter((finding) => finding.severity === severity).length;
    const size = found.audits.reduce((sum, audit) => sum + audit.bytes, 0);
    return html`<div>
      <div class="figures"><${Figure} label="High" value=${digits(number("high"))} unit="findings" tone=${number("high") > 0 ? "bad" : ""} /><${Figure} label="Medium" value=${digits(number("medium"))} unit="findings" tone=${number("medium") > 0 ? "warn" : ""} /><${Figure} label="Low" value=${digits(number("low"))} unit="findings" /><${Figure} label="Read" value=${digits(found.audits.length)} unit="skills" note=${`${bytes(size)}, every byte`} /></div>
      <${Table} caption="findings of the audit" rows=${findings} initial=${{ key: "severity", down: true }} filter=${(finding) => `${finding.skill} ${finding.rule} ${finding.message}`} empty=${html`<${Empty} icon="trust" title="Nothing suspicious was found" />`} columns=${[
        { key: "skill", title: "Skill", of: (finding) => finding.skill, show: (finding) => html`<a href=${link("catalog", { skill: finding.skill })}>${finding.skill}</a>` },
        { key: "severity", title: "Severity", of: (finding) => ORDER[finding.severity] || 0, copy: (finding) => finding.severity, show: (finding) => html`<${Chip} kind=${finding.severity === "high" ? "bad" : finding.severity === "medium" ? "warn" : ""}>${finding.severity}<//>` },
        { key: "rule", title: "Rule", mid: true, of: (finding) => finding.rule },
        { key: "place", title: "Place", mid: true, of: (finding) => `${finding.path}:${finding.line ?? ""}` },
        { key: "message", title: "What, and what to do", wide: true, of: (finding) => finding.message, show: (finding) => html`${finding.message}${finding.excerpt && html`<br /><code class="excerpt" dir="auto">${finding.excerpt}</code>`}<br /><span class="dim">${finding.help}</span>` },
        { key: "off", title: "Switch off", of: (finding) => commandLine("skillcue disable", finding.skill), show: (finding) => html`<${Command} text=${commandLine("skillcue disable", finding.skill)} />` },
      ]} />
    </div>`;
  }}<//></section>`;
}

export function TrustView({ changes }) {
  return html`<div><${Audit} version=${changes.catalog} /><${Drift} version=${changes.catalog} /><${Consent} version=${changes.catalog} /></div>`;
}
