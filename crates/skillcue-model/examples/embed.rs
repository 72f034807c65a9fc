//! Makes the vectors of texts, for `cargo xtask fit`: `embed MODEL_DIR TEXTS.jsonl` reads one JSON string a line and
//! writes `TEXTS.bin`, 384 numbers of four bytes for each.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for developers")]

use std::path::PathBuf;

use skillcue_model::SentenceModel;

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (dir, texts) = arguments.next().zip(arguments.next()).expect("usage: embed MODEL_DIR TEXTS.jsonl");
    let model = SentenceModel::open(&dir).expect("an installed model");
    let all = std::fs::read_to_string(&texts).expect("the texts");
    let all: Vec<String> = all.lines().map(|line| serde_json::from_str(line).expect("a JSON string")).collect();
    let mut bytes = Vec::with_capacity(all.len() * 384 * 4);
    for (number, chunk) in all.chunks(64).enumerate() {
        let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
        for vector in model.embed(&chunk).expect("vectors") {
            bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        }
        if number % 16 == 0 {
            println!("{} of {}", number * 64, all.len());
        }
    }
    std::fs::write(texts.with_extension("bin"), bytes).expect("the vectors can be written");
}
