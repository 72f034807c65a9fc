//! The picture of the effect on each client's page: a message and what the hook added to it, from the request of a real run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use skillcue_scripted::Received;

use crate::agents::ClientUnderTest;
use crate::home::ClientHome;

/// The line before the picture on a page.
const MARK: &str = "<!-- drawn by `cargo xtask clients`; with UPDATE_PAGES=1 it is drawn anew -->\n```text\n";
const END: &str = "\n```\n";

/// Compares the picture on the client's page with a request, or draws it anew.
pub(crate) fn check(client: &ClientUnderTest, home: &ClientHome, received: &Received, message: &str) {
    let drawn = draw(client, home, received, message);
    let page = page(client);
    let text = std::fs::read_to_string(&page).unwrap();
    let is_marked = "the page has a marked picture";
    let start = text.find(MARK).expect(is_marked) + MARK.len();
    let end = start + text[start..].find(END).expect(is_marked);
    if std::env::var_os("UPDATE_PAGES").is_some() {
        std::fs::write(&page, format!("{}{drawn}{}", &text[..start], &text[end..])).unwrap();
    } else {
        assert_eq!(&text[start..end], drawn, "{} shows something else; UPDATE_PAGES=1 draws it anew", page.display());
    }
}

fn page(client: &ClientUnderTest) -> PathBuf {
    let name = if client.word == "claude" { "claude-code" } else { client.word };
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/clients/{name}.md"))
}

/// Returns the message and what was added to it, each below the role with which it reached the model.
fn draw(client: &ClientUnderTest, home: &ClientHome, received: &Received, message: &str) -> String {
    let added = (client.added)(received).concat();
    // Claude Code puts the date of the day behind it.
    let added = added.split("\n\nToday's date is").next().unwrap().trim();
    let mut out = String::new();
    let mut role = "";
    let parts = received.parts();
    for part in &parts {
        let text = part.text().unwrap_or_default();
        let places = [(text.find(message), message), (text.find(added), added)];
        for (at, shown) in places.into_iter().filter_map(|(at, shown)| Some((at?, shown))) {
            if !out.is_empty() {
                out.push('\n');
            }
            if part.role != role {
                let _ = writeln!(out, "[{}]", part.role);
                role = &part.role;
            }
            let _ = writeln!(out, "{}", if shown == added { framed(text, at, shown) } else { shown.to_owned() });
        }
    }
    let home = home.path();
    out.trim_end().replace(home.to_str().unwrap(), "~").replace("```", "~~~")
}

/// Returns a text with the tags around it, if it has any.
fn framed(text: &str, at: usize, shown: &str) -> String {
    let before = text[..at].trim_end_matches('\n');
    let before = before[before.rfind('\n').map_or(0, |newline| newline + 1)..].trim();
    let after = text[at + shown.len()..].trim_start_matches('\n');
    let after = after[..after.find('\n').unwrap_or(after.len())].trim();
    let is_tag = |text: &str| text.ends_with('>') && !text.contains(' ');
    let gap = |is_apart: bool| if is_apart { "\n" } else { "" };
    let mut out = String::new();
    if is_tag(before) || before.ends_with("context:") {
        out.push_str(before);
        out.push_str(if before.ends_with(':') { " " } else { gap(text[..at].ends_with('\n')) });
    }
    out.push_str(shown);
    if is_tag(after) {
        out.push_str(gap(text[at + shown.len()..].starts_with('\n')));
        out.push_str(after);
    }
    out
}
