"""The skills that both validators are asked about."""

import itertools
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "format.json"
SEED = int(os.environ.get("SEED", "20260101"))
MUTANTS = int(os.environ.get("MUTANTS", "2000"))


@dataclass(frozen=True)
class Case:
    """One skill directory with one file in it (or none, if `file` is None)."""

    label: str
    content: bytes
    dir: str = "pdf"
    file: str | None = "SKILL.md"

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    @property
    def front_matter(self) -> str:
        """What the reference takes for the YAML: all between the first two `---`, wherever they stand."""
        parts = self.text.split("---", 2)
        return parts[1] if len(parts) == 3 else ""


def case(label: str, content: str | bytes, dir: str = "pdf", file: str | None = "SKILL.md") -> Case:
    return Case(label, content if isinstance(content, bytes) else content.encode(), dir, file)


def skill(yaml: str, body: str = "# Body\n") -> str:
    return f"---\n{yaml}\n---\n{body}"


def good(*more: str) -> str:
    """Valid front matter and further lines."""
    return skill("\n".join(["name: pdf", "description: Reads PDF files.", *more]))


def every_case() -> list[Case]:
    seeds = [
        *vectors(),
        *files(),
        *names(),
        *descriptions(),
        *other_fields(),
        *fences(),
        *yaml_oddities(),
        *tabs_and_breaks(),
    ]
    return [*seeds, *products(), *mutants(seeds)]


def vectors() -> list[Case]:
    cases = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
    return [case(f"vector {at}", it["file"], it["dir"]) for at, it in enumerate(cases)]


def files() -> list[Case]:
    valid = good()
    return [
        case("minimal", valid),
        case("no file", "", file=None),
        case("empty file", ""),
        case("one newline", "\n"),
        case("lower-case file name", valid, file="skill.md"),
        case("capitalised file name", valid, file="Skill.md"),
        case("another file name", valid, file="README.md"),
        case("no body", skill("name: pdf\ndescription: d", "")),
        case("no newline at the end", "---\nname: pdf\ndescription: d\n---"),
        case("BOM", "\ufeff" + valid),
        case("BOM and CRLF", "\ufeff" + valid.replace("\n", "\r\n")),
        case("BOM inside", good("license: a\ufeffb")),
        case("CRLF", valid.replace("\n", "\r\n")),
        case("lone CR", valid.replace("\n", "\r")),
        case("lone CR, invalid", skill("name: pdf\nx: y").replace("\n", "\r")),
        case("mixed line ends", "---\r\nname: pdf\ndescription: d\r\n---\nbody\r\n"),
        case("LF with one lone CR", good("license: a\rcompatibility: b")),
        case("UTF-16", valid.encode("utf-16")),
        case("Latin-1 in the front matter", good("license: caf\u00e9").encode("latin-1")),
        case("Latin-1 in the body", good().encode() + b"caf\xe9\n"),
        case("NUL in the front matter", good("license: a\0b")),
        case("NUL in the body", good() + "a\0b\n"),
        case("DEL in the front matter", good("license: a\x7fb")),
        case("C1 control in the front matter", good("license: a\x9bb")),
        case("escape in the front matter", good("license: a\x1bb")),
        case("form feed in the front matter", good("license: a\x0cb")),
        case("NEL in the front matter", good("license: a\x85b")),
        case("line separator in the front matter", good("license: a\u2028b")),
        case("zero-width space", good("license: a\u200bb")),
        case("noncharacter", good("license: a\uffffb")),
        case("emoji", good("license: \U0001f600")),
        case("git symlink text", "../../shared/pdf/SKILL.md"),
        case("git symlink text with newline", "../pdf/SKILL.md\n"),
        case("only markdown", "# PDF\n\nReads PDF files.\n"),
        case("over 1 MiB", good() + "x" * (1 << 20)),
        case("exactly 1 MiB", good() + "x" * ((1 << 20) - len(good()))),
        case("conflict markers", skill("<<<<<<< HEAD\nname: pdf\n=======\nname: pdf2\n>>>>>>> x\ndescription: d")),
        case("two front matters", good() + "---\nname: x\ndescription: y\n---\n"),
        case("template", skill("name: {{name}}\ndescription: {{description}}")),
    ]


def names() -> list[Case]:
    def named(label: str, written: str, dir: str | None = None) -> Case:
        return case(f"name {label}", skill(f"name: {written}\ndescription: d"), written if dir is None else dir)

    long = "a" * 64
    out = [
        named("plain", "pdf"),
        named("one letter", "a"),
        named("digits", "123"),
        named("starts with a digit", "3d-models"),
        named("number", "1.5", "1.5"),
        named("octal", "0755"),
        named("hex", "0x1f"),
        named("exponent", "1e3"),
        named("boolean true", "true"),
        named("boolean yes", "yes"),
        named("boolean no", "no"),
        named("on", "on"),
        named("null", "null"),
        named("tilde", "~", "pdf"),
        named("date", "2024-01-01"),
        named("upper case", "PDF"),
        named("mixed case", "Pdf-tools"),
        named("upper case, lower-case directory", "PDF", "pdf"),
        named("lower case, upper-case directory", "pdf", "PDF"),
        named("mismatch", "pdf", "docx"),
        named("underscore", "pdf_tools"),
        named("underscore against hyphen", "pdf_tools", "pdf-tools"),
        named("space", "pdf tools"),
        named("space against hyphen", "pdf tools", "pdf-tools"),
        named("dot", "pdf.tools"),
        named("colon", "pdf:tools"),
        named("slash", "a/b", "b"),
        named("dots", "..", "pdf"),
        named("at", "@pdf", "pdf"),
        named("plus", "c++"),
        named("hash", "c#"),
        named("hyphens inside", "a-b-c"),
        named("leading hyphen", "-a"),
        named("trailing hyphen", "a-"),
        named("double hyphen", "a--b"),
        named("only a hyphen", "-"),
        named("triple hyphen", "a---b"),
        named("64", long),
        named("65", long + "a"),
        named("64 of two bytes", "\u00e4" * 64),
        named("65 of two bytes", "\u00e4" * 65),
        named("64, decomposed", "a\u0308" * 64),
        named("65, decomposed", "a\u0308" * 65),
        named("umlaut", "gr\u00f6\u00dfe"),
        named("decomposed, composed directory", "u\u0308ber", "\u00fcber"),
        named("composed, decomposed directory", "\u00fcber", "u\u0308ber"),
        named("full width", "\uff50\uff44\uff46", "pdf"),
        named("full width directory", "pdf", "\uff50\uff44\uff46"),
        named("full width capitals", "\uff30\uff24\uff26", "pdf"),
        named("ligature", "\ufb01le", "file"),
        named("ligature at the limit", "\ufb01" * 32, "fi" * 32),
        named("ligature over the limit", "\ufb01" * 33, "fi" * 33),
        named("superscript", "m\u00b2", "m2"),
        named("CJK", "\u8868\u683c"),
        named("Hangul", "\ud45c"),
        named("decomposed Hangul", "\u1111\u116d", "\ud45c"),
        named("Cyrillic", "\u043f\u0434\u0444"),
        named("Cyrillic capital", "\u041f\u0434\u0444"),
        named("Greek final sigma", "\u03b1\u03c2"),
        named("Greek sigma at the end", "\u03b1\u03c3"),
        named("dotless i", "\u0131"),
        named("dotted capital I", "\u0130"),
        named("sharp s capital", "\u1e9e"),
        named("title case", "\u01c5"),
        named("Arabic", "\u0645\u0644\u0641"),
        named("Arabic digits", "\u0661\u0662"),
        named("Hebrew", "\u05e7\u05d5\u05d1\u05e5"),
        named("Thai with vowel signs", "\u0e44\u0e1f\u0e25\u0e4c"),
        named("Devanagari with vowel signs", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        named("Devanagari without virama", "\u0915\u093e"),
        named("Tamil vowel sign", "\u0b95\u0bbe"),
        named("Roman numeral", "\u2163", "iv"),
        named("small Roman numeral", "\u2173", "iv"),
        named("circled letter", "\u24d0", "a"),
        named("squared letter", "\U0001f130"),
        named("fraction", "\u00bd"),
        named("ideographic zero", "\u3007"),
        named("mathematical letter", "\U0001d41a", "a"),
        named("modifier letter", "\u02b0"),
        named("combining mark alone", "\u0301"),
        named("combining mark that does not compose", "q\u0301"),
        named("emoji", "\U0001f600"),
        named("zero width", "pd\u200bf", "pdf"),
        named("soft hyphen", "pd\u00adf", "pdf"),
        named("non-breaking space", "a\u00a0b", "a b"),
        named("non-breaking hyphen", "a\u2011b", "a-b"),
        named("en dash", "a\u2013b", "a-b"),
        named("full-width hyphen", "a\uff0db", "a-b"),
        named("small hyphen-minus", "a\ufe63b", "a-b"),
        named("double full-width hyphen", "a\uff0d-b", "a--b"),
        named("quoted", "'pdf'", "pdf"),
        named("double-quoted", '"pdf"', "pdf"),
        named("double-quoted escape", '"p\\x64f"', "pdf"),
        named("quoted number", "'123'", "123"),
        named("quoted with blanks", "' pdf '", "pdf"),
        named("quoted with newline escape", '"pdf\\n"', "pdf"),
        named("quoted with no-break space", "'\u00a0pdf'", "pdf"),
        named("quoted with a separator escape", '"\\x1fpdf"', "pdf"),
        named("quoted with zero-width no-break space", '"\\uFEFFpdf"', "pdf"),
        named("quoted empty", "''", "pdf"),
        named("quoted blank", "' '", "pdf"),
        named("empty", "", "pdf"),
        named("blank", "   ", "pdf"),
        named("list", "[pdf]", "pdf"),
        named("block list", "\n  - pdf", "pdf"),
        named("block list at the key", "\n- pdf", "pdf"),
        named("map", "{a: b}", "pdf"),
        named("block map", "\n  a: b", "pdf"),
        named("empty list", "[]", "pdf"),
        named("block scalar", "|\n  pdf", "pdf"),
        named("stripped block scalar", "|-\n  pdf", "pdf"),
        named("folded", ">\n  pdf", "pdf"),
        named("folded over two lines", ">\n  pdf\n  tools", "pdf tools"),
        named("on the next line", "\n  pdf", "pdf"),
        named("over two lines", "pdf\n  tools", "pdf tools"),
        named("with comment", "pdf # comment", "pdf"),
        named("with hash", "pdf#1", "pdf#1"),
        named("tagged", "!!str pdf", "pdf"),
        named("anchored", "&a pdf", "pdf"),
        named("alias", "*a", "pdf"),
        named("template", "{{name}}", "pdf"),
        case("name missing", skill("description: d")),
        case("name twice", skill("name: pdf\nname: pdf\ndescription: d")),
        case("name twice, quoted", skill("name: pdf\n\"name\": pdf\ndescription: d")),
        case("name as a quoted key", skill("'name': pdf\ndescription: d")),
        case("name in capitals", skill("Name: pdf\ndescription: d")),
        case("name without blank", skill("name:pdf\ndescription: d")),
        case("name with blank before colon", skill("name : pdf\ndescription: d")),
        case("name with many blanks", skill("name:     pdf\ndescription: d")),
        case("name with blanks behind", skill("name: pdf   \ndescription: d")),
        case("directory with blanks", good(), " pdf "),
        case("directory with a dot", good(), "pdf."),
    ]
    return [it for it in out if it.dir not in ("", ".", "..") and "/" not in it.dir and "\n" not in it.dir]


def descriptions() -> list[Case]:
    def described(label: str, written: str) -> Case:
        return case(f"description {label}", skill(f"name: pdf\ndescription: {written}"))

    x = "x" * 1024
    sentence = ("word " * 205)[:1024].rstrip().ljust(1024, "y")
    out = [
        described("1 character", "d"),
        described("1024", x),
        described("1025", x + "x"),
        described("1024 of three bytes", "\u8868" * 1024),
        described("1025 of three bytes", "\u8868" * 1025),
        described("1024 of four bytes", "\U0001f600" * 1024),
        described("1025 of four bytes", "\U0001f600" * 1025),
        described("1024 in words", sentence),
        described("1025 in words", sentence + "z"),
        described("1024 in quotes", f"'{x}'"),
        described("1025 in quotes", f"'{x}x'"),
        described("1024 with a doubled quote", f"'{x[:-1]}'''"),
        described("1023 and a newline as block", "|\n  " + x[:-1]),
        described("1024 and a newline as block", "|\n  " + x),
        described("1024 as stripped block", "|-\n  " + x),
        described("1025 as stripped block", "|-\n  x" + x),
        described("1024 folded", ">-\n  " + x[:500] + "\n  " + x[:523]),
        described("1025 folded", ">-\n  " + x[:500] + "\n  " + x[:524]),
        described("1024 over lines", x[:500] + "\n  " + x[:523]),
        described("1025 over lines", x[:500] + "\n  " + x[:524]),
        described("1024 with blanks around in quotes", f"' {x[:-2]} '"),
        described("1025 with blanks around in quotes", f"' {x[:-1]} '"),
        described("1024 with trailing blanks", x + "    "),
        described("1024 combining", "e\u0301" * 512),
        described("empty", ""),
        described("blank", "   "),
        described("quoted empty", "''"),
        described("double-quoted empty", '""'),
        described("quoted blank", "'  '"),
        described("quoted newline", '"\\n"'),
        described("quoted no-break space", '"\\xa0"'),
        described("quoted unit separator", '"\\x1f"'),
        described("quoted zero width", '"\\u200b"'),
        described("null", "null"),
        described("tilde", "~"),
        described("Null", "Null"),
        described("true", "true"),
        described("number", "42"),
        described("float", "1.0"),
        described("date", "2024-01-01"),
        described("list", "[a, b]"),
        described("empty list", "[]"),
        described("block list", "\n  - a\n  - b"),
        described("map", "{a: b}"),
        described("block map", "\n  a: b"),
        described("empty block", "|"),
        described("empty block and blank lines", "|\n\n"),
        described("empty folded", ">-"),
        described("literal", "|\n  one\n  two"),
        described("literal kept", "|+\n  one\n\n"),
        described("literal indented 4", "|\n    one\n    two"),
        described("literal with indicator", "|2\n  one\n   two"),
        described("literal with indicator 1", "|1\n one\n two"),
        described("literal with wrong indicator", "|4\n  one"),
        described("literal with indicators swapped", "|-2\n  one"),
        described("literal with indicator 0", "|0\n  one"),
        described("literal with comment", "| # comment\n  one"),
        described("literal with text", "| one\n  two"),
        described("literal with leading blank line", "|\n\n  one"),
        described("literal with a deeper blank line first", "|\n     \n  one"),
        described("literal, second line less indented", "|\n    one\n  two"),
        described("literal not indented", "|\none"),
        described("literal with tab", "|\n  one\ttwo"),
        described("literal indented by tab", "|\n\tone"),
        described("literal with comment-like line", "|\n  one\n# two"),
        described("literal with colon", "|\n  Use when: x"),
        described("folded", ">\n  one\n  two"),
        described("folded with blank line", ">\n  one\n\n  two"),
        described("folded with deeper line", ">\n  one\n    two\n  three"),
        described("folded strip", ">-\n  one\n  two"),
        described("folded keep", ">+\n  one\n"),
        described("plain over lines", "one\n  two\n  three"),
        described("plain over lines with blank line", "one\n\n  two"),
        described("plain over lines with a comment between", "one\n  # two\n  three"),
        described("plain over lines, not indented", "one\ntwo"),
        described("plain over lines with colon", "one\n  two: three"),
        described("plain over lines with hyphen", "one\n  - two"),
        described("plain on the next line", "\n  one two"),
        described("plain on the next line, not indented", "\none two"),
        described("quoted over lines", '"one\n  two"'),
        described("quoted over lines, not indented", '"one\ntwo"'),
        described("single-quoted over lines", "'one\n  two'"),
        described("single-quoted over lines, not indented", "'one\ntwo'"),
        described("quoted with blank line", '"one\n\n  two"'),
        described("quoted with escaped break", '"one\\\n  two"'),
        described("quoted then text", '"one" two'),
        described("quoted then comment", '"one" # two'),
        described("quoted then comment without blank", '"one"# two'),
        described("quote not closed", '"one'),
        described("single quote not closed", "'one"),
        described("apostrophe inside single quotes", "'don't'"),
        described("doubled apostrophe", "'don''t'"),
        described("quotes inside", 'say "hi" now'),
        described("backslash plain", "a\\nb"),
        described("unknown escape", '"a\\qb"'),
        described("escaped slash", '"a\\/b"'),
        described("escaped apostrophe", '"a\\\'b"'),
        described("hex escape", '"\\x41"'),
        described("short hex escape", '"\\x4"'),
        described("unicode escape", '"\\u00e4"'),
        described("long unicode escape", '"\\U0001F600"'),
        described("surrogate escape", '"\\ud83d"'),
        described("surrogate pair escape", '"\\ud83d\\ude00"'),
        described("NUL escape", '"\\0"'),
        described("NEL escape", '"\\N"'),
        described("tab escape", '"a\\tb"'),
        described("escaped blank", '"\\ a"'),
        described("unquoted colon", "Use when: x"),
        described("colon at the end", "Use when:"),
        described("colon without blank", "see http://x.y/z"),
        described("colon in parentheses", "a (b: c)"),
        described("colon in quotes inside", 'a "b: c" d'),
        described("colon then tab", "a:\tb"),
        described("comment behind", "a # b"),
        described("hash inside", "a#b"),
        described("only a comment", "# a"),
        described("at", "@a b"),
        described("backtick", "`a` b"),
        described("percent", "%a b"),
        described("star", "*a b"),
        described("star alone", "*"),
        described("bold", "**a** b"),
        described("ampersand", "&a b"),
        described("ampersand alone", "&"),
        described("exclamation", "!a b"),
        described("exclamation alone", "!"),
        described("exclamation and blank", "! a"),
        described("bracket", "[a] b"),
        described("brackets", "[a] [b]"),
        described("bracket open", "[a"),
        described("brace", "{a} b"),
        described("template", "{{a}} b"),
        described("template alone", "{{a}}"),
        described("greater", "> a"),
        described("bar", "| a"),
        described("hyphen and blank", "- a"),
        described("hyphen", "-a"),
        described("question and blank", "? a"),
        described("question", "?a"),
        described("question alone", "?"),
        described("colon first", ":a"),
        described("comma first", ",a"),
        described("bracket closing first", "]a"),
        described("brace closing first", "}a"),
        described("bracket inside", "a [b] {c} d"),
        described("comma inside", "a, b, c"),
        described("equals", "="),
        described("merge", "<<"),
        described("dots", "..."),
        described("tag str", "!!str a"),
        described("tag int", "!!int 5"),
        described("tag python", "!!python/object/apply:os.system ['id']"),
        described("tag local", "!x a"),
        described("tag verbatim", "!<tag:yaml.org,2002:str> a"),
        described("anchor", "&x a"),
        described("alias", "*x"),
        described("XML", "Use <example>this</example>"),
        described("Windows path", "C:\\Users\\x"),
        described("triple hyphen inside", "a --- b"),
        described("triple hyphen in quotes", "'a --- b'"),
        described("triple hyphen in double quotes", '"a --- b"'),
        described("triple hyphen first", "--- a"),
        described("triple hyphen in a literal", "|\n  a\n  ---\n  b"),
        described("four hyphens", "a ---- b"),
        described("long dash run", "a " + "-" * 20),
        described("non-breaking space", "a\u00a0b"),
        described("bidi control", "a\u202eb"),
        described("soft hyphen", "a\u00adb"),
        described("literal with NEL", "|\n  a\x85b"),
        described("folded with paragraph separator", ">\n  a\u2029  b"),
        described("quoted over lines, a line like a key", "'one\nlicense: two'"),
        described("quoted over lines, a line like an item", "'one\n- two'"),
        described("quoted over lines, dots", "'one\n...two'"),
        described("block at the margin", "\n|\n  one"),
        described("comment before, blank lines behind", "# comment\n  one\n\n"),
        described("NUL in quotes", "'one\0'"),
        described("NUL in quotes over lines", '"one\n\0\n  two"'),
        described("Windows path in double quotes", '"C:\\Users\\x"'),
        case("description missing", skill("name: pdf")),
        case("description twice", good("description: again")),
        case("description before name", skill("description: d\nname: pdf")),
        case("description in capitals", skill("name: pdf\nDescription: d")),
        case("description without blank", skill("name: pdf\ndescription:d")),
        case("description as the last line without break", "---\nname: pdf\ndescription: d---\n"),
    ]
    return out


def other_fields() -> list[Case]:
    c = "c" * 500
    keys = [
        "version: 1.0", "version: '1.0'", "model: x", "triggers:\n  - a", "tags:\n  - a", "author: me", "Name: x", "x-y: z",
        "disable-model-invocation: true", "user-invocable: false", "argument-hint: FILE", "brief_description: b", "types:\n  - prompt",
        "toolsets:\n  - a", "scripts:\n  - a", "priority: 1", "requires:\n  - git", "allowed_tools: Read", "allowedTools: Read",
        "License: MIT", "METADATA:\n  a: b", "1: 2", "true: x", "'': x", "~: x", "? x\n: y", "\"version\": 1", "name.x: y",
    ]
    values = [
        "", " ''", " ' '", " null", " ~", " text", " 42", " 1.5", " true", " yes", " 2024-01-01", " 'quoted'", ' "double"',
        " [a, b]", " []", " {a: b}", " {}", " '{\"a\": \"b\"}'", " {\"a\": \"b\"}", "\n  - a\n  - b", "\n- a\n- b", "\n  a: b", "\n  a: b\n  c: d",
        "\n  a:\n    b: c", "\n  a:\n  - b", "\n  a:\n    - b\n    - c", "\n  - a: b\n    c: d", "\n  -\n    - a", "\n  - - a", "\n  -", "\n  - ''",
        "\n  a: [b]", "\n  a: {b: c}", "\n  a: b\n  a: c", "\n  a:", "\n  a: null", "\n  a: 'b'", "\n  a: &x b", "\n  a: &x b\n  c: *x",
        "\n  a: !!str b", "\n  <<: x", "\n  <<:\n    a: b", "\n  1: 2", "\n  1: 2\n  '1': 3", "\n  '': x", "\n  ~: x", "\n  ? a\n  : b", "\n  ? - a\n  : b",
        "\n  ? a: b\n  : c", "\n  : a", "\n  a b: c", "\n  \"a\": b", "\n  'a b': c", "\n  a: |\n    b", "\n  a: >-\n    b\n    c", "\n  a: b: c", "\n  a: @b",
        "\n  a:\n    b: c\n  d:\n      e: f", "\n  a:\n      b: c\n  d:\n    e: f", "\n  a:\n    b:\n      c: d\n  e:\n    f:\n        g: h",
        "\n  a:\n    b: c\n  d: e\n  f:\n     g: h", "\n  a:\n    - b\n  c:\n      - d", "\n  a:\n    b: c\n  d:\n      - e",
        "\n    a: b\n  c: d", "\n  a: b\n    c: d", "\n a: b", "\n      a: b", "\n\ta: b", "\n  a:\tb", "\n  a: b\t", "\n  a: b\t# c", "\n  - a\n- b", "\n  a: b\n- c",
        " |\n  a: b", " >\n  a", " text\n  more", " text\n  more: x", " # comment", " # comment\n  a: b", "\n  # comment\n  a: b", "\n  a: b # comment\n  # c", "\n# comment\n  a: b",
        "\n  a: b\n\n  c: d", "\n  a: b\n  \n  c: d", "\n\n  a: b", " &x\n  a: b", " !!map\n  a: b", " *x", " &x", " Read, Grep", " Read Grep Bash(git add:*)", " *",
        " Bash(git:*) Read", " Bash(npm run test: *)", " \"Read\" \"Grep\"", " Read,", " - Read", "\n  - Bash(git add:*)\n  - Read", "\n  - Bash: x", "\n  - @x", "\n  - *", "\n  - `x`",
    ]
    out = [case(f"key {key.splitlines()[0]!r}", good(key)) for key in keys]
    for field in ("license", "compatibility", "allowed-tools", "metadata"):
        out += [case(f"{field}:{value!r}", good(f"{field}:{value}")) for value in values]
        out += [case(f"{field} twice", good(f"{field}: a", f"{field}: b"))]
        out += [case(f"{field}:{value!r}, then more", good(f"{field}:{value}", "license: x" if field != "license" else "compatibility: x")) for value in values[::3]]
    out += [
        case("compatibility 500", good(f"compatibility: {c}")),
        case("compatibility 501", good(f"compatibility: {c}c")),
        case("compatibility 500 of three bytes", good("compatibility: " + "\u8868" * 500)),
        case("compatibility 501 of three bytes", good("compatibility: " + "\u8868" * 501)),
        case("compatibility 499 and a newline", good(f"compatibility: |\n  {c[:-1]}")),
        case("compatibility 500 and a newline", good(f"compatibility: |\n  {c}")),
        case("license very long", good("license: " + "x" * 5000)),
        case("allowed-tools very long", good("allowed-tools: " + "Read " * 2000)),
        case("metadata types tool", good("metadata:\n  types:\n    - tool")),
        case("metadata types prompt", good("metadata:\n  types:\n    - prompt")),
        case("metadata types as text", good("metadata:\n  types: tool")),
        case("metadata with all of ours", good("metadata:\n  version: 1.0\n  priority: high\n  default_enabled: maybe\n  triggers: pdf\n  requires: git, jq")),
        case("metadata nested 60 deep", good("metadata:\n" + "\n".join("  " * d + "a:" for d in range(1, 60)) + " b")),
        case("metadata nested 70 deep", good("metadata:\n" + "\n".join("  " * d + "a:" for d in range(1, 70)) + " b")),
        case("metadata of 2,000 keys", good("metadata:\n" + "\n".join(f"  k{n}: v" for n in range(2000)))),
        case("metadata of 6,000 keys", good("metadata:\n" + "\n".join(f"  k{n}: v" for n in range(6000)))),
        case("metadata key of 130 characters", good("metadata:\n  " + "k" * 130 + ": v")),
        case("metadata key of 1,100 characters", good("metadata:\n  " + "k" * 1100 + ": v")),
        case("all the standard's fields", good("license: MIT", "compatibility: git", "allowed-tools: Read", "metadata:\n  a: b")),
    ]
    return out


def fences() -> list[Case]:
    yaml = "name: pdf\ndescription: d\n"
    return [
        case("fence: never closed", f"---\n{yaml}"),
        case("fence: only the opening line", "---"),
        case("fence: only the opening line and a break", "---\n"),
        case("fence: two lines of fence", "---\n---\n"),
        case("fence: six hyphens", "------"),
        case("fence: empty front matter", "---\n\n---\n# x\n"),
        case("fence: comment only", "---\n# x\n---\n# x\n"),
        case("fence: blank line before", f"\n---\n{yaml}---\nx"),
        case("fence: blanks before", f"  ---\n{yaml}---\nx"),
        case("fence: text before", f"x\n---\n{yaml}---\nx"),
        case("fence: comment before", f"<!-- x -->\n---\n{yaml}---\nx"),
        case("fence: in a code fence", f"```yaml\n---\n{yaml}---\n```\nx"),
        case("fence: code fence instead", f"```\n{yaml}```\nx"),
        case("fence: blanks behind the opening", f"---  \n{yaml}---\nx"),
        case("fence: tab behind the opening", f"---\t\n{yaml}---\nx"),
        case("fence: blanks behind the closing", f"---\n{yaml}---  \nx"),
        case("fence: tab behind the closing", f"---\n{yaml}---\t\nx"),
        case("fence: text behind the closing", f"---\n{yaml}--- x\nx"),
        case("fence: text behind the opening", f"--- x\n{yaml}---\nx"),
        case("fence: comment behind the opening", f"--- # x\n{yaml}---\nx"),
        case("fence: key behind the opening", "--- name: pdf\ndescription: d\n---\nx"),
        case("fence: key right behind the opening", "---name: pdf\ndescription: d\n---\nx"),
        case("fence: closing indented", f"---\n{yaml}  ---\nx"),
        case("fence: closing indented, then another", f"---\n{yaml}  ---\nx\n---\ny"),
        case("fence: closing of four", f"---\n{yaml}----\nx"),
        case("fence: closing of four, then three", f"---\n{yaml}----\n---\nx"),
        case("fence: opening of four", f"----\n{yaml}---\nx"),
        case("fence: closing of two", f"---\n{yaml}--\nx"),
        case("fence: closing with dots", f"---\n{yaml}...\nx"),
        case("fence: dots, then closing", f"---\n{yaml}...\n---\nx"),
        case("fence: dots with text, then closing", f"---\n{yaml}... x\n---\nx"),
        case("fence: dots in the middle", "---\nname: pdf\n...\ndescription: d\n---\nx"),
        case("fence: dots first", f"---\n...\n{yaml}---\nx"),
        case("fence: plus signs", f"+++\n{yaml}+++\nx"),
        case("fence: em dashes", f"\u2014\u2014\u2014\n{yaml}\u2014\u2014\u2014\nx"),
        case("fence: closing right behind a value", "---\nname: pdf\ndescription: d---\nx"),
        case("fence: inside a comment", f"---\n# --- x\n{yaml}---\nx"),
        case("fence: inside a key", f"---\n{yaml}a---b: c\n---\nx"),
        case("fence: rule in the body", f"---\n{yaml}---\nx\n\n---\n\ny"),
        case("fence: rule right after", f"---\n{yaml}---\n---\ny"),
        case("fence: directive", f"---\n%YAML 1.2\n{yaml}---\nx"),
        case("fence: a second document", f"---\n{yaml}--- # two\na: b\n---\nx"),
        case("fence: all on one line", "---name: pdf---"),
        case("fence: a list", "---\n- name: pdf\n- description: d\n---\nx"),
        case("fence: a text", "---\njust words\n---\nx"),
        case("fence: a number", "---\n42\n---\nx"),
        case("fence: null", "---\n~\n---\nx"),
        case("fence: a flow map", "---\n{name: pdf, description: d}\n---\nx"),
        case("fence: all indented", "---\n  name: pdf\n  description: d\n---\nx"),
        case("fence: first line indented", "---\n  name: pdf\ndescription: d\n---\nx"),
        case("fence: second line indented", "---\nname: pdf\n  description: d\n---\nx"),
        case("fence: blank lines inside", "---\n\nname: pdf\n\n\ndescription: d\n\n---\nx"),
        case("fence: blanks on a blank line", "---\nname: pdf\n   \ndescription: d\n---\nx"),
        case("fence: zero-width space before", f"\u200b---\n{yaml}---\nx"),
        case("fence: no-break space behind", f"---\u00a0\n{yaml}---\nx"),
        case("fence: windows ends with blanks", f"--- \r\n{yaml}--- \r\nx"),
    ]


def yaml_oddities() -> list[Case]:
    lines = [
        "# comment", "   # indented comment", "license: MIT # comment", "license: MIT #comment", "license: MIT#no", "license: 'MIT'# no blank", "#", "# ---", "# name: x: y",
        "license: >\n  MIT\n # less indented comment", "license: |\n  a\n # comment\n  b", "license: a\n# comment\n  b", "license: a\n\n\n  b", "license: MIT\n...",
        "license: MIT\n... # end", "license: MIT\n....", "license: ...", "license: a\n  ...\n  b", "license: - a", "license: -", "license: -- a", "license: ?", "license: ? a", "license: :", "license: : a", "license: a : b",
        "license: a :b", "license: a: ", "license: 'a': b", "license: \"a\" : b", "license: a, b: c", "license: (a: b)", "license: a\\", "license: \"a\\\\\"", "license: \"\\\"", "license: '''a'''", "license: ''''",
        "license: \"a\"\"b\"", "license: 'a' 'b'", "license: \"a\" \"b\"", "license:\n  'a'\n  'b'", "license:\n  \"a\"", "license:\n\n  a", "license:\n  a\n  b", "license:\n a", "license:\n\ta", "license: |\n a\n  b\n c",
        "license: |\n  a\n b", "license: >\n\n  a\n\n\n  b\n", "license: |\n  a\n\n\n", "license: |+\n  a\n\n\n", "license: |-\n\n\n", "license: |\n  \ta", "license: |\n   a\n  \tb", "license: |1-\n a", "license: |-1\n a", "license: |9\n a", "license: |10\n a", "license: |a\n b", "license: ||\n b", "license: >>\n b", "license: |#x\n  b", "license: | #x\n  b",
        "license: >-\n  a: b\n  - c\n  # d", "license: &a", "license: &a\n  b", "license: !", "license: !!", "license: !!str", "license: !a!b c", "license: *a\ncompatibility: &a b", "license: &a x\ncompatibility: *a", "license: &a x\nmetadata:\n  b: *a", "license: \u00a0a", "license:\u00a0a", "license\u00a0: a", "license: a\u3000b",
        "\"license\": MIT", "'license': MIT", "? license\n: MIT", "? license", "license:MIT", "license :MIT", "license : MIT", "license  :  MIT", ": MIT", "- MIT", "MIT", "license:\n- MIT\n- BSD", "license:\n-MIT", "license: [MIT", "license: MIT]", "license: {MIT", "license: MIT}", "license: [MIT,\n  BSD]", "license: ,", "license: a,b", "license: %a", "license: a%b", "license: @", "license: a@b", "license: `", "license: a`b", "license: \"a\n\n  b\"", "license: \"a\n b\n  c\"", "license: 'a\nb'", "license: \"a\n---b\"", "license: \"a\n...\nb\"", "license: 'a\n  # no comment\n  b'",
        "license: \"a\\\nb\"", "license: \"\\e\\a\\b\\v\"", "license: \"\\_\\L\\P\"", "license: \"\\x00\"", "license: \"\\u0000\"", "license: \"\\U00110000\"", "license: \"\\xZZ\"", "license: \"\\\t\"", "license: \"a\tb\"", "license: 'a\tb'", "license: \"\ta\"", "license: 0o7", "license: .inf", "license: .nan", "license: 1_000", "license: 12:30", "license: 12:30:45", "license: -1", "license: +1", "license: =", "license: <<", "license: |", "license: >", "license: \"", "license: '",
        "<<: x", "<<:\n  license: MIT", "<<: *x", "<<: [a]", "license: MIT\n\n\n", "license: MIT\n  \n  ", "license: MIT\n\t", "license: MIT\n\t\n", "license: MIT\n \t\n", "%TAG ! x", "%YAML 1.1", "%x", "license: >\n    a\n   b", "license: |\n    \n  a", "license: |2\n   a", "license: |2\n a", "license: a\n b\n  c\n d", "license: a\n - b", "license: a\n -b", "license: a\n ? b", "license: a\n : b", "license: a\n :b", "license: a\n #b", "license: a\n 'b'", "license: a\n \"b", "license: a\n [b", "license: a\n &b", "license: a\n *b", "license: a\n !b", "license: a\n @b", "license: a\n `b", "license: a\n %b", "license: a\n|b", "license: a\n |b", "license: a\n b:c", "license: a\n b:", "license: a\n b: c",
        "metadata:\n  - a\n  b: c", "metadata:\n  a: b\n  - c", "metadata:\n  a: b\n c: d", "metadata:\n   a: b\n  c: d", "metadata:\n  a:\n  b: c", "metadata:\n  a:\n b: c", "metadata:\n  a:\n  - b\n  -c", "metadata:\n  a:\n- b", "metadata:\n- a: b\n  c: d\n- e", "metadata:\n- a: b\n c: d", "metadata:\n-  a: b\n   c: d", "metadata:\n-  a: b\n  c: d", "metadata:\n- - a\n  - b", "metadata:\n- ? a", "metadata:\n  ? a\n  ? b", "metadata:\n  ? a\n  :\n    b: c", "metadata:\n  ? |\n    a\n  : b", "metadata:\n  ? 'a'\n  : - b\n    - c", "metadata:\n  a: |\n    b\n   c", "metadata:\n  a: b\n\n\n  # c\n\n  d: e", "metadata:\n  a: 'b\n  c'", "metadata:\n  a: 'b\nc'", "metadata:\n  a: b\nc\n", "metadata:\n  a: b\n  c", "metadata:\n  'a': b\n  a: c", "metadata:\n  a:\n    x: 1\n  b:\n    x: 1", "metadata:\n  null: a\n  ~: b", "metadata:\n  true: a\n  True: b", "metadata:\n  1: a\n  1.0: b", "metadata:\n  a.b: c", "metadata:\n  a/b: c", "metadata:\n  a b c: d", "metadata:\n  a,b: c", "metadata:\n  [a]: b", "metadata:\n  {a: b}: c", "metadata:\n  *a : b", "metadata:\n  &a b: c", "metadata:\n  !a b: c", "metadata:\n  \"a\\x41\": b", "metadata:\n  \u8868: \u683c", "metadata:\n  a: \u8868\u683c\u3002", "metadata:\n  \U0001f600: x",
    ]
    return [case(f"yaml {line!r}", good(line)) for line in lines] + [case(f"yaml first {line!r}", skill(f"{line}\nname: pdf\ndescription: d")) for line in lines[::2]]


def tabs_and_breaks() -> list[Case]:
    places = [
        "\tname: pdf\ndescription: d", "name:\tpdf\ndescription: d", "name: \tpdf\ndescription: d", "name: pdf\t\ndescription: d", "name: pdf\n\ndescription: a\tb", "name: pdf\ndescription: a \t b", "name: pdf\n\tdescription: d",
        "name: pdf\ndescription: 'a\tb'", "name: pdf\ndescription: \"a\tb\"", "name: pdf\ndescription: 'a'\t", "name: pdf\ndescription: |\n  a\n\tb", "name: pdf\ndescription: |\t\n  a", "name: pdf\ndescription: |\n  a\t", "name: pdf\ndescription: >\n  a\n  \n  b\t\n  c", "name: pdf\ndescription: a\n\tb", "name: pdf\ndescription: a\n  \tb",
        "name: pdf\ndescription: a\n \t\n  b", "name: pdf\ndescription: 'a\n\tb'", "name: pdf\ndescription: \"a\n \tb\"", "name: pdf\ndescription: d\n\t# comment", "name: pdf\ndescription: d\t# comment", "name: pdf\ndescription: d #\tcomment", "name: pdf\n\t\ndescription: d", "name: pdf\ndescription: d\n\t", "name: pdf\ndescription: d\n  \t", "name: pdf\ndescription: d\nmetadata:\t\n  a: b", "name: pdf\ndescription: d\nmetadata:\n\ta: b", "name: pdf\ndescription: d\nmetadata:\n  -\ta", "name: pdf\ndescription: d\nmetadata:\n  - a\t", "name: pdf\ndescription: d\nmetadata:\n  a\t: b", "name: pdf\ndescription: d\nmetadata:\n  ?\ta\n  :\tb", "name\t: pdf\ndescription: d",
        "name: pdf\ndescription: a\x85b", "name: pdf\ndescription: a\u2028  b", "name: pdf\ndescription: 'a\u2028b'", "name: pdf\ndescription: 'a\u2029b'", "name: pdf\ndescription: |\n  a\u2028  b", "name: pdf\ndescription: |\n  a\u2028b", "name: pdf\u2028description: d", "name: pdf\x85description: d", "name: pdf\ndescription: a\x85  b", "name: pdf\ndescription: # a\u2028  b", "name: pdf\rdescription: d", "name: pdf\ndescription: a\r  b", "name: pdf\ndescription: 'a\rb'", "name: pdf\ndescription: \"a\r\n  b\"", "name: pdf\r\ndescription: |\r\n  a\r\n  b", "name: pdf\ndescription: d\r\r\nlicense: x",
        "\ufeffname: pdf\ndescription: d", "name: \ufeffpdf\ndescription: d", "name: pdf\ndescription: \ufeffd", "name: pdf\n\ufeffdescription: d", "# x\n\ufeffname: pdf\ndescription: d", "name: pdf\ndescription: d\n...\n...", "name: pdf\ndescription: '\ufeff'",
    ]
    return [case(f"break {yaml!r}", skill(yaml)) for yaml in places] + [case(f"break CRLF {yaml!r}", skill(yaml).replace("\n", "\r\n")) for yaml in places]


def products() -> list[Case]:
    """Every name with every description with every way of writing them down."""
    scalars = ["pdf", "'pdf'", '"pdf"', "|-\n  pdf", "", "[pdf]", "Pdf"]
    texts = ["Reads PDF files.", "'Reads: PDF'", "Reads: PDF", "|\n  Reads\n  files", ">-\n  Reads\n\n  files", "", "- x", "@x", '"x" y', "x # y"]
    tails = ["", "license: MIT\n", "metadata:\n  version: '1.0'\n", "version: 1.0\n", "# end\n", "allowed-tools:\n  - Read\n"]
    out = []
    for at, (name, text, tail) in enumerate(itertools.product(scalars, texts, tails)):
        yaml = f"name: {name}\ndescription: {text}\n{tail}"
        if at % 3 == 1:
            yaml = f"description: {text}\nname: {name}\n{tail}"
        content = f"---\n{yaml}---\n# Body\n"
        if at % 5 == 2:
            content = content.replace("\n", "\r\n")
        out.append(case(f"product {at}", content))
    return out


PIECES = [
    ":", ": ", " ", "  ", "\n", "\n  ", "\n- ", "\n  - ", "#", " # ", "'", '"', "|", ">", "-", "- ", "?", "? ", "[", "]", "{", "}", ",", "&a ", "*a", "!x ", "%", "@", "`",
    "\t", "\r", "\\", "~", "...", "--", "a", "B", "\u00e4", "\u8868", "\u200b", "0", "null", "metadata:\n  ", "license: ", "\n\n", "=", "<<: ", "\u2028", "\x85", "\x00", "\x7f",
]


def mutants(seeds: list[Case]) -> list[Case]:
    """Small damage, done the same way in every run."""
    chance = random.Random(SEED)
    seeds = [it for it in seeds if it.file == "SKILL.md" and 20 < len(it.content) < 1000]
    out = []
    while len(out) < MUTANTS:
        seed = chance.choice(seeds)
        try:
            text = seed.content.decode()
        except UnicodeDecodeError:
            continue
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            at = chance.randrange(len(text))
            kind = chance.randrange(4)
            if kind == 0:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            elif kind == 1:
                text = text[:at] + text[at + chance.choice([1, 1, 2, 5]) :]
            elif kind == 2:
                text = text[:at] + chance.choice(PIECES) + text[at + 1 :]
            else:
                lines = text.splitlines(keepends=True)
                line = chance.randrange(len(lines))
                lines.insert(chance.randrange(len(lines) + 1), lines[line] if chance.random() < 0.5 else lines.pop(line))
                text = "".join(lines)
            if len(text) < 5:
                break
        out.append(case(f"mutant {len(out)} of {seed.label!r}", text, seed.dir))
    return out
