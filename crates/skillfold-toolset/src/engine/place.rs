//! Where in the author's files something happened: types are blanked out, never removed, so places need no mapping.

use rquickjs::{Ctx, Exception, Value};

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
    of_stack(&Exception::from_message(ctx.clone(), "").ok()?.stack()?)
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
    let place = stack.as_deref().and_then(of_stack);
    Thrown { message: crate::cut(&message, 4 << 10).to_owned(), stack, place }
}

/// Line and column of a byte, from 1; the column in UTF-16 units, as the engine counts.
pub(super) fn of_offset(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[start..].encode_utf16().count() + 1;
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
        assert_eq!(of_offset("a\nbé😀c", 9), (2, 5));
        assert_eq!(of_specifier("import x\nfrom \"./y\"", "./y"), Some((2, 6)));
    }
}
