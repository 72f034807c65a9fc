//! The one place that loads bytecode, which the engine does not check.

#![allow(
    unsafe_code,
    reason = "the engine reads bytecode unchecked; it comes from the user's own cache, which toolsets cannot write, \
              and damaged bytecode can do harm only inside the sandbox"
)]

use rquickjs::{Ctx, Module, Result};

/// Makes a module of bytecode that this version of the engine wrote.
///
/// The engine refers to the bytes for as long as the module lives, hence `'static`.
pub(super) fn module<'js>(ctx: &Ctx<'js>, bytes: &'static [u8]) -> Result<Module<'js>> {
    // SAFETY: see above; the host checks version and digest of what it sends.
    unsafe { Module::load(ctx.clone(), bytes) }
}
