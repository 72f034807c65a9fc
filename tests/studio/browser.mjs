// A real browser, and `skillcue studio` for it to look at. Used by `studio.mjs`, `pictures.mjs` and `figures.mjs`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [, , skillcue, packages, chromium, libraries, work, ...rest] = process.argv;
export { skillcue, work, rest };

const require = createRequire(join(packages, "package.json"));
const { chromium: driver } = require("playwright-core");
const axeSource = require("axe-core").source;

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--metrics-recording-only", "--force-color-profile=srgb", "--disable-lcd-text"];

/** Starts the browser, with an empty profile of its own. */
export async function launch() {
  const env = { PATH: process.env.PATH, HOME: mkdtempSync(join(tmpdir(), "studio-home-")), LD_LIBRARY_PATH: libraries, DBUS_SESSION_BUS_ADDRESS: "disabled:" };
  const browser = await driver.launch({ executablePath: chromium, headless: true, args: FLAGS, env });
  return { browser, close: async () => { await browser.close(); rmSync(env.HOME, { recursive: true, force: true }); } };
}

/** Starts `skillcue studio` with a home of its own, and returns its address. */
export function studio(args, { cwd, home }) {
  const env = { PATH: process.env.PATH, HOME: home };
  const child = spawn(skillcue, [...args, "--json"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stderr.on("data", (data) => (err += data));
  return new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`skillcue ${args.join(" ")} ended with ${code}: ${err}`)));
    child.stdout.on("data", (data) => {
      out += data;
      if (!out.includes("\n")) return;
      const { address, port } = JSON.parse(out);
      child.removeAllListeners("exit");
      resolve({ address, origin: `http://127.0.0.1:${port}`, stop: () => new Promise((done) => { child.on("exit", done); child.kill("SIGTERM"); }) });
    });
  });
}

/** Runs a command to its end and returns what it printed. */
export function run(args, { cwd, home }, stdin = "") {
  return new Promise((resolve, reject) => {
    const child = spawn(skillcue, args, { cwd, env: { PATH: process.env.PATH, HOME: home }, stdio: ["pipe", "pipe", "pipe"] });
    // One that does not read is none to complain about.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    let [out, err] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (err += data));
    child.on("exit", (code) => (code === 0 ? resolve(out) : reject(new Error(`skillcue ${args.join(" ")} ended with ${code}: ${err}${out}`))));
  });
}

/** A page that reports errors and requests to anything but its own origin. */
export async function watchedPage(browser, origin, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { wrong.push(`a script ran: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => !request.url().startsWith(origin) && !request.url().startsWith("data:") && wrong.push(`request to ${request.url()}`));
  return { page, context, wrong };
}

/** Waits until nothing of the view is loading. */
export async function settled(page) {
  await page.waitForSelector("main h1");
  await page.waitForFunction(() => !document.querySelector("main .loading") && !document.querySelector("main [aria-busy=true]"), null, { timeout: 240_000 });
}

/** Fails if axe-core finds anything on the page. */
export async function axe(page, what) {
  // Evaluated by the driver, outside of the page's policy.
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const told = violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
  assert.deepEqual(told, [], `accessibility of ${what}`);
}

/** Fails if the page is wider than its window. */
export async function noOverflow(page, what) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 1, `${what} is ${wide} pixels wider than the window`);
}
