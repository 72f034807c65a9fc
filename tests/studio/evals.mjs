// The view of evaluations: messages that open as they are, pairs that are counted, a matrix that narrow windows scroll.
import assert from "node:assert/strict";
import { join } from "node:path";
import { noOverflow, settled } from "./browser.mjs";

/** A message that no address has room for. */
export const LONG_MESSAGE = `fill in the visa form of the quokka archive ${"with every page of it, please, ".repeat(90)}`.trim();

async function opened(page, message, what) {
  await page.waitForSelector(".lit");
  await settled(page);
  assert.equal(await page.locator("main .failure").count(), 0, what);
  const shown = await page.locator(".box textarea").inputValue();
  // Of a long message, a list shows the beginning.
  const isIt = message.endsWith(" …") ? shown.length > message.length && shown.startsWith(message.slice(0, -2)) : shown === message;
  assert.ok(isIt, `${what}: ${message} was clicked, and ${shown} opened`);
}

/** Clicks a message of the table and one of the matrix: each opens as it was evaluated, not its beginning. */
export async function messagesOpen(page, address) {
  const evals = async () => {
    await page.goto(`${address}#/evals?run=now`);
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
  };
  const table = page.locator(".table").last();
  await evals();
  await table.locator("input[type=search]").fill("quokka");
  await table.locator("tbody tr a").first().click();
  await opened(page, LONG_MESSAGE, "a long message of the table");
  await evals();
  const linked = table.locator("tbody tr a");
  const text = await linked.first().textContent();
  await linked.first().click();
  await opened(page, text, "a message of the table");
  await evals();
  await page.locator(".heat").first().click();
  const cell = page.locator(".panel li a").first();
  const wanted = await cell.textContent();
  await cell.click();
  await opened(page, wanted, "a message of the matrix");
}

/** The matrix says how many pairs it shows, lists all of them, and can be read in a narrow window. */
export async function matrixIsCounted({ page, context, server, check, clean, shots }) {
  await check("messages of an evaluation open as they are", async () => {
    await messagesOpen(page, `${server.origin}/`);
    clean("messages of an evaluation");
  });

  await check("the matrix counts its pairs and is read in narrow windows", async () => {
    await page.goto(`${server.origin}/#/evals?run=now`);
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    await page.locator("main input[type=range]").focus();
    await page.keyboard.press("End");
    const said = await page.locator("#pairs").textContent();
    const [, shown, all, rows] = /^([\d,]+) of ([\d,]+) pairs, the most frequent first, in ([\d,]+) rows/.exec(said) || assert.fail(said);
    assert.equal(Number(rows), await page.locator(".matrix tbody tr").count());
    assert.equal(Number(shown), await page.locator(".matrix .heat").count());
    await page.click("text=Show all pairs");
    const list = page.locator(".table", { has: page.locator("caption:text-is('all pairs')") });
    assert.equal(await list.locator("tbody tr").count(), Math.min(100, Number(all.replace(",", ""))));
    const messages = Number(await list.locator("tbody tr").first().locator("td").last().textContent());
    await list.locator("tbody button.link").first().click();
    assert.equal(await page.locator(".panel li").count(), Math.min(50, messages), "a pair of the list opens its messages");

    await page.locator("main input[type=range]").fill("0.67");
    await page.setViewportSize({ width: 390, height: 860 });
    await page.locator(".matrix").scrollIntoViewIfNeeded();
    const heads = await page.evaluate(() => [...document.querySelectorAll(".matrix th")].map((one) => ({ text: one.textContent, width: one.getBoundingClientRect().width, height: one.getBoundingClientRect().height })));
    for (const head of heads) {
      assert.ok(head.width >= 80, `${head.text} is ${head.width} pixels wide`);
      assert.ok(head.text.length > 60 || head.height <= 110, `${head.text} is ${head.height} pixels tall`);
    }
    const scrolls = await page.evaluate(() => { const box = document.querySelector(".matrix").parentElement; return box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto"; });
    assert.ok(scrolls, "the matrix scrolls");
    await noOverflow(page, "the matrix");
    await page.screenshot({ path: join(shots, "matrix-390.png") });
    await page.setViewportSize({ width: 1280, height: 860 });
    clean("the matrix");
  });

  await check("copied tables have texts, not the numbers that they are sorted by", async () => {
    await page.goto(`${server.origin}/#/evals?run=now`);
    await settled(page);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = async (caption) => {
      await page.click(`button[aria-label='Copy the table ${caption}']`);
      await page.waitForSelector(".table .said:has-text('Copied')");
      return (await page.evaluate(() => navigator.clipboard.readText())).split("\n").map((line) => line.split("\t"));
    };
    const runs = await copied("evaluations");
    assert.ok(runs[1][0] === "now" && runs.every((cells) => cells[0] !== "9999"), runs[1].join("; "));
    const messages = await copied("messages of the run");
    const at = messages[0].indexOf("Right");
    assert.ok(messages.slice(1).every((cells) => ["right", "wrong"].includes(cells[at])), messages[1].join("; "));
    clean("copies");
  });
}
