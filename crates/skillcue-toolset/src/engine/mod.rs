//! The process inside the sandbox: one skill's toolsets in `QuickJS`, with pipes to the host.
//!
//! The process can open no file and no connection; all it has is standard input and output. Whatever a toolset does to
//! its own globals, three things hold: only code of ours writes to the output, values cross the border by functions the
//! toolset cannot replace, and nothing runs while no call is in flight.

mod calls;
mod definitions;
mod entries;
mod globals;
mod link;
mod modules;
mod position;
mod rejections;
mod results;
mod unsafe_load;
mod value;

use std::rc::Rc;

use rquickjs::{Context, Runtime};

use crate::message::HostMessage;
use link::HostLink;

/// The part of its thread's stack that the engine may use before a script gets a `RangeError`.
const MAX_SCRIPT_STACK: usize = 2 << 20;
/// The thread's stack. The parser recurses too, and deeper than scripts.
const THREAD_STACK: usize = 64 << 20;

/// Speaks the protocol on standard input and output until the host hangs up. Returns the exit code.
///
/// It expects to be alone in its process: hand it to `skillcue_exec::helper::run_if_asked`.
pub fn engine() -> i32 {
    let running = std::thread::Builder::new().name("engine".into()).stack_size(THREAD_STACK).spawn(run);
    match running.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => 70,
        Err(_) => 71,
    }
}

fn run() -> i32 {
    let link = Rc::new(HostLink::on_standard_streams());
    let Ok(runtime) = Runtime::new() else { return 72 };
    runtime.set_max_stack_size(MAX_SCRIPT_STACK);
    let clock = Rc::clone(&link.clock);
    runtime.set_interrupt_handler(Some(Box::new(move || clock.is_over())));
    runtime.set_loader(modules::HostLoader(Rc::clone(&link)), modules::HostLoader(Rc::clone(&link)));
    let Ok(context) = Context::full(&runtime) else { return 72 };
    let rejections = rejections::watch(&runtime);
    // Before there is anything to do: the host is still busy writing what is to be loaded.
    let installed = context.with(|ctx| Ok::<_, rquickjs::Error>(globals::install(&ctx, &link)?.save(&ctx)));
    let Ok(installed) = installed else { return 73 };
    let load = loop {
        match link.receive(None) {
            Some(HostMessage::Load(load)) => break load,
            Some(_) => {}
            None => return 0,
        }
    };
    runtime.set_memory_limit(usize::try_from(load.memory).unwrap_or(usize::MAX));
    let code = context.with(|ctx| match installed.restore(&ctx) {
        Ok(prelude) => calls::CallLoop::new(ctx, link, prelude, rejections).serve(&load),
        Err(_) => 73,
    });
    // Freeing the engine piece by piece is of no use: the process ends.
    std::mem::forget(context);
    std::mem::forget(runtime);
    code
}
