//! Names of tools and ids of calls in a request, where servers do not take their own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ModelRequest;
use crate::Message;

/// The most characters of a call's id: OpenAI takes no more, and a conversation may go on with another server.
const MAX_ID: usize = 40;

/// Names of tools and ids of calls as they are sent. Those that every server takes are sent as they are; others get a
/// name that follows from their own, so that the next request says it again.
#[derive(Debug)]
pub(super) struct WireNames {
    most: usize,
    /// The names of the tools that are not sent as they are.
    sent: BTreeMap<String, String>,
    /// The own names of those tools, by the names that are sent.
    own: BTreeMap<String, String>,
    /// For each message, the ids of its calls or results.
    ids: Vec<Vec<String>>,
}

impl WireNames {
    /// Makes the names for a server that takes names of so many characters.
    pub(super) fn new(request: &ModelRequest<'_>, most: usize) -> WireNames {
        let names = request.tools.iter().map(|tool| tool.name.as_ref());
        let (fit, unfit): (Vec<&str>, Vec<&str>) = names.partition(|name| fits(name, most));
        let mut taken: BTreeSet<String> = fit.into_iter().map(str::to_owned).collect();
        let (mut sent, mut own) = (BTreeMap::new(), BTreeMap::new());
        for name in unfit {
            if !sent.contains_key(name) {
                let short = free(&taken, |count| short(name, count, most));
                taken.insert(short.clone());
                sent.insert(name.to_owned(), short.clone());
                own.insert(short, name.to_owned());
            }
        }
        WireNames { most, sent, own, ids: ids(request.messages) }
    }

    /// Returns the name of a tool in the request. The tool need not exist: a model may make one up, and gets an error then,
    /// but the call stays in the conversation.
    pub(super) fn tool(&self, name: &str) -> String {
        let sent = self.sent.get(name).cloned();
        sent.unwrap_or_else(|| if fits(name, self.most) { name.to_owned() } else { short(name, 0, self.most) })
    }

    /// Returns the own names of tools that are sent with another one, by that.
    pub(super) fn own(&self) -> &BTreeMap<String, String> {
        &self.own
    }

    /// Returns the id of a message's call or result.
    pub(super) fn id(&self, message: usize, number: usize) -> &str {
        self.ids.get(message).and_then(|ids| ids.get(number)).map_or("", String::as_str)
    }
}

/// Returns whether every server takes an id.
pub(super) fn is_id(id: &str) -> bool {
    fits(id, MAX_ID)
}

fn fits(name: &str, most: usize) -> bool {
    (1..=most).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Returns the first of many names that is not taken.
fn free(taken: &BTreeSet<String>, name: impl Fn(u64) -> String) -> String {
    let mut count = 0;
    loop {
        let name = name(count);
        if !taken.contains(&name) {
            return name;
        }
        count += 1;
    }
}

/// Returns as much of a name as can be read, and a hash that distinguishes it from others that begin alike.
fn short(name: &str, count: u64, most: usize) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let begin: String = name.chars().map(fit).take(most - 9).collect();
    let begin = if begin.is_empty() { "unnamed" } else { begin.as_str() };
    format!("{begin}_{:08x}", hash(name, count) >> 32)
}

/// Returns the FNV-1a hash: equal in every build, which the standard library's need not be.
fn hash(name: &str, count: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().chain(count.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}

/// Returns the ids of all calls and results. No two calls have the same, and a result has that of its call: of the calls with
/// its id in the last message that has calls, the first that has no result yet.
fn ids(messages: &[Message]) -> Vec<Vec<String>> {
    let mut taken = BTreeSet::new();
    let mut open: BTreeMap<&str, VecDeque<String>> = BTreeMap::new();
    let mut all = Vec::new();
    let other = |id: &str, count: u64| format!("call_{:016x}", hash(id, count));
    for message in messages {
        let mut ids = Vec::new();
        match message {
            Message::User { .. } => {}
            Message::Assistant { calls, .. } => {
                open.clear();
                for call in calls {
                    let own = is_id(&call.id) && !taken.contains(&call.id);
                    let id = if own { call.id.clone() } else { free(&taken, |count| other(&call.id, count)) };
                    taken.insert(id.clone());
                    open.entry(&call.id).or_default().push_back(id.clone());
                    ids.push(id);
                }
            }
            Message::Tools { results, .. } => {
                for result in results {
                    let id = open.get_mut(result.id.as_str()).and_then(VecDeque::pop_front);
                    let stray = || if is_id(&result.id) { result.id.clone() } else { other(&result.id, 0) };
                    ids.push(id.unwrap_or_else(stray));
                }
            }
        }
        all.push(ids);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use skillcue::tools::ToolDefinition;

    use super::*;
    use crate::{ToolCall, ToolResult};

    fn names(tools: &[&str], messages: &[Message], most: usize) -> WireNames {
        let tool = |name: &&str| ToolDefinition {
            name: (*name).to_owned().into(),
            title: "T".into(),
            description: "D".into(),
            input_schema: json!({"type": "object"}),
            read_only: true,
        };
        let tools: Vec<ToolDefinition> = tools.iter().map(tool).collect();
        WireNames::new(&ModelRequest { system: &[], tools: &tools, messages, max_tokens: None }, most)
    }

    #[test]
    fn names_that_fit_are_sent_as_they_are() {
        let (long, alike) = ("a".repeat(65), format!("{}b", "a".repeat(64)));
        let found = names(&["add", "a.b", "a b", &long, &alike, "größe"], &[], 64);
        assert_eq!(found.tool("add"), "add");
        let sent: BTreeSet<String> = ["a.b", "a b", &long, &alike, "größe"].map(|name| found.tool(name)).into();
        assert_eq!(sent.len(), 5);
        assert!(sent.iter().all(|name| fits(name, 64)), "{sent:?}");
        assert!(sent.iter().all(|name| found.tool(&found.own()[name]) == *name));
        assert!(found.tool("a.b").starts_with("a_b_"));
        // Whatever else there is, and for a server that takes more.
        assert_eq!(names(&["a.b"], &[], 64).tool("a.b"), found.tool("a.b"));
        assert_eq!(names(&[&long], &[], 128).tool(&long), long);
        // What a model has made up.
        assert_eq!(found.tool("made_up"), "made_up");
        assert!(fits(&found.tool("made up"), 64) && fits(&found.tool(""), 64));
        assert_eq!(found.own().len(), 5);
    }

    #[test]
    fn a_short_name_is_unique() {
        let short = names(&["a.b"], &[], 64).tool("a.b");
        let found = names(&["a.b", &short], &[], 64);
        assert_eq!(found.tool(&short), short);
        assert_ne!(found.tool("a.b"), short);
        assert_eq!(found.own()[&found.tool("a.b")], "a.b");
    }

    fn turn(ids: &[&str]) -> [Message; 2] {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "add".into(), arguments: "{}".into() };
        let result =
            |id: &&str| ToolResult { id: (*id).into(), name: "add".into(), text: String::new(), is_error: false };
        [
            Message::Assistant { text: String::new(), calls: ids.iter().map(call).collect() },
            Message::results(ids.iter().map(result).collect()),
        ]
    }

    #[test]
    fn ids_that_fit_are_sent_as_they_are() {
        let long = "x".repeat(83);
        let all = ids(&[turn(&["a", &long, "b c", ""]), turn(&["a", "a", &long])].concat());
        assert_eq!(all[0][0], "a");
        assert_eq!((&all[0], &all[2]), (&all[1], &all[3]));
        let every: BTreeSet<&String> = all[0].iter().chain(&all[2]).collect();
        assert_eq!(every.len(), 7);
        assert!(every.iter().all(|id| is_id(id)), "{every:?}");
        // What comes later changes nothing.
        assert_eq!(ids(&turn(&["a", &long, "b c", ""])), all[..2]);
        // A result of nothing.
        let stray = ids(&turn(&["a", &long])[1..]);
        assert!(stray[0][0] == "a" && is_id(&stray[0][1]));
    }

    proptest! {
        #[test]
        fn ids_are_unique_and_fit(turns in prop::collection::vec(prop::collection::vec("[a .ü]{0,3}|x{39,42}", 0..4), 0..5)) {
            let messages: Vec<Message> =
                turns.iter().flat_map(|ids| turn(&ids.iter().map(String::as_str).collect::<Vec<_>>())).collect();
            let all = ids(&messages);
            let calls: Vec<&String> = all.iter().step_by(2).flatten().collect();
            prop_assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len());
            prop_assert!(calls.iter().all(|id| is_id(id)));
            prop_assert!(all.chunks(2).all(|turn| turn[0] == turn[1]));
        }

        #[test]
        fn names_are_unique_and_fit(tools in prop::collection::btree_set("[a._ü]{0,3}|a{62,66}", 0..6)) {
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
            let found = names(&tools, &[], 64);
            let sent: BTreeSet<String> = tools.iter().map(|name| found.tool(name)).collect();
            prop_assert_eq!(sent.len(), tools.len());
            prop_assert!(sent.iter().all(|name| fits(name, 64)));
            for name in tools {
                let sent = found.tool(name);
                prop_assert_eq!(found.own().get(&sent).map_or(sent.as_str(), String::as_str), name);
            }
        }
    }
}
