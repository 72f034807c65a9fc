//! `skillcue deny`: takes consent back.

use skillcue::consent::{Consent, Subject};

use crate::consent::{json, project_named, short, this_project};
use crate::context::Context;
use crate::error::CliError;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue deny weather          everything of a skill
  skillcue deny acme:refunds     a remote skill
  skillcue deny --server acme    all skills of a server
  skillcue deny                  the skillcue.toml of this project
  skillcue deny --all            everything

It counts at once, for running programs, too; what was allowed for a session only ends with the session.
`skillcue allowed` lists what is left. With --json it prints what was taken back, as `skillcue allowed --json` does.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// A skill's NAME, SERVER:NAME or SERVER:URI of a remote skill, or the PATH of a project with a slash in it; without,
    /// this project
    #[arg(value_name = "SUBJECT", conflicts_with_all = ["server", "all"])]
    subjects: Vec<String>,
    /// All skills of a server
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    server: Option<String>,
    /// Everything that is allowed
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let names_nothing = args.subjects.is_empty() && args.server.is_none() && !args.all;
    let own = if names_nothing { Some(Subject::project(this_project(context)?)) } else { None };
    let is_meant = |consent: &Consent| match (&args.server, &consent.subject) {
        (Some(server), Subject::RemoteSkill { label, .. }) => label == server,
        (Some(_), _) => false,
        (None, subject) => {
            args.all || own.as_ref() == Some(subject) || args.subjects.iter().any(|word| is_named(subject, word))
        }
    };
    let withdrawn = context.host()?.consent_store().withdraw(is_meant).map_err(|error| CliError::of(&error))?;
    if context.json() {
        context.print_json(&withdrawn.iter().map(|consent| json(consent, false)).collect::<Vec<_>>())?;
    } else if withdrawn.is_empty() {
        context.terminal.say("nothing of that was allowed");
    } else {
        let mut names: Vec<String> = withdrawn.iter().map(|consent| short(&consent.subject)).collect();
        names.dedup();
        context.terminal.say(&format!("not allowed any more: {}", text::one_line(&names.join(", "))));
    }
    Ok(Outcome::Done)
}

/// Returns whether a person who types `word` means this subject. Rather one too many than one too few.
fn is_named(subject: &Subject, word: &str) -> bool {
    match subject {
        Subject::Project { .. } => project_named(word).is_some_and(|project| Subject::project(&project) == *subject),
        Subject::RemoteSkill { label, name, uri, .. } => {
            word == uri || [name, uri].iter().any(|it| word.strip_prefix(&**label) == Some(&format!(":{it}")))
        }
        // As `name`, `name@source` or `plugin:name`.
        _ => subject.skill().is_some_and(|skill| {
            let word = word.split_once('@').map_or(word, |(name, _)| name);
            word == skill || word.rsplit_once(':').is_some_and(|(_, name)| name == skill)
        }),
    }
}
