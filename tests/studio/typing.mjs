// A message that is typed: answers in order, addresses that are followed, nothing that jumps.
import assert from "node:assert/strict";
import { settled } from "./browser.mjs";

/** An answer that is late never comes after a newer one, and is not waited for. */
export async function answersStayInOrder({ page, server, check, clean }) {
  await check("a late answer never replaces a newer one", async () => {
    await page.goto(`${server.origin}/#/message?m=`);
    await settled(page);
    const [asked, cancelled] = [[], []];
    const message = (request) => JSON.parse(request.postData()).message;
    page.on("requestfailed", (request) => request.url().endsWith("/api/context") && cancelled.push(message(request)));
    await page.route("**/api/context", async (route) => {
      const text = message(route.request());
      asked.push(text);
      // The first is answered last.
      if (text === "fill in the visa form") await new Promise((done) => setTimeout(done, 1500));
      await route.continue().catch(() => {});
    });
    await page.fill("textarea", "fill in the visa form");
    await page.waitForTimeout(200);
    await page.fill("textarea", "turn this csv into a chart");
    await page.waitForSelector(".hits");
    await settled(page);
    const names = await page.locator(".hits .name").allTextContents();
    await page.waitForTimeout(1800);
    assert.deepEqual(asked, ["fill in the visa form", "turn this csv into a chart"]);
    assert.deepEqual(cancelled, ["fill in the visa form"], "the outdated question is cancelled");
    assert.deepEqual(await page.locator(".hits .name").allTextContents(), names, "and its answer is not shown");
    // Letters that come fast are one question, not one each.
    asked.splice(0);
    await page.evaluate(() => {
      const box = document.querySelector("textarea");
      for (const letter of " of sales") {
        box.value += letter;
        box.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    await page.waitForTimeout(300);
    assert.deepEqual(asked, ["turn this csv into a chart of sales"]);
    await page.unroute("**/api/context");
    page.removeAllListeners("requestfailed");
    await settled(page);
    clean("order");
  });
}

/** Each view has an address of its own, which is followed in the same tab and by the buttons of the browser. */
export async function addressesAreFollowed({ page, server, check, clean }) {
  await check("addresses are followed, and views share the message", async () => {
    const go = (hash) => page.evaluate((next) => { location.hash = next; }, hash);
    await page.goto(`${server.origin}/#/message?m=fill%20in%20the%20form`);
    await settled(page);
    await go("#/message?m=chart%20the%20csv&a=mode%3Akeyword&b=eagerness%3A0.9");
    await page.waitForFunction(() => document.querySelectorAll(".column").length === 2);
    assert.equal(await page.inputValue("textarea"), "chart the csv");
    assert.equal(await page.locator(".column").first().locator("select").first().inputValue(), "keyword");
    await go("#/message?m=chart%20the%20csv");
    await page.waitForFunction(() => document.querySelectorAll(".column").length === 1);
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll(".column").length === 2);
    // Back before the page has written the address that it came to.
    await go("#/message?m=chart%20the%20csv");
    await page.evaluate(() => new Promise((shown) => {
      const wait = () => (document.querySelectorAll(".column").length === 1 ? shown() : requestAnimationFrame(wait));
      wait();
    }).then(() => history.back()));
    await page.waitForFunction(() => document.querySelectorAll(".column").length === 2);
    await page.click("nav a[href='#/why']");
    await page.waitForSelector(".lit");
    assert.equal(await page.inputValue("textarea"), "chart the csv", "the message goes along");
    await page.waitForFunction(() => location.hash.startsWith("#/why?m=chart"), null, { timeout: 5000 });
    await page.click("nav a[href='#/why']");
    await page.waitForFunction(() => location.hash.includes("m=chart"), null, { timeout: 5000 });
    await go("#/budget?window=16000");
    await page.waitForSelector("output:has-text('16,000 tokens')");
    await go("#/budget?window=64000");
    await page.waitForSelector("output:has-text('64,000 tokens')");
    await go("#/use?since=7d");
    await page.waitForSelector("main select");
    await go("#/use?since=all");
    await page.waitForFunction(() => document.querySelector("main select").value === "all");
    await go("#/evals");
    await page.waitForSelector("#figures", { timeout: 240_000 });
    await settled(page);
    const runs = await page.locator(".table").first().locator("tbody button.link").count();
    await page.locator(".table").first().locator("tbody button.link").nth(runs - 1).click();
    await page.waitForFunction(() => location.hash.includes("run="));
    const address = page.url();
    await settled(page);
    const title = await page.locator("h2.title").textContent();
    await go("#/evals?run=now");
    await page.waitForFunction((other) => document.querySelector("h2.title").textContent !== other, title);
    await go(address.slice(address.indexOf("#")));
    await page.waitForFunction((same) => document.querySelector("h2.title").textContent === same, title);
    // An address that names nothing opens the first view, and a wrong one says so.
    await go("#/nothing?x=%3Cscript%3E");
    await page.waitForSelector("nav a[aria-current=page][href='#/message']");
    await go("#/catalog?skill=no-such-skill");
    await page.waitForSelector("aside .failure");
    await settled(page);
    wrongStatus(clean);
  });
}

/** Browsers limit how often a page changes its address; Firefox allows 200 times in ten seconds, and throws after that. */
export async function addressesAreLimited({ context, server, check }) {
  await check("fast typing does not use up the changes of an address", async () => {
    const page = await context.newPage();
    const faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    await page.addInitScript(() => {
      const replace = history.replaceState.bind(history);
      window.addressChanges = 0;
      window.isAddressClosed = false;
      history.replaceState = (...values) => {
        window.addressChanges += 1;
        if (window.isAddressClosed || window.addressChanges > 200) throw new DOMException("The operation is insecure.", "SecurityError");
        return replace(...values);
      };
    });
    const type = (text) => page.evaluate(async (letters) => {
      const box = document.querySelector("textarea");
      for (const letter of letters) {
        box.value += letter;
        box.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((shown) => requestAnimationFrame(shown));
      }
    }, text);
    await page.goto(`${server.origin}/#/message?m=`);
    await settled(page);
    await type("fill in the visa form, ".repeat(14));
    const changes = await page.evaluate(() => window.addressChanges);
    assert.ok(changes <= 40, `${changes} changes of the address for 322 letters`);
    await page.waitForFunction(() => decodeURIComponent(location.hash).endsWith(document.querySelector("textarea").value), null, { timeout: 5000 });
    // What waits is written before a link is followed.
    await type("now");
    const message = await page.inputValue("textarea");
    await page.evaluate(() => document.querySelector("nav a[href='#/catalog']").click());
    await page.waitForSelector("main .table");
    await page.goBack();
    await page.waitForSelector("textarea");
    assert.equal(await page.inputValue("textarea"), message);
    assert.ok(decodeURIComponent(page.url()).endsWith(message), page.url());
    // A browser that refuses takes nothing but the address.
    await page.evaluate(() => { window.isAddressClosed = true; });
    await type(", and once more, and again");
    await page.waitForTimeout(1500);
    await settled(page);
    assert.equal(await page.locator("main .failure").count(), 0);
    assert.ok((await page.inputValue("textarea")).endsWith("again"));
    assert.deepEqual(faults, []);
    await page.close();
  });
}

/** A question that is refused is a line of the browser's own in the console, and no fault of the page. */
function wrongStatus(clean) {
  clean("addresses", (line) => line.includes("status of 422"));
}

/** What is on the screen stays where it is while more of it arrives. 0.1 is what the web calls good. */
export async function nothingJumps({ context, server, check, shots }) {
  await check("nothing jumps while a view is loading", async () => {
    const moved = [];
    for (const view of ["message?m=fill%20in%20the%20visa%20form", "why?m=fill%20in%20the%20visa%20form", "catalog", "budget", "evals", "traces", "use", "trust"]) {
      const page = await context.newPage();
      await page.setViewportSize({ width: 1280, height: 860 });
      await page.addInitScript(() => {
        window.moved = 0;
        window.movers = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) {
            window.moved += entry.value;
            window.movers.push(...entry.sources.map((source) => `${source.node && source.node.className}: ${source.previousRect.y} to ${source.currentRect.y}`));
          }
        }).observe({ type: "layout-shift", buffered: true });
      });
      await page.goto(`${server.origin}/#/${view}`);
      await settled(page);
      await page.waitForTimeout(300);
      const found = await page.evaluate(() => ({ moved: window.moved, movers: window.movers }));
      moved.push(`${view.split("?")[0]} ${found.moved.toFixed(3)}`);
      assert.ok(found.moved < 0.1, `${view} moved by ${found.moved}: ${found.movers.slice(0, 6).join("; ")} (${shots})`);
      await page.close();
    }
    console.log(`        layout shifts: ${moved.join(", ")}`);
  });
}
