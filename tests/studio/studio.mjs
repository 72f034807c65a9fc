// `skillcue studio` in a real browser: every view on several hundred skills, by mouse and by keyboard, with hostile skills
// among them, checked by axe-core; saving; events; the exported file from a `file:` address.
//
// node studio.mjs SKILLCUE PACKAGES CHROMIUM LIBRARIES WORK SKILLS MESSAGES
import assert from "node:assert/strict";
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { axe, launch, noOverflow, rest, run, settled, studio, watchedPage, work } from "./browser.mjs";
import { addressesAreFollowed, addressesAreLimited, answersStayInOrder, nothingJumps } from "./typing.mjs";
import { emptyStates, recordsArrive, takenBack } from "./records.mjs";
import { strangersAreRefused } from "./strangers.mjs";
import { draftsStay, unknownSkillLeadsOn } from "./drafts.mjs";
import { LONG_MESSAGE, matrixIsCounted, messagesOpen } from "./evals.mjs";
import { keyboardTasks, regressionsFirst, trustIsShown } from "./tasks.mjs";

const [labelled, labels, ...trees] = rest;
/** How many skills every view is opened on, at least. */
const LEAST_SKILLS = 500;
const MESSAGE = "can you fill out this visa application for me? my passport details are in passport.json, the form is ds160_draft.pdf";
const VIEWS = ["message", "why", "catalog", "budget", "evals", "traces", "use", "trust"];
const PWNED = "window.pwned = (window.pwned || 0) + 1; alert(1)";

let checks = 0;
const passed = [];
async function check(name, test) {
  // To work on one check: those whose names have this text, and the first, which opens the page.
  if (checks > 0 && !name.includes(process.env.STUDIO_ONLY || "")) return;
  const start = Date.now();
  try {
    await test();
  } catch (error) {
    const open = browser.contexts().flatMap((one) => one.pages());
    for (const [at, one] of open.entries()) await one.screenshot({ path: join(shots, `failed-${at}.png`) }).catch(() => {});
    throw new Error(`${name}: ${error.message} (pictures in ${shots})`, { cause: error });
  }
  checks += 1;
  passed.push(name);
  console.log(`    ok: ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
}

/** Writes skills whose texts try everything. */
function hostileSkills(dir) {
  const texts = {
    "script-text": `<script>${PWNED}</script><img src=x onerror="${PWNED}">`,
    "attribute-text": `"><svg onload="${PWNED}"> ' onmouseover="${PWNED}" javascript:${PWNED}`,
    "bidi-text": "visa form \u202Eeman rehtona\u202C \u2066left\u2069 \u200Fright \u061C passport.json application",
    "template-text": "${alert(1)} {{constructor.constructor('alert(1)')()}} </script></textarea></title></style>",
    "long-word": `visa application form pdf ${"W".repeat(900)}`,
    "emoji-text": `visa 👩‍👩‍👧‍👦 form ${"\u0301".repeat(200)} zalgo`,
  };
  for (const [name, text] of Object.entries(texts)) {
    mkdirSync(join(dir, name), { recursive: true });
    writeFileSync(join(dir, name, "SKILL.md"), `---\nname: ${name}\ndescription: ${JSON.stringify(text)}\ntriggers: [visa application, ${JSON.stringify(`<b onclick='${PWNED}'>`)}]\n---\n# ${text}\n\n<script>${PWNED}</script>\n`);
  }
  mkdirSync(join(dir, "one-megabyte"), { recursive: true });
  const body = `<img src=x onerror="${PWNED}"> `.repeat(10000);
  writeFileSync(join(dir, "one-megabyte", "SKILL.md"), `---\nname: one-megabyte\ndescription: A megabyte about visa applications.\ntriggers: [visa application]\n---\n${body}${"x".repeat(1_040_000 - body.length - 200)}\n`);
}

/** A trace as the agent writes it. */
function trace(home) {
  const dir = join(home, ".local/share/skillcue/traces");
  mkdirSync(dir, { recursive: true });
  const start = Date.parse("2026-11-16T13:10:00.000Z");
  const lines = Array.from({ length: 12 }, (_, at) => {
    const tokens = { system: 400, skills_stable: 0, skills_turn: at % 3 === 0 ? 900 : 0, tools: 350, history: at * 220, total: 750 + (at % 3 === 0 ? 900 : 0) + at * 220 };
    return JSON.stringify({ time: new Date(start + at * 4000).toISOString(), session: "20261116-131000-abcd", turn: Math.floor(at / 2) + 1, round: (at % 2) + 1, purpose: "answer", api: "openai", model: "some-model", tokens, usage: null, eager: 180000, repeated: at * 200, latency_ms: 1200 + at * 100, first_ms: 300, attempts: 1, calls: at % 2 === 0 ? ["load_skill"] : [] });
  });
  writeFileSync(join(dir, "20261116-131000-abcd.jsonl"), `${lines.join("\n")}\n`);
}

rmSync(work, { recursive: true, force: true });
const [project, home, hostile, shots] = ["project", "home", "hostile", "shots"].map((name) => join(work, name));
for (const dir of [project, home, shots, join(project, ".git"), join(project, ".skillcue")]) mkdirSync(dir, { recursive: true });
hostileSkills(hostile);
trace(home);
// A copy, because one of them is edited.
const own = join(work, "labelled");
cpSync(labelled, own, { recursive: true });
// With a message that is longer than an address may be.
const messages = join(work, "messages.jsonl");
writeFileSync(messages, `${readFileSync(labels, "utf8")}${JSON.stringify({ query: LONG_MESSAGE, relevant: ["pdf-forms"] })}\n`);
const dirs = [own, hostile, ...trees].flatMap((dir) => ["--skills-dir", dir]);
const base = ["--isolated", ...dirs];
const at = { cwd: project, home };

const evaluated = JSON.parse(await run([...base, "eval", "--json", messages], at));
await run([...base, "eval", "--mode", "keyword", "--json", messages], at);

// Hooks of an agent record what they show.
for (const [nth, prompt] of [MESSAGE, "turn this csv into a chart", "extract the tables of report.pdf"].entries()) {
  await run([...base, "hook", "claude"], at, JSON.stringify({ hook_event_name: "UserPromptSubmit", session_id: `session-${nth}`, cwd: project, prompt }));
}

const { browser, close } = await launch();
let server;
try {
  server = await studio([...base, "studio", "--no-open", "--edit", "--messages", messages], at);
  const { page, wrong, context } = await watchedPage(browser, server.origin);
  const clean = (what, isExpected = () => false) => assert.deepEqual(wrong.splice(0).filter((line) => !isExpected(line)), [], what);

  await check("the address opens once, and loses its token", async () => {
    await page.goto(server.address);
    await settled(page);
    assert.ok(!page.url().includes("token"), page.url());
    const other = await browser.newContext();
    const stranger = await other.newPage();
    assert.equal((await stranger.goto(server.address)).status(), 403);
    assert.equal((await stranger.goto(`${server.origin}/`)).status(), 401);
    await other.close();
    const cookies = await context.cookies();
    assert.ok(cookies.length === 1 && cookies[0].httpOnly && cookies[0].sameSite === "Strict", JSON.stringify(cookies));
    clean("opening");
  });

  await check("a message is answered as it is typed, in order", async () => {
    await page.fill("textarea", "");
    await page.locator("textarea").pressSequentially(MESSAGE, { delay: 4 });
    const shown = JSON.parse(await run([...base, "context", "--json", MESSAGE], at));
    const expected = shown.skills.slice(0, 12).map((skill) => skill.name);
    const names = (column) => page.locator(".column").nth(column).locator(".hits .name").allTextContents();
    await page.waitForFunction((first) => [...document.querySelectorAll(".hits .name")].some((one) => one.textContent === first), expected[0]);
    await settled(page);
    assert.deepEqual(await names(0), expected);
    const figure = await page.locator(".figure").nth(1).locator(".value").textContent();
    assert.equal(figure, `${new Intl.NumberFormat("en").format(shown.tokens.turn)} tokens`);
    await page.waitForFunction(() => location.hash.startsWith("#/message?m="), null, { timeout: 5000 });
    await page.click("text=Compare with a second configuration");
    await settled(page);
    assert.equal(await page.locator(".column").count(), 2);
    const other = JSON.parse(await run([...base, "context", "--json", "--mode", "keyword", MESSAGE], at));
    assert.deepEqual(await names(1), other.skills.slice(0, 12).map((skill) => skill.name), "the second has its own answer");
    assert.deepEqual(await names(0), expected, "and the first the one it had");
    await noOverflow(page, "two configurations");
    clean("typing");
  });

  await check("the reasons are those of `why`, and another description is judged in memory", async () => {
    await page.goto(`${server.origin}/#/why?m=${encodeURIComponent(MESSAGE)}&skill=pdf-forms`);
    await page.waitForSelector(".cards li");
    await settled(page);
    const why = JSON.parse(await run([...base, "why", "--json", MESSAGE], at));
    const names = await page.locator(".cards .head .name").allTextContents();
    assert.deepEqual(names, why.hits.slice(0, 10).map((hit) => hit.name));
    assert.ok((await page.locator("mark").count()) >= 3, "words are lit");
    const marked = await page.locator("mark").allTextContents();
    assert.ok(marked.every((word) => MESSAGE.includes(word)), marked.join(" "));
    const file = join(own, "pdf-forms", "SKILL.md");
    const before = readFileSync(file);
    await page.goto(`${server.origin}/#/why?m=${encodeURIComponent("stamp a watermark onto every invoice of the archive")}&skill=pdf-forms`);
    await settled(page);
    await page.locator(".panel textarea").fill("Stamps a watermark onto every invoice of an archive.");
    await page.waitForSelector(".panel .better");
    assert.ok((await page.locator(".panel .figure").count()) >= 3);
    assert.deepEqual(readFileSync(file), before, "nothing is written");
    clean("reasons");
  });

  await check("saving shows the change first, and keeps every other byte", async () => {
    const file = join(own, "pdf-forms", "SKILL.md");
    const before = readFileSync(file, "utf8");
    await page.locator(".panel textarea").fill("Fills in forms: visa, tax, whatever is a PDF.");
    await page.click("text=Show the change …");
    await page.waitForSelector("dialog[open] .plus");
    assert.equal(readFileSync(file, "utf8"), before);
    await axe(page, "the dialog");
    await page.click("dialog button.primary");
    await page.waitForSelector(".panel [role=status]:has-text('Saved')");
    const after = readFileSync(file, "utf8");
    assert.ok(after.includes('description: "Fills in forms: visa, tax, whatever is a PDF."'), after.slice(0, 400));
    const without = (text) => text.split("\n---\n").slice(1).join("\n---\n");
    assert.equal(without(after), without(before), "the body is as it was");
    writeFileSync(file, before);
    await page.waitForSelector(".state:has-text('changed: ')", { timeout: 20_000 });
    await settled(page);
    clean("saving");
  });

  await check("every view opens on all skills, is accessible, and fits narrow windows", async () => {
    const count = JSON.parse(await run([...base, "list", "--json"], at)).length;
    assert.ok(count >= LEAST_SKILLS, `only ${count} skills`);
    for (const view of VIEWS) {
      for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390], ["dark", 390]]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 860 });
        await page.goto(`${server.origin}/#/${view}${["message", "why"].includes(view) ? `?m=${encodeURIComponent(MESSAGE)}` : ""}`);
        await page.waitForSelector(`nav a[aria-current=page][href="#/${view}"]`);
        await settled(page);
        await page.waitForTimeout(150);
        await noOverflow(page, `${view} at ${width}`);
        await axe(page, `${view}, ${scheme}, ${width} pixels`);
        await page.screenshot({ path: join(shots, `${view}-${scheme}-${width}.png`) });
      }
      clean(view);
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  await check("tables sort, filter and copy", async () => {
    await page.goto(`${server.origin}/#/catalog`);
    await settled(page);
    await page.click("th >> text=Body, tokens");
    const sizes = (await page.locator(".table").first().locator("tbody tr td:nth-child(3)").allTextContents()).map((text) => Number(text.replaceAll(",", "")));
    assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a), "the largest first");
    assert.equal(await page.locator(".table").first().locator("th[aria-sort=descending]").count(), 1);
    await page.locator("input[type=search]").first().fill("pdf-forms");
    await page.waitForFunction(() => document.querySelector(".table").querySelectorAll("tbody tr").length < 20);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.click("button[aria-label='Copy the table skills']");
    await page.waitForSelector(".table .said:has-text('Copied')");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.startsWith("Name\tSource\tBody, tokens") && copied.includes("pdf-forms\t"), copied.slice(0, 200));
    await page.click("tbody button.link >> nth=0");
    await page.waitForSelector("aside dl");
    clean("tables");
  });

  await check("the figures of evaluations are those of `eval --json`", async () => {
    await page.goto(`${server.origin}/#/evals`);
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    await figures(page, evaluated);
    const threshold = async () => Number.parseInt(await page.locator("main output").first().textContent(), 10);
    const before = await threshold();
    await page.locator("main input[type=range]").focus();
    for (let step = 0; step < 30; step += 1) await page.keyboard.press("ArrowLeft");
    assert.equal(await threshold(), before - 30, "a step of the slider is one percent");
    await page.locator(".heat").first().click();
    assert.ok((await page.locator(".panel li a").count()) > 0, "a cell opens its messages");
    assert.ok((await page.locator(".table").first().locator("tbody tr").count()) >= 3, "kept runs are listed");
    await page.locator(".panel li a").first().click();
    await page.waitForSelector(".lit");
    await settled(page);
    clean("evaluations");
  });

  await check("the budget follows the window that is dragged", async () => {
    await page.goto(`${server.origin}/#/budget?window=200000`);
    await settled(page);
    const tokens = async () => Number((await page.locator(".figure .value").first().textContent()).replace(/\D/g, ""));
    const first = await tokens();
    await page.locator("main input[type=range]").focus();
    await page.keyboard.press("Home");
    await page.waitForTimeout(200);
    await settled(page);
    assert.ok((await tokens()) < first, "a smaller window has a smaller list");
    const section = JSON.parse(await run([...base, "prompt", "--window", "1000", "--json"], at));
    assert.equal(await tokens(), section.tokens);
    clean("budget");
  });

  await check("traces and use show what was recorded", async () => {
    await page.goto(`${server.origin}/#/traces`);
    await settled(page);
    assert.equal(await page.locator(".waterfall tbody tr").count(), 12);
    assert.ok((await page.locator("rect.part").count()) >= 12, "stacked tokens");
    await page.goto(`${server.origin}/#/use`);
    await settled(page);
    const usage = JSON.parse(await run([...base, "usage", "--json"], at));
    const shown = usage.skills.reduce((sum, skill) => sum + skill.shown, 0);
    assert.ok(shown > 0, "the hooks have recorded something");
    assert.equal(await page.locator(".funnel .value").first().textContent(), `${shown} times`);
    clean("traces and use");
  });

  await check("hostile texts stay texts", async () => {
    for (const name of ["script-text", "attribute-text", "bidi-text", "template-text", "long-word", "emoji-text", "one-megabyte"]) {
      await page.goto(`${server.origin}/#/catalog?skill=${name}`);
      await page.waitForSelector("aside .text");
      await settled(page);
      await noOverflow(page, name);
      await page.goto(`${server.origin}/#/why?m=${encodeURIComponent(`$${name} visa application <script>${PWNED}</script>`)}&skill=${name}`);
      await page.waitForSelector(".lit");
      await settled(page);
      await noOverflow(page, name);
      await page.goto(`${server.origin}/#/message?m=${encodeURIComponent(`$${name} visa application`)}`);
      await page.waitForSelector(".hits");
      await settled(page);
      await noOverflow(page, name);
    }
    await page.fill("textarea", `${"<img src=x onerror=alert(1)> visa ".repeat(20000)}`);
    await settled(page);
    await page.screenshot({ path: join(shots, "hostile.png") });
    assert.equal(await page.evaluate(() => window.pwned), undefined, "nothing of a skill ran");
    assert.equal(await page.locator("main script, main img, main iframe, main b[onclick]").count(), 0);
    clean("hostile skills");
  });

  await check("the keyboard is enough", async () => {
    await page.goto(`${server.origin}/#/message`);
    await settled(page);
    await page.reload();
    await settled(page);
    // Back to the beginning of the page, as after loading it without a field that takes the focus.
    const begin = () => page.evaluate(() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); document.body.setAttribute("tabindex", "-1"); document.body.focus(); document.body.removeAttribute("tabindex"); });
    await begin();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent.slice(0, 40)), "To the content");
    for (const view of VIEWS) {
      // Past the link and the theme, to the view.
      await begin();
      let reached = false;
      for (let step = 0; step < 16 && !reached; step += 1) {
        await page.keyboard.press("Tab");
        reached = await page.evaluate((name) => document.activeElement.getAttribute("href") === `#/${name}`, view);
      }
      assert.ok(reached, `${view} is reached by Tab`);
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, "none", "the focus is seen");
      await page.keyboard.press("Enter");
      await page.waitForSelector(`nav a[aria-current=page][href="#/${view}"]`);
      await settled(page);
      await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(() => Boolean(document.activeElement.closest("main"))), `Tab goes on inside of ${view}`);
    }
    clean("keyboard");
  });

  await check("changes on disk arrive by themselves", async () => {
    await page.goto(`${server.origin}/#/catalog`);
    await settled(page);
    mkdirSync(join(own, "brand-new-skill"));
    writeFileSync(join(own, "brand-new-skill", "SKILL.md"), "---\nname: brand-new-skill\ndescription: Appears by itself.\n---\n");
    await page.locator("input[type=search]").first().fill("brand-new-skill");
    await page.waitForFunction(() => document.querySelector(".table").querySelectorAll("tbody tr").length === 1, null, { timeout: 30_000 });
    rmSync(join(own, "brand-new-skill"), { recursive: true });
    await page.waitForFunction(() => document.querySelector(".table").querySelectorAll("tbody tr").length === 0, null, { timeout: 30_000 });
    clean("changes");
  });

  const rig = { page, context, browser, server, check, clean, wrong, at, base, own, work, shots, messages, project, home };
  await answersStayInOrder(rig);
  await addressesAreFollowed(rig);
  await addressesAreLimited(rig);
  await draftsStay(rig);
  await unknownSkillLeadsOn(rig);
  await matrixIsCounted(rig);
  await nothingJumps(rig);
  await recordsArrive(rig);
  await takenBack(rig);
  await regressionsFirst(rig);
  await trustIsShown(rig);
  await keyboardTasks(rig);
  await strangersAreRefused(rig);

  await check("other pages in the same browser get nothing", async () => {
    const other = await context.newPage();
    const tries = await other.evaluate(async (origin) => {
      const outcomes = [];
      for (const attempt of [() => fetch(`${origin}/api/list`, { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body: "{}" }), () => fetch(`${origin}/`, { credentials: "include" })]) {
        try {
          outcomes.push((await attempt()).status);
        } catch (error) {
          outcomes.push(error.name);
        }
      }
      return outcomes;
    }, server.origin);
    assert.deepEqual(tries, ["TypeError", "TypeError"]);
    await other.close();
    wrong.splice(0);
  });
  await page.close();

  await emptyStates({ browser, check, work });

  await check("an exported file opens by itself and shows the same figures", async () => {
    const file = join(project, "report.html");
    appendFileSync(join(own, "pdf-forms", "SKILL.md"), `\nSee ${home}/notes and ${project}/x.\n`);
    // After the change: its figures are those of the same moment.
    const now = JSON.parse(await run([...base, "eval", "--json", messages], at));
    await run([...base, "studio", "--export", file, "--messages", messages], at);
    const bytes = readFileSync(file, "utf8");
    assert.ok(!bytes.includes(home) && !bytes.includes(project), "no path of this machine's home");
    const address = pathToFileURL(file).href;
    const { page: exported, wrong: faults } = await watchedPage(browser, address);
    await exported.goto(address);
    await settled(exported);
    for (const view of VIEWS) {
      await exported.goto(`${address}#/${view}`);
      await exported.waitForSelector(`nav a[aria-current=page][href="#/${view}"]`);
      await settled(exported);
      assert.equal(await exported.locator(".failure").count(), 0, `${view} has its data`);
      await axe(exported, `exported ${view}`);
      assert.deepEqual(faults.splice(0), [], `exported ${view}`);
    }
    await exported.goto(`${address}#/evals`);
    await exported.waitForSelector("#figures");
    await figures(exported, now);
    await messagesOpen(exported, address);
    assert.ok(await exported.evaluate(() => document.querySelector(".box textarea").readOnly), "nothing can be typed");
    assert.ok((await exported.locator("#exported-note").textContent()).includes("skillcue studio"), "and it says why");
    const where = (await exported.locator(".where").textContent()).trim();
    assert.ok(/^[\d,]+ skills · exported$/.test(where), where);
    await exported.screenshot({ path: join(shots, "exported-why.png") });
    await exported.goto(`${address}#/evals`);
    await exported.waitForSelector("#figures");
    await exported.screenshot({ path: join(shots, "exported.png") });
    assert.equal(await exported.evaluate(() => window.pwned), undefined);
    await exported.close();
  });
} finally {
  if (server) await server.stop();
  await close();
}
console.log(`    ${checks} checks passed${process.env.STUDIO_ONLY ? `, only those with “${process.env.STUDIO_ONLY}”` : ""}; pictures in ${shots}`);

/** Compares the figures of the page with those of `eval --json`. */
async function figures(page, expected) {
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const values = await page.locator("#figures .value").allTextContents();
  assert.deepEqual(values, [
    percent(expected.recall_at[1]), percent(expected.recall_at[3]), percent(expected.recall_at[5]), percent(expected.shown), percent(expected.named), percent(expected.wrongly_shown),
    new Intl.NumberFormat("en").format(Math.round(expected.tokens.all.mean)), expected.calibration_error.toFixed(3),
  ]);
}
