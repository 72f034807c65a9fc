// The view of use: how often skills were shown, loaded and used, and which need a look.
import { html, useEffect } from "./vendor/htm-preact.js";
import { isExported, link, remember, useAnswer, useParameter } from "./data.js";
import { Answer, Chip, Command, Empty, Figure, Select, Table, count, digits, percent, when } from "./parts.js";
import { Funnel, Line } from "./charts.js";

const PERIODS = [["24h", "the last day"], ["7d", "7 days"], ["30d", "30 days"], ["12w", "12 weeks"], ["all", "everything"]];

const FINDINGS = [
  ["stuck", "Shown often, never used", "Its description promises more than the skill does: narrow it."],
  ["missed", "Missed", "It was searched for and loaded, though it had not been shown: its description lacks the words of these messages."],
  ["silent", "Matched, never shown", "Others are always more certain: say what only this one does."],
  ["dead", "Never matched", "No message came near it: is it still needed?"],
];

export function UseView({ parameters, changes }) {
  const [since, setSince] = useParameter(parameters, "since", "30d");
  useEffect(() => remember("use", { since }), [since, parameters]);
  const answer = useAnswer("usage", { since: isExported ? "30d" : since }, { version: changes.ledger });
  return html`<div>
    ${!isExported && html`<${Select} label="Period" value=${since} options=${PERIODS} onChange=${setSince} />`}
    <${Answer} of=${answer} what="the use of skills" lines=${10}>${(report) => {
      if (report.events === 0) return html`<${Empty} icon="use" title=${report.recording ? "Nothing was recorded in this time" : "Nothing is recorded"}><p>${report.recording ? "The agent, the MCP server and hooks record which skills were shown and used, on this machine only. Connect an agent, or read its transcripts:" : "Recording is off. To switch it on:"}</p>${report.recording ? html`<p><${Command} text="skillcue connect claude --hook" /></p><p><${Command} text="skillcue usage import" /></p>` : html`<p><${Command} text="skillcue usage on" /></p>`}<//>`;
      const sum = (of) => report.skills.reduce((total, skill) => total + of(skill), 0);
      const [shown, loaded, used] = [sum((skill) => skill.shown), sum((skill) => skill.loaded), sum((skill) => skill.read + skill.run)];
      const { right, wrong, missed, unclear } = report.accuracy;
      return html`<div>
        <${Funnel} label="From shown to used" steps=${[{ name: "shown", value: shown, note: `${digits(sum((skill) => skill.bodies))} bodies, ${digits(sum((skill) => skill.named))} names` }, { name: "loaded", value: loaded }, { name: "used", value: used, note: "files read, scripts and tools run" }]} />
        <div class="figures"><${Figure} label="Shown and right" value=${percent(report.rate)} note=${`${digits(right)} right, ${digits(wrong)} wrong, ${digits(unclear)} unclear`} /><${Figure} label="Missed" value=${digits(missed)} unit="times" tone=${missed > 0 ? "warn" : ""} /><${Figure} label="Tokens shown" value=${digits(sum((skill) => skill.tokens))} unit="tokens" /><${Figure} label="Events" value=${digits(report.events)} note=${report.dropped > 0 ? `${digits(report.dropped)} could not be recorded` : "none lost"} /></div>
        ${report.weeks.length > 1 && html`<${Line} label="Right by week" format=${(value) => percent(value)} labels=${report.weeks.map((week) => week.key)} series=${[{ name: "shown and right", values: report.weeks.map((week) => week.rate) }]} />`}
        <${Table} caption="use of skills" rows=${report.skills} initial=${{ key: "shown", down: true }} filter=${(skill) => skill.name} columns=${[
          { key: "name", title: "Skill", of: (skill) => skill.name, show: (skill) => html`<a href=${link("catalog", { skill: skill.name })}>${skill.name}</a>` },
          { key: "shown", title: "Shown", number: true, of: (skill) => skill.shown, show: (skill) => digits(skill.shown) },
          { key: "loaded", title: "Loaded", number: true, of: (skill) => skill.loaded, show: (skill) => digits(skill.loaded) },
          { key: "used", title: "Used", number: true, of: (skill) => skill.read + skill.run, show: (skill) => digits(skill.read + skill.run) },
          { key: "rate", title: "Right", number: true, of: (skill) => skill.rate, show: (skill) => percent(skill.rate) },
          { key: "tokens", title: "Tokens", number: true, of: (skill) => skill.tokens, show: (skill) => digits(skill.tokens) },
          { key: "last", title: "Last", of: (skill) => skill.last, show: (skill) => when(skill.last) },
        ]} />
        <h2>To look at</h2>
        ${report.findings.confused && report.findings.confused.length > 0 && html`<p><${Chip} kind="warn">taken for another<//> ${report.findings.confused.slice(0, 10).map((pair) => `${pair.shown} was shown where ${pair.used} was used (${count(pair.times, "time")})`).join("; ")}</p>`}
        <ul class="plain">${FINDINGS.filter(([key]) => (report.findings[key] || []).length > 0).map(([key, title, advice]) => html`<li key=${key}><details><summary><${Chip} kind=${key === "dead" ? "" : "warn"}>${digits(report.findings[key].length)}<//> ${title}</summary><p class="dim">${advice}</p><p class="names">${report.findings[key].slice(0, 200).map((name, at) => html`${at > 0 && ", "}<a key=${name} href=${link("catalog", { skill: name })}>${name}</a>`)}</p></details></li>`)}</ul>
      </div>`;
    }}<//>
  </div>`;
}
