//! Skills on disk, and a stand-in for selection that knows keywords and nothing else.

use std::sync::Arc;

use skillcue_catalog::{Catalog, Discovery, Enablement, Skill, SkillRoot, Source};
use skillcue_disclose::{
    BodySource, Budget, Census, Counter, DiscloseConfig, Discloser, Disclosure, Session, Situation, Tokens,
};
use skillcue_select::{Hit, Intent, Mode, Reason, ReasonKind, Selection};

pub(crate) struct House {
    dir: tempfile::TempDir,
    pub(crate) catalog: Arc<Catalog>,
}

impl House {
    pub(crate) fn new() -> House {
        let dir = tempfile::tempdir().unwrap();
        House { catalog: Arc::new(Discovery::new([]).run()), dir }
    }

    /// Skills with these front matters (without a name) and bodies.
    pub(crate) fn with<'a>(skills: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> House {
        let mut house = House::new();
        for (name, front, body) in skills {
            house.put(Source::User, name, front, body);
        }
        house.discover(Enablement::default());
        house
    }

    pub(crate) fn put(&self, source: Source, name: &str, front: &str, body: &str) {
        let dir = self.dir.path().join(source.as_str()).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("SKILL.md"), format!("---\nname: {name}\n{front}\n---\n{body}")).unwrap();
    }

    pub(crate) fn discover(&mut self, enablement: Enablement) {
        let roots = Source::ALL.map(|source| SkillRoot::new(self.dir.path().join(source.as_str()), source));
        let found = Discovery::new(roots).search_path([]).enablement(enablement).run();
        self.catalog = Arc::new(found);
    }

    fn visible(&self) -> impl Iterator<Item = &Skill> {
        let hidden = |skill: &Skill| skill.manifest().disable_model_invocation();
        self.catalog.skills().filter(move |skill| skill.enabled() && !hidden(skill))
    }

    pub(crate) fn census(&self) -> Census {
        let triggered = self.visible().any(|skill| !skill.manifest().triggers().is_empty());
        Census { visible: self.visible().count(), triggered }
    }

    pub(crate) fn select(&self, message: &str) -> Selection {
        let intent = match message {
            "What can you do?" => Intent::Registry,
            "show all skills" => Intent::All,
            _ => Intent::None,
        };
        let message = message.to_lowercase();
        let words: Vec<&str> = message.split(|c: char| !c.is_alphanumeric()).collect();
        let mut hits = Vec::new();
        for skill in self.visible() {
            let manifest = skill.manifest();
            let keywords = manifest.triggers().keywords.iter().chain(&manifest.triggers().verbs);
            let found: Vec<Reason> =
                keywords.filter(|word| words.contains(&word.as_ref())).map(|word| reason(word)).collect();
            if !found.is_empty() {
                hits.push(hit(self, skill.name(), found));
            }
        }
        let hits = if intent == Intent::None { hits } else { Vec::new() };
        hits_of(intent, hits)
    }

    pub(crate) fn discloser(&self, config: DiscloseConfig) -> Discloser {
        Discloser::new(Arc::clone(&self.catalog), config).unwrap()
    }

    pub(crate) fn show(&self, message: &str, config: &DiscloseConfig, session: Option<&Session>) -> Disclosure {
        let selection = self.select(message);
        self.discloser(config.clone()).disclose(&Situation {
            session,
            mode: Mode::Keyword,
            ..Situation::new(self.census(), &selection, &Files)
        })
    }
}

pub(crate) fn hits_of(intent: Intent, hits: Vec<Hit>) -> Selection {
    Selection { intent, matched: hits.len(), hits, ..Selection::default() }
}

pub(crate) fn reason(word: &str) -> Reason {
    Reason { kind: ReasonKind::Keyword, trigger: word.to_owned(), text: word.to_owned(), span: None, score: 1.0 }
}

pub(crate) fn hit(house: &House, name: &str, reasons: Vec<Reason>) -> Hit {
    let skill = house.catalog.all().iter().position(|skill| skill.name() == name).unwrap_or(usize::MAX);
    Hit {
        skill,
        name: name.to_owned(),
        score: 1.0,
        confidence: 0.9,
        certainty: 0.9,
        likelihood: 0.9,
        reasons,
        ..Hit::default()
    }
}

/// Bodies as level 2 has them.
pub(crate) struct Files;

impl BodySource for Files {
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String> {
        self.body_with(skill, "")
    }

    fn body_with(&self, skill: &Skill, arguments: &str) -> Result<Arc<str>, String> {
        let text = std::fs::read_to_string(skill.path()).map_err(|error| error.kind().to_string())?;
        let body = text.splitn(3, "---\n").nth(2).unwrap_or_default().replace("$ARGUMENTS", arguments);
        Ok(format!("Base directory for this skill: {}\n\n{body}", skill.dir().display()).into())
    }
}

pub(crate) fn unlimited(counter: Counter) -> DiscloseConfig {
    DiscloseConfig { max_total_tokens: None, max_per_skill_tokens: None, counter, ..DiscloseConfig::default() }
}

pub(crate) fn within(total: usize, per_skill: usize) -> DiscloseConfig {
    DiscloseConfig {
        max_total_tokens: Some(Tokens(total)),
        max_per_skill_tokens: Some(Tokens(per_skill)),
        counter: Counter::Bytes4,
        ..DiscloseConfig::default()
    }
}

pub(crate) fn total(tokens: usize) -> Budget {
    Budget { total: Some(Tokens(tokens)), per_skill: None }
}
