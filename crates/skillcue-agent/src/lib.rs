//! A small real agent on top of Skillcue.
//!
//! One turn of a conversation: context providers say what the model should see beside the message (skills are one,
//! memory is another), the model is asked over HTTP, the tools that it calls are run, and so on until it answers. Each
//! request is accounted for token by token, and written down as it happens.

mod account;
mod agent;
mod batch;
mod consent;
mod judge;
#[cfg(feature = "bench")]
pub mod measure;
mod memory;
mod message;
pub mod model;
mod parts;
mod provider;
mod sessions;
mod skills;
mod trace;

pub use account::account;
pub use agent::{Agent, AgentError, AgentOptions, Conversation, Hooks, SYSTEM, SkillMove, TurnEvent, TurnReport};
pub use batch::{Task, TaskDone, batch};
pub use consent::{AgentConsent, Asker, ConsentPolicy};
pub use judge::{JudgeLimits, ModelJudge};
pub use memory::{Fact, FactOrigin, Memory, MemoryError, MemoryProvider, facts};
pub use message::{Message, Piece, PieceOrigin, ToolCall, ToolResult};
pub use parts::{RequestPart, RequestTokens};
pub use provider::{BoxFuture, ContextProvider, ProviderError, TurnContext};
pub use sessions::{About, SavedSession, SessionFile, SessionRecord, SessionSummary, Sessions, SessionsError};
pub use trace::{
    CostSum, LineSkill, LineText, Purpose, SessionSum, Summary, TraceError, TraceFile, TraceLine, Traced, Tracer,
    TurnSum, Unreadable, list_traces, read_trace,
};
