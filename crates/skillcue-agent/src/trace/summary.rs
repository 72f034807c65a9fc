//! The cost of requests, added up.

use serde::Serialize;
use serde_json::Value;

use super::line::{Purpose, TraceLine};
use crate::RequestTokens;

/// The cost of some requests together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CostSum {
    /// How many there were.
    pub requests: u64,
    /// How many of them failed.
    pub errors: u64,
    /// The cost of each part, as we count.
    pub tokens: RequestTokens,
    /// How many of these tokens repeat the request before, from its beginning on: as much as a prompt cache can hold.
    pub repeated: u64,
    /// The tokens of the requests, as the provider counts, cached ones included.
    pub input: u64,
    /// The tokens of the answers, as the provider counts.
    pub output: u64,
    /// How much of the input came from the provider's cache.
    pub cached: u64,
    /// The tokens that skills took: in the instructions, with the turn, in the history where they were shown or loaded
    /// before, and in the definitions of tools.
    pub skills: u64,
    /// The cost of all skills, had they been loaded eagerly in each request.
    pub eager: u64,
    /// How much of that skills did not take; below zero if they took more.
    pub saved: i64,
    /// How long the requests took.
    pub latency_ms: u64,
}

/// A turn's requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TurnSum {
    /// The turn.
    pub turn: u64,
    /// Its cost.
    #[serde(flatten)]
    pub sum: CostSum,
}

/// A session's requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SessionSum {
    /// The session.
    pub session: String,
    /// Its cost.
    #[serde(flatten)]
    pub sum: CostSum,
    /// Its turns, in their order.
    pub turns: Vec<TurnSum>,
}

/// The cost of the requests of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// All together.
    pub total: CostSum,
    /// The sessions, in the order in which they first occur.
    pub sessions: Vec<SessionSum>,
}

impl Summary {
    /// Adds lines up.
    pub fn of(lines: &[TraceLine]) -> Summary {
        let mut summary = Summary::default();
        for line in lines {
            summary.add(line);
        }
        for session in &mut summary.sessions {
            session.turns.sort_by_key(|turn| turn.turn);
        }
        summary
    }

    fn add(&mut self, line: &TraceLine) {
        self.total.add(line);
        // Lines of one session, and of one turn, are mostly together.
        let sessions = &mut self.sessions;
        let at = sessions.iter().rposition(|session| session.session == line.session).unwrap_or_else(|| {
            let (session, sum, turns) = (line.session.clone(), CostSum::default(), Vec::new());
            sessions.push(SessionSum { session, sum, turns });
            sessions.len() - 1
        });
        let session = &mut sessions[at];
        session.sum.add(line);
        let turns = &mut session.turns;
        let at = turns.iter().rposition(|turn| turn.turn == line.turn).unwrap_or_else(|| {
            turns.push(TurnSum { turn: line.turn, sum: CostSum::default() });
            turns.len() - 1
        });
        turns[at].sum.add(line);
    }
}

impl CostSum {
    fn add(&mut self, line: &TraceLine) {
        let (input, output, cached) = usage(&line.usage);
        let skills = line.skills_took();
        self.requests = self.requests.saturating_add(1);
        self.errors = self.errors.saturating_add(u64::from(line.error.is_some()));
        self.tokens += line.tokens;
        // Numbers from a file may be any.
        for (sum, more) in [
            (&mut self.repeated, line.repeated),
            (&mut self.input, input),
            (&mut self.output, output),
            (&mut self.cached, cached),
            (&mut self.skills, skills),
            (&mut self.eager, line.eager),
            (&mut self.latency_ms, line.latency_ms),
        ] {
            *sum = sum.saturating_add(more);
        }
        // Summaries document no skills, and would have none without Skillcue.
        if line.purpose == Purpose::Answer {
            let saved = i128::from(line.eager) - i128::from(skills);
            let saved = i64::try_from(saved).unwrap_or(if saved < 0 { i64::MIN } else { i64::MAX });
            self.saved = self.saved.saturating_add(saved);
        }
    }
}

/// Reads a provider's own report: tokens of the request, of the answer, and from its cache. Where they are
/// called `prompt_tokens`, the cached ones are among them; among Anthropic's `input_tokens` they are not.
fn usage(usage: &Value) -> (u64, u64, u64) {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let first = |paths: &[&str]| paths.iter().find_map(|path| number(path)).unwrap_or_default();
    let output = first(&["/completion_tokens", "/output_tokens"]);
    // The last is DeepSeek's word for it.
    let details = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
    ]);
    if let Some(prompt) = number("/prompt_tokens") {
        return (prompt, output, details);
    }
    let (read, made) = (first(&["/cache_read_input_tokens"]), first(&["/cache_creation_input_tokens"]));
    let input = first(&["/input_tokens"]).saturating_add(read).saturating_add(made);
    (input, output, if read > 0 { read } else { details })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::usage;

    #[test]
    fn usage_in_the_words_of_each_api() {
        let openai =
            json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}});
        assert_eq!(usage(&openai), (100, 7, 64));
        let anthropic = json!({"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 80,
                               "cache_creation_input_tokens": 5});
        assert_eq!(usage(&anthropic), (95, 7, 80));
        let responses = json!({"input_tokens": 10, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 4}});
        assert_eq!(usage(&responses), (10, 7, 4));
        let deepseek = json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64,
                              "prompt_cache_miss_tokens": 36});
        assert_eq!(usage(&deepseek), (100, 7, 64));
        assert_eq!(usage(&json!(null)), (0, 0, 0));
        assert_eq!(usage(&json!({"prompt_tokens": "many", "output_tokens": -1})), (0, 0, 0));
    }
}
