//! What kind of file it is: by its first bytes, then by its name.

use std::path::Path;

use super::text::Encoding;

/// How a file is read, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Read by people and models: Markdown, HTML, text, and whatever has no other kind.
    Prose,
    /// Run by a machine.
    Script,
    /// Read by programs: JSON, YAML, tables.
    Data,
    /// No text at all.
    Binary,
}

/// What the first bytes of a file say.
#[derive(Debug)]
pub(super) struct Sniffed {
    pub(super) kind: Kind,
    pub(super) encoding: Encoding,
    pub(super) format: Option<&'static Format>,
}

/// A format that is known by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) family: Family,
    at: usize,
    magic: &'static [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Program,
    Archive,
    /// Pictures, fonts, documents.
    Media,
}

const fn format(name: &'static str, family: Family, at: usize, magic: &'static [u8]) -> Format {
    Format { name, family, at, magic }
}

static FORMATS: &[Format] = &[
    format("an ELF program", Family::Program, 0, b"\x7fELF"),
    format("a Mach-O program", Family::Program, 0, b"\xfe\xed\xfa\xce"),
    format("a Mach-O program", Family::Program, 0, b"\xfe\xed\xfa\xcf"),
    format("a Mach-O program", Family::Program, 0, b"\xce\xfa\xed\xfe"),
    format("a Mach-O program", Family::Program, 0, b"\xcf\xfa\xed\xfe"),
    format("a Mach-O program or Java class", Family::Program, 0, b"\xca\xfe\xba\xbe"),
    format("a Windows program", Family::Program, 0, b"MZ"),
    format("a WebAssembly program", Family::Program, 0, b"\0asm"),
    format("LLVM bitcode", Family::Program, 0, b"BC\xc0\xde"),
    format("a static library", Family::Program, 0, b"!<arch>\n"),
    format("an Android program", Family::Program, 0, b"dex\n03"),
    format("Lua bytecode", Family::Program, 0, b"\x1bLua"),
    format("Erlang bytecode", Family::Program, 0, b"FOR1"),
    format("a zip archive", Family::Archive, 0, b"PK\x03\x04"),
    format("a zip archive", Family::Archive, 0, b"PK\x05\x06"),
    format("a gzip archive", Family::Archive, 0, b"\x1f\x8b"),
    format("a bzip2 archive", Family::Archive, 0, b"BZh"),
    format("an xz archive", Family::Archive, 0, b"\xfd7zXZ\0"),
    format("a zstd archive", Family::Archive, 0, b"\x28\xb5\x2f\xfd"),
    format("a 7z archive", Family::Archive, 0, b"7z\xbc\xaf\x27\x1c"),
    format("a RAR archive", Family::Archive, 0, b"Rar!\x1a\x07"),
    format("a tar archive", Family::Archive, 257, b"ustar"),
    format("a cabinet archive", Family::Archive, 0, b"MSCF"),
    format("a PNG picture", Family::Media, 0, b"\x89PNG\r\n\x1a\n"),
    format("a JPEG picture", Family::Media, 0, b"\xff\xd8\xff"),
    format("a GIF picture", Family::Media, 0, b"GIF8"),
    format("a RIFF file", Family::Media, 0, b"RIFF"),
    format("a TIFF picture", Family::Media, 0, b"II*\0"),
    format("a TIFF picture", Family::Media, 0, b"MM\0*"),
    format("an icon", Family::Media, 0, b"\0\0\x01\0"),
    format("a PDF document", Family::Media, 0, b"%PDF-"),
    format("a TrueType font", Family::Media, 0, b"\0\x01\0\0"),
    format("an OpenType font", Family::Media, 0, b"OTTO"),
    format("a web font", Family::Media, 0, b"wOFF"),
    format("a web font", Family::Media, 0, b"wOF2"),
    format("a SQLite database", Family::Media, 0, b"SQLite format 3\0"),
    format("an Ogg file", Family::Media, 0, b"OggS"),
    format("an MP3 file", Family::Media, 0, b"ID3"),
    format("an MPEG-4 file", Family::Media, 4, b"ftyp"),
    format("an office document", Family::Media, 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    format("a git index", Family::Media, 0, b"DIRC"),
    format("a git pack", Family::Media, 0, b"PACK"),
];

/// Formats that no fixed bytes tell.
static PYTHON: Format = format("Python bytecode", Family::Program, 0, b"");
static JAVA: Format = format("a Java archive", Family::Program, 0, b"PK\x03\x04");

/// Zip files that are programs; a Java machine or a phone runs them as they are.
const PROGRAMS: [&str; 5] = ["jar", "war", "ear", "aar", "apk"];

/// Zip files that are documents; their programs open them, nobody unpacks them.
const DOCUMENTS: [&str; 21] = [
    "docx", "xlsx", "pptx", "odt", "ods", "odp", "dotx", "xltx", "potx", "epub", "vsdx", "ppsx", "docm", "dotm",
    "xlsm", "xltm", "xlam", "pptm", "potm", "ppam", "ppsm",
];

const SCRIPTS: [&str; 40] = [
    "sh",
    "bash",
    "zsh",
    "fish",
    "ksh",
    "csh",
    "ps1",
    "psm1",
    "psd1",
    "bat",
    "cmd",
    "vbs",
    "py",
    "pyw",
    "pyi",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "mts",
    "cts",
    "tsx",
    "rb",
    "pl",
    "pm",
    "php",
    "lua",
    "r",
    "go",
    "rs",
    "c",
    "h",
    "cpp",
    "cc",
    "java",
    "kt",
    "swift",
    "applescript",
    "pth",
];

const DATA: [&str; 20] = [
    "json", "jsonl", "json5", "yaml", "yml", "toml", "csv", "tsv", "xml", "xsd", "svg", "css", "lock", "ini", "cfg",
    "conf", "map", "scss", "less", "proto",
];

/// What is text to whoever reads it, whatever its first bytes say.
const PROSE: [&str; 6] = ["md", "mdx", "markdown", "txt", "html", "htm"];

impl Sniffed {
    /// What a file is, by its path and its first bytes (64 KiB are plenty).
    pub(super) fn of(path: &Path, head: &[u8]) -> Sniffed {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        let extension = extension.as_deref().unwrap_or_default();
        let bytecode = is_bytecode(head) || matches!(extension, "pyc" | "pyo") && !is_text(head);
        let java = PROGRAMS.contains(&extension) && head.starts_with(JAVA.magic);
        let special = bytecode.then_some(&PYTHON).or(java.then_some(&JAVA));
        let known = FORMATS
            .iter()
            .find(|format| head.get(format.at..).is_some_and(|head| head.starts_with(format.magic)))
            // Two or three letters are soon the beginning of a text, too.
            .filter(|format| format.magic.len() > 3 || !is_text(head))
            .filter(|format| format.family != Family::Archive || !DOCUMENTS.contains(&extension));
        let format = special.or(known);
        let document = head.starts_with(b"PK") && format.is_none();
        let encoding = encoding(head);
        let kind = if PROSE.contains(&extension) {
            Kind::Prose
        } else if encoding == Encoding::Bytes && (format.is_some() || document || !is_text(head)) {
            Kind::Binary
        } else if SCRIPTS.contains(&extension) || head.starts_with(b"#!") || is_makefile(path) {
            Kind::Script
        } else if DATA.contains(&extension) {
            Kind::Data
        } else {
            Kind::Prose
        };
        Sniffed { kind, encoding, format }
    }
}

/// Whether these are the first bytes of what Python compiles, whatever the file is called: a version, a line end, and
/// behind a header of 8, 12 or 16 bytes a code object.
pub(super) fn is_bytecode(head: &[u8]) -> bool {
    let [low, high, b'\r', b'\n', ..] = head else { return false };
    let known = matches!(u16::from_le_bytes([*low, *high]), 3000..=3999 | 20_121..=62_299);
    known && [8, 12, 16].iter().any(|at| matches!(head.get(*at), Some(0x63 | 0xe3)))
}

fn is_makefile(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Makefile" || name == "Dockerfile" || name == "justfile")
}

/// Whether most bytes are characters. NULs do not count: they are easily put between letters.
fn is_text(head: &[u8]) -> bool {
    let mut odd = head.iter().filter(|byte| matches!(byte, 1..=7 | 14..=26 | 28..=31 | 127)).count();
    odd += head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
    let counted = head.iter().filter(|byte| **byte != 0).count();
    odd * 10 <= counted
}

fn encoding(head: &[u8]) -> Encoding {
    match head {
        // UTF-32, like UTF-16 without a mark, is plain text with NULs.
        [0xff, 0xfe, 0, 0, ..] => Encoding::Bytes,
        [0xff, 0xfe, ..] => Encoding::Utf16 { big: false },
        [0xfe, 0xff, ..] => Encoding::Utf16 { big: true },
        _ => Encoding::Bytes,
    }
}
