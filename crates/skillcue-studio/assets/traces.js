// The view of traces: what a conversation with the agent cost, request by request.
import { html, useEffect } from "./vendor/htm-preact.js";
import { remember, useAnswer, useParameter } from "./data.js";
import { Answer, Command, Empty, Figure, Table, count, digits, milliseconds, percent } from "./parts.js";
import { StackedTokens, Waterfall } from "./charts.js";

function Conversation({ session, version }) {
  const answer = useAnswer("trace", { session }, { version });
  return html`<${Answer} of=${answer} what="the conversation" lines=${10}>${(trace) => {
    const turns = trace.turns || [];
    return html`<div>
      <h2>Tokens by turn</h2>
      ${turns.length > 0 && html`<${StackedTokens} turns=${turns} label="Tokens of each turn by part" />`}
      <${Table} caption="turns" rows=${turns} columns=${[
        { key: "turn", title: "Turn", number: true, of: (turn) => turn.turn },
        { key: "requests", title: "Requests", number: true, of: (turn) => turn.requests },
        { key: "total", title: "Tokens", number: true, of: (turn) => turn.tokens.total, show: (turn) => digits(turn.tokens.total) },
        { key: "skills", title: "For skills", number: true, of: (turn) => turn.skills, show: (turn) => digits(turn.skills) },
        { key: "repeated", title: "Repeated", number: true, of: (turn) => turn.repeated, show: (turn) => percent(turn.tokens.total ? turn.repeated / turn.tokens.total : 0) },
        { key: "saved", title: "Saved by skills", number: true, of: (turn) => turn.saved, show: (turn) => digits(turn.saved) },
        { key: "latency", title: "Time", number: true, of: (turn) => turn.latency_ms, show: (turn) => milliseconds(turn.latency_ms) },
      ]} initial=${{ key: "turn", down: false }} />
      <h2>Requests over time</h2>
      ${trace.requests && trace.requests.length > 0 && html`<${Waterfall} requests=${trace.requests} label="Requests over time" />`}
    </div>`;
  }}<//>`;
}

export function TracesView({ parameters, changes }) {
  const [session, setSession] = useParameter(parameters, "session", null);
  useEffect(() => remember("traces", { session }), [session, parameters]);
  const answer = useAnswer("traces", {}, { version: changes.ledger });
  return html`<${Answer} of=${answer} what="the traces" lines=${8}>${(found) => {
    if (found.sessions.length === 0) return html`<${Empty} icon="traces" title="Nothing was traced yet"><p>The agent writes a trace of every conversation:</p><p><${Command} text=${'skillcue agent -p "Say bonjour to Alice"'} /></p><//>`;
    const current = found.sessions.find((one) => one.session === session) || found.sessions[0];
    return html`<div>
      <div class="figures"><${Figure} label="Conversations" value=${digits(found.sessions.length)} /><${Figure} label="Requests" value=${digits(found.total.requests)} note=${found.total.errors > 0 ? `${digits(found.total.errors)} failed` : "none failed"} /><${Figure} label="Tokens sent" value=${digits(found.total.tokens.total)} unit="tokens" /><${Figure} label="Saved by skills" value=${digits(found.total.saved)} unit="tokens" note="against all skills in every request" /></div>
      <${Table} caption="conversations" rows=${found.sessions} onRow=${(one) => setSession(one.session)} rowLabel=${(one) => `Open the conversation ${one.session}`} initial=${{ key: "session", down: true }} columns=${[
        { key: "session", title: "Conversation", of: (one) => one.session, show: (one) => html`${one === current ? "▸ " : ""}${one.session}` },
        { key: "turns", title: "Turns", number: true, of: (one) => one.turns.length },
        { key: "requests", title: "Requests", number: true, of: (one) => one.requests },
        { key: "total", title: "Tokens", number: true, of: (one) => one.tokens.total, show: (one) => digits(one.tokens.total) },
        { key: "saved", title: "Saved", number: true, of: (one) => one.saved, show: (one) => digits(one.saved) },
        { key: "latency", title: "Time", number: true, of: (one) => one.latency_ms, show: (one) => milliseconds(one.latency_ms) },
      ]} />
      ${found.problems.length > 0 && html`<p class="dim">${count(found.problems.length, "line")} could not be read: ${found.problems.slice(0, 5).join("; ")}</p>`}
      <h2 class="title">${current.session}</h2>
      <${Conversation} key=${current.session} session=${current.session} version=${changes.ledger} />
    </div>`;
  }}<//>`;
}
