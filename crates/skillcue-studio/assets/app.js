// The page: navigation, theme, and the view that the address names.
import { html, render, useState, useEffect, useRef, useErrorBoundary } from "./vendor/htm-preact.js";
import { isExported, link, listen, useAnswer, useChanges, useKept, useRoute } from "./data.js";
import { Answer, Failure, Icon, count } from "./parts.js";
import { MessageView } from "./message.js";
import { WhyView } from "./why.js";
import { CatalogView } from "./catalog.js";
import { BudgetView } from "./budget.js";
import { EvalsView } from "./evals.js";
import { TracesView } from "./traces.js";
import { UseView } from "./use.js";
import { TrustView } from "./trust.js";

const VIEWS = [
  ["message", "Message", "What a model would get", MessageView],
  ["why", "Why", "Which words decide", WhyView],
  ["catalog", "Catalog", "Every skill", CatalogView],
  ["budget", "Budget", "What fits into a prompt", BudgetView],
  ["evals", "Evals", "How well messages are matched", EvalsView],
  ["traces", "Traces", "What conversations cost", TracesView],
  ["use", "Use", "Shown, loaded, used", UseView],
  ["trust", "Trust", "Audit, drift, consent", TrustView],
];

const THEMES = { auto: ["light", "auto"], light: ["dark", "sun"], dark: ["auto", "moon"] };

function Theme() {
  const [theme, setTheme] = useKept("theme", "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  const [next, icon] = THEMES[theme] || THEMES.auto;
  return html`<button type="button" class="quiet" onClick=${() => setTheme(next)} aria-label=${`Colours: ${theme}. Change to ${next}`} title=${`Colours: ${theme}`}><${Icon} name=${icon} /></button>`;
}

function Guarded({ children }) {
  const [error, reset] = useErrorBoundary();
  if (error) return html`<div><${Failure} error=${{ message: "This view failed.", help: `${error.message || error}` }} /><button type="button" onClick=${reset}>Try again</button></div>`;
  return children;
}

function Page() {
  const route = useRoute();
  const changes = useChanges();
  const about = useAnswer("about", {}, { version: changes.catalog });
  const [view, title, what, View] = VIEWS.find((one) => one[0] === route.view) || VIEWS[0];
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${title} · Skillcue studio`;
    // In narrow windows the views are a row that scrolls.
    const current = document.querySelector("nav [aria-current]");
    if (current) current.closest("nav").scrollLeft = current.offsetLeft - 24;
  }, [view]);
  // By keyboard, a click has no detail: then the next step is inside of the view.
  const goOn = (event) => event.detail === 0 && setTimeout(() => heading.current && heading.current.focus(), 0);
  return html`<div class="page">
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); heading.current && heading.current.focus(); }}>To the content</a>
    <header><span class="brand"><svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M9 11.5h14M9 16h9M9 20.5h5" /><circle cx="22" cy="20.5" r="3.2" /></svg>Skillcue <span class="dim">studio</span></span>
      <span class="where">${about.data && html`${about.data.project && about.data.project !== "." && html`<span class="path">${about.data.project}</span> `}<span class="dim">${count(about.data.skills, "skill")}${about.data.edit ? " · editing" : isExported ? " · exported" : " · read-only"}</span>`}</span>
      <span class="state" role="status">${isExported ? "" : changes.online ? html`<i class="dot good"></i><span class="dim">${changes.note ? `changed: ${changes.note}` : "watching"}</span>` : html`<i class="dot bad"></i>not connected`}</span>
      <${Theme} />
    </header>
    <nav aria-label="Views"><ul>${VIEWS.map(([name, short]) => html`<li key=${name}><a href=${link(name)} onClick=${goOn} aria-current=${name === view ? "page" : undefined}><${Icon} name=${name} /><span>${short}</span></a></li>`)}</ul></nav>
    <main id="content"><h1 ref=${heading} tabindex="-1">${title} <small>${what}</small></h1>
      <${Answer} of=${about} what="the set-up" lines=${8}>${(data) => html`<${Guarded} key=${view}><${View} parameters=${route.parameters} about=${data} changes=${changes} /><//>`}<//>
    </main>
  </div>`;
}

listen();
render(html`<${Page} />`, document.getElementById("page"));
