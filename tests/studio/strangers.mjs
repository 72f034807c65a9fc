// Pages of another server on the same machine, in the same browser. Cookies know no ports, so their requests carry ours.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

export async function strangersAreRefused({ context, server, check, own, wrong }) {
  await check("forms, scripts, frames and requests of other servers are refused", async () => {
    const file = join(own, "pdf-forms", "SKILL.md");
    const before = readFileSync(file);
    // As a form can be made to send JSON: the name is its beginning, the value its end.
    const field = `{"name": "pdf-forms", "description": "taken over", "before": "`;
    const html = `<!doctype html><form id=form method=post enctype=text/plain action="${server.origin}/api/save"><input name='${field}' value='"}'></form><script src="${server.origin}/app.js" type=module></script><iframe src="${server.origin}/"></iframe><img src="${server.origin}/icon.svg">`;
    const other = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end(html));
    await new Promise((done) => other.listen(0, "127.0.0.1", done));
    const page = await context.newPage();
    try {
      const statuses = new Map();
      const failed = [];
      page.on("requestfailed", (request) => failed.push(new URL(request.url()).pathname));
      page.on("response", (response) => response.url().startsWith(server.origin) && statuses.set(new URL(response.url()).pathname, response.status()));
      await page.goto(`http://127.0.0.1:${other.address().port}/`);
      await page.waitForLoadState("networkidle");
      // The browser itself blocks what our headers forbid, before it tells of an answer.
      for (const path of ["/app.js", "/", "/icon.svg"]) assert.ok(failed.includes(path) && [403, undefined].includes(statuses.get(path)), `${path} from another server: ${statuses.get(path)}, failed: ${failed}`);
      const sent = await page.evaluate(async (origin) => {
        const outcomes = [];
        for (const init of [{ mode: "no-cors", method: "POST", body: "{}" }, { mode: "cors", method: "POST", headers: { "content-type": "application/json" }, body: "{}" }]) {
          try {
            outcomes.push((await fetch(`${origin}/api/list`, { credentials: "include", ...init })).type);
          } catch (error) {
            outcomes.push(error.name);
          }
        }
        return outcomes;
      }, server.origin);
      assert.ok(sent.every((outcome) => ["opaque", "TypeError"].includes(outcome)), `nothing can be read: ${sent}`);
      const [answer] = await Promise.all([page.waitForResponse((response) => response.url().endsWith("/api/save")), page.evaluate(() => document.getElementById("form").submit())]);
      assert.equal(answer.status(), 403, "the form is refused");
      assert.deepEqual(readFileSync(file), before, "nothing is written");
    } finally {
      await page.close();
      other.close();
    }
    wrong.splice(0);
  });
}
