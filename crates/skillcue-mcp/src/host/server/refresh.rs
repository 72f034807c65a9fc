//! Asking a server for its skills, and keeping its listing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use skillcue::consent::{Observed, Subject};
use skillcue::remote::{RemoteEntry, RemoteError};
use skillcue_base::Shown;

use super::super::RefreshOutcome;
use super::super::connection::ConnectionError;
use super::super::entry::{self, content_id};
use super::super::listing::{ListingBuilder, ServerFailure, ServerListing};
use super::{ConfiguredServer, ServerState};

/// How many skills of one server are listed.
const MAX_ENTRIES: usize = 10_000;
/// How many pages one listing may have.
const MAX_PAGES: usize = 200;
/// How many bytes one listing may have, over all its pages.
const MAX_LISTING: usize = 64 << 20;

impl ConfiguredServer {
    /// Asks for all skills, page by page.
    pub(crate) async fn list(&self) -> Result<ServerListing, ConnectionError> {
        let mut builder = ListingBuilder::default();
        let mut cursors: HashSet<String> = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut ttl: Option<u64> = None;
        let (mut seen, mut bytes) = (0, 0);
        'pages: for page in 0.. {
            if page == MAX_PAGES {
                builder.add_problem(&format!("the listing goes on after {MAX_PAGES} pages; the rest is left out"));
                break;
            }
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let result = self.ask("skills/list", params).await?;
            let Some(skills) = result.get("skills").and_then(Value::as_array) else {
                return Err(ConnectionError::Nonsense("its answer to skills/list has no list of skills".to_owned()));
            };
            bytes += serde_json::to_vec(skills).map_or(0, |text| text.len());
            if bytes > MAX_LISTING {
                builder.add_problem(&format!("the listing has more than {MAX_LISTING} bytes; the rest is left out"));
                break;
            }
            for skill in skills {
                seen += 1;
                if seen > MAX_ENTRIES {
                    builder
                        .add_problem(&format!("the listing has more than {MAX_ENTRIES} skills; the rest is left out"));
                    break 'pages;
                }
                builder.add(skill);
            }
            // The shortest time counts: the listing is as old as its oldest page.
            let page_ttl = result.get("ttlMs").and_then(Value::as_u64);
            ttl = ttl.into_iter().chain(page_ttl).min();
            cursor = match result.get("nextCursor") {
                None | Some(Value::Null) => break,
                Some(Value::String(next)) => Some(next.clone()),
                Some(_) => {
                    builder.add_problem("a cursor is no text; the rest is left out");
                    break;
                }
            };
            if let Some(next) = &cursor
                && !cursors.insert(next.clone())
            {
                builder.add_problem("a cursor came twice; the rest is left out");
                break;
            }
        }
        Ok(builder.finish(ttl, SystemTime::now()))
    }

    /// Asks for all skills and keeps the listing. If that fails, the last one stays.
    pub(crate) async fn refresh(&self) -> Result<RefreshOutcome, String> {
        match self.list().await {
            Ok(listing) => Ok(self.store(&listing)),
            Err(error) => {
                let message = error.to_string();
                self.failed(&message);
                Err(message)
            }
        }
    }

    fn store(&self, listing: &ServerListing) -> RefreshOutcome {
        self.observe(&listing.entries);
        let count = listing.entries.len();
        // In memory first: otherwise the state would come from the file that is about to be written.
        let now = ServerState { listing: listing.clone(), failure: None, stamp: None, unreported: false };
        let before = self.state().replace(now).unwrap_or_default();
        if let Some(cache) = &self.cache {
            ServerFailure::forget(cache);
        }
        self.save(listing);
        let same = before.listing.fetched.is_some()
            && before.listing.entries == listing.entries
            && before.listing.diagnostics == listing.diagnostics;
        if same && !before.unreported { RefreshOutcome::Unchanged(count) } else { RefreshOutcome::Changed(count) }
    }

    /// Keeps a listing for the next start.
    fn save(&self, listing: &ServerListing) {
        let Some(cache) = &self.cache else { return };
        self.log_failed_save("the listing", listing.save(cache, &self.identity));
        let stamp = ServerListing::stamp(cache);
        if let Some(state) = self.state().as_mut() {
            state.stamp = stamp;
        }
    }

    /// Records that the server could not be asked; it is not asked again for a while.
    pub(crate) fn failed(&self, message: &str) {
        let failure = ServerFailure { message: message.to_owned(), when: SystemTime::now() };
        if let Some(state) = self.state().as_mut() {
            state.failure = Some(failure.clone());
        }
        if let Some(cache) = &self.cache {
            self.log_failed_save("the failure", failure.save(cache, &self.identity));
        }
    }

    /// Reports the listed content to the consent store, where consent to other content ends.
    fn observe(&self, entries: &[Arc<RemoteEntry>]) {
        let now = |subject: &Subject| match subject {
            Subject::RemoteSkill { label, server, uri, .. }
                if *label == self.spec.label && *server == self.identity =>
            {
                match entries.iter().find(|entry| entry.uri == *uri) {
                    Some(entry) => content_id(entry).map_or(Observed::NoContent, Observed::Content),
                    None => Observed::NotSeen,
                }
            }
            _ => Observed::NotSeen,
        };
        let observe = || self.consent.observe(&now);
        // Another process may have locked the file: other tasks of this thread do not wait for that.
        if let Err(error) = tokio::task::block_in_place(observe) {
            // Old consent does not count all the same: allowed content is compared with the listing each time.
            tracing::warn!(target: "skillcue::mcp", server = self.spec.label, "{error}");
        }
    }

    pub(super) fn log_failed_save(&self, what: &str, result: std::io::Result<()>) {
        if let Err(error) = result {
            tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{what} cannot be kept: {error}");
        }
    }

    /// Asks for one skill, listed or not, and keeps its entry.
    pub(crate) async fn get(&self, uri: &str) -> Result<Arc<RemoteEntry>, RemoteError> {
        let answer = self.ask("skills/get", json!({ "uri": uri })).await.map_err(|error| self.unreachable(&error))?;
        let read = answer.get("skill").ok_or_else(|| "it has no `skill`".to_owned()).and_then(entry::read);
        let entry = read.map_err(|problem| RemoteError::Unverified(format!("{}: {}", Shown(uri), Shown(&problem))))?;
        if entry.uri != uri {
            return Err(RemoteError::Unverified(format!("the server was asked for {}", Shown(uri))));
        }
        let entry = Arc::new(entry);
        // Only this entry was sent: of the others, another process may have newer ones.
        self.observe(std::slice::from_ref(&entry));
        // So that a newer listing of another process is not overwritten.
        self.catch_up();
        let listing = {
            let mut state = self.state();
            let state = state.get_or_insert_default();
            let listing = state.listing.with(Arc::clone(&entry));
            state.unreported |= listing.entries != state.listing.entries;
            state.listing = listing.clone();
            listing
        };
        self.save(&listing);
        Ok(entry)
    }
}
