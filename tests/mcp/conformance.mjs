// Runs the official conformance suite against `skillcue mcp` and `skillcue mcp inspect`.
//
//   node conformance.mjs BINARY PACKAGES RESULTS
//
// PACKAGES is where `npm ci` was run, RESULTS where the suite's own files go. What must fail, and why, stands in
// conformance.json, check by check: a failure that is not listed fails the run, and so does one that is listed and
// does not happen.

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { start } from './server.mjs';

const [binary, packages, results] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const suite = join(packages, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

const VERSIONS = ['2025-11-25', '2026-07-28'];

/** Of an extension, so in no version's list: run at both. */
const SKILLS = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

/** What the host must do, and the command that does it. The suite appends the URL. */
const HOST = [
  ['sep-2640-client-no-prefetch', ['mcp', 'inspect']],
  ['sep-2640-client-verify-digest', ['mcp', 'inspect', '--verify']],
  ['sep-2640-client-verify-size', ['mcp', 'inspect', '--verify']],
  ['sep-2640-client-verify-frontmatter', ['mcp', 'inspect', '--verify']],
];

/** Runs the suite with these arguments; its exit code counts every failure, so the files that it writes are read. */
function conformance(args) {
  return new Promise((resolve) => {
    const options = { maxBuffer: 64 << 20, timeout: 170_000 };
    execFile(process.execPath, [suite, ...args], options, (error, stdout, stderr) => {
      resolve({ error, output: stdout + stderr });
    });
  });
}

/** The checks that a run wrote, by scenario. Directories are called `server-SCENARIO-TIME` or `SCENARIO-TIME`. */
function checksBelow(directory) {
  const found = new Map();
  for (const path of readdirSync(directory, { recursive: true })) {
    if (!path.endsWith('checks.json')) continue;
    const scenario = dirname(path)
      .replace(/^server-/, '')
      .replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');
    found.set(scenario, JSON.parse(readFileSync(join(directory, path), 'utf8')));
  }
  return found;
}

/** One scenario at one version: which checks failed, which succeeded. A check that was skipped shows nothing. */
function judge(side, scenario, version, checks) {
  const with_ = (status) => checks.filter((check) => check.status === status);
  const failed = new Map(with_('FAILURE').map((check) => [check.id, check.errorMessage ?? '']));
  // That the messages were well formed is no evidence that the scenario's own question was answered.
  const passed = with_('SUCCESS').filter((check) => !check.id.startsWith('wire-schema'));
  if (failed.size === 0 && passed.length === 0) {
    failed.set('nothing-checked', with_('SKIPPED')[0]?.errorMessage ?? 'no check succeeded');
  }
  const warnings = with_('WARNING').map((check) => `${check.id}: ${check.errorMessage ?? check.description}`);
  return { side, scenario, version, failed, passed: passed.length, warnings };
}

async function runs() {
  rmSync(results, { recursive: true, force: true });
  const judged = [];
  const take = async (side, version, name, args, only) => {
    const directory = join(results, side, version, name);
    mkdirSync(directory, { recursive: true });
    const { output } = await conformance([...args, '--output-dir', directory]);
    const checks = checksBelow(directory);
    if (only && !checks.has(only)) throw new Error(`the suite ran no scenario ${only}:\n${output}`);
    if (checks.size === 0) throw new Error(`the suite wrote no results:\n${output}`);
    for (const [scenario, list] of checks) judged.push(judge(side, scenario, version, list));
  };

  const server = await start(binary, join(here, 'skills'));
  try {
    for (const version of VERSIONS) {
      const common = ['server', '--url', server.url, '--spec-version', version];
      await take('server', version, 'general', [...common, '--suite', 'all']);
      for (const scenario of SKILLS) {
        await take('server', version, scenario, [...common, '--scenario', scenario, '--force'], scenario);
      }
    }
  } finally {
    const { code, signal } = await server.stop();
    if (code !== 0) throw new Error(`the server did not end cleanly after the suite (${signal ?? code})`);
  }
  for (const version of VERSIONS) {
    for (const [scenario, command] of HOST) {
      const line = [binary, ...command].join(' ');
      const args = ['client', '--command', line, '--scenario', scenario, '--spec-version', version, '--force'];
      await take('client', version, scenario, args, scenario);
    }
  }
  return judged;
}

/** Whether a run ended as it should, by the list of what must fail. */
function compare(run, expected) {
  const entries = expected.filter(
    (entry) => entry.scenario === run.scenario && (entry.versions ?? VERSIONS).includes(run.version),
  );
  const listed = new Set(entries.flatMap((entry) => entry.checks));
  const problems = [];
  for (const [check, why] of run.failed) {
    if (!listed.has(check)) problems.push(`${check}: ${why}`);
  }
  for (const check of listed) {
    if (!run.failed.has(check)) problems.push(`${check}: listed in conformance.json as failing, but it does not fail`);
  }
  const verdict = problems.length > 0 ? 'UNEXPECTED' : run.failed.size > 0 ? 'expected' : 'green';
  return { ...run, verdict, problems, reasons: [...new Set(entries.map((entry) => entry.reason))] };
}

const { expected } = JSON.parse(readFileSync(join(here, 'conformance.json'), 'utf8'));
const judged = (await runs()).map((run) => compare(run, expected));
const scenarios = new Set(judged.map((run) => run.scenario));
const unknown = expected.filter((entry) => !scenarios.has(entry.scenario)).map((entry) => entry.scenario);

const rows = new Map();
for (const run of judged) {
  const key = `${run.side} ${run.scenario}`;
  const row = rows.get(key) ?? { scenario: run.scenario, side: run.side, reasons: new Set() };
  row[run.version] = run.verdict;
  run.reasons.forEach((reason) => row.reasons.add(reason));
  rows.set(key, row);
}
const width = Math.max(...[...rows.values()].map((row) => row.scenario.length));
console.log(`${'scenario'.padEnd(width)}  side    ${VERSIONS.join('  ')}  reason`);
for (const row of rows.values()) {
  const verdicts = VERSIONS.map((version) => (row[version] ?? '-').padEnd(10)).join('  ');
  console.log(`${row.scenario.padEnd(width)}  ${row.side}  ${verdicts}  ${[...row.reasons].join('; ')}`.trimEnd());
}
for (const run of judged) {
  for (const problem of run.problems) console.log(`UNEXPECTED ${run.scenario} at ${run.version}: ${problem}`);
  for (const warning of run.warnings) console.log(`warning ${run.scenario} at ${run.version}: ${warning}`);
}
for (const scenario of unknown) console.log(`UNEXPECTED ${scenario}: listed in conformance.json, but there is no such scenario`);

const count = (verdict) => judged.filter((run) => run.verdict === verdict).length;
const unexpected = count('UNEXPECTED') + unknown.length;
console.log(`conformance: ${count('green')} green, ${count('expected')} expected to fail, ${unexpected} unexpected`);
process.exit(unexpected === 0 ? 0 : 1);
