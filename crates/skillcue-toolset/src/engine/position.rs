//! Positions in the author's files, from those in the text that the engine has: types are blanked out, never removed,
//! and code that was added to a line is accounted for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Ctx, Exception, Value};

use crate::position::{find_word, line_and_column};

/// A module as its author wrote it, and as the engine has it.
pub(super) struct ModuleText {
    pub(super) text: String,
    stripped: Rc<str>,
    moved: Vec<(usize, usize)>,
}

thread_local! {
    static TEXTS: RefCell<HashMap<String, Rc<ModuleText>>> = RefCell::default();
}

/// Remembers the text of the author, so that positions in the stripped one can be translated.
pub(super) fn remember(id: &str, text: String, stripped: &Rc<str>, moved: Vec<(usize, usize)>) {
    let module = Rc::new(ModuleText { text, stripped: Rc::clone(stripped), moved });
    TEXTS.with_borrow_mut(|all| all.insert(id.to_owned(), module));
}

/// Returns the text of a module.
pub(super) fn text_of(id: &str) -> Option<Rc<ModuleText>> {
    TEXTS.with_borrow(|all| all.get(id).cloned())
}

impl SourcePosition {
    /// Returns the position in the text of the author. The engine counts bytes.
    fn in_source(self) -> SourcePosition {
        let Some(module) = text_of(&self.file) else { return self };
        let line = usize::try_from(self.line).unwrap_or(1).max(1) - 1;
        let column = usize::try_from(self.column).unwrap_or(1).max(1) - 1;
        let Some(start) = line_start(&module.stripped, line) else { return self };
        let length = module.stripped[start..].find('\n').unwrap_or(module.stripped.len() - start);
        let now = start + column.min(length);
        let index = module.moved.partition_point(|(at, _)| *at <= now).max(1) - 1;
        let Some((at, then)) = module.moved.get(index).copied() else { return self };
        let end = module.moved.get(index + 1).map_or(module.text.len(), |(_, then)| *then);
        let (line, column) = line_and_column(&module.text, (then + (now - at)).min(end.max(then)));
        SourcePosition { line, column, ..self }
    }
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    if line == 0 {
        return Some(0);
    }
    text.match_indices('\n').nth(line - 1).map(|(at, _)| at + 1)
}

/// A position in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourcePosition {
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Returns the first position that a stack names: `    at name (toolsets/index.ts:4:28)`.
fn of_stack(stack: &str) -> Option<SourcePosition> {
    stack.lines().find_map(|line| {
        let line = line.trim().strip_prefix("at ")?;
        let position = match line.strip_suffix(')') {
            Some(rest) => rest.rsplit_once(" (")?.1,
            None => line,
        };
        let (rest, column) = position.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let known = !file.is_empty() && !file.starts_with('<') && file != "native";
        known.then_some(())?;
        Some(SourcePosition { file: file.to_owned(), line: line.parse().ok()?, column: column.parse().ok()? })
    })
}

/// Returns the position at which the script runs.
pub(super) fn here(ctx: &Ctx<'_>) -> Option<SourcePosition> {
    of_stack(&Exception::from_message(ctx.clone(), "").ok()?.stack()?).map(SourcePosition::in_source)
}

/// A value that was thrown: its message, its stack, and its position.
pub(super) struct Thrown {
    pub(super) message: String,
    pub(super) stack: Option<String>,
    pub(super) position: Option<SourcePosition>,
}

/// Reads a value that was thrown, which may be anything, without letting it throw again.
pub(super) fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Thrown {
    let text = |key: &str| -> Option<String> {
        let found = value.as_object()?.get::<_, Value<'js>>(key);
        let found = found.inspect_err(|_| drop(ctx.catch())).ok()?;
        super::value::text(&found)
    };
    if !value.is_object() {
        let message = super::value::inspect(value);
        let message = crate::cut(&message, 4 << 10);
        return Thrown { message: format!("{message} was thrown"), stack: None, position: None };
    }
    let message = match (text("name"), text("message")) {
        (Some(name), Some(message)) if name != "Error" && !name.is_empty() => format!("{name}: {message}"),
        (_, Some(message)) => message,
        _ => format!("{} was thrown", super::value::inspect(value)),
    };
    let stack = text("stack").map(|stack| crate::cut(&stack, 4 << 10).to_owned()).filter(|stack| !stack.is_empty());
    let position = stack.as_deref().and_then(of_stack).map(SourcePosition::in_source);
    Thrown { message: crate::cut(&message, 4 << 10).to_owned(), stack, position }
}

/// Returns the position at which a module names a specifier.
pub(super) fn of_specifier(text: &str, specifier: &str) -> Option<(u32, u32)> {
    ['\'', '"', '`']
        .into_iter()
        .filter_map(|quote| text.find(&format!("{quote}{specifier}{quote}")))
        .min()
        .map(|at| line_and_column(text, at))
}

/// Returns the position of the first occurrence of a word.
pub(super) fn of_word(text: &str, word: &str) -> Option<(u32, u32)> {
    find_word(text, word).map(|at| line_and_column(text, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_read() {
        let stack = "    at define (native)\n    at <anonymous> (toolsets/index.ts:4:28)\n    at x (b.ts:1:1)\n";
        assert_eq!(of_stack(stack), Some(SourcePosition { file: "toolsets/index.ts".into(), line: 4, column: 28 }));
        assert_eq!(of_stack("    at a b (c d.ts:1:2)").map(|position| position.file).as_deref(), Some("c d.ts"));
        assert_eq!(of_stack("    at toolsets/index.ts:7:1\n").map(|position| position.line), Some(7));
        assert_eq!(of_stack("nothing"), None);
    }

    #[test]
    fn specifiers_are_found() {
        assert_eq!(of_specifier("import x\nfrom \"./y\"", "./y"), Some((2, 6)));
    }
}
