//! The global object: the prelude, and the few functions it needs from the host of the engine.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::function::{Func, Rest};
use rquickjs::{Ctx, Function, Object, Persistent, Result, TypedArray, Value};

use super::link::HostLink;
use super::value;
use crate::message::LogLevel;

/// The most timers that may wait at once.
const MAX_TIMERS: usize = 10_000;

/// The functions of the prelude that the engine uses.
pub(super) struct Prelude<'js> {
    /// Runs the callback of a timer.
    pub(super) fire: Function<'js>,
    pub(super) make_signal: Function<'js>,
    pub(super) abort: Function<'js>,
    pub(super) timers: Rc<RefCell<Timers>>,
}

/// A [`Prelude`] that is kept while no context of the engine is entered.
pub(super) struct SavedPrelude {
    functions: [Persistent<Function<'static>>; 3],
    timers: Rc<RefCell<Timers>>,
}

impl<'js> Prelude<'js> {
    pub(super) fn save(self, ctx: &Ctx<'js>) -> SavedPrelude {
        let functions = [self.fire, self.make_signal, self.abort].map(|function| Persistent::save(ctx, function));
        SavedPrelude { functions, timers: self.timers }
    }
}

impl SavedPrelude {
    pub(super) fn restore<'js>(self, ctx: &Ctx<'js>) -> Result<Prelude<'js>> {
        let [fire, make_signal, abort] = self.functions;
        Ok(Prelude {
            fire: fire.restore(ctx)?,
            make_signal: make_signal.restore(ctx)?,
            abort: abort.restore(ctx)?,
            timers: self.timers,
        })
    }
}

/// The times at which callbacks are due.
#[derive(Default)]
pub(super) struct Timers {
    due: BTreeSet<(Instant, u32)>,
    every: std::collections::HashMap<u32, Duration>,
    /// The calls that set them; 0 if that is not known.
    owners: std::collections::HashMap<u32, u64>,
    last: u32,
}

impl Timers {
    fn add(&mut self, delay: f64, repeat: bool, owner: u64) -> Option<u32> {
        if self.due.len() >= MAX_TIMERS {
            return None;
        }
        self.last += 1;
        // A day is longer than any call runs.
        let delay = Duration::from_secs_f64((delay.min(86_400_000.0) / 1_000.0).max(0.0));
        self.due.insert((Instant::now() + delay, self.last));
        self.owners.insert(self.last, owner);
        if repeat {
            self.every.insert(self.last, delay.max(Duration::from_millis(1)));
        }
        Some(self.last)
    }

    fn clear(&mut self, id: u32) {
        self.every.remove(&id);
        self.owners.remove(&id);
        self.due.retain(|(_, other)| *other != id);
    }

    /// Returns the time at which the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the next one that is due by `now`, with the call that set it.
    pub(super) fn take(&mut self, now: Instant) -> Option<(u32, u64)> {
        let (at, id) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        let owner = if let Some(every) = self.every.get(&id) {
            self.due.insert((now + *every, id));
            self.owners.get(&id).copied()
        } else {
            self.owners.remove(&id)
        };
        Some((id, owner.unwrap_or(0)))
    }
}

/// Sets the global object up.
pub(super) fn install<'js>(ctx: &Ctx<'js>, link: &Rc<HostLink>) -> Result<Prelude<'js>> {
    let timers = Rc::new(RefCell::new(Timers::default()));
    let native = Object::new_proto(ctx.clone(), None)?;
    let start = Instant::now();

    let adding = Rc::clone(&timers);
    let clock = Rc::clone(&link.clock);
    native.set(
        "timer",
        Func::from(move |ctx: Ctx<'js>, delay: f64, repeat: bool| {
            let id = adding.borrow_mut().add(if delay.is_nan() { 0.0 } else { delay }, repeat, clock.running.get());
            id.ok_or_else(|| rquickjs::Exception::throw_range(&ctx, "too many timers"))
        }),
    )?;
    let clearing = Rc::clone(&timers);
    native.set("clear", Func::from(move |id: u32| clearing.borrow_mut().clear(id)))?;
    native.set("now", Func::from(move || start.elapsed().as_secs_f64() * 1_000.0))?;

    let logging = Rc::clone(link);
    native.set(
        "log",
        Func::from(move |level: String, values: Rest<Value<'js>>| {
            let text = line(&values.0);
            logging.log(level_of(&level), &text, None);
        }),
    )?;
    native.set("encode", Func::from(|ctx: Ctx<'js>, text: String| TypedArray::<u8>::new(ctx, text.into_bytes())))?;
    native.set("decode", Func::from(decode))?;
    native.set("btoa", Func::from(|text: Value<'js>| base64_of_latin1(&value::text(&text)?)))?;
    native.set("atob", Func::from(|text: Value<'js>| latin1_of_base64(&value::text(&text)?)))?;
    native.set(
        "random",
        Func::from(|ctx: Ctx<'js>, length: usize| {
            if length > 65_536 {
                return Err(rquickjs::Exception::throw_range(&ctx, "at most 65536 bytes at once"));
            }
            let mut bytes = vec![0; length];
            getrandom::fill(&mut bytes)
                .map_err(|_| rquickjs::Exception::throw_message(&ctx, "no randomness to be had"))?;
            TypedArray::<u8>::new(ctx, bytes)
        }),
    )?;
    native.set(
        "uuid",
        Func::from(|ctx: Ctx<'js>| {
            let mut bytes = [0_u8; 16];
            getrandom::fill(&mut bytes)
                .map_err(|_| rquickjs::Exception::throw_message(&ctx, "no randomness to be had"))?;
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let hex = skillcue_base::hex(&bytes);
            let part = |range: std::ops::Range<usize>| &hex[range];
            Ok::<_, rquickjs::Error>([part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-"))
        }),
    )?;

    let prelude: Function<'js> = ctx.eval_with_options(include_str!("prelude.js"), {
        let mut options = rquickjs::context::EvalOptions::default();
        options.filename = Some("<skillcue>".into());
        options
    })?;
    let made: Object<'js> = prelude.call((native,))?;
    let well_formed: Function<'js> = made.get("toWellFormed")?;
    value::WELL_FORMED.with_borrow_mut(|kept| *kept = Some(Persistent::save(ctx, well_formed)));
    Ok(Prelude { fire: made.get("fire")?, make_signal: made.get("makeSignal")?, abort: made.get("abort")?, timers })
}

/// Returns the values of one `console.log` as one line.
pub(super) fn line(values: &[Value<'_>]) -> String {
    let mut text = String::new();
    for value in values {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&value::inspect(value));
        if text.len() > 64 << 10 {
            break;
        }
    }
    text
}

/// Returns the level that a word means.
pub(super) fn level_of(word: &str) -> LogLevel {
    match word {
        "debug" | "trace" => LogLevel::Debug,
        "warn" | "warning" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "functions of the engine are given their arguments")]
fn decode(bytes: TypedArray<'_, u8>, fatal: bool, keep_mark: bool) -> Option<String> {
    let bytes: Vec<u8> = bytes_of(&bytes);
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) if fatal => return None,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    if !keep_mark && text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Some(text)
}

/// Returns the bytes of a view, copied one by one: its memory can only be read with `unsafe`, and views are short here.
fn bytes_of(bytes: &TypedArray<'_, u8>) -> Vec<u8> {
    let object = bytes.as_object();
    (0..bytes.len()).map(|index| object.get::<_, u8>(u32::try_from(index).unwrap_or(u32::MAX)).unwrap_or(0)).collect()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64_of_latin1(text: &str) -> Option<String> {
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<_>>()?;
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let digit = ALPHABET[(group >> (18 - 6 * index) & 63) as usize];
            out.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    Some(out)
}

fn latin1_of_base64(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut digits = digits.as_slice();
    for _ in 0..2 {
        if digits.len().is_multiple_of(4) || digits.last() == Some(&b'=') {
            digits = digits.strip_suffix(b"=").unwrap_or(digits);
        }
    }
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut out = String::new();
    for chunk in digits.chunks(4) {
        let mut group = 0;
        for digit in chunk {
            group = group << 6 | u32::try_from(ALPHABET.iter().position(|known| known == digit)?).ok()?;
        }
        group <<= 6 * (4 - chunk.len());
        for index in 0..chunk.len() - 1 {
            out.push(char::from((group >> (16 - 8 * index) & 255) as u8));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_there_and_back() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("ÿ", "/w==")]
        {
            assert_eq!(base64_of_latin1(plain).as_deref(), Some(coded));
            assert_eq!(latin1_of_base64(coded).as_deref(), Some(plain), "{coded}");
        }
        assert_eq!(base64_of_latin1("€"), None);
        assert_eq!(latin1_of_base64("Zg").as_deref(), Some("f"));
        assert_eq!((latin1_of_base64("Z"), latin1_of_base64("Z*==")), (None, None));
    }

    #[test]
    fn timers_come_in_order_and_again() {
        let mut timers = Timers::default();
        let late = timers.add(50.0, false, 1).unwrap();
        let again = timers.add(1.0, true, 2).unwrap();
        let gone = timers.add(0.0, false, 3).unwrap();
        timers.clear(gone);
        let now = Instant::now() + Duration::from_millis(10);
        assert_eq!(timers.take(now), Some((again, 2)));
        assert_eq!(timers.take(now), None);
        let now = now + Duration::from_millis(100);
        assert_eq!(timers.take(now), Some((again, 2)));
        assert_eq!(timers.take(now), Some((late, 1)));
    }
}
