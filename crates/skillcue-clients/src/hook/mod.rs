//! Hooks: a client calls before each prompt, and the answer is context for its model.
//!
//! A call is one process: [`HookInput`] is what the client writes on its stdin, [`HookAnswer`] what it reads on its stdout.
//! [`decide`] makes the one from the other, with the skills and the [`HookSession`] of the client's conversation, which
//! [`HookSessions`] keeps on disk between calls. The clients differ in names, shapes and words; [`HookAdapter`] is the table
//! of these differences, and no code but this module asks which client it is.
//!
//! ```
//! use skillcue::Skillcue;
//! use skillcue_clients::Client;
//! use skillcue_clients::hook::{HookAdapter, HookInput, HookOptions, HookSession, decide, shape};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir(dir.path().join("pdf-tools"))?;
//! # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
//! # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
//! let adapter = HookAdapter::of(Client::Claude).unwrap();
//! let options = HookOptions::default();
//! let skills = shape(Skillcue::builder().skills_dir(dir.path()), adapter, &options).build()?;
//!
//! let sent = br#"{"session_id":"1","cwd":"/","hook_event_name":"UserPromptSubmit","prompt":"open report.pdf"}"#;
//! let input = HookInput::parse(adapter, sent, None)?;
//! let decision = decide(&skills, adapter, &options, &input, Some(HookSession::default()));
//! let answer = decision.answer.unwrap().to_json();
//! assert!(answer.starts_with(r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"#));
//! assert!(answer.contains("Use pdftotext."));
//!
//! // In the same conversation a body is shown once.
//! assert!(decide(&skills, adapter, &options, &input, decision.session).answer.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapter;
mod answer;
mod decision;
mod error;
mod input;
mod session;
mod words;

pub use adapter::{AnswerShape, HookAdapter, HookStyle, StartAnswer};
pub use answer::HookAnswer;
pub use decision::{HookDecision, HookOptions, decide, shape, shape_with};
pub use error::HookError;
pub use input::{HookEvent, HookInput, StartSource};
pub use session::{HookSession, HookSessions, LockedSession};
