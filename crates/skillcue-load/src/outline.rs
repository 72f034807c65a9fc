//! Outlines: the headings of a body, the cost of each section, and sections by their headings.

mod scan;
mod suggestions;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use serde::Serialize;
use skillcue_base::{ErrorInfo, Shown};
use skillcue_format::Tokens;

/// Maximum number of headings; later ones belong to the section of the last. A real body has a few dozen.
const MAX_HEADINGS: usize = 4096;

/// Maximum length of a title; a longer one is cut, because it goes into prompts and messages.
const MAX_TITLE_CHARS: usize = 200;

/// Maximum number of headings that a message names.
const MAX_NAMED: usize = 10;

/// The headings of a body, in order.
///
/// ```
/// use skillcue_load::Outline;
///
/// let body = "Intro.\n# Forms\nFill them.\n## Check boxes\nTick.\n# Tables\nRead.\n";
/// let outline = Outline::new(body);
/// let titles: Vec<_> = outline.headings().iter().map(|h| (h.level, &*h.title, h.line)).collect();
/// assert_eq!(titles, [(1, "Forms", 2), (2, "Check boxes", 4), (1, "Tables", 6)]);
///
/// let forms = outline.section("forms")?;
/// assert_eq!(&body[forms.range.clone()], "# Forms\nFill them.\n## Check boxes\nTick.\n");
/// assert_eq!(outline.section("check-boxes")?, outline.section("Forms/Check boxes")?);
/// assert_eq!(outline.section("table").unwrap_err().to_string(), "no section \"table\"; close headings: Tables");
/// # Ok::<(), skillcue_load::SectionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outline {
    headings: Vec<Heading>,
}

/// One heading of an [`Outline`], with the section that it opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// From 1 to 6.
    pub level: u8,
    /// Its text as written, without the marks that make it a heading.
    pub title: Box<str>,
    /// Unique in the body, as in a link on GitHub: `check-boxes`, and `check-boxes-1` for the second of that title.
    pub anchor: Box<str>,
    /// Its line in the body, from 1.
    pub line: usize,
    /// The bytes of the body from the heading to the next of the same or a higher level.
    pub range: Range<usize>,
    /// The cost of that section, estimated from its length.
    pub tokens: Tokens,
    /// The index of the heading above it.
    #[serde(skip)]
    parent: Option<usize>,
}

impl Outline {
    /// Returns the outline of a Markdown body.
    ///
    /// Headings are those with `#` and those underlined with `===` or `---`. Lines inside fenced or indented
    /// code, an HTML comment or other raw HTML are not headings, nor are those inside a quotation or a list.
    pub fn new(body: &str) -> Self {
        let found: Vec<_> = scan::headings(body).take(MAX_HEADINGS).collect();
        let mut headings = Vec::<Heading>::with_capacity(found.len());
        let mut anchors = HashMap::new();
        // The headings whose sections have not ended, outermost first.
        let mut open = Vec::<usize>::new();
        for scan::ScannedHeading { level, title, line, start } in found {
            while let Some(last) = open.pop_if(|last| headings[*last].level >= level) {
                headings[last].range.end = start;
            }
            let anchor = unique_anchor(&slug(&title), &mut anchors);
            let parent = open.last().copied();
            open.push(headings.len());
            let title = title.chars().take(MAX_TITLE_CHARS).collect::<String>().into();
            let range = start..body.len();
            headings.push(Heading { level, title, anchor, line, range, tokens: Tokens(0), parent });
        }
        for heading in &mut headings {
            heading.tokens = Tokens::bytes4(heading.range.len());
        }
        Self { headings }
    }

    /// Returns every heading, in order.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// Returns the section that `wanted` names.
    ///
    /// That is a title in any case; or else its slug, `like-this`; or else a path `Parent/Child` of titles or slugs,
    /// as far up as is needed to make it unique. `#like-this` is an anchor, which is always unique. A title may
    /// be given with its marks, `## Like this`.
    pub fn section(&self, wanted: &str) -> Result<&Heading, SectionError> {
        let wanted = wanted.trim();
        if let Some(anchor) = wanted.strip_prefix('#').filter(|rest| !rest.starts_with(['#', ' '])) {
            let found = self.headings.iter().find(|heading| *heading.anchor == *anchor);
            return found.ok_or_else(|| self.not_found(wanted));
        }
        let wanted = wanted.trim_start_matches('#').trim_start();
        let by_title = |heading: &Heading| is_same_title(&heading.title, wanted);
        let wanted_slug = slug(wanted);
        let by_slug = |heading: &Heading| !wanted_slug.is_empty() && slug(&heading.title) == wanted_slug;
        let by_path = |heading: &Heading| self.matches_path(heading, wanted);
        let rules: [&dyn Fn(&Heading) -> bool; 3] = [&by_title, &by_slug, &by_path];
        for rule in rules {
            let found: Vec<_> = self.headings.iter().filter(|heading| rule(heading)).collect();
            match found[..] {
                [] => {}
                [heading] => return Ok(heading),
                _ => {
                    let candidates = found.iter().map(|heading| format!("#{}", heading.anchor)).collect();
                    return Err(SectionError::Ambiguous { wanted: wanted.into(), candidates });
                }
            }
        }
        Err(self.not_found(wanted))
    }

    /// Returns whether `path` ends at the heading and goes up through the headings above it.
    fn matches_path(&self, heading: &Heading, path: &str) -> bool {
        let mut at = Some(heading);
        path.contains('/')
            && path.rsplit('/').all(|segment| {
                let Some(heading) = at else { return false };
                at = heading.parent.map(|parent| &self.headings[parent]);
                is_same_title(&heading.title, segment.trim()) || *slug(&heading.title) == *segment.trim()
            })
    }

    fn not_found(&self, wanted: &str) -> SectionError {
        let titles = || self.headings.iter().map(|heading| &*heading.title);
        let close = suggestions::closest(wanted.trim_start_matches('#'), titles());
        if close.is_empty() {
            SectionError::Unknown { wanted: wanted.into(), available: titles().map(Box::from).collect() }
        } else {
            SectionError::Misspelt { wanted: wanted.into(), close }
        }
    }
}

const A_HEADING: &str = "ask for one of the body's headings";

/// The reason why a section was not found. Its message names at most ten headings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[info(code = "invalid_argument")]
#[non_exhaustive]
pub enum SectionError {
    /// No heading has this name, and none is similar.
    #[error("no section \"{}\"; {}", Shown(wanted), NameList("headings: ", available))]
    #[info(hint = if available.is_empty() { "load the whole body" } else { A_HEADING })]
    Unknown {
        /// The requested name.
        wanted: Box<str>,
        /// Every title of the body.
        available: Vec<Box<str>>,
    },
    /// No heading has this name, but some are similar.
    #[error("no section \"{}\"; {}", Shown(wanted), NameList("close headings: ", close))]
    #[info(hint = A_HEADING)]
    Misspelt {
        /// The requested name.
        wanted: Box<str>,
        /// Similar titles, the closest first.
        close: Vec<Box<str>>,
    },
    /// Several headings have this name.
    #[error("more than one section \"{}\": {}", Shown(wanted), NameList("", candidates))]
    #[info(hint = "ask by anchor, or by a path such as `Parent/Child`")]
    Ambiguous {
        /// The requested name.
        wanted: Box<str>,
        /// The anchors of these headings, each of which is unique.
        candidates: Vec<String>,
    },
}

/// A list of names for a message.
struct NameList<'a, T>(&'static str, &'a [T]);

impl<T: AsRef<str>> fmt::Display for NameList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(before, names) = self;
        if names.is_empty() {
            return f.write_str("the body has no headings");
        }
        f.write_str(before)?;
        for (index, name) in names.iter().take(MAX_NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Shown(name.as_ref()))?;
        }
        match names.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

fn is_same_title(a: &str, b: &str) -> bool {
    // Most comparisons are of unequal titles, and few of those get as far as lower case.
    a == b || a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
}

/// Returns letters, digits, `_` and `-` in lower case, blanks as `-`, the rest left out: GitHub's rule.
fn slug(title: &str) -> String {
    let kept = title.chars().take(MAX_TITLE_CHARS).filter_map(|c| match c {
        ' ' | '\t' => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns `slug`, or the first of `slug-1`, `slug-2` … that is not taken. `taken` maps every anchor to the number
/// tried last for it, so that a thousand headings of one title do not try a thousand numbers each.
fn unique_anchor(slug: &str, taken: &mut HashMap<String, usize>) -> Box<str> {
    let mut anchor = slug.to_owned();
    while taken.contains_key(&anchor) {
        let tried = taken.entry(slug.to_owned()).or_default();
        *tried += 1;
        anchor = format!("{slug}-{tried}");
    }
    taken.insert(anchor.clone(), 0);
    anchor.into()
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
