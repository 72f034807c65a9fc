//! The page as one file: its scripts, its style and the answers to its questions inside, no server, no network.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use skillcue_base::Digest;

use crate::assets::{ASSETS, asset};
use crate::{Redaction, StudioData, StudioFailure, StudioQuestion};

/// The library in [`ASSETS`], whose names are too short to share a scope with.
const LIBRARY: &str = "/vendor/htm-preact.js";

/// A page as one file.
#[derive(Debug)]
pub struct ExportedPage {
    /// The file.
    pub html: String,
    /// Questions that had no answer, and why: the page says so in their place.
    pub unanswered: Vec<(String, StudioFailure)>,
}

/// Writes the page with the answers to `questions` inside. Every text of a question and of an answer goes through `redaction`.
///
/// Browsers open the file from a `file:` address. Its policy allows nothing but the one script and the one style in it, by
/// their digests.
pub fn export(
    data: &dyn StudioData,
    questions: impl IntoIterator<Item = StudioQuestion>,
    redaction: &Redaction,
) -> ExportedPage {
    let (mut answers, mut unanswered) = (Map::new(), Vec::new());
    for question in questions {
        // The page knows nothing but redacted texts: they are what it asks about, and places in a message are places in them.
        let question = question.redacted(redaction);
        let asked = question.key();
        let answer = data.answer(question).and_then(|json| {
            serde_json::from_slice::<Value>(&json).map_err(|error| StudioFailure::new("answer", error.to_string()))
        });
        let answer = match answer {
            Ok(mut answer) => {
                redaction.apply(&mut answer);
                serde_json::json!({"answer": answer})
            }
            Err(failure) => {
                let mut shown = serde_json::json!({"failure": failure});
                redaction.apply(&mut shown);
                unanswered.push((asked.clone(), failure));
                shown
            }
        };
        answers.insert(asked, answer);
    }
    // Inside a script element, nothing but its end tag and comments is special; both begin with `<`.
    let answers = Value::Object(answers).to_string().replace('<', "\\u003c");
    let (script, style) = (one_script(), asset("/style.css").map_or("", |asset| asset.text));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(&script),
        digest(style)
    );
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>Skillcue studio</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<div id=\"page\"></div>\n\
         <script type=\"application/json\" id=\"answers\">{answers}</script>\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n"
    );
    ExportedPage { html, unanswered }
}

fn digest(text: &str) -> String {
    STANDARD.encode(Digest::of(text).as_bytes())
}

/// Returns all modules as one script. Each import is of names that are in the one scope then, and so goes; the library has a
/// scope of its own.
fn one_script() -> String {
    let mut script = String::new();
    for module in ASSETS.iter().filter(|asset| asset.kind.starts_with("text/javascript")) {
        if module.path == LIBRARY {
            let (code, names) = module.text.rsplit_once("export{").unwrap_or((module.text, "};"));
            let names = names.trim_end().trim_end_matches(';').trim_end_matches('}');
            let pairs: Vec<(&str, &str)> = names.split(',').filter_map(|name| name.split_once(" as ")).collect();
            let given = pairs.iter().map(|(inner, outer)| format!("{outer}:{inner}")).collect::<Vec<_>>().join(",");
            let taken = pairs.iter().map(|(_, outer)| *outer).collect::<Vec<_>>().join(",");
            let _ = writeln!(script, "const {{{taken}}} = (() => {{{code}return {{{given}}};}})();");
            continue;
        }
        for line in module.text.lines().filter(|line| !line.starts_with("import ")) {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
    }
    // No text of ours ends the element early.
    script.replace("</script", "<\\/script")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    struct Hostile;

    impl StudioData for Hostile {
        fn answer(&self, question: StudioQuestion) -> Result<Vec<u8>, StudioFailure> {
            match question {
                StudioQuestion::List {} => {
                    let text = "</script><script>alert(1)</script><!-- \u{202e} /home/alice/x";
                    Ok(serde_json::json!([{"name": "a", "description": text}]).to_string().into_bytes())
                }
                StudioQuestion::Context { message, .. } => {
                    Ok(serde_json::json!({"length": message.len()}).to_string().into_bytes())
                }
                _ => Err(StudioFailure::new("none", "nothing in /home/alice")),
            }
        }
    }

    #[test]
    fn texts_stay_inside_the_data() {
        let questions = [StudioQuestion::List {}, StudioQuestion::Doctor {}];
        let page = export(&Hostile, questions, &Redaction::default().directory("/home/alice", "~"));
        assert!(!page.html.contains("alice") && !page.html.contains("<script>"), "texts are data");
        assert_eq!(page.html.matches("</script>").count(), 2);
        assert_eq!(page.html.matches("<script").count(), 2);
        assert_eq!(page.unanswered.len(), 1);
        assert!(page.html.contains("\"list {}\":{\"answer\":[{"));
    }

    #[test]
    fn a_message_is_asked_about_as_the_page_has_it() {
        let message = "open \"/home/alice/a\\b.pdf\"\nplease".to_owned();
        let config = crate::StudioConfig::default();
        let redaction = Redaction::default().directory("/home/alice", "~");
        let shown = redaction.text(&message);
        let page = export(&Hostile, [StudioQuestion::Context { message, config: config.clone() }], &redaction).html;
        let start = page.find("id=\"answers\">").unwrap() + "id=\"answers\">".len();
        let answers: Value =
            serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap();
        let asked = StudioQuestion::Context { message: shown.clone(), config }.key();
        assert_eq!(answers[&asked]["answer"]["length"], shown.len(), "{answers}");
    }

    #[test]
    fn modules_share_one_scope() {
        let script = one_script();
        assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        let mut names = BTreeSet::new();
        for line in script.lines() {
            let mut declared = ["function ", "async function ", "const ", "let ", "class "].iter();
            let Some(rest) = declared.find_map(|word| line.strip_prefix(word)) else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$')).collect();
            assert!(name.is_empty() || names.insert(name.clone()), "two modules declare {name}");
        }
        assert!(names.len() > 20);
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = export(&Hostile, [], &Redaction::default()).html.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("https://"));
    }
}
