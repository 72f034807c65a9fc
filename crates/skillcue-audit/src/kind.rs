//! Detects the kind of a file: by its first bytes, then by its name.

use std::path::Path;

use super::text::Encoding;

/// The kind of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentKind {
    /// Read by people and models: Markdown, HTML, text, and files of no other kind.
    Prose,
    /// Run by an interpreter or compiled.
    Script,
    /// Read by programs: JSON, YAML, tables.
    Data,
    /// Not text.
    Binary,
}

/// The kind, encoding and format of a file by its first bytes.
#[derive(Debug)]
pub(super) struct Sniffed {
    pub(super) kind: ContentKind,
    pub(super) encoding: Encoding,
    pub(super) format: Option<&'static FileFormat>,
}

/// A format that is known by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileFormat {
    pub(super) name: &'static str,
    pub(super) family: FormatFamily,
    at: usize,
    magic: &'static [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FormatFamily {
    Program,
    Archive,
    /// Pictures, fonts, documents.
    Media,
}

const fn format(name: &'static str, family: FormatFamily, at: usize, magic: &'static [u8]) -> FileFormat {
    FileFormat { name, family, at, magic }
}

static FORMATS: &[FileFormat] = &[
    format("an ELF program", FormatFamily::Program, 0, b"\x7fELF"),
    format("a Mach-O program", FormatFamily::Program, 0, b"\xfe\xed\xfa\xce"),
    format("a Mach-O program", FormatFamily::Program, 0, b"\xfe\xed\xfa\xcf"),
    format("a Mach-O program", FormatFamily::Program, 0, b"\xce\xfa\xed\xfe"),
    format("a Mach-O program", FormatFamily::Program, 0, b"\xcf\xfa\xed\xfe"),
    format("a Mach-O program or Java class", FormatFamily::Program, 0, b"\xca\xfe\xba\xbe"),
    format("a Windows program", FormatFamily::Program, 0, b"MZ"),
    format("a WebAssembly program", FormatFamily::Program, 0, b"\0asm"),
    format("LLVM bitcode", FormatFamily::Program, 0, b"BC\xc0\xde"),
    format("a static library", FormatFamily::Program, 0, b"!<arch>\n"),
    format("an Android program", FormatFamily::Program, 0, b"dex\n03"),
    format("Lua bytecode", FormatFamily::Program, 0, b"\x1bLua"),
    format("Erlang bytecode", FormatFamily::Program, 0, b"FOR1"),
    format("a zip archive", FormatFamily::Archive, 0, b"PK\x03\x04"),
    format("a zip archive", FormatFamily::Archive, 0, b"PK\x05\x06"),
    format("a gzip archive", FormatFamily::Archive, 0, b"\x1f\x8b"),
    format("a bzip2 archive", FormatFamily::Archive, 0, b"BZh"),
    format("an xz archive", FormatFamily::Archive, 0, b"\xfd7zXZ\0"),
    format("a zstd archive", FormatFamily::Archive, 0, b"\x28\xb5\x2f\xfd"),
    format("a 7z archive", FormatFamily::Archive, 0, b"7z\xbc\xaf\x27\x1c"),
    format("a RAR archive", FormatFamily::Archive, 0, b"Rar!\x1a\x07"),
    format("a tar archive", FormatFamily::Archive, 257, b"ustar"),
    format("a cabinet archive", FormatFamily::Archive, 0, b"MSCF"),
    format("a PNG picture", FormatFamily::Media, 0, b"\x89PNG\r\n\x1a\n"),
    format("a JPEG picture", FormatFamily::Media, 0, b"\xff\xd8\xff"),
    format("a GIF picture", FormatFamily::Media, 0, b"GIF8"),
    format("a RIFF file", FormatFamily::Media, 0, b"RIFF"),
    format("a TIFF picture", FormatFamily::Media, 0, b"II*\0"),
    format("a TIFF picture", FormatFamily::Media, 0, b"MM\0*"),
    format("an icon", FormatFamily::Media, 0, b"\0\0\x01\0"),
    format("a PDF document", FormatFamily::Media, 0, b"%PDF-"),
    format("a TrueType font", FormatFamily::Media, 0, b"\0\x01\0\0"),
    format("an OpenType font", FormatFamily::Media, 0, b"OTTO"),
    format("a web font", FormatFamily::Media, 0, b"wOFF"),
    format("a web font", FormatFamily::Media, 0, b"wOF2"),
    format("a SQLite database", FormatFamily::Media, 0, b"SQLite format 3\0"),
    format("an Ogg file", FormatFamily::Media, 0, b"OggS"),
    format("an MP3 file", FormatFamily::Media, 0, b"ID3"),
    format("an MPEG-4 file", FormatFamily::Media, 4, b"ftyp"),
    format("an office document", FormatFamily::Media, 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    format("a git index", FormatFamily::Media, 0, b"DIRC"),
    format("a git pack", FormatFamily::Media, 0, b"PACK"),
];

/// Formats that have no fixed first bytes.
static PYTHON: FileFormat = format("Python bytecode", FormatFamily::Program, 0, b"");
static JAVA: FileFormat = format("a Java archive", FormatFamily::Program, 0, b"PK\x03\x04");

/// Zip files that are programs; a Java machine or a phone runs them as they are.
const PROGRAMS: [&str; 5] = ["jar", "war", "ear", "aar", "apk"];

/// Zip files that are documents: their programs open them without unpacking.
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

/// Extensions of files that are always read as text, whatever their first bytes are.
const PROSE: [&str; 6] = ["md", "mdx", "markdown", "txt", "html", "htm"];

impl Sniffed {
    /// Detects a file's kind by its path and its first bytes (64 KiB are plenty).
    pub(super) fn of(path: &Path, head: &[u8]) -> Sniffed {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        let extension = extension.as_deref().unwrap_or_default();
        let bytecode = is_bytecode(head) || matches!(extension, "pyc" | "pyo") && !is_text(head);
        let java = PROGRAMS.contains(&extension) && head.starts_with(JAVA.magic);
        let special = bytecode.then_some(&PYTHON).or(java.then_some(&JAVA));
        let known = FORMATS
            .iter()
            .find(|format| head.get(format.at..).is_some_and(|head| head.starts_with(format.magic)))
            // Two or three letters are often the beginning of a text, too.
            .filter(|format| format.magic.len() > 3 || !is_text(head))
            .filter(|format| format.family != FormatFamily::Archive || !DOCUMENTS.contains(&extension));
        let format = special.or(known);
        let document = head.starts_with(b"PK") && format.is_none();
        let encoding = encoding(head);
        let kind = if PROSE.contains(&extension) {
            ContentKind::Prose
        } else if encoding == Encoding::Bytes && (format.is_some() || document || !is_text(head)) {
            ContentKind::Binary
        } else if SCRIPTS.contains(&extension) || head.starts_with(b"#!") || is_makefile(path) {
            ContentKind::Script
        } else if DATA.contains(&extension) {
            ContentKind::Data
        } else {
            ContentKind::Prose
        };
        Sniffed { kind, encoding, format }
    }
}

/// Returns whether these are the first bytes of Python bytecode, whatever the file is called: a version, a line end,
/// and behind a header of 8, 12 or 16 bytes a code object.
pub(super) fn is_bytecode(head: &[u8]) -> bool {
    let [low, high, b'\r', b'\n', ..] = head else { return false };
    let known = matches!(u16::from_le_bytes([*low, *high]), 3000..=3999 | 20_121..=62_299);
    known && [8, 12, 16].iter().any(|at| matches!(head.get(*at), Some(0x63 | 0xe3)))
}

fn is_makefile(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Makefile" || name == "Dockerfile" || name == "justfile")
}

/// Returns whether most bytes are characters. NULs do not count: they are easily put between letters.
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
