"""Tool calls of a small real model: with today's definitions of the tools, and with the long ones of before.

    python calls.py SKILLCUE [MESSAGES] [forced | free]

Every request is one that `skillcue agent --policy catalog` sends: recorded, and sent to the model with either set of
definitions, as the agent sends them and as they were when they cost 484 tokens (`long_tools.json`). Nothing else differs.
Each set is tried in two ways, or in the one that is named:

forced  The answer is begun for the model, with a call: it chooses which tool, and then, whatever that was, the id of the
        skill to load. A call is right if it is `load_skill` with the skill of the label.
free    The model may call a tool or answer. A call counts where the server recognises it and where the model writes it as
        JSON. It is valid if it names a tool that is there, with arguments that its schema allows.

Today's definitions are worse if they lose more right calls or right ids (forced) or valid calls (free) than chance explains,
by the sign test over the messages that differ, one-sided, at 5 %; or more than one in ten messages, and more than two. The
exit code is 1 then.
"""

import http.server
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import small

HERE = pathlib.Path(__file__).parent
LABELLED = HERE.parent / "labelled"
#: The skills that the model chooses among, and how many labelled messages of each are sent at most.
SKILLS = ["pdf-forms", "pdf-extract", "spreadsheet-models", "docx-report", "slide-decks", "sql-tuning", "etl-pipeline",
          "unit-tests", "code-review", "git-history-surgery", "trip-itinerary", "seo-audit", "docker-images",
          "kubernetes-debug", "contract-review", "meal-planning"]
EACH = 5
WAYS = ("forced", "free")
#: The tokens of an answer. A call is some 30 long; one that the model lays out, 60.
MAX_TOKENS = 64
#: The level of the test, and the share of messages that may be lost if chance explains it.
LEVEL = 0.05
MAX_LOST = 0.1


def messages():
    """Returns the first labelled messages of each skill, one of each skill after the other."""
    of = {skill: [] for skill in SKILLS}
    for line in (LABELLED / "messages.jsonl").read_text().splitlines():
        message = json.loads(line)
        relevant = message.get("relevant", [])
        # Whatever is too long to be read quickly says little about definitions of tools.
        if len(relevant) == 1 and relevant[0] in of and len(message["query"]) < 300:
            of[relevant[0]].append(message["query"])
    return [(of[skill][turn], skill) for turn in range(EACH) for skill in SKILLS if turn < len(of[skill])]


class Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps the request, and refuses it, so that nothing follows."""

    def do_POST(self):
        self.server.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_):
        pass


def request_of(skillcue, home, query):
    """Returns the request that the agent sends for a message."""
    with http.server.HTTPServer(("127.0.0.1", 0), Recorder) as recorder:
        threading.Thread(target=recorder.serve_forever, daemon=True).start()
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENAI_BASE_URL": f"http://127.0.0.1:{recorder.server_port}/v1",
               "SKILLCUE_MODEL": "openai:small"}
        command = [skillcue, "agent", "--isolated", "--skills-dir", str(home / "skills"), "--policy", "catalog",
                   "--no-save", "--no-memory", "-p", query]
        subprocess.run(command, env=env, cwd=home, capture_output=True, timeout=300)
        recorder.shutdown()
        return recorder.body


def post(address, path, body):
    request = urllib.request.Request(address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=900) as answer:
        return json.load(answer)


def free(address, body):
    """Returns the first call of an answer and its words."""
    answer = post(address, "/v1/chat/completions", body | {"model": "small", "temperature": 0, "max_tokens": MAX_TOKENS})
    message = answer["choices"][0]["message"]
    return call_of(message), message.get("content") or ""


def forced(address, body):
    """Returns the tool that the model chooses, and the skill that it would load."""
    # Not `"tool_choice": "required"`: the server lets a model write whatever it likes before the call, and this one never
    # comes to it.
    prompt = post(address, "/apply-template", body)["prompt"] + '<tool_call>\n{"name": "'
    names = " | ".join(json.dumps(tool["function"]["name"]) for tool in body["tools"])
    name = completed(address, prompt, grammar="root ::= " + names)
    return name, completed(address, prompt + 'load_skill", "arguments": {"skill_id": "', stop=['"'])


def completed(address, prompt, **how):
    fixed = {"prompt": prompt, "temperature": 0, "cache_prompt": True, "n_predict": 16}
    return post(address, "/completion", fixed | how)["content"]


def call_of(message):
    """Returns the name and the arguments of the first call of an answer."""
    for call in message.get("tool_calls") or []:
        return call["function"]["name"], parsed(call["function"]["arguments"])
    text = message.get("content") or ""
    for start in (found.start() for found in re.finditer(r"\{", text)):
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            continue
        if isinstance(value, dict) and "name" in value and "arguments" in value:
            return value["name"], parsed(value["arguments"])
    return None


def parsed(arguments):
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None


KINDS = {"string": str, "integer": int, "array": list}


def is_valid(call, tools):
    """Returns whether a call names a tool that is there, with arguments that its schema allows."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    name, arguments = call
    if name not in schemas or not isinstance(arguments, dict):
        return False
    properties = schemas[name]["properties"]
    return all(one in arguments for one in schemas[name]["required"]) and all(
        one in properties and isinstance(value, KINDS[properties[one]["type"]]) for one, value in arguments.items())


def chance(lost, won):
    """Returns how likely it is that of so many messages that differ, as many or more are lost by chance."""
    differ = lost + won
    return sum(math.comb(differ, count) for count in range(lost, differ + 1)) / 2**differ


def marks_of(way, address, body, skill):
    """Returns the marks of one message, and the words that show them."""
    if way == "forced":
        name, skill_id = forced(address, body)
        right_id = skill_id.split("/")[-1].split(":")[-1] == skill
        loads = name == "load_skill"
        marks = {"loads": loads, "searches": name == "search_skills", "right id": right_id, "right": loads and right_id}
        return marks, f"{name} {skill_id!r}"
    call, words = free(address, body)
    valid = call is not None and is_valid(call, body["tools"])
    marks = {"a call": call is not None, "valid": valid, "searches": valid and call[0] == "search_skills",
             "right": valid and call[0] == "load_skill" and call[1]["skill_id"] == skill, "names it": skill in words}
    return marks, json.dumps(call, ensure_ascii=False) if call else repr(words)[:60]


#: The marks in which a set may not be worse.
COMPARED = {"forced": ("right id", "right"), "free": ("valid", "right")}


def main():
    skillcue = os.path.abspath(sys.argv[1])
    words = sys.argv[2:]
    ways = [way for way in WAYS if way in words] or WAYS
    most = next((int(word) for word in words if word not in WAYS), None)
    long_tools = json.loads((HERE / "long_tools.json").read_text())
    server, address = small.serve()
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        for skill in SKILLS:
            shutil.copytree(LABELLED / "skills" / skill, home / "skills" / skill)
        asked = [(request_of(skillcue, home, query), query, skill) for query, skill in messages()[:most]]
    assert asked and all("load_skill" in json.dumps(body["tools"]) for body, _, _ in asked), "the agent sends load_skill"
    worse = False
    for way in ways:
        marks = {"lean": [], "long": []}
        # One set after the other: the server reads what requests begin with once.
        for kind in marks:
            for body, query, skill in asked:
                tools = body["tools"] if kind == "lean" else long_tools
                began = time.monotonic()
                marked, said = marks_of(way, address, {"messages": body["messages"], "tools": tools}, skill)
                marks[kind].append(marked)
                print(f"{way} {kind} {'right' if marked['right'] else '':5} {time.monotonic() - began:5.1f} s  {skill:19} {said}  "
                      f"{query[:50]!r}", flush=True)
        worse |= is_worse(way, marks["lean"], marks["long"])
    del server
    # The server's threads end with the process.
    sys.stdout.flush()
    os._exit(1 if worse else 0)


def is_worse(way, lean, long):
    """Prints the figures of both sets, and returns whether today's is worse."""
    print(f"\n{way}: {len(lean)} messages, {len(SKILLS)} skills")
    print(f"{'':10}{'today':>7}{'before':>8}{'won':>6}{'lost':>6}{'by chance':>11}")
    worse = False
    for mark in lean[0]:
        pairs = [(one[mark], other[mark]) for one, other in zip(lean, long)]
        won, lost = pairs.count((True, False)), pairs.count((False, True))
        by_chance = chance(lost, won)
        lost_too_many = lost > won and (by_chance < LEVEL or lost - won > max(2, MAX_LOST * len(pairs)))
        fails = mark in COMPARED[way] and lost_too_many
        worse |= fails
        print(f"{mark:10}{sum(one for one, _ in pairs):7}{sum(other for _, other in pairs):8}{won:6}{lost:6}{by_chance:11.2f}"
              + ("  worse" if fails else "  not worse" if mark in COMPARED[way] else ""))
    return worse


if __name__ == "__main__":
    main()
