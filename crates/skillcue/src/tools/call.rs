//! One call of a tool, as hosts and tools read it.

use serde_json::{Map, Value};

/// A call of a tool, with the id of the skill that it is about. A host makes it once; every step before the tool runs
/// (asking a person, choosing a queue) and the tool itself read the id here.
///
/// ```
/// use skillcue::tools::Call;
///
/// let arguments = serde_json::json!({"skill_id": "pdf", "path": "forms.md"});
/// let call = Call::new("read_skill_file", arguments.as_object().unwrap().clone());
/// assert_eq!((call.name(), call.skill_id()), ("read_skill_file", Some("pdf")));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    name: String,
    arguments: Map<String, Value>,
    skill_id: Option<String>,
}

impl Call {
    /// Makes a call by the tool's name.
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Call {
        let skill_id = arguments.get("skill_id").and_then(Value::as_str).map(str::to_owned);
        Call { name: name.into(), arguments, skill_id }
    }

    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arguments as they were given.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Returns the id of the skill that the call is about; `None` if it has none, or if that is not a string.
    pub fn skill_id(&self) -> Option<&str> {
        self.skill_id.as_deref()
    }
}
