"""``Skillcue``: the skills of one set-up."""

from __future__ import annotations

import builtins
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal

from . import _native
from ._async import async_twin, in_thread
from ._functions import StrPath, program
from ._listing import Listing
from ._native import Cancel, NativeSkills, NativeWatch
from ._turn import turn
from ._results import (
    CacheStats,
    Changes,
    Disclosure,
    Explanation,
    Hit,
    Rehydration,
    RunResult,
    Script,
    Selection,
    SkillList,
    Tool,
    ToolResult,
    WatchEvent,
)
from ._types import (
    Counter,
    Diagnostic,
    Fallback,
    FileListing,
    Heading,
    InvalidSkill,
    Loaded,
    Mode,
    Policy,
    Skill,
    SkillDetails,
)
from ._watch import Watch

Session = dict[str, Any]
"""The memory of a conversation: ``{}`` at first, updated in place by what takes it, and plain JSON."""


class Skillcue:
    """The skills of one set-up, ready to be listed, loaded, read and shown by many threads at once.

    With directories, only they are looked at; without, the places that the command line looks at: the project's, the
    user's, installed skills and what ``skillcue.toml`` names.

    >>> skills = Skillcue("./skills")                                          # doctest: +SKIP
    >>> skills.disclose("Say bonjour to Alice").turn                           # doctest: +SKIP
    """

    __slots__ = ("__weakref__", "_listed", "_native")

    def __init__(
        self,
        *skills_dirs: StrPath,
        isolated: bool | None = None,
        config: StrPath | None = None,
        cache: bool | None = None,
        cwd: StrPath | None = None,
        environ: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        fallback: Fallback | None = None,
        max_skills: int | None = None,
        max_all_skills: int | None = None,
        max_total_tokens: int | None = None,
        max_per_skill_tokens: int | None = None,
        counter: Counter | None = None,
        window: int | None = None,
        catalog_share: float | None = None,
        pinned: Iterable[str] = (),
        eagerness: float | None = None,
        mode: Mode | None = None,
        load_cache: int | None = None,
        max_body_bytes: int | None = None,
        match_cache: int | None = None,
        nested: bool = False,
        roots: Iterable[tuple[StrPath, str]] = (),
        consent: Callable[[dict[str, Any]], bool] | None = None,
        allow_unsandboxed: bool = False,
        helper: StrPath | None = None,
        usage: bool | None = None,
    ) -> None:
        """Looks for the skills.

        :param skills_dirs: Directories with skills. A directory of one skill counts, too.
        :param isolated: Whether nothing but the named directories is looked at: by default, if there are any.
        :param config: A ``skillcue.toml`` to read instead of the user's and the project's.
        :param cache: Whether an index is kept in the user's cache directory: by default, unless isolated.
        :param cwd: The directory whose project it is; the current one by default.
        :param environ: Variables to use in place of ``os.environ``.
        :param policy: Where shown text goes: ``inject``, ``catalog`` or ``hint``.
        :param fallback: What is shown if nothing fits.
        :param max_skills: The number of skills whose bodies a message shows.
        :param max_all_skills: The number of bodies if all are asked for.
        :param max_total_tokens: The limit for all bodies of a message; 0 for none.
        :param max_per_skill_tokens: The limit for one body; 0 for none.
        :param counter: How tokens are counted.
        :param window: The model's context window.
        :param catalog_share: The share of the window that a list of skills may take.
        :param pinned: Skills whose descriptions are the last to be shortened.
        :param eagerness: How little certainty is enough, from 0 to 1.
        :param mode: How messages are matched.
        :param load_cache: The number of bodies that are kept.
        :param max_body_bytes: The size of the largest body.
        :param match_cache: The number of selections that are kept.
        :param nested: Whether skills inside of skills are looked for.
        :param roots: Further directories with their sources, which decide which of two skills of one name counts:
            ``inline``, ``project``, ``user``, ``plugin``, ``bundled``. Where a policy has rules about sources, all of them
            count as ``inline``.
        :param consent: Called with a question when a program asks for more than the sandbox gives. Without it, what the
            user has allowed on the command line counts.
        :param allow_unsandboxed: Whether programs run without a sandbox where the machine has none.
        :param helper: The program that starts sandboxes; the package's own by default.
        :param usage: Whether what happens to skills is recorded in the user's ledger, which ``skillcue usage`` adds up: by
            default, unless isolated. What switches the ledger off for the program (``skillcue usage off``, ``record = false``,
            ``SKILLCUE_USAGE=off``) does so here, too.
        """
        alone = bool(skills_dirs or roots) if isolated is None else isolated
        self._native = NativeSkills(
            {
                "skills_dirs": [os.fspath(path) for path in skills_dirs],
                "isolated": alone,
                "config": None if config is None else os.fspath(config),
                "cache": not alone if cache is None else cache,
                "cwd": _cwd() if cwd is None else os.path.abspath(cwd),
                "variables": list((os.environ if environ is None else environ).items()),
                "policy": policy,
                "fallback": fallback,
                "max_skills": max_skills,
                "max_all_skills": max_all_skills,
                "max_total_tokens": max_total_tokens,
                "max_per_skill_tokens": max_per_skill_tokens,
                "counter": counter,
                "window": window,
                "catalog_share": catalog_share,
                "pinned": list(pinned),
                "eagerness": eagerness,
                "mode": mode,
                "load_cache": load_cache,
                "max_body_bytes": max_body_bytes,
                "match_cache": match_cache,
                "nested": nested,
                "roots": [(os.fspath(path), source) for path, source in roots],
                "consent": consent,
                "allow_unsandboxed": allow_unsandboxed,
                "helper": os.fspath(program() if helper is None else helper),
                "usage": not alone if usage is None else usage,
            }
        )
        # Events wait in a queue: they are written when the object goes, or the interpreter ends.
        weakref.finalize(self, self._native.flush)
        self._listed: Listing | None = None

    def close(self) -> None:
        """Ends running programs, and connections to servers. Without it, that happens when the object goes."""
        self._native.close()

    def __enter__(self) -> Skillcue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Level 1

    def _listing(self) -> Listing:
        known = self._listed
        fresh = self._native.catalog(None if known is None else known.native)
        if fresh is None:
            assert known is not None
            return known
        self._listed = listing = Listing(fresh)
        return listing

    def list(self, *, include_disabled: bool = False, include_shadowed: bool = False) -> builtins.list[Skill]:
        """Returns the skills, sorted by name. The objects are made once for a catalog."""
        # The usual case first, and in few steps: programs list their skills for every message.
        known = self._listed
        if known is not None and not (include_disabled or include_shadowed) and self._native.is_current(known.native):
            return [*known.usable()]
        listing = self._listing()
        if not (include_disabled or include_shadowed):
            return [*listing.usable()]
        return [
            skill
            for skill in listing.all()
            if (include_disabled or (skill.enabled and skill.available)) and (include_shadowed or not skill.shadowed)
        ]

    def find(self, name: str) -> Skill | None:
        """Returns the skill that a name means: ``name``, ``name@source`` or ``plugin:name``; or ``None``."""
        found = self._listing().find(name)
        return None if found is None else found[1]

    def get(self, name: str) -> Skill:
        """Like :meth:`find`, and raises :class:`NotFoundError` for an unknown name."""
        return self._listing().get(name)[1]

    def __getitem__(self, name: str) -> Skill:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._listing().find(name) is not None

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._listing().usable())

    def __len__(self) -> int:
        return len(self._listing().usable())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Skillcue: {len(self)} skills>"

    def show(self, name: str) -> SkillDetails:
        """Returns a skill with its front matter as it was written, its files, and findings about it."""
        listing = self._listing()
        position, skill = listing.get(name)
        findings = listing.native.diagnostics(os.fspath(skill.dir))
        return SkillDetails(
            skill,
            listing.native.raw(position),
            self.files(name),
            tuple(Diagnostic._of(found) for found in findings),
        )

    def front_matter(self, name: str) -> dict[str, Any]:
        """Returns the front matter of a skill as it was written, also the fields that have no attribute of their own."""
        listing = self._listing()
        raw: Any = listing.native.raw(listing.get(name)[0])
        return raw if isinstance(raw, dict) else {}

    @property
    def generation(self) -> str:
        """An id of all metadata: it changes if and only if some skill's metadata does."""
        return self._listing().native.generation

    def diagnostics(self) -> builtins.list[Diagnostic]:
        """Returns what was found while looking for skills."""
        return [Diagnostic._of(found) for found in self._listing().native.diagnostics()]

    def invalid(self) -> builtins.list[InvalidSkill]:
        """Returns the directories whose skill files are broken."""
        return [InvalidSkill._of(row) for row in self._listing().native.invalid()]

    def refresh(self) -> Changes:
        """Looks again, and returns what changed. Only changed files are read."""
        return Changes._of(self._native.refresh())

    def watch(self, on_change: Callable[[WatchEvent], None], *, poll: bool = False) -> Watch:
        """Calls a function whenever skills change on disk, on a thread of its own, after a refresh."""

        def told(kind: Any, changes: dict[str, Any] | None, message: str | None) -> None:
            on_change(WatchEvent(kind, None if changes is None else Changes._of(changes), message))

        return Watch(NativeWatch(self._native, told, poll))

    # Level 2

    def load(
        self,
        name: str,
        arguments: str = "",
        *,
        section: str | None = None,
        form: Literal["processed", "body"] = "processed",
        argument_names: Iterable[str] | None = None,
    ) -> Loaded:
        """Loads the body of a skill, with ``$ARGUMENTS`` replaced.

        :param section: The heading of the one section to load.
        :param form: ``body`` leaves out the lines about the base directory and the arguments.
        :param argument_names: Names for ``$NAME``; with them, or an empty list, ``$0`` and
            ``$ARGUMENTS[0]`` count, too.
        """
        names = None if argument_names is None else list(argument_names)
        return Loaded(*self._native.load(name, arguments, section, form == "body", names))

    def load_envelope(
        self, name: str, arguments: str = "", *, section: str | None = None, session: Session | None = None
    ) -> ToolResult:
        """Loads a skill in the envelope in which a model gets it. If the session shows it already, one line says so."""
        return ToolResult._of(self._native.load_envelope(name, arguments, section, session))

    def outline(self, name: str) -> builtins.list[Heading]:
        """Returns the headings of a body, with the cost of each section."""
        return [Heading._of(row) for row in self._native.outline(name)]

    # Level 3

    def files(self, name: str) -> FileListing:
        """Returns the files of a skill."""
        return FileListing._of(self._native.files(name))

    def read(self, name: str, path: StrPath) -> str:
        """Reads a text file of a skill. No path leads out of its directory."""
        return self._native.read(name, os.fspath(path))

    def read_bytes(self, name: str, path: StrPath) -> bytes:
        """Reads a file of a skill."""
        return self._native.read_bytes(name, os.fspath(path))

    # Selection and disclosure

    def select(
        self,
        message: str,
        *,
        files: Iterable[StrPath] = (),
        languages: Iterable[str] = (),
        nearby: Iterable[StrPath] = (),
        earlier: Iterable[str] = (),
        session: Session | None = None,
        mode: Mode | None = None,
        limit: int | None = None,
    ) -> Selection:
        """Returns the skills that fit a message, ranked, each with its reasons.

        :param files: Files that the message is about.
        :param languages: Programming languages that it is about.
        :param nearby: Files that are merely at hand; they select nothing by themselves.
        :param earlier: Earlier messages of the user, latest first.
        """
        options = turn(files, languages, nearby, earlier, mode, limit)
        return Selection._of(self._native.select(message, session, options, False), message)

    def search(
        self,
        query: str,
        *,
        files: Iterable[StrPath] = (),
        languages: Iterable[str] = (),
        nearby: Iterable[StrPath] = (),
        earlier: Iterable[str] = (),
        session: Session | None = None,
        mode: Mode | None = None,
        limit: int | None = None,
    ) -> Selection:
        """Like :meth:`select`, without skills that are hidden from models."""
        options = turn(files, languages, nearby, earlier, mode, limit)
        return Selection._of(self._native.select(query, session, options, True), query)

    def why(
        self,
        name: str,
        message: str,
        *,
        files: Iterable[StrPath] = (),
        languages: Iterable[str] = (),
        nearby: Iterable[StrPath] = (),
        earlier: Iterable[str] = (),
        session: Session | None = None,
        mode: Mode | None = None,
    ) -> Explanation:
        """Explains why a skill fits a message, or what it would have taken."""
        options = turn(files, languages, nearby, earlier, mode, None)
        return Explanation._of(self._native.explain(name, message, session, options), message)

    def reselect(
        self,
        message: str,
        *,
        words: Iterable[str] = (),
        calls: Iterable[tuple[str, Mapping[str, Any]]] = (),
        touched: Iterable[StrPath] = (),
        already: Iterable[str] = (),
        files: Iterable[StrPath] = (),
        session: Session | None = None,
        mode: Mode | None = None,
    ) -> builtins.list[Hit]:
        """Returns skills that fit because of what has happened since the message: the model's words, its calls of tools,
        and the files that were read or written."""
        since = [(tool, dict(arguments)) for tool, arguments in calls]
        paths = [os.fspath(path) for path in touched]
        options = turn(files, (), (), (), mode, None)
        rows = self._native.reselect(message, list(words), since, paths, list(already), session, options)
        return [Hit._of(row, message) for row in rows]

    def disclose(
        self,
        message: str,
        *,
        files: Iterable[StrPath] = (),
        languages: Iterable[str] = (),
        nearby: Iterable[StrPath] = (),
        earlier: Iterable[str] = (),
        session: Session | None = None,
        mode: Mode | None = None,
        policy: Policy | None = None,
        max_total_tokens: int | None = None,
        max_per_skill_tokens: int | None = None,
    ) -> Disclosure:
        """Returns what a model is shown for a message. The session remembers it, and nothing is shown twice."""
        options = turn(files, languages, nearby, earlier, mode, None, policy, max_total_tokens, max_per_skill_tokens)
        return Disclosure._of(self._native.disclose(message, session, options), message)

    context = disclose

    def prompt(self) -> SkillList:
        """Returns the static section that lists every skill."""
        return SkillList._of(self._native.prompt())

    def census(self) -> int:
        """Returns the number of skills that models may see."""
        return self._native.census()

    def rehydrate(
        self,
        session: Session,
        *,
        max_total_tokens: int | None = None,
        max_per_skill_tokens: int | None = None,
        rest: bool = False,
    ) -> Rehydration:
        """Returns the skills to show again after the context of a conversation was compacted.

        :param rest: Whether only a part was dropped (see :meth:`evicted`): what is in context is not shown again.
        """
        return Rehydration._of(self._native.rehydrate(session, max_total_tokens, max_per_skill_tokens, rest))

    @staticmethod
    def evicted(session: Session, names: Iterable[str]) -> None:
        """Records that a host has dropped the texts of some skills from its context."""
        NativeSkills.compacted(session, list(names))

    # Tools for models

    def tools(self, *, session: Session | None = None, loaded: Iterable[str] = ()) -> builtins.list[Tool]:
        """Returns the tools for a model whose conversation has loaded some skills."""
        return [Tool._of(row) for row in self._native.tools(list(loaded), session)]

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        session: Session | None = None,
        loaded: Iterable[str] = (),
        on_progress: Callable[[float, float | None, str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> ToolResult:
        """Calls a tool. What goes wrong inside is in the result; an unknown tool raises :class:`NotFoundError`."""
        row = _native.call_tool(self._native, name, dict(arguments or {}), list(loaded), session, on_progress, cancel)
        return ToolResult._of(row)

    # Scripts

    def scripts(self, name: str) -> builtins.list[Script]:
        """Returns the scripts of a skill. Runs nothing."""
        return [Script._of(row) for row in _native.skill_scripts(self._native, name)]

    def run_script(
        self,
        name: str,
        script: str,
        arguments: Iterable[str] = (),
        *,
        input: Any = None,
        grant: bool = False,
        allow_unsandboxed: bool = False,
        on_output: Callable[[str, bytes], None] | None = None,
        cancel: Cancel | None = None,
    ) -> RunResult:
        """Runs a script of a skill in the sandbox.

        :param input: What it gets on its standard input, as JSON.
        :param grant: Whether the permissions that it asks for are allowed for this run.
        :param on_output: Called with ``"stdout"`` or ``"stderr"`` and bytes as they come.
        """
        row = _native.run_script(
            self._native, name, script, list(arguments), input, grant, allow_unsandboxed, on_output, cancel
        )
        return RunResult._of(row)

    # Caches

    def prepare(self) -> None:
        """Makes the indexes that the first message would have to wait for."""
        self._native.prepare()

    def index_bodies(self) -> int:
        """Reads all bodies and ranks by them, too, from now on. Returns how many were read."""
        return self._native.index_bodies()

    def cache_stats(self) -> CacheStats:
        """Returns hits and misses of the cache of bodies."""
        return CacheStats(**self._native.stats(False))

    def match_stats(self) -> CacheStats:
        """Returns hits and misses of the cache of selections."""
        return CacheStats(**self._native.stats(True))

    def clear_cache(self, name: str | None = None) -> int:
        """Forgets loaded bodies, of one skill or of all, and returns how many."""
        return self._native.clear_cache(name)

    # Twins that do not block the loop: the work is done on a thread. Cancelling the task ends a program that runs.

    ashow = async_twin(show)
    arefresh = async_twin(refresh)
    aload = async_twin(load)
    aload_envelope = async_twin(load_envelope)
    aoutline = async_twin(outline)
    afiles = async_twin(files)
    aread = async_twin(read)
    aread_bytes = async_twin(read_bytes)
    aselect = async_twin(select)
    asearch = async_twin(search)
    awhy = async_twin(why)
    areselect = async_twin(reselect)
    adisclose = async_twin(disclose)
    acontext = adisclose
    arehydrate = async_twin(rehydrate)
    atools = async_twin(tools)
    acall_tool = async_twin(call_tool)
    ascripts = async_twin(scripts)
    arun_script = async_twin(run_script)
    aprepare = async_twin(prepare)
    aindex_bodies = async_twin(index_bodies)

    @classmethod
    async def aopen(cls, *skills_dirs: StrPath, **options: Any) -> Skillcue:
        """Looks for the skills on a thread. Takes what the class takes."""
        return await in_thread(lambda: cls(*skills_dirs, **options))

    async def __aenter__(self) -> Skillcue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await in_thread(self.close)


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # It was deleted.
        return None
