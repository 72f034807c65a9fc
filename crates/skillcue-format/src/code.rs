//! The stable words for findings, each with its severity and its meaning.

use crate::Severity;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal, $severity:ident, $meaning:literal;)*) => {
        /// The kind of a [`Diagnostic`](crate::Diagnostic). The words are part of the interface.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// A word of another part of Skillcue: the settings, the registry, the audit, toolsets, `doctor`. Its
            /// findings say themselves how bad they are and what they mean.
            Named(&'static str),
        }

        impl Code {
            /// Every code of skill files, in the order of the documentation.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// Returns the stable word.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $word,)* Code::Named(word) => word }
            }

            /// Returns the severity of a finding of this kind, unless a check says otherwise.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* Code::Named(_) => Severity::Warning }
            }

            /// Returns the meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* Code::Named(_) => "" }
            }

            /// Returns the code of skill files that has this word.
            ///
            /// ```
            /// use skillcue_format::Code;
            /// assert_eq!(Code::from_word("yaml_syntax"), Some(Code::YamlSyntax));
            /// ```
            pub fn from_word(word: &str) -> Option<Code> {
                match word { $($word => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    // The skill cannot be used.
    NoFrontMatter = "no_front_matter", Error, "The file does not start with a `---` line.";
    UnclosedFrontMatter = "unclosed_front_matter", Error, "The front matter has no closing `---` line.";
    NotAMapping = "not_a_mapping", Error, "The front matter is not a list of `key: value` pairs.";
    YamlSyntax = "yaml_syntax", Error, "The YAML is broken in a way that repair does not mend.";
    YamlLimit = "yaml_limit", Error, "The YAML nests too deeply or expands to too many nodes.";
    MissingField = "missing_field", Error, "A required field is missing or empty.";
    InvalidName = "invalid_name", Error, "The name is too long or has characters that no name may have.";
    TypeNotAllowed = "type_not_allowed", Error, "A `SKILL.md` declares a type other than `prompt`.";
    TooLarge = "too_large", Error, "The file is larger than 1 MiB.";
    NotUtf8 = "not_utf8", Error, "The file is not UTF-8 text.";
    NotAFile = "not_a_file", Error, "A FIFO, socket, device or directory is where a skill file should be.";
    Unreadable = "unreadable", Error, "The operating system refused to open or read it, or it vanished.";
    LinkLeadsOut = "link_leads_out", Error, "The skill file is a link to something that is no skill file.";
    // The skill works, with a grain of salt.
    YamlRepaired = "yaml_repaired", Warning, "Broken YAML was read as it was surely meant.";
    DuplicateKey = "duplicate_key", Warning, "A key appears twice; the first one counts.";
    WrongType = "wrong_type", Warning, "A field has another type than it should; it was read as it was surely meant, or ignored.";
    YamlTag = "yaml_tag", Warning, "A YAML tag was ignored: nothing is ever constructed from one.";
    LeadingBlank = "leading_blank", Warning, "There are blank lines before the front matter.";
    LeadingText = "leading_text", Warning, "There is a comment or a code fence before the front matter.";
    NameCanonicalised = "name_canonicalised", Warning, "The name was turned into lower case with hyphens.";
    FileNameCase = "file_name_case", Warning, "The file is called `skill.md` or `Skill.md` instead of `SKILL.md`.";
    IgnoredBody = "ignored_body", Warning, "A `SKILL.md` beside a `SKILL.yaml` has front matter of its own and is ignored.";
    MissingBody = "missing_body", Warning, "The file that should hold the body is not there.";
    Shadowed = "shadowed", Warning, "Another skill of the same name has precedence.";
    RequiresMissing = "requires_missing", Warning, "A program that the skill requires is not on the PATH; the skill is unavailable.";
    InvalidPattern = "invalid_pattern", Warning, "A trigger pattern is not a valid regular expression, or too large.";
    UntrustedSwitch = "untrusted_switch", Warning, "A project's file switches a skill on or off that is not its own; it does not count.";
    DanglingLink = "dangling_link", Warning, "A link points to nothing.";
    LinkCycle = "link_cycle", Warning, "A directory link leads back to a directory above it.";
    SearchLimit = "search_limit", Warning, "Discovery stopped at a limit; skills beyond it were not looked for.";
    InvalidPlugin = "invalid_plugin", Warning, "A plugin's `plugin.json` cannot be read.";
    Remote = "remote", Warning, "A configured server lists a skill that cannot be used, or could not be asked.";
    PolicyMissing = "policy_missing", Warning, "A skill that the organisation's policy requires is missing, or cannot be used.";
    PolicyRefused = "policy_refused", Info, "The organisation's policy closes the skill; it is in no list for models and cannot be loaded.";
    IndexCache = "index_cache", Info, "The index cache could not be read or written; discovery did without it.";
    // Strict rules: valid YAML and a usable skill, but not what the open standard says.
    UnknownField = "unknown_field", Error, "A top-level key that the standard does not have.";
    NameMismatch = "name_mismatch", Error, "The name differs from its directory's name.";
    TooLong = "too_long", Error, "A field is longer than the standard allows.";
    NotStrictYaml = "not_strict_yaml", Error, "YAML that the standard's reference reader refuses, such as flow collections, anchors and tabs.";
    NoSkillFile = "no_skill_file", Error, "The directory has no `SKILL.md`.";
    // Style.
    CommentCutsValue = "comment_cuts_value", Warning, "A ` #` inside an unquoted value starts a comment: the rest of the text is lost.";
    NoWhen = "no_when", Info, "The description does not say when to use the skill.";
    ShortDescription = "short_description", Info, "The description is too short to select the skill by.";
    XmlInDescription = "xml_in_description", Warning, "The description holds an XML tag, which some agents refuse.";
    InvisibleText = "invisible_text", Warning, "Zero-width, bidirectional, tag or control characters, which readers do not see.";
    LongBody = "long_body", Info, "The body is over 500 lines; put depth into files of its own.";
    EmptyBody = "empty_body", Info, "The body is empty: loading the skill tells the model nothing.";
    NoTriggers = "no_triggers", Info, "The skill has no triggers: keyword matching finds it by its name only.";
    GenericTrigger = "generic_trigger", Info, "A trigger is so common that the skill would fire on most messages.";
    KeywordStuffing = "keyword_stuffing", Warning, "The description or the triggers list words to be found by.";
    NotPortable = "not_portable", Info, "An extension is at the top level; below `metadata` every tool accepts it.";
    MissingResource = "missing_resource", Warning, "The body links to a file that is not in the skill's directory.";
    SecondFrontMatter = "second_front_matter", Info, "The body starts with another front matter, which the model would read as text.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_lead_back() {
        for code in Code::ALL {
            assert_eq!(Code::from_word(code.as_str()), Some(*code));
        }
    }
}
