//! What runs inside the sandbox: one skill's toolsets in `QuickJS`, spoken to through pipes.
//!
//! The process can open nothing and reach nobody; all it has is standard input and output. Whatever a toolset does to
//! its own world, three things hold: only code of ours writes to the output, values cross the border by functions the
//! toolset cannot replace, and nothing runs while no call is in flight.

mod calls;
mod globals;
mod link;
mod loading;
mod modules;
mod place;
mod unsafe_load;
mod value;

use std::rc::Rc;

use rquickjs::{Context, Runtime};

use crate::message::ToChild;
use link::Link;

/// What the engine may use of its thread's stack before a script gets a `RangeError`.
const SCRIPT_STACK: usize = 2 << 20;
/// The thread's stack. The parser recurses too, and deeper than scripts.
const THREAD_STACK: usize = 64 << 20;

/// Speaks the protocol on standard input and output until the host hangs up; what it returns is the exit code.
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
    let link = Rc::new(Link::on_standard_streams());
    let Ok(runtime) = Runtime::new() else { return 72 };
    runtime.set_max_stack_size(SCRIPT_STACK);
    let clock = Rc::clone(&link.watch);
    runtime.set_interrupt_handler(Some(Box::new(move || clock.over())));
    runtime.set_loader(modules::Asking(Rc::clone(&link)), modules::Asking(Rc::clone(&link)));
    let Ok(context) = Context::full(&runtime) else { return 72 };
    let rejections = calls::Rejections::watch(&runtime);
    // Before there is anything to do: the host is still busy writing what is to be loaded.
    let installed = context.with(|ctx| Ok::<_, rquickjs::Error>(globals::install(&ctx, &link)?.save(&ctx)));
    let Ok(installed) = installed else { return 73 };
    let load = loop {
        match link.receive(None) {
            Some(ToChild::Load(load)) => break load,
            Some(_) => {}
            None => return 0,
        }
    };
    runtime.set_memory_limit(usize::try_from(load.memory).unwrap_or(usize::MAX));
    let code = context.with(|ctx| match installed.restore(&ctx) {
        Ok(prelude) => calls::Calls::new(ctx, link, prelude, rejections).serve(&load),
        Err(_) => 73,
    });
    // Taking the engine apart piece by piece helps nobody: the process ends.
    std::mem::forget(context);
    std::mem::forget(runtime);
    code
}
