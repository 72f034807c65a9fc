// Drives `skillcue mcp` with the official TypeScript SDK, a client that is not ours.
//
//   node client.mjs BINARY PACKAGES
//
// Over stdio and over HTTP (where the server also wants a token), by the newest protocol that this SDK speaks,
// 2025-11-25, each on a directory of its own, because the checks change it. One line a check; the first that fails
// ends the run with 1.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { serving, start } from './server.mjs';

const [binary, packages] = process.argv.slice(2);
// The SDK is installed below the target directory, not beside this file.
const load = createRequire(join(packages, 'package.json'));
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = load('@modelcontextprotocol/sdk/types.js');

// Only to end a wait for something that never comes.
const NEWS_SECONDS = 30;

const TEA = 'skill://kitchen/brew-tea';
const BINARY_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const INVALID_PARAMS = -32602;
// What an unknown resource is in the protocol of 2025-11-25.
const NOT_FOUND = -32002;
const TOKEN = 'a-token-for-this-test';

let where = '';
let passed = 0;

function check(what, holds, seen) {
  if (!holds) throw new Error(`${what}; got ${JSON.stringify(seen, null, 1) ?? seen}`);
  passed += 1;
  console.log(`ok ${where}: ${what}`);
}

function writeSkill(directory, name, description, body, more = '') {
  mkdirSync(directory, { recursive: true });
  // Written beside and renamed: a watcher never sees half of it.
  const beside = join(directory, '.SKILL.md.new');
  writeFileSync(beside, `---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}`);
  renameSync(beside, join(directory, 'SKILL.md'));
}

/** A skill to look at closely, one whose link leads out, one that hides, and enough for more than one page. */
function writeTree(root) {
  const tea = join(root, 'kitchen/brew-tea');
  const body = '# Brew tea\n\nMake $ARGUMENTS.\n\n## Water\n\nSeventy degrees.\n\n## Time\n\nTwo minutes.\n';
  const hint = "argument-hint: '[green|black|white]'\n";
  writeSkill(tea, 'brew-tea', 'Brews a pot of tea. Use it when somebody is thirsty for tea.', body, hint);
  mkdirSync(join(tea, 'references'));
  const lines = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`);
  writeFileSync(join(tea, 'references/times.md'), lines.join(''));
  writeFileSync(join(tea, 'leaf.bin'), BINARY_BYTES);
  writeFileSync(join(root, 'secret.txt'), 'outside of every skill\n');
  writeSkill(join(root, 'fold-shirts'), 'fold-shirts', 'Folds shirts. Use it after the laundry.', '# Fold\n');
  symlinkSync(join(root, 'secret.txt'), join(root, 'fold-shirts/link.md'));
  writeSkill(join(root, 'hidden'), 'hidden', 'Hides.', '# Hidden\n', 'disable-model-invocation: true\n');
  for (let index = 0; index < 60; index += 1) {
    const name = `extra-${String(index).padStart(2, '0')}`;
    writeSkill(join(root, name), name, `Does extra thing number ${index}.`, `# Extra ${index}\n`);
    for (let part = 0; part < 9; part += 1) writeFileSync(join(root, name, `part-${part}.md`), `part ${part}\n`);
  }
}

/** Everything that the server says of its own accord, and a way to wait for it. */
class News {
  heard = [];
  #waiting = [];

  add(item) {
    this.heard.push(item);
    this.#waiting = this.#waiting.filter((waiting) => !waiting(item));
  }

  waitFor(what, fits) {
    return new Promise((resolve, reject) => {
      const old = this.heard.find(fits);
      if (old) return resolve(old);
      const guard = setTimeout(
        () => reject(new Error(`${what} was not announced in ${NEWS_SECONDS} s; heard ${JSON.stringify(this.heard)}`)),
        NEWS_SECONDS * 1000,
      );
      this.#waiting.push((item) => {
        if (!fits(item)) return false;
        clearTimeout(guard);
        resolve(item);
        return true;
      });
    });
  }
}

async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return undefined;
}

const textOf = (result) => result.content.map((block) => block.text ?? '').join('');

async function greeting(client) {
  check('is called skillcue', client.getServerVersion().name === 'skillcue', client.getServerVersion());
  const said = client.getInstructions() ?? '';
  const isList = said.includes('<id>brew-tea</id>');
  // A long list would be cut by some clients.
  const isShort = said.includes('skills available]') && said.includes('search_skills') && said.length < 4096;
  check('instructions name the skills, or how to find one', (isList || isShort) && said.includes('load_skill'), said);
  check('instructions hide what hides from models', !said.includes('<id>hidden</id>'), said);
  const can = client.getServerCapabilities();
  check('offers tools, resources, prompts, completion, logging',
    can.tools && can.resources?.subscribe && can.prompts && can.completions && can.logging, can);
  await client.ping();
  check('answers a ping', true);
}

async function tools(client) {
  const list = (await client.listTools()).tools;
  const names = list.map((tool) => tool.name).sort();
  check('three tools', names.join() === 'load_skill,read_skill_file,search_skills', names);
  check('their schemas are closed', list.every((tool) => tool.inputSchema.additionalProperties === false), list);
  const unknown = await refused(client.callTool({ name: 'no_such_tool', arguments: {} }));
  check('an unknown tool is an error of the protocol', unknown?.code === INVALID_PARAMS, unknown);

  const call = (name, args) => client.callTool({ name, arguments: args });
  let result = await call('search_skills', { query: 'a pot of tea', limit: 3 });
  check('search_skills finds the skill first', result.structuredContent?.hits?.[0]?.name === 'brew-tea', result);

  let said = textOf(await call('load_skill', { skill_id: 'brew-tea', arguments: 'sencha' }));
  check('load_skill answers in its envelope', said.startsWith('<skill_context id="brew-tea">'), said);
  check('with the arguments applied', said.includes('Make sencha.') && !said.includes('$ARGUMENTS'), said);
  said = textOf(await call('load_skill', { skill_id: 'brew-tea', section: 'Water' }));
  check('load_skill gives one section', said.includes('Seventy') && !said.includes('Two minutes'), said);
  result = await call('load_skill', { skill_id: 'brew-tee' });
  said = textOf(result);
  check('an unknown id gets close names',
    result.isError && said.includes('code="not_found"') && said.includes('Close names: brew-tea'), said);

  result = await call('read_skill_file', { skill_id: 'brew-tea', path: 'references/times.md', offset: 3, limit: 2 });
  said = textOf(result);
  check('read_skill_file reads a range', said.includes('line 3\nline 4\n') && !said.includes('line 5'), said);
  check('and says where to go on', result.structuredContent.end === false && said.includes('offset 5'), result);
  result = await call('read_skill_file', { skill_id: 'brew-tea', path: 'references/times.md', offset: 9 });
  check('and where the file ends', result.structuredContent.end === true, result);
  const attacks = ['../../fold-shirts/SKILL.md', '/etc/passwd', 'references/../../../secret.txt', 'a\0b'];
  for (const [skill_id, path] of [['fold-shirts', 'link.md'], ...attacks.map((path) => ['brew-tea', path])]) {
    result = await call('read_skill_file', { skill_id, path });
    said = textOf(result);
    check(`read_skill_file refuses ${JSON.stringify(path)}`,
      result.isError && !said.includes('outside of every') && !said.includes('root:'), said);
  }
}

async function resources(client, root, logs) {
  const uris = [];
  let [cursor, pages] = [undefined, 0];
  do {
    const page = await client.listResources({ cursor });
    uris.push(...page.resources.map((resource) => resource.uri));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined && pages < 20);
  check('resources/list comes in pages and ends', pages > 1 && cursor === undefined, pages);
  check('every file is listed once', uris.length === 60 * 10 + 3 + 1 && new Set(uris).size === uris.length, uris.length);
  check('links out and hidden skills are not listed', !uris.some((uri) => /hidden|link\.md|secret/.test(uri)), uris);
  const { resourceTemplates } = await client.listResourceTemplates();
  check('there are templates', resourceTemplates.some((one) => one.uriTemplate.startsWith('skill://')), resourceTemplates);

  const whole = readFileSync(join(root, 'kitchen/brew-tea/SKILL.md'), 'utf8');
  let [content] = (await client.readResource({ uri: `${TEA}/SKILL.md` })).contents;
  check('resources/read gives a SKILL.md byte for byte', content.text === whole, content);
  check('as Markdown', content.mimeType === 'text/markdown', content);
  [content] = (await client.readResource({ uri: `${TEA}/leaf.bin` })).contents;
  check('and a binary file as a blob', Buffer.from(content.blob ?? '', 'base64').equals(BINARY_BYTES), content);

  await client.setLoggingLevel('warning');
  check('logging/setLevel is taken', true);
  const error = await refused(client.readResource({ uri: 'skill://no-such/SKILL.md' }));
  check('an unknown URI is refused', error?.code === NOT_FOUND, error);
  const below = ['../../secret.txt', '%2e%2e/%2e%2e/secret.txt', '%252e%252e/secret.txt', 'a%00b'];
  for (const uri of ['skill://fold-shirts/link.md', 'file:///etc/passwd', ...below.map((path) => `${TEA}/${path}`)]) {
    const before = logs.heard.length;
    const attack = await refused(client.readResource({ uri }));
    const isRefused = [INVALID_PARAMS, NOT_FOUND].includes(attack?.code);
    check(`resources/read refuses ${uri}`, isRefused && !String(attack).includes('outside of every'), attack);
    await logs.waitFor('a line of the log', () => logs.heard.length > before);
    const told = logs.heard.at(-1);
    check("and the client's log says why", told.level === 'warning' && told.logger === 'skillcue.security', told);
  }

  const completed = await client.complete({
    ref: { type: 'ref/resource', uri: resourceTemplates.at(-1).uriTemplate },
    argument: { name: 'skill', value: 'kitchen/' },
  });
  check("completes a skill's path", completed.completion.values.join() === 'kitchen/brew-tea', completed);
}

async function prompts(client) {
  const list = (await client.listPrompts()).prompts;
  const tea = list.find((prompt) => prompt.name === 'brew-tea');
  check('each skill is a prompt', tea?.description.includes('tea') && list.length >= 62, list.length);
  const { messages } = await client.getPrompt({ name: 'brew-tea', arguments: { arguments: 'oolong' } });
  check('prompts/get gives the body with its arguments', messages[0].content.text.includes('Make oolong.'), messages);
  const error = await refused(client.getPrompt({ name: 'no-such' }));
  check('an unknown prompt is an error', error?.code === INVALID_PARAMS, error);
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'brew-tea' },
    argument: { name: 'arguments', value: 'b' },
  });
  check("completes a prompt's argument", completion.values.join() === 'black', completion);
}

async function extension(client, root) {
  const ask = (method, params) => client.request({ method, params }, types.ResultSchema.passthrough());
  const skills = [];
  let [cursor, pages] = [undefined, 0];
  do {
    const page = await ask('skills/list', cursor === undefined ? {} : { cursor });
    skills.push(...page.skills);
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== undefined && pages < 20);
  check('skills/list comes in pages and ends', pages > 1 && cursor === undefined, pages);
  // The extension wants every file of a skill in its entry, and a link that leads out cannot be in one.
  const names = new Set(skills.map((skill) => skill.frontmatter.name));
  check('with the skills that can be told whole, each once',
    skills.length === 61 && names.size === 61 && !names.has('fold-shirts') && !names.has('hidden'), [...names]);
  const tea = skills.find((skill) => skill.uri === `${TEA}/SKILL.md`);
  check('with the front matter', tea?.frontmatter.name === 'brew-tea', tea);
  const right = tea.resources.every((resource) => {
    const file = join(root, 'kitchen/brew-tea', resource.uri.slice(TEA.length));
    const digest = `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`;
    return resource.digest === digest && resource.size === statSync(file).size;
  });
  check("and each file's size and digest", right && tea.resources.length === 3, tea.resources);
  const got = await ask('skills/get', { uri: tea.uri });
  check('skills/get gives the same entry',
    JSON.stringify(got.skill) === JSON.stringify(tea), got);
  let error = await refused(ask('skills/get', { uri: 'skill://no-such/SKILL.md' }));
  check('and -32602 for an unknown URI', error?.code === INVALID_PARAMS, error);
  const { resources: entries } = await ask('resources/directory/read', { uri: TEA });
  const directory = entries.find((entry) => entry.uri === `${TEA}/references`);
  check('resources/directory/read lists a directory', directory?.mimeType === 'inode/directory', entries);
  error = await refused(ask('resources/directory/read', { uri: `${TEA}/%2e%2e/%2e%2e` }));
  check('and refuses to leave the skills', error?.code === INVALID_PARAMS, error);
}

async function changes(client, root, news) {
  const watched = `${TEA}/SKILL.md`;
  await client.subscribeResource({ uri: watched });
  check('resources/subscribe is taken', true);
  writeSkill(join(root, 'new-skill'), 'new-skill', 'Is new. Use it to be told of it.', '# New\n');
  for (const list of ['resources', 'prompts']) {
    const method = `notifications/${list}/list_changed`;
    await news.waitFor(method, (item) => item.method === method);
    check(`a new skill is announced: ${method}`, true);
  }
  const said = textOf(await client.callTool({ name: 'load_skill', arguments: { skill_id: 'new-skill' } }));
  check('and can be loaded', said.includes('# New'), said);

  const tea = join(root, 'kitchen/brew-tea');
  writeSkill(tea, 'brew-tea', 'Brews tea, better. Use it for tea.', '# Brew tea\n\nAnew, $ARGUMENTS.\n');
  const updated = 'notifications/resources/updated';
  const told = await news.waitFor(updated, (item) => item.method === updated);
  check(`an edited SKILL.md is announced: ${updated}`, told.params.uri === watched, told);
  const [content] = (await client.readResource({ uri: watched })).contents;
  check('and is read anew', content.text.includes('Anew'), content);
  await client.unsubscribeResource({ uri: watched });
  check('resources/unsubscribe is taken', true);
}

async function everything(transport, root) {
  const client = new Client({ name: 'skillcue-test', version: '1' }, { capabilities: {} });
  const [news, logs] = [new News(), new News()];
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => logs.add(params));
  client.fallbackNotificationHandler = async (notification) => news.add(notification);
  await client.connect(transport);
  try {
    await greeting(client);
    await tools(client);
    await resources(client, root, logs);
    await prompts(client);
    await extension(client, root);
    await changes(client, root, news);
  } finally {
    await client.close();
  }
}

async function onTree(work) {
  const root = mkdtempSync(join(tmpdir(), 'skillcue-mcp-'));
  try {
    writeTree(root);
    await work(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function main() {
  where = 'stdio';
  await onTree((root) => {
    // What it logs is looked at by client.py.
    const options = { command: binary, args: serving(root), env: { ...process.env }, stderr: 'ignore' };
    return everything(new StdioClientTransport(options), root);
  });

  where = 'http';
  await onTree(async (root) => {
    const options = { args: ['--token-env', 'SKILLCUE_TEST_TOKEN'], env: { SKILLCUE_TEST_TOKEN: TOKEN } };
    const server = await start(binary, root, options);
    try {
      const plain = new StreamableHTTPClientTransport(new URL(server.url));
      const client = new Client({ name: 'skillcue-test', version: '1' }, { capabilities: {} });
      const error = await refused(client.connect(plain));
      check('nobody gets in without the token', /401|Unauthorized/.test(`${error?.code} ${error}`), error);
      const headers = { Authorization: `Bearer ${TOKEN}` };
      const transport = new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } });
      await everything(transport, root);
    } finally {
      const { code, signal } = await server.stop();
      check('SIGTERM ends the server cleanly', code === 0, signal ?? code);
    }
  });
}

try {
  await main();
  console.log(`TypeScript SDK: ${passed} checks passed`);
  // The SDK may hold a stream open that nobody needs any more.
  process.exit(0);
} catch (error) {
  console.error(`FAILED with the TypeScript SDK, ${where}: ${error?.message ?? error}`);
  process.exit(1);
}
