//! A rival, not a floor: the loop over regular expressions that one writes first.

use crate::triggers::SkillTriggers;
use regex::{Regex, RegexBuilder};

/// Every skill's name, keywords, verbs and pattern as regular expressions, tried one after another.
///
/// The way of the design that Skillcue grew from: `\bword\b` against the message in lower case,
/// patterns without regard to case. It is kinder to the loop than that design: everything is
/// compiled beforehand, and a skill is left at its first match.
///
/// ```
/// use skillcue_bench::{Naive, triggers};
///
/// let skills = [("pdf-tools".to_owned(), triggers::of(1, 0))];
/// let naive = Naive::of(&skills);
/// assert_eq!(naive.matching("Use PDF-tools."), [0]);
/// assert!(naive.matching("What is 2+2?").is_empty());
/// ```
#[derive(Debug)]
pub struct Naive {
    skills: Vec<Vec<Regex>>,
}

impl Naive {
    /// Compiles it all. Ten triggers are about 100 KB.
    pub fn of(skills: &[(String, SkillTriggers)]) -> Self {
        let compile = |(name, triggers): &(String, SkillTriggers)| {
            expressions(name, triggers).map(|expression| build(&expression)).collect()
        };
        Self { skills: skills.iter().map(compile).collect() }
    }

    /// Returns the positions of the skills that match.
    pub fn matching(&self, message: &str) -> Vec<usize> {
        let message = message.to_lowercase();
        let one = |skill: &[Regex]| skill.iter().any(|regex| regex.is_match(&message));
        self.skills.iter().enumerate().filter(|(_, skill)| one(skill)).map(|(at, _)| at).collect()
    }

    /// Like [`matching`](Naive::matching), exactly as in the design: each expression is compiled when it is tried.
    pub fn matching_uncompiled(skills: &[(String, SkillTriggers)], message: &str) -> Vec<usize> {
        let message = message.to_lowercase();
        let one = |(name, triggers): &(String, SkillTriggers)| {
            expressions(name, triggers).any(|expression| build(&expression).is_match(&message))
        };
        skills.iter().enumerate().filter(|(_, skill)| one(skill)).map(|(at, _)| at).collect()
    }
}

fn expressions<'a>(name: &'a str, triggers: &'a SkillTriggers) -> impl Iterator<Item = String> + 'a {
    let words = triggers.keywords.iter().chain(&triggers.verbs).map(String::as_str);
    let words = std::iter::once(name).chain(words).map(|word| format!(r"\b{}\b", regex::escape(&word.to_lowercase())));
    words.chain(std::iter::once(triggers.pattern.clone()))
}

fn build(expression: &str) -> Regex {
    RegexBuilder::new(expression).case_insensitive(true).build().expect("the generator writes valid patterns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triggers;

    #[test]
    fn every_kind_of_trigger_is_tried() {
        let names = ["git-helper", "pdf-tools", "react"];
        let skills: Vec<_> = (0..).zip(names).map(|(at, name)| (name.to_owned(), triggers::of(1, at))).collect();
        let naive = Naive::of(&skills);
        let [_, (_, pdf), _] = &skills[..] else { panic!() };
        let messages =
            [format!("My {}!", pdf.keywords[5].to_uppercase()), format!("{} it", pdf.verbs[0]), "pdf-TOOLS".into()];
        for message in messages {
            assert!(naive.matching(&message).contains(&1), "{message}");
            assert_eq!(naive.matching(&message), Naive::matching_uncompiled(&skills, &message));
        }
        assert!(naive.matching("react-native is not reactive").contains(&2));
        assert!(!naive.matching("reactive").contains(&2));
    }

    #[test]
    fn all_patterns_compile() {
        for number in 0..triggers::PATTERNS {
            // Skillcue refuses patterns that compile to more.
            let within =
                RegexBuilder::new(&triggers::pattern(number)).case_insensitive(true).size_limit(1 << 20).build();
            assert!(within.is_ok(), "{within:?}");
        }
    }
}
