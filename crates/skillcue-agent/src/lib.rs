//! A small real agent on top of Skillcue.
//!
//! One turn of a conversation: context providers say what the model should see beside the message (skills are one,
//! memory is another), the model is asked over HTTP, the tools that it calls are run, and so on until it answers. Each
//! request is accounted for token by token, and written down as it happens.

mod account;
mod agent;
mod batch;
mod consent;
mod memory;
mod message;
pub mod model;
mod parts;
mod provider;
mod sessions;
mod skills;
mod trace;

pub use account::account;
pub use agent::{Agent, AgentError, AgentOptions, Conversation, Event, Hooks, SYSTEM, TurnReport};
pub use batch::{Task, TaskDone, batch};
pub use consent::{AgentConsent, Asker, Policy};
pub use memory::{Fact, FactOrigin, Memory, MemoryError, MemoryProvider, facts};
pub use message::{Message, Origin, Piece, ToolCall, ToolResult};
pub use parts::{Part, Parts};
pub use provider::{BoxFuture, Context, ContextProvider, ProviderError};
pub use sessions::{About, Listed, Record, Saved, SessionFile, Sessions, SessionsError};
pub use trace::{
    Line, LineSkill, LineText, Purpose, SessionSum, Sum, Summary, TraceError, TraceFile, Traced, Tracer, TurnSum,
    Unreadable, list_traces, read_trace,
};
