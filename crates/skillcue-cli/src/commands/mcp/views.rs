//! The skills that `skillcue mcp` serves: all of them, one view, or every view at a path of its own.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use skillcue::config::ViewSection;
use skillcue::{Changes, Skillcue};
use skillcue_base::Shown;
use skillcue_mcp::server::{HttpOptions, HttpServer, ServedView, ServerOptions, SkillServer};

use super::http::variable;
use crate::context::Context;
use crate::error::CliError;

/// The length of the longest name of a view.
const MAX_NAME: usize = 64;

/// One view of the skills, and the server for it.
#[derive(Debug, Clone)]
struct NamedView {
    name: String,
    /// The skills of the view; none if it has all of them.
    skills: Option<Arc<Skillcue>>,
    server: SkillServer,
    token: Option<String>,
}

/// The servers of one process.
#[derive(Debug, Clone)]
pub(super) struct ServedSkills {
    first: NamedView,
    others: Vec<NamedView>,
    /// Whether each view has a path of its own.
    by_path: bool,
}

impl ServedSkills {
    /// Makes the servers that the arguments ask for.
    pub(super) fn new(
        args: &super::Args,
        context: &Context,
        skills: &Arc<Skillcue>,
        options: ServerOptions,
    ) -> Result<ServedSkills, CliError> {
        let known = &context.settings()?.views;
        let whole = SkillServer::new(Arc::clone(skills), options);
        let named = |name: &str, section: &ViewSection| -> Result<NamedView, CliError> {
            check_name(name)?;
            let view = Arc::new(skills.view(section.rule()));
            if view.catalog().is_empty() {
                let message = format!("no skill is in the view {name:?}");
                context.terminal.warn("empty_view", &message, "compare its patterns with `skillcue list`");
            }
            // Over stdio there is no token.
            let token = section.token_env.as_deref().filter(|_| args.http.http.is_some());
            let token = token.map(variable).transpose()?;
            let server = whole.for_view(name, Arc::clone(&view));
            Ok(NamedView { name: name.to_owned(), skills: Some(view), server, token })
        };
        if let Some(name) = &args.view {
            let first = named(name, section(known, name)?)?;
            return Ok(ServedSkills { first, others: Vec::new(), by_path: false });
        }
        if !args.views {
            let first = NamedView { name: String::new(), skills: None, server: whole, token: None };
            return Ok(ServedSkills { first, others: Vec::new(), by_path: false });
        }
        let mut views = known.iter().map(|(name, section)| named(name, section)).collect::<Result<Vec<_>, _>>()?;
        if views.is_empty() {
            return Err(no_view());
        }
        let first = views.remove(0);
        Ok(ServedSkills { first, others: views, by_path: true })
    }

    /// Returns the first server: the only one over stdio.
    pub(super) fn first(&self) -> &SkillServer {
        &self.first.server
    }

    /// Begins to listen.
    pub(super) async fn bind(&self, mut options: HttpOptions) -> io::Result<HttpServer> {
        let served = |view: &NamedView| ServedView {
            name: view.name.clone(),
            server: view.server.clone(),
            token: view.token.clone(),
        };
        if self.by_path {
            let views = std::iter::once(&self.first).chain(&self.others).map(served);
            return HttpServer::bind_views(views.collect(), options).await;
        }
        let mut view = served(&self.first);
        if options.token.is_none() {
            // It is the only one, so it also opens the metrics, which are about this view alone.
            options.token = view.token.take();
        }
        HttpServer::bind_view(view, options).await
    }

    /// Brings every view up to date with the changed skills, and notifies its clients of its own changes only.
    pub(super) fn announce(&self, whole: &Skillcue, changes: &Changes) {
        for view in std::iter::once(&self.first).chain(&self.others) {
            match &view.skills {
                None => view.server.announce(changes),
                Some(skills) => {
                    let changes = skills.follow(whole);
                    if !changes.is_empty() {
                        view.server.announce(&changes);
                    }
                }
            }
        }
    }
}

/// The views by name.
type KnownViews = BTreeMap<String, ViewSection>;

/// The skills that need no token of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpenSkills {
    /// All of them: no view is served.
    All,
    /// Those of these views. None, if every view has a token.
    Views(Vec<String>),
}

impl OpenSkills {
    /// Returns the skills that the arguments ask for and that have no token of a view.
    pub(super) fn of(args: &super::Args, known: &KnownViews) -> Result<OpenSkills, CliError> {
        let is_open = |section: &ViewSection| section.token_env.is_none();
        if let Some(name) = &args.view {
            let is_open = is_open(section(known, name)?);
            return Ok(OpenSkills::Views(is_open.then(|| name.clone()).into_iter().collect()));
        }
        if !args.views {
            return Ok(OpenSkills::All);
        }
        let open = known.iter().filter(|(_, section)| is_open(section));
        Ok(OpenSkills::Views(open.map(|(name, _)| name.clone()).collect()))
    }

    /// Fails if a server without a token would show skills to other machines.
    pub(super) fn check(&self, listen: SocketAddr) -> Result<(), CliError> {
        match self {
            OpenSkills::Views(names) if names.is_empty() => Ok(()),
            OpenSkills::Views(names) => {
                let message = format!("{listen} can be reached from elsewhere, and has no token for {}", listed(names));
                Err(CliError::usage("usage", message).help(
                    "set `token_env` of each view, or a token with --token-env or --token-file, or use --no-token",
                ))
            }
            OpenSkills::All => {
                let message = format!("{listen} can be reached from elsewhere, and no token is set");
                Err(CliError::usage("usage", message)
                    .help("set one with --token-env or --token-file, or use --no-token"))
            }
        }
    }

    /// Warns of views that a server without a token shows to other machines.
    pub(super) fn warn(&self, context: &Context, listen: SocketAddr) {
        if let OpenSkills::Views(names) = self
            && !names.is_empty()
        {
            let message = format!("{listen} can be reached from elsewhere, and needs no token for {}", listed(names));
            context.terminal.warn("open_view", &message, "set `token_env` of each view in skillcue.toml");
        }
    }
}

/// Returns names of views, in words.
fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("[view.{}]", Shown(name))).collect();
    names.join(", ")
}

/// Returns the view that a configuration for clients is about, with its section; none if it is about all skills.
pub(super) fn configured_view<'k>(
    args: &super::Args,
    known: &'k KnownViews,
) -> Result<Option<(&'k str, &'k ViewSection)>, CliError> {
    let found = match &args.view {
        Some(name) => known.get_key_value(name).ok_or_else(|| unknown(name, known.keys()))?,
        None if !args.views => return Ok(None),
        None if known.len() > 1 => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(CliError::usage(
                "usage",
                "--views serves nothing at /mcp: a client needs the path of one view",
            )
            .help(format!("add --view NAME; there are: {}", names.join(", "))));
        }
        None => known.iter().next().ok_or_else(no_view)?,
    };
    check_name(found.0)?;
    Ok(Some((found.0, found.1)))
}

fn section<'k>(known: &'k KnownViews, name: &str) -> Result<&'k ViewSection, CliError> {
    known.get(name).ok_or_else(|| unknown(name, known.keys()))
}

fn no_view() -> CliError {
    CliError::usage("usage", "--views: there is no [view.NAME] in skillcue.toml")
        .help("define one, or serve all skills without --views")
}

/// Checks that a name can be a part of a path.
fn check_name(name: &str) -> Result<(), CliError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
        let message = format!("the view \"{}\" has a name that is no part of a path", Shown(name));
        return Err(CliError::usage("usage", message).help("use letters, digits, - and _, at most 64 of them"));
    }
    Ok(())
}

fn unknown<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> CliError {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    CliError::usage("usage", format!("--view {}: there is no such view in skillcue.toml", Shown(name)))
        .help(format!("there are: {known}"))
}
