// Descriptions that are tried out: drafts that stay, what is saved, what the dialog says before, and names of no skill.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled } from "./browser.mjs";

const DRAFT = "Stamps a watermark onto every invoice of an archive.";

/** A draft outlasts another message, another view and a change of the file, and what was looked at is what is saved. */
export async function draftsStay({ page, server, check, clean, own, shots }) {
  await check("a draft stays, and what was looked at is saved", async () => {
    const file = join(own, "pdf-forms", "SKILL.md");
    const before = readFileSync(file, "utf8");
    const draft = page.locator(".panel textarea");
    await page.goto(`${server.origin}/#/why?m=${encodeURIComponent("fill in the visa form ds160_draft.pdf")}`);
    await page.reload();
    await settled(page);
    const name = await page.locator(".panel label span span").textContent();
    await draft.fill(DRAFT);
    await page.waitForFunction((skill) => location.hash.includes(`skill=${skill}`), name);
    // Another message has another first hit.
    await page.locator(".box textarea").fill("turn this csv into a chart");
    await settled(page);
    assert.equal(await draft.inputValue(), DRAFT, "with another message");
    assert.equal(await page.locator(".panel label span span").textContent(), name, "of the skill that it was written for");
    await page.locator(".box textarea").fill("");
    await page.waitForSelector(".empty");
    await page.locator(".box textarea").fill("turn this csv into a chart");
    await settled(page);
    await page.click("nav a[href='#/catalog']");
    await page.waitForSelector("main .table");
    await page.goto(`${server.origin}/#/why?m=chart&skill=${name}`);
    await page.waitForSelector(".lit");
    await settled(page);
    assert.equal(await draft.inputValue(), DRAFT, "after another view");
    await page.click("text=Undo");
    assert.notEqual(await draft.inputValue(), DRAFT);

    await page.goto(`${server.origin}/#/why?m=chart&skill=pdf-forms`);
    await page.waitForFunction(() => document.querySelector(".panel label span span")?.textContent === "pdf-forms");
    await settled(page);
    await draft.fill(DRAFT);
    const changed = before.replace(/^description:.*$/m, "description: Changed by another program.");
    assert.notEqual(changed, before);
    writeFileSync(file, changed);
    await page.waitForSelector(".panel .held:has-text('the file has changed')", { timeout: 30_000 });
    assert.equal(await draft.inputValue(), DRAFT, "after a change of the file");
    await settled(page);
    await page.screenshot({ path: join(shots, "draft-outdated.png") });

    // As for a skill that was allowed, behind a link.
    await page.route("**/api/preview", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), lapses: ["load"], target: "~/elsewhere/SKILL.md" } });
    });
    await page.click("text=Show the change …");
    await page.waitForSelector("dialog[open] .plus");
    const said = await page.locator("dialog").textContent();
    assert.ok(said.includes("consent lapses") && said.includes("skillcue allow pdf-forms") && said.includes("~/elsewhere/SKILL.md"), said);
    await page.screenshot({ path: join(shots, "dialog.png") });
    await page.unroute("**/api/preview");
    // Typed while the dialog is open, which a screen reader's virtual cursor can do.
    await page.evaluate(() => {
      const box = document.querySelector(".panel textarea");
      box.value = "Never looked at.";
      box.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.click("dialog button.primary");
    await page.waitForSelector(".panel [role=status]:has-text('Saved')");
    assert.ok(readFileSync(file, "utf8").includes(`description: ${DRAFT}`), readFileSync(file, "utf8").slice(0, 300));
    await page.click("text=Take the text of the file");
    assert.equal(await draft.inputValue(), DRAFT);
    writeFileSync(file, before);
    await page.waitForFunction((old) => document.querySelector(".panel textarea").value !== old, DRAFT, { timeout: 30_000 });
    await settled(page);
    clean("drafts");
  });
}

/** An address with a name of no skill says so, and leads on. */
export async function unknownSkillLeadsOn({ page, server, check, clean }) {
  await check("an unknown skill is no dead end", async () => {
    await page.goto(`${server.origin}/#/why?m=fill%20in%20the%20form&skill=no-such-skill`);
    await page.waitForSelector("main .failure");
    await page.fill("input[list=names]", "pdf-forms");
    await page.waitForSelector(".lit");
    await settled(page);
    assert.equal(await page.locator("main .failure").count(), 0);
    assert.equal(await page.inputValue("input[list=names]"), "pdf-forms", "the field is the one that was typed into");
    await page.waitForFunction(() => location.hash.includes("skill=pdf-forms"));
    await page.goto(`${server.origin}/#/why?m=fill%20in%20the%20form&skill=no-such-skill`);
    await page.waitForSelector("main .failure");
    await page.click("text=Show what matches instead");
    await page.waitForSelector(".lit");
    await settled(page);
    clean("an unknown skill", (line) => line.includes("status of 422"));
  });
}
