//! Consent as several commands show it: what is allowed, what a person is about to allow, which project is meant.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use skillcue::Skill;
use skillcue::catalog::SkillDir;
use skillcue::consent::{BROKEN_FILE_HINT, Consent, ConsentGate, Question, Subject};
use skillcue_host::{Environment, absolute, project_wants};

use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// Returns what is allowed, and whether each still counts. A file that cannot be read is reported.
pub(crate) fn rows(context: &Context) -> Result<Vec<(Consent, bool)>, CliError> {
    let store = context.host()?.consent_store();
    if let Some(trouble) = store.trouble() {
        context.terminal.warn("consent", &trouble, BROKEN_FILE_HINT);
    }
    let rows = store.list().into_iter();
    rows.map(|row| {
        let current = is_current(&row, context)?;
        Ok((row, current))
    })
    .collect()
}

/// Returns whether what is there now is what was allowed.
pub(crate) fn is_current(row: &Consent, context: &Context) -> Result<bool, CliError> {
    if row.changed {
        return Ok(false);
    }
    let subject = &row.subject;
    let question = match subject {
        Subject::Project { path } => project_wants(path).ok().flatten().map(|(question, _)| question),
        Subject::RemoteSkill { label, uri, .. } => {
            let remotes = context.host()?.remotes()?;
            let mut of_label = remotes.iter().filter(|remote| remote.label() == label);
            return Ok(of_label
                .any(|remote| remote.entries().iter().any(|entry| entry.uri == *uri && remote.is_allowed(entry))));
        }
        _ => match (subject.skill(), subject.dir()) {
            (Some(skill), Some(dir)) => SkillDir::open(skill, dir).ok().and_then(|dir| asked_now(row, &dir, context)),
            _ => None,
        },
    };
    Ok(question.is_some_and(|question| context.host().is_ok_and(|host| host.consent().answer(&question).is_allowed())))
}

/// Returns the question that was answered, as it would be put now.
fn asked_now(row: &Consent, dir: &SkillDir, context: &Context) -> Option<Question> {
    let permissions = &row.permissions.asked;
    match &row.subject {
        Subject::Script { path, .. } => context.runner(false).ok()?.script_question(dir, path, permissions).ok(),
        subject => Question::for_skill(dir, subject.clone()).ok(),
    }
}

/// Returns a row for programs.
pub(crate) fn json(row: &Consent, current: bool) -> Value {
    serde_json::json!({
        "subject": row.subject,
        "content": row.content,
        "scope": row.scope,
        "permissions": row.permissions,
        "since": row.since,
        "current": current,
    })
}

/// Returns rows for people, two lines each.
pub(crate) fn table(rows: &[(Consent, bool)], indent: &str, context: &Context) -> String {
    let mut out = String::new();
    for (row, current) in rows {
        let what = match &row.subject {
            Subject::Project { .. } => "project".to_owned(),
            Subject::RemoteSkill { .. } => "remote skill".to_owned(),
            Subject::Load { .. } => "models may load it".to_owned(),
            Subject::Script { path, .. } => path.clone(),
            Subject::Toolset { .. } => "toolsets".to_owned(),
            Subject::Tool { tool, .. } => format!("tool {tool}"),
            _ => row.subject.kind().to_owned(),
        };
        let mut line =
            format!("{indent}{}  {}", paint(style::NAME, text::one_line(&short(&row.subject))), text::one_line(&what));
        if !row.permissions.asked.is_empty() {
            let _ = write!(line, "  {}", text::one_line(&row.permissions.to_string()));
        }
        if !current {
            let _ = write!(line, "  {}", paint(style::WARNING, "(counts no longer: it has changed)"));
        }
        let place = match &row.subject {
            Subject::RemoteSkill { uri, .. } => text::one_line(uri),
            Subject::Project { .. } => "skillcue.toml".to_owned(),
            subject => subject.dir().map_or_else(String::new, |dir| context.short_path(dir)),
        };
        let since = row.since.split('T').next().unwrap_or_default();
        let _ = writeln!(
            out,
            "{line}\n{indent}  {}",
            paint(style::DIM, format!("{place}, since {}", text::one_line(since)))
        );
    }
    out
}

/// Returns the word by which a person names a subject.
pub(crate) fn short(subject: &Subject) -> String {
    match subject {
        Subject::Project { path } => path.to_string_lossy().into_owned(),
        Subject::RemoteSkill { label, name, .. } => format!("{label}:{name}"),
        _ => subject.skill().unwrap_or_default().to_owned(),
    }
}

/// Describes what a person is about to allow.
pub(crate) fn described(skill: &Skill, questions: &[Question], context: &Context) -> String {
    let mut out = format!(
        "{}  {} ({})\n",
        paint(style::NAME, text::one_line(&skill.id())),
        context.short_path(&skill.dir()),
        skill.source()
    );
    for question in questions {
        let permissions = &question.permissions;
        let with = if permissions.is_empty() { String::new() } else { format!(", with {permissions}") };
        let what = match &question.subject {
            Subject::Load { .. } => "models may load it".to_owned(),
            Subject::Script { path, .. } => format!("{path} may run{with}"),
            _ => format!("its toolsets may run{with}"),
        };
        let _ = writeln!(out, "  {}", text::one_line(&what));
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns the directory of the project in which the command was called.
pub(crate) fn this_project(context: &Context) -> Result<&Path, CliError> {
    context.environment()?.project().ok_or_else(|| {
        CliError::failure("no_project", "the current directory is gone").help("go to the project's directory")
    })
}

/// Returns the project's directory, if the word is a path: it has a slash, or is `.` or `..`.
pub(crate) fn project_named(word: &str) -> Option<PathBuf> {
    let is_path = matches!(word, "." | "..") || (word.contains('/') && !word.contains("://"));
    is_path.then(|| {
        let path = absolute(word.as_ref());
        // The file means its project.
        let dir = if path.is_file() { path.parent().unwrap_or(&path) } else { &path };
        Environment::project_of(dir).to_path_buf()
    })
}
