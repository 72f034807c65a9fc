//! The input of one turn.

use std::sync::Arc;

use skillcue_catalog::Skill;
use skillcue_select::{Census, Hit, Mode, Selection};

#[cfg(doc)]
use crate::Fallback;
use crate::Session;

/// A source of skills' bodies. This crate reads no file.
pub trait BodySource {
    /// Returns the processed content of a skill: its base directory and its body, without arguments. Or the reason why
    /// it cannot be had.
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String>;

    /// Like [`body`](BodySource::body), with these arguments where the body has placeholders for them. The default
    /// implementation leaves them out.
    fn body_with(&self, skill: &Skill, arguments: &str) -> Result<Arc<str>, String> {
        let _ = arguments;
        self.body(skill)
    }

    /// Returns whether a skill's text is on another machine, so that [`body`](BodySource::body) is a sentence in its
    /// place. A conversation that has loaded such a text is not shown the sentence. The default implementation knows
    /// none.
    fn is_elsewhere(&self, skill: &Skill) -> bool {
        let _ = skill;
        false
    }

    /// Returns the beginning of a file of a skill, by its path below the skill's directory; `None`, if there is none or
    /// it is not text. The default implementation knows no files.
    fn file_head(&self, skill: &Skill, path: &str) -> Option<FileHead> {
        let _ = (skill, path);
        None
    }

    /// Returns whether a skill may be named though the message does not clearly ask for it. Not one that a person has
    /// yet to allow: its author would have chosen the words. The default implementation allows all.
    fn may_suggest(&self, skill: &Skill) -> bool {
        let _ = skill;
        true
    }
}

impl<F: Fn(&Skill) -> Result<Arc<str>, String>> BodySource for F {
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String> {
        self(skill)
    }
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileHead {
    /// Its first lines.
    pub text: String,
    /// The size of the whole file.
    pub bytes: u64,
}

/// The input of one turn.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// The number of skills.
    pub census: Census,
    /// The skills that fit the message.
    pub selection: &'a Selection,
    /// The closest skills, for [`Fallback::AskUser`] when nothing fits; the selection's own weak hits, if empty.
    pub closest: &'a [Hit],
    /// The source of bodies.
    pub bodies: &'a dyn BodySource,
    /// The message, by which the parts of a long body are chosen; without it they are taken from the beginning on.
    pub message: &'a str,
    /// A record of what this conversation has been shown so far.
    pub session: Option<&'a Session>,
    /// The mode in which the message was matched. By keywords alone, skills without triggers cannot be found, and are
    /// listed instead.
    pub mode: Mode,
    /// The eagerness, if it is not the configuration's: evaluations compare several.
    pub eagerness: Option<f32>,
}

impl<'a> Situation<'a> {
    /// Returns the input of a turn without a session, matched in the default mode.
    pub fn new(census: Census, selection: &'a Selection, bodies: &'a dyn BodySource) -> Situation<'a> {
        Situation {
            census,
            selection,
            closest: &[],
            bodies,
            message: "",
            session: None,
            mode: Mode::default(),
            eagerness: None,
        }
    }
}
