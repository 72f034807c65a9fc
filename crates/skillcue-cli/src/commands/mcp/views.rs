//! The skills that `skillcue mcp` serves: all of them, one view, or every view at a path of its own.

use std::io;
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
            let token = section.token_env.as_deref().map(variable).transpose()?;
            let server = whole.for_view(name, Arc::clone(&view));
            Ok(NamedView { name: name.to_owned(), skills: Some(view), server, token })
        };
        if let Some(name) = &args.view {
            let section = known.get(name).ok_or_else(|| unknown(name, known.keys()))?;
            let mut first = named(name, section)?;
            // It is at the usual path, where the token of the server counts, too.
            if first.token.is_some() && args.http.http.is_none() {
                first.token = None;
            }
            return Ok(ServedSkills { first, others: Vec::new(), by_path: false });
        }
        if !args.views {
            let first = NamedView { name: String::new(), skills: None, server: whole, token: None };
            return Ok(ServedSkills { first, others: Vec::new(), by_path: false });
        }
        let mut views = known.iter().map(|(name, section)| named(name, section)).collect::<Result<Vec<_>, _>>()?;
        if views.is_empty() {
            return Err(CliError::usage("usage", "--views: there is no [view.NAME] in skillcue.toml")
                .help("define one, or serve all skills without --views"));
        }
        let first = views.remove(0);
        Ok(ServedSkills { first, others: views, by_path: true })
    }

    /// Returns the first server: the only one over stdio.
    pub(super) fn first(&self) -> &SkillServer {
        &self.first.server
    }

    /// Begins to listen.
    pub(super) async fn bind(&self, options: HttpOptions) -> io::Result<HttpServer> {
        let views = std::iter::once(&self.first).chain(&self.others).map(|view| ServedView {
            name: view.name.clone(),
            server: view.server.clone(),
            token: view.token.clone(),
        });
        if self.by_path {
            return HttpServer::bind_views(views.collect(), options).await;
        }
        let mut options = options;
        if options.token.is_none() {
            options.token.clone_from(&self.first.token);
        }
        HttpServer::bind(self.first.server.clone(), options).await
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
