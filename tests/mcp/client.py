"""Drives `skillcue mcp` with the official Python SDK, a client that is not ours.

    python client.py BINARY

Over stdio and over HTTP, by the protocol of 2025-11-25 (a handshake, a session) and by that of 2026-07-28 (no session,
a stream for news), each on a directory of its own, because the checks change it. One line a check; the first that fails
ends the run with 1.
"""

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

# Nothing here is a promise about time: these only end a wait for something that never comes.
ANSWER_SECONDS = 30
NEWS_SECONDS = 30
RUN_SECONDS = 150

BINARY_BYTES = bytes(range(256))
TEA = "skill://kitchen/brew-tea"
INVALID_PARAMS = -32602
# What an unknown resource is in the protocol of 2025-11-25.
NOT_FOUND = -32002


class Failed(Exception):
    """A check that did not hold."""


class Report:
    """Says what was checked; stops at the first thing that is wrong."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.count = 0

    def check(self, what: str, holds: Any, seen: Any = None) -> None:
        if not holds:
            raise Failed(f"{self.where}: {what}; got {seen!r}")
        self.count += 1
        print(f"ok {self.where}: {what}")


def write_skill(directory: Path, name: str, description: str, body: str, more: str = "") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: a watcher never sees half of it.
    beside = directory / ".SKILL.md.new"
    beside.write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}", encoding="utf-8")
    beside.rename(directory / "SKILL.md")


def write_tree(root: Path) -> None:
    """A skill to look at closely, one whose link leads out, one that hides, and enough for more than one page."""
    tea = root / "kitchen" / "brew-tea"
    body = "# Brew tea\n\nMake $ARGUMENTS.\n\n## Water\n\nSeventy degrees.\n\n## Time\n\nTwo minutes.\n"
    hint = "argument-hint: '[green|black|white]'\n"
    write_skill(tea, "brew-tea", "Brews a pot of tea. Use it when somebody is thirsty for tea.", body, hint)
    (tea / "references" / "deep").mkdir(parents=True)
    (tea / "references" / "times.md").write_text("".join(f"line {n}\n" for n in range(1, 11)), encoding="utf-8")
    (tea / "references" / "deep" / "er.md").write_text("deep\n", encoding="utf-8")
    (tea / "leaf.bin").write_bytes(BINARY_BYTES)
    (root / "secret.txt").write_text("outside of every skill\n", encoding="utf-8")
    write_skill(root / "fold-shirts", "fold-shirts", "Folds shirts. Use it after the laundry.", "# Fold\n\nSleeves in.\n")
    (root / "fold-shirts" / "link.md").symlink_to(root / "secret.txt")
    write_skill(root / "hidden", "hidden", "Hides from models.", "# Hidden\n", "disable-model-invocation: true\n")
    for n in range(60):
        extra = root / f"extra-{n:02}"
        write_skill(extra, f"extra-{n:02}", f"Does extra thing number {n}. Use it for nothing else.", f"# Extra {n}\n")
        for part in range(9):
            (extra / f"part-{part}.md").write_text(f"part {part} of {n}\n", encoding="utf-8")


class Custom(types.Request[dict[str, Any], str]):
    """A request that the SDK has no method for."""


class Anything(types.Result):
    model_config = {"extra": "allow"}


class News:
    """What the server said of its own accord."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.changed = asyncio.Event()

    def add(self, item: Any) -> None:
        self.heard.append(item)
        self.changed.set()

    async def wait_for(self, fits) -> Any:
        async with asyncio.timeout(NEWS_SECONDS):
            while True:
                for item in self.heard:
                    if fits(item):
                        return item
                self.changed.clear()
                await self.changed.wait()


def text_of(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def refused(call) -> MCPError | None:
    try:
        await call
    except MCPError as error:
        return error
    return None


class ServerLog:
    """What the server wrote to its stderr: a file, so that nobody has to read along."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("w", encoding="utf-8")

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8", errors="replace")

    async def security_lines(self, at_least: int) -> int:
        """How many refusals it tells of, once there are that many."""
        async with asyncio.timeout(NEWS_SECONDS):
            while (count := self.text().count("skillcue::security")) < at_least:
                await asyncio.sleep(0.02)
        return count


class Run:
    """All checks on one connection."""

    def __init__(
        self,
        client: Client,
        root: Path,
        report: Report,
        news: News,
        logs: News,
        stderr: ServerLog,
        modern: bool,
        carries: bool,
    ) -> None:
        self.stderr = stderr
        self.attacked = 0
        self.client = client
        self.root = root
        self.check = report.check
        self.news = news
        self.logs = logs
        self.modern = modern
        # Whether what is loaded is carried by the client: over HTTP, where this protocol has no sessions.
        self.carries = carries

    async def is_logged_once(self) -> None:
        """Each attack leaves one line in the server's own log, no more and no less."""
        self.attacked += 1
        count = await self.stderr.security_lines(self.attacked)
        self.check("and the server's log has one line more", count == self.attacked, self.stderr.text())

    async def everything(self) -> None:
        self.greeting()
        await self.tools()
        await self.searching()
        await self.loading()
        await self.reading_files()
        await self.resources()
        await self.attacks()
        await self.prompts()
        await self.completion()
        await self.extension()
        await self.changes()

    def greeting(self) -> None:
        client = self.client
        version = "2026-07-28" if self.modern else "2025-11-25"
        self.check(f"speaks {version}", client.protocol_version == version, client.protocol_version)
        info = client.server_info
        self.check("is called skillcue", info is not None and info.name == "skillcue", info)
        said = client.instructions or ""
        # A list of so many skills would be cut by some clients.
        named = "skills available]" in said and "search_skills" in said and "load_skill" in said
        self.check("instructions say how to find a skill", named and len(said) < 4096, said[:300])
        self.check("instructions hide what hides from models", "<id>hidden</id>" not in said, said)
        can = client.server_capabilities
        offers = can.tools and can.resources and can.prompts and can.completions is not None
        self.check("offers tools, resources, prompts and completion", offers, can)
        self.check("announces changes of its lists", can.resources.list_changed and can.prompts.list_changed, can)
        extensions = can.extensions or {}
        self.check("declares the skills extension", "io.modelcontextprotocol/skills" in extensions, extensions)

    async def tools(self) -> None:
        tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        if self.carries:
            generic = tools.pop("call_skill_tool", None)
            self.check("without a session one tool is for those of all skills", generic is not None, sorted(tools))
        names = sorted(tools)
        self.check("three tools", names == ["load_skill", "read_skill_file", "search_skills"], names)
        closed = [name for name, tool in tools.items() if tool.input_schema.get("additionalProperties") is False]
        self.check("their schemas are closed", sorted(closed) == names, closed)
        required = {name: tool.input_schema.get("required") for name, tool in tools.items()}
        expected = {"load_skill": ["skill_id"], "read_skill_file": ["skill_id", "path"], "search_skills": ["query"]}
        self.check("and say what is required", required == expected, required)
        error = await refused(self.client.call_tool("no_such_tool", {}))
        self.check("an unknown tool is an error of the protocol", error and error.code == INVALID_PARAMS, error)

    async def searching(self) -> None:
        result = await self.client.call_tool("search_skills", {"query": "a pot of tea", "limit": 3})
        hits = (result.structured_content or {}).get("hits", [])
        self.check("search_skills finds the skill first", hits and hits[0]["name"] == "brew-tea", result)
        self.check("and says so in words", "brew-tea" in text_of(result) and not result.is_error, result)
        result = await self.client.call_tool("search_skills", {"query": "  "})
        self.check("a blank query is refused", result.is_error and "invalid_argument" in text_of(result), result)

    async def loading(self) -> None:
        load = lambda **arguments: self.client.call_tool("load_skill", arguments)
        result = await load(skill_id="brew-tea", arguments="sencha")
        said = text_of(result)
        self.check("load_skill answers in its envelope", said.startswith('<skill_context id="brew-tea">'), said)
        self.check("with the arguments applied", "Make sencha." in said and "$ARGUMENTS" not in said, said)
        listed = "<file>references/times.md</file>" in said and "<skill_root>" in said
        self.check("and the skill's files and root", listed, said)
        said = text_of(await load(skill_id="brew-tea", section="Water"))
        self.check("load_skill gives one section", "Seventy" in said and "Two minutes" not in said, said)
        result = await load(skill_id="brew-tee")
        said = text_of(result)
        close = 'code="not_found"' in said and "brew-tea" in said.split("Close names")[-1]
        self.check("an unknown id gets close names", result.is_error and close, said)
        said = text_of(await load(skill_id="hidden"))
        self.check("a skill that hides from models is not found", 'code="not_found"' in said, said)
        result = await load(skill_id="brew-tea", colour="green")
        self.check("an unknown argument is refused", 'code="invalid_argument"' in text_of(result), result)

    async def reading_files(self) -> None:
        async def read(path: str, skill: str = "brew-tea", **more: int) -> types.CallToolResult:
            return await self.client.call_tool("read_skill_file", {"skill_id": skill, "path": path, **more})

        result = await read("references/times.md", offset=3, limit=2)
        said, told = text_of(result), result.structured_content or {}
        self.check("read_skill_file reads a range", "line 3\nline 4\n" in said and "line 5" not in said, said)
        self.check("and says where to go on", told.get("end") is False and "offset 5" in said, result)
        result = await read("references/times.md", offset=9)
        told = result.structured_content or {}
        self.check("and where the file ends", told.get("end") is True and "End of file" in text_of(result), result)
        attacks = ["../../fold-shirts/SKILL.md", "/etc/passwd", "references/../../../secret.txt", "a\0b", "..\\..\\x"]
        for skill, path in [("fold-shirts", "link.md"), *(("brew-tea", path) for path in attacks)]:
            result = await read(path, skill)
            said = text_of(result)
            safe = result.is_error and "outside of every skill" not in said and "root:" not in said
            self.check(f"read_skill_file refuses {path!r}", safe, said)
            await self.is_logged_once()

    async def resources(self) -> None:
        listed: list[types.Resource] = []
        cursor, pages = None, 0
        while True:
            page = await self.client.list_resources(cursor=cursor)
            listed += page.resources
            pages += 1
            cursor = page.next_cursor
            if cursor is None or pages > 20:
                break
        uris = [resource.uri for resource in listed]
        self.check("resources/list comes in pages and ends", 1 < pages <= 20, pages)
        self.check("every file is listed once", len(uris) == len(set(uris)) == 60 * 10 + 4 + 1, len(uris))
        by_uri = {resource.uri: resource for resource in listed}
        own = by_uri.get(f"{TEA}/SKILL.md")
        self.check("a skill below a prefix has it in its URI", own is not None, uris[:5])
        described = own.name == "brew-tea" and own.mime_type == "text/markdown" and "tea" in (own.description or "")
        self.check("and is described like the skill", described, own)
        no_secrets = not any("hidden" in uri or "link.md" in uri or "secret" in uri for uri in uris)
        self.check("links out, hidden skills and what is beside skills are not listed", no_secrets, uris)
        error = await refused(self.client.list_resources(cursor="made up"))
        self.check("a cursor that was not given out is refused", error and error.code == INVALID_PARAMS, error)

        templates = (await self.client.list_resource_templates()).resource_templates
        self.check("there are templates", any("skill://" in t.uri_template for t in templates), templates)

        [content] = (await self.client.read_resource(f"{TEA}/SKILL.md")).contents
        whole = (self.root / "kitchen/brew-tea/SKILL.md").read_text(encoding="utf-8")
        is_text = isinstance(content, types.TextResourceContents) and content.text == whole
        self.check("resources/read gives a SKILL.md byte for byte", is_text, content)
        [content] = (await self.client.read_resource(f"{TEA}/leaf.bin")).contents
        is_blob = isinstance(content, types.BlobResourceContents) and base64.b64decode(content.blob) == BINARY_BYTES
        self.check("and a binary file as a blob", is_blob, content)

    async def attacks(self) -> None:
        if not self.modern:
            await self.client.set_logging_level("warning")
            self.check("logging/setLevel is taken", True)
        error = await refused(self.client.read_resource("skill://no-such/SKILL.md"))
        unknown = INVALID_PARAMS if self.modern else NOT_FOUND
        self.check("an unknown URI is refused", error and error.code == unknown, error)
        below = ["../../secret.txt", "%2e%2e/%2e%2e/secret.txt", "%252e%252e/secret.txt", "..%2f..%2fsecret.txt", "a%00b"]
        uris = ["skill://fold-shirts/link.md", "skill:///etc/passwd", "file:///etc/passwd", *(f"{TEA}/{path}" for path in below)]
        for uri in uris:
            before = len(self.logs.heard)
            error = await refused(self.client.read_resource(uri))
            is_refused = error is not None and error.code in (INVALID_PARAMS, NOT_FOUND)
            self.check(f"resources/read refuses {uri}", is_refused and "outside of every" not in str(error), error)
            await self.logs.wait_for(lambda _: len(self.logs.heard) > before)
            told = self.logs.heard[-1]
            self.check("and the client's log says why", told.level == "warning" and told.logger == "skillcue.security", told)
            await self.is_logged_once()

    async def prompts(self) -> None:
        prompts = {prompt.name: prompt for prompt in (await self.client.list_prompts()).prompts}
        self.check("each skill is a prompt", "brew-tea" in prompts and len(prompts) >= 62, sorted(prompts))
        self.check("with its description", "tea" in (prompts["brew-tea"].description or ""), prompts["brew-tea"])
        result = await self.client.get_prompt("brew-tea", {"arguments": "oolong"})
        [message] = result.messages
        said = message.content.text if isinstance(message.content, types.TextContent) else ""
        self.check("prompts/get gives the body with its arguments", "Make oolong." in said, result)
        error = await refused(self.client.get_prompt("no-such"))
        self.check("an unknown prompt is an error", error and error.code == INVALID_PARAMS, error)

    async def completion(self) -> None:
        of_prompt = types.PromptReference(type="ref/prompt", name="brew-tea")
        result = await self.client.complete(of_prompt, {"name": "arguments", "value": "b"})
        self.check("completes a prompt's argument", result.completion.values == ["black"], result)
        templates = (await self.client.list_resource_templates()).resource_templates
        template = next(t.uri_template for t in templates if "{+file}" in t.uri_template)
        of_file = types.ResourceTemplateReference(type="ref/resource", uri=template)
        result = await self.client.complete(of_file, {"name": "skill", "value": "kitchen/"})
        self.check("completes a skill's path", result.completion.values == ["kitchen/brew-tea"], result)
        result = await self.client.complete(of_file, {"name": "file", "value": "ref"}, {"skill": "kitchen/brew-tea"})
        found = sorted(result.completion.values)
        self.check("completes a file", found == ["references/deep/er.md", "references/times.md"], found)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        result = await self.client.session.send_request(Custom(method=method, params=params), Anything)
        return result.model_dump(by_alias=True)

    async def extension(self) -> None:
        skills, cursor, pages = [], None, 0
        while True:
            page = await self.ask("skills/list", **({"cursor": cursor} if cursor else {}))
            skills += page["skills"]
            pages += 1
            cursor = page.get("nextCursor")
            if cursor is None or pages > 20:
                break
        self.check("skills/list comes in pages and ends", 1 < pages <= 20, pages)
        names = {skill["frontmatter"]["name"] for skill in skills}
        # The extension wants every file of a skill in its entry, and a link that leads out cannot be in one.
        expected = {"brew-tea", *(f"extra-{n:02}" for n in range(60))}
        self.check("with the skills that can be told whole, each once", names == expected and len(skills) == 61, names ^ expected)
        [tea] = [skill for skill in skills if skill["uri"] == f"{TEA}/SKILL.md"]
        self.check("with the front matter", tea["frontmatter"]["name"] == "brew-tea", tea)
        right = True
        for resource in tea["resources"]:
            file = self.root / "kitchen/brew-tea" / resource["uri"].removeprefix(f"{TEA}/")
            digest = "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()
            right &= resource["digest"] == digest and resource["size"] == file.stat().st_size
        self.check("and each file's size and digest", right and len(tea["resources"]) == 4, tea["resources"])
        got = await self.ask("skills/get", uri=f"{TEA}/SKILL.md")
        self.check("skills/get gives the same entry", got["skill"] == tea, got)
        error = await refused(self.ask("skills/get", uri="skill://no-such/SKILL.md"))
        self.check("and -32602 for an unknown URI", error and error.code == INVALID_PARAMS, error)
        entries = (await self.ask("resources/directory/read", uri=TEA))["resources"]
        kinds = {entry["uri"].removeprefix(f"{TEA}/"): entry.get("mimeType") for entry in entries}
        is_listed = kinds.get("references") == "inode/directory" and "SKILL.md" in kinds
        self.check("resources/directory/read lists a directory", is_listed, kinds)
        error = await refused(self.ask("resources/directory/read", uri=f"{TEA}/SKILL.md"))
        self.check("and not a file", error and error.code == INVALID_PARAMS, error)
        for uri in [f"{TEA}/../..", f"{TEA}/%2e%2e/%2e%2e", f"{TEA}/%252e%252e", f"{TEA}/a%00b", "file:///etc"]:
            error = await refused(self.ask("resources/directory/read", uri=uri))
            self.check(f"and refuses {uri}", error and error.code == INVALID_PARAMS, error)
            await self.is_logged_once()

    async def changes(self) -> None:
        watched = f"{TEA}/SKILL.md"
        async with contextlib.AsyncExitStack() as stack:
            if self.modern:
                wanted = {"resources_list_changed": True, "prompts_list_changed": True, "resource_subscriptions": [watched]}
                stream = await stack.enter_async_context(self.client.listen(**wanted))

                async def listen() -> None:
                    async for event in stream:
                        self.news.add(event)

                listening = asyncio.create_task(listen())
                stack.callback(listening.cancel)
            else:
                await self.client.subscribe_resource(watched)
                self.check("resources/subscribe is taken", True)

            write_skill(self.root / "new-skill", "new-skill", "Is new. Use it to be told of it.", "# New\n")
            await self.news.wait_for(lambda news: isinstance(news, (types.ResourceListChangedNotification, ResourcesListChanged)))
            self.check("a new skill is announced: resources/list_changed", True)
            await self.news.wait_for(lambda news: isinstance(news, (types.PromptListChangedNotification, PromptsListChanged)))
            self.check("a new skill is announced: prompts/list_changed", True)
            said = text_of(await self.client.call_tool("load_skill", {"skill_id": "new-skill"}))
            self.check("and can be loaded", "# New" in said, said)

            tea = self.root / "kitchen/brew-tea"
            write_skill(tea, "brew-tea", "Brews a pot of tea, better. Use it for tea.", "# Brew tea\n\nAnew, $ARGUMENTS.\n")
            news = await self.news.wait_for(lambda news: isinstance(news, (types.ResourceUpdatedNotification, ResourceUpdated)))
            uri = news.uri if isinstance(news, ResourceUpdated) else news.params.uri
            self.check("an edited SKILL.md is announced: resources/updated", str(uri) == watched, news)
            [content] = (await self.client.read_resource(watched, cache_mode="bypass")).contents
            self.check("and is read anew", "Anew" in content.text, content)
            if not self.modern:
                await self.client.unsubscribe_resource(watched)
                self.check("resources/unsubscribe is taken", True)


def arguments_for(root: Path) -> list[str]:
    return ["--isolated", "--no-cache", "--skills-dir", str(root), "mcp"]


@contextlib.asynccontextmanager
async def http_server(binary: str, root: Path, report: Report, stderr: ServerLog):
    """`skillcue mcp --http`, where it listens, and that it ends cleanly."""
    command = [binary, *arguments_for(root), "--http", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(*command, stderr=stderr.file)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            while not (found := re.search(r"listening on (http://\S+)\n", stderr.text())):
                if process.returncode is not None:
                    raise Failed(f"the server ended at once ({process.returncode}) and said {stderr.text()!r}")
                await asyncio.sleep(0.02)
        yield found[1]
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(ANSWER_SECONDS):
            code = await process.wait()
        report.check("SIGTERM ends the server cleanly", code == 0, code)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def run(binary: str, transport: str, modern: bool) -> int:
    report = Report(f"{transport} {'2026-07-28' if modern else '2025-11-25'}")
    news, logs = News(), News()

    async def on_message(message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        news.add(message)

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logs.add(params)

    with tempfile.TemporaryDirectory(prefix="skillcue-mcp-") as directory:
        root = Path(directory) / "skills"
        write_tree(root)
        stderr = ServerLog(Path(directory) / "stderr.txt")
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(stderr.file)
            await stack.enter_async_context(asyncio.timeout(RUN_SECONDS))
            if transport == "http":
                url = await stack.enter_async_context(http_server(binary, root, report, stderr))
                server: Any = streamable_http_client(url)
            else:
                command = StdioServerParameters(command=binary, args=arguments_for(root), env=dict(os.environ))
                server = stdio_client(command, errlog=stderr.file)
            client = Client(
                server,
                mode="auto" if modern else "legacy",
                read_timeout_seconds=ANSWER_SECONDS,
                message_handler=on_message,
                logging_callback=on_log,
                log_level="warning" if modern else None,
            )
            async with client:
                carries = modern and transport == "http"
                await Run(client, root, report, news, logs, stderr, modern, carries).everything()
    return report.count


def main() -> int:
    [binary] = sys.argv[1:]
    # What the newest version has deprecated is still what clients of the version before use.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    total = 0
    for transport in ["stdio", "http"]:
        for modern in [False, True]:
            try:
                total += asyncio.run(run(binary, transport, modern))
            except (Exception, BaseExceptionGroup) as failure:
                which = f"{transport} {'2026-07-28' if modern else '2025-11-25'}"
                for error in leaves(failure):
                    where = traceback.extract_tb(error.__traceback__)
                    ours = next((frame for frame in reversed(where) if frame.filename == __file__), None)
                    line = f" (line {ours.lineno})" if ours else ""
                    said = f"FAILED with the Python SDK, {which}{line}: {type(error).__name__}: {error}"
                    print(said, file=sys.stderr)
                return 1
    print(f"Python SDK: {total} checks passed")
    return 0


def leaves(error: BaseException):
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


if __name__ == "__main__":
    sys.exit(main())
