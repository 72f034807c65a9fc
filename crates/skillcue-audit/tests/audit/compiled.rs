//! Compiled code: with its source, without, and beside another.

use std::path::Path;

use skillcue_audit::{Audit, AuditSeverity, audit};

use crate::{find, high, lines, write};

const SOURCE: &str = "print(1)\n";

/// Returns bytecode of Python 3.11 with this header behind the version.
fn bytecode(rest: &[u8]) -> Vec<u8> {
    [b"\xa7\r\r\n", rest, b"\xe3\0\0\0\0\0\0\0\0\x01\x02\x03\x80\xff"].concat()
}

/// Returns bytecode with the time and the size of its source.
fn by_size(size: u32) -> Vec<u8> {
    bytecode(&[&[0; 4][..], &[1, 2, 3, 4], &size.to_le_bytes()].concat())
}

fn by_hash(flags: u32, hash: u64) -> Vec<u8> {
    bytecode(&[&flags.to_le_bytes()[..], &hash.to_le_bytes()].concat())
}

fn of(files: &[(&str, &[u8])]) -> Audit {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        write(&dir.path().join(name), bytes);
    }
    audit(dir.path())
}

#[test]
fn bytecode_without_its_source_is_high() {
    for path in
        ["__pycache__/a.cpython-311.pyc", "a.pyc", "a.pyo", "data.bin", "lib/__pycache__/a.cpython-311.opt-1.pyc"]
    {
        let audit = of(&[(path, &by_size(9)), ("b.py", SOURCE.as_bytes())]);
        let finding = find(&audit, "compiled-code").unwrap_or_else(|| panic!("{path}: {:?}", lines(&audit)));
        assert_eq!((AuditSeverity::of(finding), finding.path.as_deref()), (AuditSeverity::High, Some(Path::new(path))));
        assert!(finding.message.contains("is not in the skill"), "{}", finding.message);
        assert_eq!(high(&audit).len(), 1, "{:?}", lines(&audit));
    }
}

#[test]
fn bytecode_of_another_source_is_high() {
    let cache = "scripts/__pycache__/a.cpython-311.pyc";
    let hostile = [
        (by_size(10), "compiled from 10 bytes"),
        // Python compares nothing.
        (by_hash(0b01, 0), "without comparing"),
        (by_hash(0b11, 77), "another text"),
    ];
    for (compiled, why) in hostile {
        let audit = of(&[(cache, &compiled), ("scripts/a.py", SOURCE.as_bytes())]);
        let finding = find(&audit, "compiled-code").unwrap_or_else(|| panic!("{why}: {:?}", lines(&audit)));
        assert!(finding.message.contains(why) && finding.message.contains("scripts/a.py"), "{}", finding.message);
    }
    // The header of its own bytecode: the size, or the hash that Python 3.11 computes under this version's number. Any
    // code behind such a header runs.
    for compiled in [by_size(9), by_hash(0b11, OWN_HASH)] {
        let audit = of(&[(cache, &compiled), ("scripts/a.py", SOURCE.as_bytes())]);
        let finding = find(&audit, "compiled-code").unwrap_or_else(|| panic!("{:?}", lines(&audit)));
        assert!(finding.message.contains("can be forged"), "{}", finding.message);
        assert!(finding.message.ends_with("delete scripts/__pycache__"), "{}", finding.message);
        assert_eq!(audit.findings.len(), 1, "{:?}", lines(&audit));
    }
    // The source alone is nothing.
    assert_eq!(lines(&of(&[("scripts/a.py", SOURCE.as_bytes())])), [""; 0]);
}

/// `_imp.source_hash(0x0a0d0da7, b"print(1)\n")`
const OWN_HASH: u64 = 0x5930_7a40_7f2d_81da;

#[test]
fn programs_without_their_source_are_high() {
    let programs: [(&str, &[u8]); 9] = [
        ("bin/tool", b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
        ("lib/native.so", b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
        ("addon.node", b"\xcf\xfa\xed\xfe\x07\0\0\x01"),
        ("tool.exe", b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff"),
        ("x.dll", b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff"),
        ("Main.class", b"\xca\xfe\xba\xbe\0\0\0\x41\x80\x81"),
        ("gradle/wrapper.jar", b"PK\x03\x04\x14\0\0\0\x08\0rest\x80\x81"),
        ("run.wasm", b"\0asm\x01\0\0\0"),
        ("x.luac", b"\x1bLua\x54\0\x19\x93"),
    ];
    for (path, bytes) in programs {
        let audit = of(&[(path, bytes), ("README.md", b"# A tool\n")]);
        assert_eq!(
            find(&audit, "compiled-code").and_then(|finding| finding.path.as_deref()),
            Some(Path::new(path)),
            "{:?}",
            lines(&audit)
        );
        assert_eq!(audit.findings.len(), 1, "{:?}", lines(&audit));
    }
}

#[test]
fn programs_beside_their_source_are_medium() {
    let elf: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0";
    let trees: [&[(&str, &[u8])]; 4] = [
        &[("bin/tool-linux-amd64", elf), ("src/tool.go", b"package main\n")],
        &[("libfast.so", elf), ("fast.c", b"int x;\n")],
        &[("Main$Inner.class", b"\xca\xfe\xba\xbe\0\0\0\x41\x80\x81"), ("Main.java", b"class Main {}\n")],
        &[("bin/a", elf), ("Cargo.toml", b"[package]\n"), ("src/main.rs", b"fn main() {}\n")],
    ];
    for files in trees {
        let audit = of(files);
        assert_eq!(
            audit.findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(),
            ["executable-binary"]
        );
    }
    // A file that builds nothing here, and source that is another program's.
    let audit = of(&[("bin/tool", elf), ("other.c", b"int x;\n")]);
    assert_eq!(high(&audit).len(), 1, "{:?}", lines(&audit));
}

#[test]
fn files_that_are_not_programs_are_clean() {
    let files: [(&str, &[u8]); 5] = [
        ("notes.pyc.md", b"About .pyc files.\n"),
        ("a.so", b"GROUP ( libx.so.1 )\n"),
        ("b.class", b".b { color: red }\n"),
        ("table.csv", b"ab\r\ncd\r\n"),
        ("x.py", b"import py_compile\n"),
    ];
    assert_eq!(lines(&of(&files)), [""; 0]);
}
