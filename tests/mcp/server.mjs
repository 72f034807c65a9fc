// Starts `skillcue mcp --http` on a directory of skills and says where it listens.

import { spawn } from 'node:child_process';

/** How long the server may take to say that it listens; a guard, not a promise. */
const START_SECONDS = 60;

/** The arguments that serve this directory's skills and nothing else, over stdio. */
export function serving(directory) {
  return ['--isolated', '--no-cache', '--skills-dir', directory, 'mcp'];
}

/** A server over HTTP: its URL, its process, and `stop()`, which says how it ended. */
export async function start(binary, directory, { args = [], env = {} } = {}) {
  const child = spawn(binary, [...serving(directory), '--http', '127.0.0.1:0', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  // Nothing that was started here outlives this program.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);

  let said = '';
  const url = await new Promise((resolve, reject) => {
    const guard = setTimeout(
      () => reject(new Error(`the server did not say where it listens in ${START_SECONDS} s; it said:\n${said}`)),
      START_SECONDS * 1000,
    );
    child.once('error', reject);
    ended.then(({ code, signal }) => reject(new Error(`the server ended (${signal ?? code}) and said:\n${said}`)));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = /listening on (http:\/\/\S+)/.exec(said);
      if (found) {
        clearTimeout(guard);
        resolve(found[1]);
      }
    });
  });
  return {
    url,
    said: () => said,
    async stop() {
      child.kill('SIGTERM');
      const end = await ended;
      process.removeListener('exit', kill);
      return end;
    },
  };
}
