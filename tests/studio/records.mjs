// What other programs write while the page is open, how to take consent back, and what an empty machine looks like.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { axe, run, settled, skillcue, studio, watchedPage } from "./browser.mjs";

/** The ledger, consent and kept evaluations are followed as files of skills are. */
export async function recordsArrive({ page, server, check, clean, at, base, project, messages }) {
  await check("events of the ledger and new evaluations arrive by themselves", async () => {
    await page.goto(`${server.origin}/#/use`);
    await settled(page);
    const shown = async () => Number((await page.locator(".funnel .value").first().textContent()).replace(/\D/g, ""));
    const before = await shown();
    await run([...base, "hook", "claude"], at, JSON.stringify({ hook_event_name: "UserPromptSubmit", session_id: "session-late", cwd: project, prompt: "fill in the visa form" }));
    await page.waitForFunction((old) => Number(document.querySelector(".funnel .value").textContent.replace(/\D/g, "")) > old, before, { timeout: 30_000 });
    await page.goto(`${server.origin}/#/evals`);
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    const rows = () => page.locator(".table").first().locator("tbody tr").count();
    const runs = await rows();
    await run([...base, "eval", "--mode", "keyword", "--json", messages], at);
    await page.waitForFunction((old) => document.querySelector(".table").querySelectorAll("tbody tr").length > old, runs, { timeout: 60_000 });
    await settled(page);
    clean("records");
  });
}

/** The command that the page gives takes consent back, whatever the directory is called. */
export async function takenBack({ page, server, check, clean, at, base, work }) {
  await check("consent is shown, and the command beside it takes it back", async () => {
    const strange = join(work, "it's $(touch pwned); touch pwned");
    mkdirSync(join(strange, ".git"), { recursive: true });
    writeFileSync(join(strange, "skillcue.toml"), "[run]\ntimeout_s = 9\n");
    await page.goto(`${server.origin}/#/trust`);
    await settled(page);
    assert.equal(await page.locator("text=Nothing is allowed.").count(), 1);
    await run(["allow", "--yes"], { cwd: strange, home: at.home });
    const command = page.locator("section", { has: page.locator("h2:text-is('Allowed')") }).locator("td .command code");
    await command.waitFor({ timeout: 30_000 });
    const line = await command.textContent();
    assert.ok(line.startsWith("skillcue deny "), line);
    execFileSync("sh", ["-c", line], { cwd: at.cwd, env: { PATH: `${dirname(skillcue)}:${process.env.PATH}`, HOME: at.home } });
    assert.ok(!existsSync(join(at.cwd, "pwned")), "the name of a directory runs nothing");
    await page.waitForSelector("text=Nothing is allowed.", { timeout: 30_000 });
    assert.deepEqual(JSON.parse(await run([...base, "allowed", "--json"], at)), []);
    await settled(page);
    clean("consent");
  });
}

/** On a machine without anything, every view says what to do. */
export async function emptyStates({ browser, check, work }) {
  await check("where there is nothing, every view says what to do", async () => {
    const [cwd, home] = ["empty-project", "empty-home"].map((name) => join(work, name));
    for (const dir of [cwd, home]) mkdirSync(dir, { recursive: true });
    const server = await studio(["--isolated", "studio", "--no-open"], { cwd, home });
    try {
      const { page, context, wrong } = await watchedPage(browser, server.origin);
      await page.goto(server.address);
      await settled(page);
      for (const [view, words] of [["message", "Type a message"], ["why", "Ask about a message"], ["catalog", "skillcue new release-notes"], ["budget", "Skillcue's own list"], ["evals", "skillcue eval messages.jsonl"], ["traces", "skillcue agent -p"], ["use", "skillcue connect claude --hook"], ["trust", "Nothing is allowed."]]) {
        await page.goto(`${server.origin}/#/${view}`);
        await page.waitForSelector(`nav a[aria-current=page][href="#/${view}"]`);
        await settled(page);
        const text = await page.locator("main").textContent();
        assert.ok(text.includes(words), `${view}: ${text}`);
        await axe(page, `the empty ${view}`);
        const icons = await page.evaluate(() => [...document.querySelectorAll(".empty .command .icon")].map((one) => one.getBoundingClientRect().width));
        assert.ok(icons.every((width) => width < 24), `buttons of ${view} are ${icons} pixels wide`);
      }
      assert.deepEqual(wrong, []);
      await context.close();
    } finally {
      await server.stop();
    }
  });
}
