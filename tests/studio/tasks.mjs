// Whole tasks: an evaluation that got worse, findings and drift with their undo, and work by keyboard alone.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { run, settled, skillcue } from "./browser.mjs";

/** A run that is worse than the one before lists its regressions before anything that got better. */
export async function regressionsFirst({ page, server, check, clean, at, base, messages, shots }) {
  await check("regressions come first", async () => {
    await run([...base, "eval", "--json", messages], at);
    await run([...base, "eval", "--mode", "keyword", "--json", messages], at);
    await page.goto(`${server.origin}/#/evals`);
    await page.reload();
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    await page.locator(".table").first().locator("tbody tr", { hasText: "keyword" }).first().locator("button.link").click();
    await page.waitForFunction(() => location.hash.includes("run="));
    await settled(page);
    await page.waitForSelector("h3:has-text('got worse')");
    const titles = (await page.locator("main h3").allTextContents()).filter((text) => text.includes("got "));
    assert.ok(/^[1-9][\d,]* messages? got worse$/.test(titles[0]), titles.join("; "));
    const order = await page.evaluate(() => {
      const worse = [...document.querySelectorAll("h3")].find((one) => one.textContent.includes("got worse"));
      const threshold = [...document.querySelectorAll("h2")].find((one) => one.textContent === "Threshold");
      const others = [threshold, document.getElementById("figures"), ...document.querySelectorAll("main .chart")];
      return others.every((after) => worse.compareDocumentPosition(after) & Node.DOCUMENT_POSITION_FOLLOWING);
    });
    assert.ok(order, "before the figures, every chart, the threshold and the table of messages");
    await page.locator("h3:has-text('got worse')").scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(shots, "regressions.png") });
    clean("regressions");
  });
}

/** Findings of the audit are those of `audit --json`; the command beside a changed file brings it back. */
export async function trustIsShown({ page, server, check, clean, at, base, work, shots }) {
  await check("audit findings and drift are shown, and drift is undone by its command", async () => {
    const source = join(work, "to-install", "drifting-skill");
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, "SKILL.md"), "---\nname: drifting-skill\ndescription: Drifts from its lock.\n---\nAs it was.\n");
    const where = { PATH: `${dirname(skillcue)}:${process.env.PATH}`, HOME: at.home };
    execFileSync(skillcue, ["install", source], { cwd: at.cwd, env: where, stdio: "pipe" });
    const list = () => JSON.parse(spawnSync(skillcue, [...base, "verify", "--json"], { cwd: at.cwd, env: where }).stdout).verified;
    const installed = list().find((one) => one.name === "drifting-skill");
    assert.ok(installed, JSON.stringify(list()));
    const file = join(at.home, ".local/share/skillcue/skills/drifting-skill/SKILL.md");
    const before = readFileSync(file, "utf8");
    writeFileSync(file, `${before}Changed by another program.\n`);
    await page.goto(`${server.origin}/#/trust`);
    await page.reload();
    await settled(page);
    const audited = JSON.parse(spawnSync(skillcue, [...base, "audit", "--json"], { cwd: at.cwd, env: where, maxBuffer: 1 << 28 }).stdout);
    const findings = audited.audits.flatMap((one) => one.findings);
    assert.ok(findings.length > 0, "hostile skills are found");
    const [high, medium, low] = ["high", "medium", "low"].map((severity) => findings.filter((one) => one.severity === severity).length);
    const values = (await page.locator("section", { has: page.locator("h2:text-is('Audit')") }).locator(".figure .value").allTextContents()).slice(0, 3);
    assert.deepEqual(values.map((text) => Number(text.replace(/\D/g, ""))), [high, medium, low]);
    const first = page.locator("section", { has: page.locator("h2:text-is('Audit')") }).locator("tbody tr").first();
    const worst = high > 0 ? "high" : medium > 0 ? "medium" : "low";
    assert.equal(await first.locator("td .chip").first().textContent(), worst, "the worst first");
    assert.ok((await first.locator(".command code").textContent()).startsWith("skillcue disable "));
    const row = page.locator("section", { has: page.locator("h2:text-is('Installed, against the lock')") }).locator("tbody tr", { hasText: "drifting-skill" });
    assert.ok((await row.textContent()).includes("1 file changed"), await row.textContent());
    await row.scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(shots, "drift.png") });
    const line = await row.locator(".command code").textContent();
    execFileSync("sh", ["-c", line], { cwd: at.cwd, env: where, stdio: "pipe" });
    assert.equal(readFileSync(file, "utf8"), before, `${line} brings the file back`);
    await page.reload();
    await settled(page);
    assert.ok((await row.textContent()).includes("as it was installed"), await row.textContent());
    clean("trust");
  });
}

/** Presses Tab until the focus is on what is wanted. */
async function tabTo(page, selector, most = 400) {
  for (let step = 0; step < most; step += 1) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${selector} is not reached by Tab`);
}

/** Four tasks from beginning to end, without a mouse. */
export async function keyboardTasks({ page, server, check, clean, shots }) {
  await check("whole tasks are done by keyboard alone", async () => {
    await page.goto(`${server.origin}/#/message?m=`);
    await page.reload();
    await settled(page);
    await tabTo(page, "main textarea");
    await page.keyboard.type("stamp a watermark onto every invoice of the archive");
    await page.waitForSelector(".hits .name");
    await settled(page);
    await tabTo(page, ".hits li:nth-child(2) a");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".lit");
    await settled(page);
    await page.waitForSelector(".panel textarea");
    await tabTo(page, ".panel textarea");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("Stamps a watermark onto every invoice of an archive.");
    await page.waitForSelector(".panel .figure b.better");
    await page.screenshot({ path: join(shots, "keyboard-what-if.png") });

    await page.goto(`${server.origin}/#/catalog`);
    await settled(page);
    await tabTo(page, "main .table th:nth-child(3) button");
    await page.keyboard.press("Enter");
    await page.waitForSelector("main .table th:nth-child(3)[aria-sort=descending]");
    await tabTo(page, "main .table tbody button.link");
    const name = await page.evaluate(() => document.activeElement.textContent);
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside dl");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), name, "the focus is on the skill that was opened");
    const tall = await page.evaluate(() => Math.max(...[...document.querySelector(".split .table").querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height)));
    assert.ok(tall <= 90, `a row beside the panel is ${tall} pixels tall`);
    await page.screenshot({ path: join(shots, "catalog-panel.png") });
    await tabTo(page, "aside button");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => !document.querySelector("aside"));

    await page.goto(`${server.origin}/#/evals`);
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    await tabTo(page, "main .table tbody tr:nth-child(2) button.link");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("run="));
    await settled(page);
    await page.waitForSelector(".heat");
    await tabTo(page, ".heat");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".heat[aria-pressed=true]");
    await tabTo(page, ".panel li a");
    await page.screenshot({ path: join(shots, "keyboard-matrix.png") });
    await page.keyboard.press("Enter");
    await page.waitForSelector(".lit");
    await settled(page);
    clean("tasks by keyboard");
  });
}
