//! The answer of a hook, in the shape that its client reads.

use serde::Serialize;

use super::AnswerShape;

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    pub(super) shape: AnswerShape,
    pub(super) event_name: String,
    /// The context for the model.
    pub text: String,
}

/// The answer that most clients read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedAnswer<'a> {
    hook_specific_output: NestedContext<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedContext<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

/// The answer of which some clients read nothing but the context.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FlatAnswer<'a> {
    additional_context: &'a str,
}

impl HookAnswer {
    /// Returns the answer as the client reads it, on one line.
    pub fn to_json(&self) -> String {
        let (hook_event_name, additional_context) = (&*self.event_name, &*self.text);
        let json = match self.shape {
            AnswerShape::Flat => serde_json::to_string(&FlatAnswer { additional_context }),
            AnswerShape::Nested => {
                let hook_specific_output = NestedContext { hook_event_name, additional_context };
                serde_json::to_string(&NestedAnswer { hook_specific_output })
            }
        };
        // Texts cannot fail to be written.
        json.unwrap_or_default()
    }
}
