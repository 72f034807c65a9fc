//! Promises that are rejected and not handled.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Persistent, Runtime, Value};

use super::calls::CallLoop;
use super::position;
use crate::message::LogLevel;

/// The most rejections that are noted.
const MAX_REJECTIONS: usize = 64;

/// Promises that were rejected and are not handled yet, each with its reason.
pub(super) type RejectedPromises = Rc<RefCell<Vec<(Persistent<Value<'static>>, String)>>>;

/// Notes promises that are rejected, until they are handled.
pub(super) fn watch(runtime: &Runtime) -> RejectedPromises {
    let rejected: RejectedPromises = Rc::default();
    let noted = Rc::clone(&rejected);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
        let mut noted = noted.borrow_mut();
        if handled {
            noted.retain(|(other, _)| other.clone().restore(&ctx).is_ok_and(|other| other != promise));
        } else if noted.len() < MAX_REJECTIONS {
            let text = position::thrown(&ctx, &reason).message;
            noted.push((Persistent::save(&ctx, promise), text));
        }
    })));
    rejected
}

impl<'js> CallLoop<'js> {
    /// Forgets the rejection of a promise that the engine itself waits for.
    pub(super) fn forget_rejection(&self, promise: &Value<'js>) {
        self.rejected
            .borrow_mut()
            .retain(|(other, _)| other.clone().restore(&self.ctx).is_ok_and(|other| other != *promise));
    }

    /// Logs the rejections that no code has handled.
    pub(super) fn report_rejections(&self) {
        for (_, reason) in self.rejected.take() {
            self.link.log(LogLevel::Warn, &format!("a promise was rejected and not handled: {reason}"), None);
        }
    }
}
