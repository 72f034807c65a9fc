//! The context providers of a turn: each by itself, none able to stop the turn.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use skillcue::disclose::{DOCUMENTATION_HEADING, DisclosedSkill};
use skillcue::tools::{ToolDefinition, ToolOutput};
use skillcue::{Decision, Disclosure};

use super::conversation::apart;
use super::event::shown;
use super::{Agent, AgentOptions, Conversation, Hooks, TurnEvent};
use crate::model::SystemText;
use crate::skills::{SkillsProvider, SkillsState};
use crate::{ContextProvider, Message, Piece, PieceOrigin, ProviderError, RequestPart, TurnContext};

/// A source of context for a conversation's turns.
pub(super) enum TurnProvider {
    /// Skills: lent what the conversation knows of them, and the only one whose texts count as skills'.
    Skills(SkillsProvider),
    /// Anything else.
    Other(Box<dyn ContextProvider>),
}

impl TurnProvider {
    fn name(&self) -> &str {
        match self {
            TurnProvider::Skills(_) => SkillsProvider::NAME,
            TurnProvider::Other(provider) => provider.name(),
        }
    }

    /// Returns the origin of its pieces.
    fn origin(&self) -> PieceOrigin {
        match self {
            TurnProvider::Skills(_) => PieceOrigin::Skills,
            TurnProvider::Other(provider) => PieceOrigin::Provider(provider.name().to_owned()),
        }
    }

    /// Returns the part that its text for the instructions counts as.
    fn stable_part(&self) -> RequestPart {
        match self {
            TurnProvider::Skills(_) => RequestPart::SkillsStable,
            TurnProvider::Other(_) => RequestPart::System,
        }
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        match self {
            TurnProvider::Skills(_) => Vec::new(),
            TurnProvider::Other(provider) => provider.tools(),
        }
    }

    async fn before_turn(
        &mut self,
        skills: &mut SkillsState,
        messages: &[Message],
    ) -> Result<TurnContext, ProviderError> {
        match self {
            TurnProvider::Skills(provider) => provider.before_turn(skills, messages).await,
            TurnProvider::Other(provider) => provider.before_turn(messages).await,
        }
    }

    async fn after_turn(&mut self, request: &[Message], response: &Message) -> Result<(), ProviderError> {
        match self {
            TurnProvider::Skills(_) => Ok(()),
            TurnProvider::Other(provider) => provider.after_turn(request, response).await,
        }
    }
}

/// The providers of a conversation, while they are lent the conversation. They come back to it whatever happens, also when
/// the turn is dropped.
struct BorrowedProviders<'c> {
    conversation: &'c mut Conversation,
    providers: Vec<TurnProvider>,
    /// How many messages the conversation has without the one that is only lent to them.
    messages: usize,
}

impl<'c> BorrowedProviders<'c> {
    fn new(conversation: &'c mut Conversation) -> BorrowedProviders<'c> {
        let providers = std::mem::take(&mut conversation.providers);
        let messages = conversation.messages.len();
        BorrowedProviders { conversation, providers, messages }
    }
}

impl Drop for BorrowedProviders<'_> {
    fn drop(&mut self) {
        self.conversation.messages.truncate(self.messages);
        self.conversation.providers = std::mem::take(&mut self.providers);
    }
}

/// Collects the context of all providers for a message. Returns the problems.
pub(super) async fn before(
    conversation: &mut Conversation,
    message: &str,
    pieces: &mut Vec<Piece>,
    agent: &Agent,
    hooks: &Hooks<'_>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let asked = &mut BorrowedProviders::new(conversation);
    asked.conversation.messages.push(Message::user(message));
    let counter = agent.counter();
    let mut held: Vec<String> = Vec::new();
    for (at, provider) in asked.providers.iter_mut().enumerate() {
        let name = provider.name().to_owned();
        let id = asked.conversation.id().to_owned();
        let Conversation { messages, skills, .. } = &mut *asked.conversation;
        skills.conversation = id;
        let said = async { provider.before_turn(skills, messages).await };
        let context = tokio::select! {
            // The turn ends in a moment, and says so.
            () = hooks.cancel.cancelled() => break,
            context = guarded(agent.options.provider_timeout, said) => context,
        };
        let context = match context {
            Ok(context) => context,
            Err(why) => {
                report(&name, &why, &mut problems, hooks);
                continue;
            }
        };
        let tokens = counter.count(&context.stable).0 + counter.count(&context.turn).0;
        // The text for the instructions stays if a later turn fails.
        let stable = &mut asked.conversation.stable;
        let nothing = || SystemText { part: RequestPart::System, text: String::new() };
        stable.resize_with(stable.len().max(at + 1), nothing);
        stable[at] = SystemText { part: provider.stable_part(), text: context.stable };
        if !context.turn.trim().is_empty() {
            let part = context.part.unwrap_or(RequestPart::History);
            let shown = asked.conversation.skills.disclosure.as_ref();
            let shown = shown.filter(|_| matches!(provider, TurnProvider::Skills(_)));
            let skills = shown.map(bodies_shown).unwrap_or_default();
            pieces.push(Piece { provider: provider.origin(), part, text: apart(&context.turn), skills });
        }
        let SkillsState { disclosure, files, .. } = &asked.conversation.skills;
        let disclosure = disclosure.as_ref().filter(|_| matches!(provider, TurnProvider::Skills(_)));
        if tokens > 0 || disclosure.is_some() {
            let tier = disclosure.map(|disclosure| disclosure.tier.number());
            let skills = disclosure.map(shown).unwrap_or_default();
            held.extend(
                skills.iter().filter(|skill| agent.skills.holds_back(&skill.name)).map(|skill| skill.name.clone()),
            );
            let files = disclosure.map(|_| files.clone().all()).unwrap_or_default();
            (hooks.events)(&TurnEvent::Context { provider: &name, tokens: tokens as u64, tier, skills, files: &files });
        }
    }
    let loaded = asked.conversation.loaded();
    held.retain(|name| !loaded.contains(name));
    if !held.is_empty() {
        // The model knows how to ask for them; the user should know why they are not simply used.
        let message = format!("not shown until you allow it: {}", held.join(", "));
        (hooks.events)(&TurnEvent::Problem { provider: SkillsProvider::NAME, message });
    }
    problems
}

/// Returns the skills whose bodies a disclosure shows, or refers to.
fn bodies_shown(disclosure: &Disclosure) -> Vec<String> {
    let is_body = |skill: &&DisclosedSkill| matches!(skill.decision, Decision::Included | Decision::Shortened);
    let bodies =
        disclosure.skills.iter().filter(is_body).filter(|_| disclosure.turn.starts_with(DOCUMENTATION_HEADING));
    bodies.map(|skill| skill.name.clone()).collect()
}

/// Returns whether skills are disclosed to a conversation.
pub(super) fn has_skills(conversation: &Conversation) -> bool {
    conversation.providers.iter().any(|provider| matches!(provider, TurnProvider::Skills(_)))
}

/// Returns the tools that providers offer.
pub(super) fn tools(conversation: &Conversation) -> Vec<ToolDefinition> {
    conversation.providers.iter().flat_map(TurnProvider::tools).collect()
}

/// Calls a tool of a provider; none if no provider has one of that name.
pub(super) async fn call(
    conversation: &mut Conversation,
    name: &str,
    arguments: &Map<String, Value>,
    timeout: Duration,
) -> Option<Result<ToolOutput, String>> {
    let asked = &mut BorrowedProviders::new(conversation);
    let has_tool = |provider: &&mut TurnProvider| provider.tools().iter().any(|tool| tool.name == name);
    let TurnProvider::Other(provider) = asked.providers.iter_mut().find(has_tool)? else { return None };
    let called = async { Ok(provider.call_tool(name, arguments, &asked.conversation.messages).await) };
    Some(guarded(timeout, called).await)
}

/// Reports the outcome of the turn to all providers.
pub(super) async fn after(conversation: &mut Conversation, options: &AgentOptions, hooks: &Hooks<'_>) {
    let asked = &mut BorrowedProviders::new(conversation);
    let Some((response, request)) = asked.conversation.messages.split_last() else { return };
    for provider in &mut asked.providers {
        let name = provider.name().to_owned();
        let told = async { provider.after_turn(request, response).await };
        let heard = tokio::select! {
            // The answer is there, and the user has gone on.
            () = hooks.cancel.cancelled() => return,
            heard = guarded(options.provider_timeout, told) => heard,
        };
        if let Err(why) = heard {
            report(&name, &why, &mut Vec::new(), hooks);
        }
    }
}

/// Returns a provider's answer, or the reason why there is none: it failed, it panicked, or it took too long.
async fn guarded<T>(timeout: Duration, said: impl Future<Output = Result<T, ProviderError>>) -> Result<T, String> {
    match tokio::time::timeout(timeout, AssertUnwindSafe(said).catch_unwind()).await {
        Ok(Ok(Ok(said))) => Ok(said),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => Err("it panicked".to_owned()),
        Err(_) => Err(format!("it took longer than {} s", timeout.as_secs())),
    }
}

fn report(name: &str, why: &str, problems: &mut Vec<String>, hooks: &Hooks<'_>) {
    tracing::warn!(target: "skillcue::agent", provider = name, "{why}");
    problems.push(format!("{name}: {why}"));
    (hooks.events)(&TurnEvent::Problem { provider: name, message: why.to_owned() });
}
