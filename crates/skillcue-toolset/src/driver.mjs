// The protocol of the embedded engine, spoken by node (or bun, or deno) for toolsets that need modules of node or CommonJS
// packages. Started as `node --input-type=module --eval`, inside the same sandbox; types are stripped by the host.
//
// Toolset and driver share one world here. What a toolset does to it, it does to its own calls only: there is one process
// a skill, and the host believes it nothing beyond results.
import { Buffer } from 'node:buffer';
import { existsSync, statSync, writeSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const { parse, stringify } = JSON;
const exit = process.exit.bind(process);
const bun = typeof Bun !== 'undefined';
const deno = typeof Deno !== 'undefined';
const OUTPUT = 1 << 20;

const send = (message) => {
  const bytes = Buffer.from(`${stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') exit(0);
    }
  }
};

let lines = 1000;
const log = (level, values, call) => {
  if (lines-- <= 0) return;
  const text = values.map((value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return value.stack ?? value.message;
    try { return stringify(value) ?? String(value); } catch { return String(value); }
  }).join(' ').slice(0, 8192);
  send({ log: { level, text, ...(call === undefined ? {} : { call }) } });
};
for (const [name, level] of Object.entries({ log: 'info', info: 'info', debug: 'debug', trace: 'debug', dir: 'info', warn: 'warn', error: 'error' })) {
  console[name] = (...values) => log(level, values);
}
process.stdout.write = (text) => { log('info', [String(text)]); return true; };
process.on('unhandledRejection', (reason) => log('warn', ['a promise was rejected and nobody handled it:', reason]));
process.on('uncaughtException', (error) => log('error', ['a callback threw:', error]));

let dir = '', skill = '';
const tools = new Map(), flying = new Map(), files = new Set(), stripping = new Map();
let stripped = 0, trouble = null;

const strip = (path, text) => new Promise((resolve) => {
  const id = ++stripped;
  stripping.set(id, resolve);
  send({ strip: { id, path, text } });
});

const here = (path) => {
  const inside = relative(dir, path);
  return inside.startsWith('..') ? path : inside;
};

/** The first place in the skill that a stack names. */
const place = (stack) => {
  for (const line of String(stack ?? '').split('\n')) {
    const found = /(file:\/\/[^\s)]+?|\/[^\s()]+?):(\d+)(?::(\d+))?\)?$/.exec(line.trim());
    if (found) {
      let path = found[1];
      try { if (path.startsWith('file:')) path = fileURLToPath(path); } catch { continue; }
      path = path.split('?')[0];
      if (path.startsWith(dir)) return { file: here(path), line: +found[2], column: found[3] === undefined ? null : +found[3] };
    }
  }
  return { file: null, line: null, column: null };
};

/** What was thrown may be anything, a proxy too: reading it must not throw again. */
const worded = (error) => {
  try {
    return wording(error);
  } catch {
    return 'something that cannot be read was thrown';
  }
};
const stackOf = (error) => {
  try {
    return typeof error?.stack === 'string' ? error.stack.slice(0, 4096) : null;
  } catch {
    return null;
  }
};
const wording = (error) => {
  if (error instanceof Error || (typeof error === 'object' && error !== null && 'message' in error)) {
    return error.name && error.name !== 'Error' ? `${error.name}: ${error.message}` : String(error.message);
  }
  return `${String(error)} was thrown`;
};

globalThis[Symbol.for('skillcue.define')] = (id, spec) => {
  const at = place(new Error().stack);
  const tool = { id, description: spec?.description, parameters: spec?.parameters, execute: spec?.execute };
  Object.defineProperty(tool, 'definedAt', { value: at });
  return Object.freeze(tool);
};
const TOOLS = "const define = globalThis[Symbol.for('skillcue.define')]; export const Tool = { define }; export default Tool;";

// Runs in a thread of its own: what node asks when it meets an import.
const HOOKS = `
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
let port, packages, tools, last = 0;
const waiting = new Map();
export const initialize = (data) => {
  ({ port, packages, tools } = data);
  port.on('message', ({ id, text, error }) => { const wait = waiting.get(id); waiting.delete(id); error ? wait.reject(new SyntaxError(error)) : wait.resolve(text); });
  port.unref();
};
const isFile = (path) => existsSync(path) && statSync(path).isFile();
const probe = (url) => {
  const path = fileURLToPath(url);
  const all = [path];
  if (path.endsWith('.js')) all.push(path.slice(0, -3) + '.ts');
  if (path.endsWith('.mjs')) all.push(path.slice(0, -4) + '.mts');
  for (const end of ['.ts', '.mts', '.js', '.mjs', '.json']) all.push(path + end);
  for (const end of ['.ts', '.mts', '.js', '.mjs', '.json']) all.push(path + '/index' + end);
  const found = all.find(isFile);
  return found === undefined ? undefined : pathToFileURL(found).href;
};
export const resolve = async (specifier, context, next) => {
  if (specifier === '@agent/tools') return { url: 'skillcue:tools', format: 'module', shortCircuit: true };
  try {
    return await next(specifier, context);
  } catch (error) {
    if (/^\\.{1,2}(\\/|$)/.test(specifier) && context.parentURL?.startsWith('file:')) {
      const found = probe(new URL(specifier, context.parentURL));
      if (found !== undefined) return { url: found, shortCircuit: true };
    } else if (packages !== undefined && /^[@a-z]/i.test(specifier) && !specifier.includes(':')) {
      try {
        return await next(specifier, { ...context, parentURL: pathToFileURL(packages + '/x.mjs').href });
      } catch {}
    }
    throw error;
  }
};
export const load = async (url, context, next) => {
  if (url === 'skillcue:tools') return { format: 'module', source: tools, shortCircuit: true };
  if (url.startsWith('file:')) {
    const path = fileURLToPath(url);
    port.postMessage({ loaded: path });
    if (/\\.m?ts$/.test(path)) {
      const id = ++last;
      const text = await new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        port.ref();
        port.postMessage({ id, path, text: readFileSync(path, 'utf8') });
      });
      if (waiting.size === 0) port.unref();
      return { format: 'module', source: text, shortCircuit: true };
    }
    if (path.endsWith('.json')) {
      const text = JSON.stringify(JSON.stringify(JSON.parse(readFileSync(path, 'utf8'))));
      return { format: 'module', source: 'export default JSON.parse(' + text + ')', shortCircuit: true };
    }
  }
  return next(url, context);
};
`;

const prepare = async (packages) => {
  // Its command line has the map of imports.
  if (deno) return;
  if (bun) {
    Bun.plugin({
      name: 'skillcue',
      setup(build) {
        build.module('@agent/tools', () => ({ exports: { Tool: { define: globalThis[Symbol.for('skillcue.define')] } }, loader: 'object' }));
      },
    });
    return;
  }
  const { register } = await import('node:module');
  const { MessageChannel } = await import('node:worker_threads');
  const { port1, port2 } = new MessageChannel();
  port1.on('message', async ({ loaded, id, path, text }) => {
    if (loaded !== undefined) { files.add(loaded); return; }
    const answer = await strip(here(path), text);
    if (answer.finding) trouble ??= answer.finding;
    port1.postMessage({ id, text: answer.text, error: answer.finding?.message });
  });
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data: { port: port2, packages, tools: TOOLS }, transferList: [port2] });
};

const probe = (path) => {
  const all = [path, ...['.ts', '.mts', '.js', '.mjs'].map((end) => path + end), ...['.ts', '.mts', '.js', '.mjs'].map((end) => join(path, `index${end}`))];
  return all.find((path) => existsSync(path) && statSync(path).isFile());
};

const schemaOf = (parameters) => {
  if (parameters === undefined || parameters === null) return [{ type: 'object', properties: {}, additionalProperties: false }, false];
  if (typeof parameters !== 'object') throw new Error('has `parameters` that are no schema');
  if (typeof parameters._zod === 'object') {
    if (typeof parameters.toJSONSchema !== 'function') throw new Error('has a schema without `toJSONSchema`, as those of zod/mini are; import from `zod`');
    const override = ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'object' && def.catchall === undefined) jsonSchema.additionalProperties = false;
    };
    return [parameters.toJSONSchema({ io: 'input', unrepresentable: 'any', override }), true];
  }
  if (typeof parameters._def === 'object') throw new Error('has a schema of zod 3, which cannot be written as JSON Schema; use zod 4');
  return [parameters, false];
};

const loadEntry = async (entry, ready) => {
  const finding = (code, message, at = {}, help = null) =>
    ready.findings.push({ code, toolset: entry.declared, file: entry.path, line: null, column: null, ...at, message, help });
  const path = probe(join(dir, entry.path));
  if (path === undefined || relative(dir, path).startsWith('..')) {
    return finding('module_not_found', `there is no module \`${entry.path}\``);
  }
  const file = here(path);
  files.add(path);
  trouble = null;
  let namespace;
  try {
    namespace = await import(pathToFileURL(path).href);
  } catch (error) {
    if (trouble !== null) return ready.findings.push({ ...trouble, toolset: entry.declared });
    const missing = error?.code === 'ERR_MODULE_NOT_FOUND';
    const syntax = error instanceof SyntaxError;
    const at = place(stackOf(error));
    return finding(missing ? 'module_not_found' : syntax ? (/export/.test(error.message) ? 'toolset_export' : 'toolset_syntax') : 'toolset_threw',
      syntax || missing ? worded(error) : `\`${entry.path}\` threw while it was loaded: ${worded(error)}`, { ...at, file: at.file ?? file });
  }
  const exported = namespace[entry.export];
  if (exported === undefined) return finding('toolset_export', `\`${entry.path}\` exports no \`${entry.export}\``, { file });
  const list = Array.isArray(exported) ? exported : typeof exported?.execute === 'function' ? [exported] : undefined;
  if (list === undefined) return finding('toolset_shape', `\`${entry.export}\` is no array of tools`, { file });
  list.slice(0, 4096).forEach((tool, index) => {
    const at = tool?.definedAt?.file ? tool.definedAt : { file, line: null, column: null };
    try {
      if (typeof tool !== 'object' || tool === null) throw new Error('is not a tool');
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.id)) throw new Error(`has the id ${stringify(tool.id)}, which is not 1 to 64 letters, digits, \`-\` or \`_\``);
      if (typeof tool.description !== 'string' || tool.description.trim() === '') throw new Error(`(\`${tool.id}\`) has no \`description\``);
      if (typeof tool.execute !== 'function') throw new Error(`(\`${tool.id}\`) has no function \`execute\``);
      const [schema, parsed] = schemaOf(tool.parameters);
      const known = tools.get(tool.id);
      if (known === tool) return;
      if (known !== undefined) return finding('toolset_duplicate', `there are two tools \`${tool.id}\`; the first one counts`, at);
      tools.set(tool.id, tool);
      ready.tools.push({ id: tool.id, description: tool.description.slice(0, 16384), schema, parsed, file: at.file, line: at.line });
    } catch (error) {
      finding('toolset_shape', `\`${entry.export}[${index}]\` ${error.message}`, at);
    }
  });
};

const load = async (message) => {
  ({ dir, skill } = message);
  await prepare(message.packages);
  const ready = { tools: [], findings: [] };
  for (const [index, entry] of message.entries.entries()) {
    send({ loading: { entry: index } });
    await loadEntry(entry, ready);
  }
  send({ ready: { ...ready, files: [...files] } });
};

const call = async ({ id, tool: name, arguments: given, session }) => {
  lines = 1000;
  const failed = (code, message, error) => send({ failed: { id, code, message, stack: stackOf(error), ...place(stackOf(error)) } });
  const tool = tools.get(name);
  if (tool === undefined) return failed('no_such_tool', `there is no tool \`${name}\``);
  const controller = new AbortController();
  flying.set(id, controller);
  try {
    let args = given;
    if (typeof tool.parameters?._zod === 'object') {
      const result = await tool.parameters.safeParseAsync(args);
      if (!result.success) {
        const text = result.error.issues.slice(0, 20).map(({ path, message }) =>
          path.length === 0 ? message : `\`${path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`)).join('')}\`: ${message}`);
        return failed('invalid_argument', text.join('; '));
      }
      args = result.data;
    }
    const levels = ['debug', 'info', 'warn', 'error'];
    const context = {
      skillName: skill, skillDir: dir, sessionId: session, signal: controller.signal,
      log: (...values) => (values.length > 1 && levels.includes(values[0]) ? log(values[0], values.slice(1), id) : log('info', values, id)),
    };
    const value = await tool.execute.call(tool, args, context);
    if (!flying.has(id)) return;
    let title = name, metadata = {}, output = value;
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && (value.output !== undefined || value.title !== undefined)) {
      if (typeof value.title === 'string') title = value.title.slice(0, 1024);
      if (typeof value.metadata === 'object' && value.metadata !== null) metadata = value.metadata;
      output = value.output;
    }
    let text, added;
    try {
      text = typeof output === 'string' ? output : output === undefined || output === null ? '' : stringify(output) ?? '';
      added = parse(stringify(metadata) ?? '{}');
    } catch (error) {
      return failed('bad_result', `\`${name}\` returned what is no result: ${error.message}`);
    }
    if (Buffer.byteLength(text) > OUTPUT || Buffer.byteLength(stringify(added)) > OUTPUT / 2) {
      return failed('too_large', `\`${name}\` returned more than it may`);
    }
    send({ done: { id, title, metadata: added, output: text } });
  } catch (error) {
    if (flying.has(id)) failed('threw', worded(error), error);
  } finally {
    if (flying.delete(id) === false) controller.settled?.();
  }
};

const abort = async ({ id }) => {
  const controller = flying.get(id);
  if (controller === undefined) return send({ aborted: { id, settled: true } });
  flying.delete(id);
  let settled = false;
  controller.settled = () => { settled = true; };
  controller.abort();
  await new Promise((go) => setTimeout(go, 20));
  send({ aborted: { id, settled } });
};

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const parts = (rest + text).split('\n');
  rest = parts.pop();
  for (const line of parts) {
    const message = parse(line);
    if (message.load) load(message.load);
    else if (message.call) call(message.call);
    else if (message.abort) abort(message.abort);
    else if (message.stripped) { stripping.get(message.stripped.id)?.(message.stripped); stripping.delete(message.stripped.id); }
  }
});
process.stdin.on('end', () => exit(0));
