// Times of the page in a real browser: its first paint, and a typed letter until the answer is on the screen.
//
// node figures.mjs SKILLCUE PACKAGES CHROMIUM LIBRARIES WORK TREE…
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { launch, rest, studio, watchedPage, work } from "./browser.mjs";

const MESSAGE = "please review the report and convert the tables for the deployment of the service";
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

rmSync(work, { recursive: true, force: true });
const { browser, close } = await launch();
try {
  console.log("| skills | first paint | page usable | a letter typed → answer on screen, median of 40 | slowest of 40 | of that, the decision |");
  console.log("| --- | --- | --- | --- | --- | --- |");
  for (const tree of rest) {
    const [project, home] = ["project", "home"].map((name) => join(work, tree.split("/").pop(), name));
    for (const dir of [project, home]) mkdirSync(dir, { recursive: true });
    const server = await studio(["--isolated", "--skills-dir", tree, "studio", "--no-open"], { cwd: project, home });
    const { page, context } = await watchedPage(browser, server.origin);
    await page.goto(server.address);
    await page.waitForSelector("textarea");
    const usable = await page.evaluate(() => performance.now());
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    // Everything that is made once: indexes, connections.
    await page.fill("textarea", "warm the indexes up with a first message");
    await page.waitForFunction(() => document.querySelector(".figures") && !document.querySelector("main [aria-busy=true]"), null, { timeout: 300_000 });
    await page.waitForTimeout(2000);
    const { times, decided } = await page.evaluate(async (message) => {
      const box = document.querySelector("textarea");
      const [times, decided] = [[], []];
      for (let length = message.length - 40; length < message.length; length += 1) {
        const text = message.slice(0, length + 1);
        const start = performance.now();
        const before = document.querySelectorAll("main [aria-busy]").length;
        box.value = text;
        box.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => {
          let wasBusy = false;
          const look = () => {
            const isBusy = Boolean(document.querySelector("main [aria-busy=true]"));
            wasBusy = wasBusy || isBusy;
            if (wasBusy && !isBusy) requestAnimationFrame(() => resolve());
            else setTimeout(look, 0);
          };
          look();
        });
        times.push(performance.now() - start);
        const shown = [...document.querySelectorAll(".figure")].find((one) => one.textContent.startsWith("Decided in"));
        decided.push(shown ? shown.querySelector(".value").textContent : "");
        void before;
      }
      return { times, decided };
    }, MESSAGE);
    const inMs = decided.map((text) => (text.includes("µs") ? parseFloat(text.replace(",", "")) / 1000 : parseFloat(text)));
    console.log(`| ${tree.split("/").pop()} | ${paint.toFixed(0)} ms | ${usable.toFixed(0)} ms | ${median(times).toFixed(1)} ms | ${Math.max(...times).toFixed(1)} ms | ${median(inMs).toFixed(1)} ms |`);
    await context.close();
    await server.stop();
  }
} finally {
  await close();
}
