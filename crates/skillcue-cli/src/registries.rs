//! Registries on the command line: which one is meant, its errors, and findings of audits.

use std::path::Path;

use skillcue::Diagnostic;
use skillcue_host::Registries;
use skillcue_registry::{OriginError, Registry};

use crate::error::CliError;
use crate::terminal::{Terminal, paint, style};
use crate::text;

// RegistryArgs registry a command works on.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RegistryArgs {
    /// The project's registry, beside its skillcue.toml, instead of the user's
    #[arg(long)]
    pub(crate) project: bool,
}

/// Returns the registry that was meant.
pub(crate) fn registry_of(registries: &Registries, registry: RegistryArgs) -> Result<&Registry, CliError> {
    let (registry, help) = if registry.project {
        (&registries.project, "go to a directory of the project")
    } else {
        (&registries.user, "set HOME or XDG_DATA_HOME to a directory that you may write to")
    };
    registry.as_ref().ok_or_else(|| CliError::failure("registry", "there is no directory for a registry").help(help))
}

impl From<OriginError> for CliError {
    fn from(error: OriginError) -> CliError {
        CliError::of_usage(&error)
    }
}

/// Prints findings of an audit, one below the other.
pub(crate) fn print_findings(terminal: &Terminal, name: &str, findings: &[Diagnostic]) {
    for finding in findings {
        terminal.say(&finding_lines(name, finding));
    }
}

/// Returns one finding as text: its message, its place, and an excerpt.
pub(crate) fn finding_lines(below: &str, finding: &Diagnostic) -> String {
    use skillcue_audit::AuditSeverity;
    let weight = match AuditSeverity::of(finding) {
        AuditSeverity::High => style::BAD,
        AuditSeverity::Medium => style::WARNING,
        AuditSeverity::Low => style::DIM,
    };
    let path = finding.path.as_deref().unwrap_or(Path::new(""));
    let mut place = text::one_line(&Path::new(below).join(path).display().to_string());
    match (finding.line().unwrap_or(0), finding.column().unwrap_or(0)) {
        (0, 0) => {}
        (0, byte) => place = format!("{place}, byte {byte}"),
        (line, column) => place = format!("{place}:{line}:{column}"),
    }
    let head = paint(weight, format_args!("{}[{}]", AuditSeverity::of(finding), finding.code.as_str()));
    let mut lines = format!("{head}: {}\n  {}", text::one_line(&finding.message), paint(style::DIM, place));
    if let Some(excerpt) = &finding.excerpt {
        lines.push_str("\n  | ");
        lines.push_str(&text::one_line(excerpt));
    }
    lines
}
