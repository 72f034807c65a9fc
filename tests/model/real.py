"""`skillcue agent` against a model server that is not ours: llama.cpp's, with a small real model.

    python real.py SKILLCUE

What is checked is the wire: requests are accepted, with and without tool definitions and results, answers stream, usage
comes back, a session goes on. `cargo xtask model wire` installs what it needs and runs this; `small.py` says what that is.
"""

import json
import os
import subprocess
import sys
import tempfile

import small


class Checks:
    def __init__(self):
        self.failed = 0

    def check(self, holds, what):
        print(("ok    " if holds else "FAILED") + "  " + what, flush=True)
        self.failed += not holds


def main():
    skillcue = sys.argv[1]
    server, address = small.serve()
    checks = Checks()
    with tempfile.TemporaryDirectory() as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "OPENAI_BASE_URL": address + "/v1",
            "SKILLCUE_MODEL": "openai:small",
        }

        def agent(*arguments):
            command = [skillcue, "agent", "--json", "--max-tokens", "32", *arguments]
            done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=3000)
            events = [json.loads(line) for line in done.stdout.splitlines()]
            if done.returncode != 0:
                print(done.stdout, done.stderr)
            return done.returncode, events

        def of(events, kind):
            return [event for event in events if event["type"] == kind]

        def judged(what, code, events):
            answers = of(events, "answer")
            checks.check(code == 0 and len(answers) == 1, f"{what}: accepted and answered (exit code {code})")
            if not answers:
                return ""
            words = "".join(event["text"] for event in of(events, "text"))
            checks.check(len(of(events, "text")) > 3, f"{what}: {len(of(events, 'text'))} pieces streamed")
            checks.check(words.endswith(answers[0]["text"]), f"{what}: the pieces are the answer")
            request = of(events, "request")[-1]["tokens"]
            parts = sum(count for part, count in request.items() if part != "total")
            checks.check(parts == request["total"] > 0, f"{what}: {request['total']} tokens are the sum of the parts")
            checks.check(request["tools"] > 0, f"{what}: tool definitions were sent ({request['tools']} tokens)")
            given = answers[0]["input"]
            checks.check(given > 0, f"{what}: the server counts {given} tokens of requests, {answers[0]['output']} of answers")
            print("        " + answers[0]["text"].strip().replace("\n", " ")[:100])
            return of(events, "session")[0]["id"]

        session = judged("What is 2+2?", *agent("-p", "What is 2+2?"))
        judged("Say bonjour to Alice", *agent("-p", "Say bonjour to Alice"))
        judged("--continue", *agent("--continue", session, "-p", "And what is 3+3?"))
        trace = subprocess.run([skillcue, "trace", session], env=env, cwd=home, capture_output=True, text=True)
        checks.check(trace.returncode == 0, "skillcue trace")
        print(trace.stdout)
    del server
    print(f"{checks.failed} failed" if checks.failed else "all passed")
    # The server's threads end with the process.
    sys.stdout.flush()
    os._exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
