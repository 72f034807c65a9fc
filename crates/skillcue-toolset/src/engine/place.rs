//! Where in the author's files something happened: types are blanked out, never removed, and what
//! was written anew on a line is told apart.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Ctx, Exception, Value};

/// A module as its author wrote it, and as the engine has it.
pub(super) struct Written {
    pub(super) text: String,
    given: Rc<str>,
    moved: Vec<(usize, usize)>,
}

thread_local! {
    static WRITTEN: RefCell<HashMap<String, Rc<Written>>> = RefCell::default();
}

/// Remembers what the author wrote, so that places in what the engine was given can be told in it.
pub(super) fn remember(id: &str, text: String, given: &Rc<str>, moved: Vec<(usize, usize)>) {
    let written = Rc::new(Written { text, given: Rc::clone(given), moved });
    WRITTEN.with_borrow_mut(|all| all.insert(id.to_owned(), written));
}

/// What the author of a module wrote.
pub(super) fn written(id: &str) -> Option<Rc<Written>> {
    WRITTEN.with_borrow(|all| all.get(id).cloned())
}

impl Place {
    /// The place in what the author wrote. The engine counts bytes.
    fn in_source(self) -> Place {
        let Some(written) = written(&self.file) else { return self };
        let line = usize::try_from(self.line).unwrap_or(1).max(1) - 1;
        let column = usize::try_from(self.column).unwrap_or(1).max(1) - 1;
        let Some(start) = line_start(&written.given, line) else { return self };
        let length = written.given[start..].find('\n').unwrap_or(written.given.len() - start);
        let now = start + column.min(length);
        let index = written.moved.partition_point(|(at, _)| *at <= now).max(1) - 1;
        let Some((at, then)) = written.moved.get(index).copied() else { return self };
        let end = written.moved.get(index + 1).map_or(written.text.len(), |(_, then)| *then);
        let (line, column) = of_offset(&written.text, (then + (now - at)).min(end.max(then)));
        Place { line, column, ..self }
    }
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    if line == 0 {
        return Some(0);
    }
    text.match_indices('\n').nth(line - 1).map(|(at, _)| at + 1)
}

/// A place in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The first place a stack names: `    at name (toolsets/index.ts:4:28)`.
pub(super) fn of_stack(stack: &str) -> Option<Place> {
    stack.lines().find_map(|line| {
        let line = line.trim().strip_prefix("at ")?;
        let place = match line.strip_suffix(')') {
            Some(rest) => rest.rsplit_once(" (")?.1,
            None => line,
        };
        let (rest, column) = place.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let known = !file.is_empty() && !file.starts_with('<') && file != "native";
        known.then_some(())?;
        Some(Place { file: file.to_owned(), line: line.parse().ok()?, column: column.parse().ok()? })
    })
}

/// Where the running script stands.
pub(super) fn here(ctx: &Ctx<'_>) -> Option<Place> {
    of_stack(&Exception::from_message(ctx.clone(), "").ok()?.stack()?).map(Place::in_source)
}

/// What was thrown: its message, and its stack.
pub(super) struct Thrown {
    pub(super) message: String,
    pub(super) stack: Option<String>,
    pub(super) place: Option<Place>,
}

/// Reads what was thrown, which may be anything, without letting it throw again.
pub(super) fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Thrown {
    let text = |key: &str| -> Option<String> {
        let found = value.as_object()?.get::<_, Value<'js>>(key);
        let found = found.inspect_err(|_| drop(ctx.catch())).ok()?;
        super::value::text(&found)
    };
    if !value.is_object() {
        let message = super::value::inspect(value);
        let message = crate::cut(&message, 4 << 10);
        return Thrown { message: format!("{message} was thrown"), stack: None, place: None };
    }
    let message = match (text("name"), text("message")) {
        (Some(name), Some(message)) if name != "Error" && !name.is_empty() => format!("{name}: {message}"),
        (_, Some(message)) => message,
        _ => format!("{} was thrown", super::value::inspect(value)),
    };
    let stack = text("stack").map(|stack| crate::cut(&stack, 4 << 10).to_owned()).filter(|stack| !stack.is_empty());
    let place = stack.as_deref().and_then(of_stack).map(Place::in_source);
    Thrown { message: crate::cut(&message, 4 << 10).to_owned(), stack, place }
}

/// Line and column of a byte, from 1; the column in characters.
pub(super) fn of_offset(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[start..].chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// Where a module names a specifier.
pub(super) fn of_specifier(text: &str, specifier: &str) -> Option<(u32, u32)> {
    ['\'', '"', '`']
        .into_iter()
        .filter_map(|quote| text.find(&format!("{quote}{specifier}{quote}")))
        .min()
        .map(|at| of_offset(text, at))
}

/// Where a word stands first, outside of other words.
pub(super) fn of_word(text: &str, word: &str) -> Option<(u32, u32)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let whole = |at: &usize| !text[..*at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word);
    text.match_indices(word).map(|(at, _)| at).find(whole).map(|at| of_offset(text, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_read() {
        let stack = "    at define (native)\n    at <anonymous> (toolsets/index.ts:4:28)\n    at x (b.ts:1:1)\n";
        assert_eq!(of_stack(stack), Some(Place { file: "toolsets/index.ts".into(), line: 4, column: 28 }));
        assert_eq!(of_stack("    at a b (c d.ts:1:2)").map(|place| place.file).as_deref(), Some("c d.ts"));
        assert_eq!(of_stack("    at toolsets/index.ts:7:1\n").map(|place| place.line), Some(7));
        assert_eq!(of_stack("nothing"), None);
    }

    #[test]
    fn offsets_count_from_one() {
        assert_eq!(of_offset("a\nbé😀c", 9), (2, 4));
        assert_eq!(of_specifier("import x\nfrom \"./y\"", "./y"), Some((2, 6)));
    }
}
