//! `enum`, the one construct of TypeScript in common use that is code: written as a function on the same lines.

use oxc_ast::ast::{Expression, TSEnumDeclaration, TSEnumMemberName};
use oxc_span::GetSpan;

use super::edits::Edits;

/// Words that cannot be the name of a variable.
const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Rewrites an enum, `enum A { X, Y = "y" }`, as
/// `var A = ((A) => { const X = 0; A[A["X"] = X] = "X"; … return A; })(…);`.
///
/// Members become constants of their own, so that later ones can refer to them by name.
pub(super) fn lower(edits: &mut Edits, text: &str, it: &TSEnumDeclaration<'_>) {
    let name = it.id.name.as_str();
    let open = it.body.span.start as usize;
    edits.replace(it.span.start as usize..it.id.span.start as usize, "var ".into());
    edits.replace(
        it.id.span.end as usize..open + 1,
        format!(" = (({name}) => {{{}", newlines(&text[it.id.span.end as usize..=open])),
    );
    let mut next: Option<String> = Some("0".into());
    let mut at = open + 1;
    for member in &it.body.members {
        let span = member.span;
        // The commas between members; comments and line ends stay.
        blank_commas(edits, text, at, span.start as usize);
        at = span.end as usize;
        let key = match &member.id {
            TSEnumMemberName::Identifier(key) => key.name.to_string(),
            TSEnumMemberName::String(key) | TSEnumMemberName::ComputedString(key) => key.value.to_string(),
            TSEnumMemberName::ComputedTemplateString(key) => {
                key.quasis.first().map(|quasi| quasi.value.raw.to_string()).unwrap_or_default()
            }
        };
        let quoted = serde_json::Value::String(key.clone()).to_string();
        let plain =
            matches!(&member.id, TSEnumMemberName::Identifier(_)) && key != name && !RESERVED.contains(&key.as_str());
        let id_end = member.id.span().end as usize;
        let (value, written, numeric) = match &member.initializer {
            None => {
                let value = next.take().unwrap_or_else(|| "undefined".into());
                next = value.parse::<i64>().ok().map(|number| (number + 1).to_string());
                let follows = if plain { format!("{key} + 1") } else { format!("{name}[{quoted}] + 1") };
                next = next.or(Some(follows));
                (value, newlines(&text[span.start as usize..span.end as usize]), Some(true))
            }
            Some(expression) => {
                let (start, end) = (expression.span().start as usize, expression.span().end as usize);
                let numeric = match expression {
                    Expression::NumericLiteral(_) => Some(true),
                    Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => Some(false),
                    _ => None,
                };
                let value = edits.take(text, &(start..end)).trim_end().to_owned();
                let follows = if plain { format!("{key} + 1") } else { format!("{name}[{quoted}] + 1") };
                next = match value.parse::<i64>() {
                    Ok(number) => Some((number + 1).to_string()),
                    Err(_) if numeric == Some(false) => None,
                    Err(_) => Some(follows),
                };
                (format!("{}{value}", newlines(&text[id_end..start])), String::new(), numeric)
            }
        };
        let (head, local) = if plain {
            (format!("const {key} = {value}; "), key.clone())
        } else {
            (String::new(), format!("({value})"))
        };
        let body = match numeric {
            Some(true) => format!("{name}[{name}[{quoted}] = {local}] = {quoted};"),
            Some(false) => format!("{name}[{quoted}] = {local};"),
            None => format!(
                "{name}[{quoted}] = {local}; if (typeof {name}[{quoted}] === \"number\") {name}[{name}[{quoted}]] = {quoted};"
            ),
        };
        edits.replace(span.start as usize..span.end as usize, format!("{head}{body}{written}"));
    }
    let close = it.body.span.end as usize - 1;
    blank_commas(edits, text, at, close);
    edits.replace(close..close + 1, format!("return {name}; }})({name} || {{}});"));
}

fn newlines(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\r')).collect()
}

/// Blanks commas outside of comments.
fn blank_commas(edits: &mut Edits, text: &str, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            if rest.starts_with(',') {
                edits.blank(at..at + 1);
            }
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}
