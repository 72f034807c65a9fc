//! Notifications on their way to clients.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};

use super::session::{Outbox, PendingNotices};

/// The receiver of notifications: a session's client, or one of its streams.
#[derive(Clone, Copy)]
pub(super) enum NoticeTarget<'l> {
    Client(&'l Peer<RoleServer>),
    Stream(&'l SubscriptionSink),
}

impl NoticeTarget<'_> {
    /// Sends all notices. `None`, if one could not be sent.
    pub(super) async fn send(self, notices: PendingNotices) -> Option<()> {
        if let NoticeTarget::Client(peer) = self {
            for line in notices.lines {
                #[expect(deprecated, reason = "still served")]
                peer.notify_logging_message(line.into_params()).await.ok()?;
            }
        }
        if notices.tools {
            match self {
                NoticeTarget::Client(peer) => peer.notify_tool_list_changed().await.ok()?,
                NoticeTarget::Stream(sink) => sink.notify_tool_list_changed().await.ok()?,
            }
        }
        if notices.resources {
            match self {
                NoticeTarget::Client(peer) => peer.notify_resource_list_changed().await.ok()?,
                NoticeTarget::Stream(sink) => sink.notify_resource_list_changed().await.ok()?,
            }
        }
        if notices.prompts {
            match self {
                NoticeTarget::Client(peer) => peer.notify_prompt_list_changed().await.ok()?,
                NoticeTarget::Stream(sink) => sink.notify_prompt_list_changed().await.ok()?,
            }
        }
        for uri in notices.updated {
            match self {
                NoticeTarget::Client(peer) => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.ok()?;
                }
                NoticeTarget::Stream(sink) => sink.notify_resource_updated(uri).await.ok()?,
            }
        }
        Some(())
    }
}

/// Sends a session its notices until it ends.
pub(super) async fn deliver(outbox: Arc<Outbox>, peer: Peer<RoleServer>) {
    while let Some(notices) = outbox.next().await {
        if NoticeTarget::Client(&peer).send(notices).await.is_none() && peer.is_transport_closed() {
            return;
        }
    }
}
