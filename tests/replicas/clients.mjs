// Many clients of the official TypeScript SDKs, at once, in one process.
//
//     node clients.mjs URL COUNT modern|legacy EVERY PACKAGES
//
// `modern` are clients of the SDK's second version, by the protocol of 2026-07-28; `legacy` those of its first, with a
// session. What they do is in clients.py.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, count, mode, every, packages] = process.argv.slice(2);
const load = createRequire(join(packages, 'package.json'));

const HANDLE = 'skillcue/handle';
const AT_ONCE = 64;
// How long a client with a session waits at most before each request.
const THINK_SECONDS = 5;
// Not a promise about time: it ends a wait for something that never comes.
const ANSWER = { timeout: 120_000 };

let connect;
if (mode === 'modern') {
  const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
  connect = async () => {
    const options = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
    const client = new Client({ name: 'replicas', version: '1' }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), ANSWER);
    return client;
  };
} else {
  const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  connect = async () => {
    const client = new Client({ name: 'replicas', version: '1' }, { capabilities: {} });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), ANSWER);
    return client;
  };
}

class Wrong extends Error {}

const pause = (milliseconds) => new Promise((wake) => setTimeout(wake, milliseconds));

const textOf = (result) => result.content.map((block) => block.text ?? '').join('');

function check(what, holds, seen) {
  if (!holds) throw new Wrong(`${what}: ${JSON.stringify(seen).slice(0, 500)}`);
}

function checkEdition(name, text) {
  const editions = new Set([...text.matchAll(/(\w+) edition/g)].map((found) => found[1]));
  const isOne = editions.size === 1 && (editions.has('first') || editions.has('second'));
  check(`${name} of one generation`, isOne && text.includes(name), text);
}

function forged(handle) {
  const at = Math.floor(handle.length / 2);
  return handle.slice(0, at) + (handle[at] === 'A' ? 'B' : 'A') + handle.slice(at + 1);
}

class Agent {
  client = undefined;
  retries = 0;

  async close() {
    const { client } = this;
    this.client = undefined;
    // A connection that is gone has nothing to close.
    await client?.close().catch(() => {});
  }

  async ask(request) {
    // A session lasts a while: some are there when their replica is killed.
    if (mode === 'legacy') await pause(Math.random() * THINK_SECONDS * 1000);
    try {
      this.client ??= await connect();
      return await request(this.client);
    } catch (first) {
      if (first instanceof Wrong) throw first;
      this.retries += 1;
      console.log(JSON.stringify({ retry: String(first).slice(0, 200) }));
      await this.close();
      await pause(100 + Math.random() * 200);
      this.client = await connect();
      return request(this.client);
    }
  }

  call(name, args, handle) {
    const params = { name, arguments: args };
    if (handle) params._meta = { [HANDLE]: handle };
    return this.ask((client) =>
      mode === 'modern' ? client.callTool(params, ANSWER) : client.callTool(params, undefined, ANSWER));
  }

  async live(number) {
    const tools = (await this.ask((client) => client.listTools(undefined, ANSWER))).tools.map((tool) => tool.name);
    const expected = ['load_skill', 'search_skills', 'read_skill_file'];
    if (mode === 'modern') expected.push('call_skill_tool');
    check('tools', expected.every((name, at) => tools[at] === name), tools);
    const found = await this.call('search_skills', { query: 'greet a guest politely', limit: 3 });
    check('search', textOf(found).includes('greet') && !found.isError, found);
    const loaded = await this.call('load_skill', { skill_id: 'greet' });
    check('load', textOf(loaded).includes('Bow, then smile.') || this.retries > 0, loaded);
    if (mode === 'modern') {
      const handle = loaded._meta?.[HANDLE];
      check('handle', handle && textOf(loaded).includes(handle), loaded);
      const listed = await this.call('call_skill_tool', { skill_id: 'greet', handle });
      check('tools of the skill', textOf(listed).includes('run_skill_script') && !listed.isError, listed);
      if (Number(every) && number % Number(every) === 0) await this.runScript(number, handle);
      const again = await this.call('load_skill', { skill_id: 'greet' }, handle);
      check('nothing twice', textOf(again).includes('already'), again);
    } else {
      const read = await this.call('read_skill_file', { skill_id: 'greet', path: 'SKILL.md' });
      check('file', textOf(read).includes('Bow, then smile.'), read);
    }
    const name = `filler-${String(number % 40).padStart(2, '0')}`;
    const other = await this.call('load_skill', { skill_id: `acme:${name}` });
    check('load from the store', !other.isError, other);
    checkEdition(name, textOf(other));
    const read = await this.ask((client) => client.readResource({ uri: `skill://acme/${name}/SKILL.md` }, ANSWER));
    checkEdition(name, read.contents[0].text);
  }

  async runScript(number, handle) {
    const script = { script: 'scripts/hello.sh', arguments: [String(number)] };
    const args = { skill_id: 'greet', tool: 'run_skill_script', arguments: script };
    const ran = await this.call('call_skill_tool', { ...args, handle });
    check('script', textOf(ran).includes(`hello, number ${number}!`) && !ran.isError, ran);
    const refused = await this.call('call_skill_tool', { ...args, handle: forged(handle) });
    const said = textOf(refused);
    check('forged handle', refused.isError && said.includes('it was changed') && said.includes('load_skill'), refused);
  }
}

async function one(number) {
  const agent = new Agent();
  const report = { done: number };
  try {
    await agent.live(number);
  } catch (error) {
    report.error = String(error);
  }
  await agent.close();
  console.log(JSON.stringify({ ...report, retries: agent.retries }));
}

let next = 0;
const worker = async () => {
  while (next < Number(count)) await one(next++);
};
await Promise.all(Array.from({ length: AT_ONCE }, worker));
// The first SDK may hold a stream open that is not needed any more.
process.exit(0);
