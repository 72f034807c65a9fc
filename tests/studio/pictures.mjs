// The pictures of the documentation, drawn from the page itself as PNGs of 128 colours, which are half the size.
//
// node pictures.mjs SKILLCUE PACKAGES CHROMIUM LIBRARIES WORK SKILLS MESSAGES OUT
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { launch, rest, run, studio, watchedPage, work } from "./browser.mjs";

const [labelled, messages, out] = rest;
const MESSAGE = "can you fill out this visa application for me? my passport details are in passport.json, the form is ds160_draft.pdf";

const MAX_BYTES = 80_000;
const COLOURS = 128;

/** Returns a picture with few colours: those that occur most, and the nearest of them for all others. */
async function small(png) {
  const blank = await browser.newPage();
  const { width, height, base64 } = await blank.evaluate(async (source) => {
    const image = new Image();
    image.src = `data:image/png;base64,${source}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
    return { width: image.width, height: image.height, base64: btoa(text) };
  }, png.toString("base64"));
  await blank.close();
  const pixels = Buffer.from(base64, "base64");
  const counts = new Map();
  const colour = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  for (let at = 0; at < pixels.length; at += 4) counts.set(colour(at), (counts.get(colour(at)) || 0) + 1);
  const palette = [];
  const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  for (const [one] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length < COLOURS && palette.every((known) => distance(known, one) > 24)) palette.push(one);
  }
  const nearest = new Map([...counts.keys()].map((one) => [one, palette.reduce((best, known, at) => (distance(known, one) < distance(palette[best], one) ? at : best), 0)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = nearest.get(colour((y * width + x) * 4));
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

rmSync(work, { recursive: true, force: true });
const home = join(work, "home");
const project = join(home, "project");
for (const dir of [out, home, join(project, ".git"), join(project, ".skillcue")]) mkdirSync(dir, { recursive: true });
cpSync(labelled, join(project, "skills"), { recursive: true });
cpSync(messages, join(project, "messages.jsonl"));
const at = { cwd: project, home };
const base = ["--isolated", "--skills-dir", "skills"];
await run([...base, "eval", "--mode", "keyword", "--json", "messages.jsonl"], at);
await run([...base, "eval", "--eagerness", "0.3", "--json", "messages.jsonl"], at);

const { browser, close } = await launch();
const server = await studio([...base, "studio", "--no-open", "--messages", "messages.jsonl"], at);
try {
  const { page, wrong } = await watchedPage(browser, server.origin, { viewport: { width: 1120, height: 700 } });
  await page.goto(server.address);
  for (const [view, query, scheme] of [["message", `?m=${encodeURIComponent(MESSAGE)}`, "light"], ["why", `?m=${encodeURIComponent(MESSAGE)}`, "light"], ["catalog", "?skill=pdf-forms", "dark"], ["evals", "", "light"]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(`${server.origin}/#/${view}${query}`);
    await page.waitForSelector(`nav a[aria-current=page][href="#/${view}"]`);
    await page.waitForFunction(() => !document.querySelector("main .loading") && !document.querySelector("main [aria-busy=true]"), null, { timeout: 240_000 });
    await page.evaluate(() => {
      document.activeElement.blur();
      // The time is that of a build for tests on a busy machine, which says nothing about the program: BENCHMARKS.md does.
      for (const figure of document.querySelectorAll(".figure")) if (figure.textContent.startsWith("Decided in")) figure.remove();
    });
    await page.waitForTimeout(300);
    const path = join(out, `studio-${view}.png`);
    const png = await small(await page.screenshot());
    writeFileSync(path, png);
    console.log(`    ${path}: ${png.length} bytes`);
    if (png.length > MAX_BYTES) throw new Error(`${path} is too large`);
  }
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
} finally {
  await server.stop();
  await close();
}
