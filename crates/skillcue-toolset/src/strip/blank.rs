//! The changes that blank the types of a program.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use oxc_ast::ast::{
    ArrowFunctionExpression, BindingPattern, Declaration, ExportNamedDeclaration, Expression, ImportDeclaration,
    ImportDeclarationSpecifier, ImportOrExportKind, MethodDefinition, Program, Statement, TSNamespaceDeclarationBody,
};
use oxc_ast_visit::Visit as _;
use oxc_span::{GetSpan, Span};

use super::SyntaxError;
use super::edits::Edits;

/// Returns the changes that make JavaScript of a program.
pub(super) fn edits<'a>(text: &'a str, program: &Program<'a>) -> Result<Edits, SyntaxError> {
    let mut blanker = Blanker {
        text,
        edits: Edits::default(),
        used: HashSet::new(),
        values: HashSet::new(),
        types: HashSet::new(),
        problem: None,
        is_derived: None,
    };
    blanker.visit_program(program);
    if let Some(problem) = blanker.problem {
        return Err(problem);
    }
    // Only now is it known which imports are used as values.
    for statement in &program.body {
        match statement {
            Statement::ImportDeclaration(it) => blanker.import(it),
            Statement::ExportNamedDeclaration(it) => blanker.export(it),
            _ => {}
        }
    }
    Ok(blanker.edits)
}

/// Collects the changes. Which nodes of the tree are types, `visit` knows.
pub(super) struct Blanker<'a> {
    pub(super) text: &'a str,
    pub(super) edits: Edits,
    /// Names used as values.
    pub(super) used: HashSet<&'a str>,
    /// Names that are bound to values anywhere, imports aside.
    pub(super) values: HashSet<&'a str>,
    /// Names of types declared here.
    types: HashSet<&'a str>,
    problem: Option<SyntaxError>,
    /// Whether the class around has a base class: then a constructor's parameters are set behind `super()`. None
    /// outside of classes.
    pub(super) is_derived: Option<bool>,
}

pub(super) fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl<'a> Blanker<'a> {
    /// Notes an error; the first one counts.
    pub(super) fn refuse(&mut self, span: Span, message: &str, help: &str) {
        let problem = || SyntaxError::at(self.text, span.start as usize, message, Some(help.to_owned()));
        if self.problem.is_none() {
            self.problem = Some(problem());
        }
    }

    /// Blanks a whole statement or class member. A semicolon takes its place: the code on both sides of it must not
    /// join.
    pub(super) fn remove(&mut self, span: Span) {
        self.edits.blank(range(span));
        self.edits.put(span.start as usize, b';');
    }

    /// Returns the offset of the next character at or after `at` that is neither space nor comment.
    pub(super) fn next(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                at += trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
            } else {
                return at;
            }
        }
    }

    /// Blanks one character if it is the next.
    pub(super) fn blank_next(&mut self, at: usize, byte: u8) -> bool {
        let at = self.next(at);
        let found = self.text.as_bytes().get(at) == Some(&byte);
        if found {
            self.edits.blank(at..at + 1);
        }
        found
    }

    /// Blanks the words of `list` between two offsets. Returns the offset of the first token, if it was blanked.
    pub(super) fn blank_words(&mut self, from: usize, to: usize, list: &[&str]) -> Option<usize> {
        let first = self.next(from);
        let mut at = first;
        let mut leading = None;
        while at < to {
            let word = self.text[at..to]
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
                .next()
                .unwrap_or("");
            if word.is_empty() {
                at += self.text[at..].chars().next().map_or(1, char::len_utf8);
            } else {
                if list.contains(&word) {
                    self.edits.blank(at..at + word.len());
                    if at == first {
                        leading = Some(at);
                    }
                }
                at += word.len();
            }
            at = self.next(at);
        }
        leading
    }

    /// Adds a semicolon to a statement or field that ended with a type and without one, lest the next line continue it.
    pub(super) fn close(&mut self, span: Span) {
        if span.end == 0 || self.text.as_bytes()[span.end as usize - 1] == b';' {
            return;
        }
        if let Some(at) = self.edits.blanked_until(self.text, span.end as usize)
            && at > span.start as usize
        {
            self.edits.put(at, b';');
        }
    }

    /// Returns whether a declaration has no code.
    pub(super) fn is_type_only(declaration: &Declaration<'a>) -> bool {
        match declaration {
            Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSGlobalDeclaration(_)
            | Declaration::TSExternalModuleDeclaration(_) => true,
            Declaration::VariableDeclaration(it) => it.declare,
            Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
            Declaration::ClassDeclaration(it) => it.declare,
            Declaration::TSEnumDeclaration(it) => it.declare,
            Declaration::TSNamespaceDeclaration(it) => it.declare || is_empty_namespace(&it.body),
            Declaration::TSImportEqualsDeclaration(it) => it.import_kind == ImportOrExportKind::Type,
        }
    }

    /// Notes the name of a type.
    pub(super) fn declare_type(&mut self, declaration: &Declaration<'a>) {
        match declaration {
            Declaration::TSTypeAliasDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            Declaration::TSInterfaceDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            Declaration::TSNamespaceDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            _ => {}
        }
    }

    /// Blanks the parts of an import that are not used as values.
    fn import(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            return self.remove(it.span);
        }
        let Some(specifiers) = it.specifiers.as_ref().filter(|specifiers| !specifiers.is_empty()) else { return };
        let unused: Vec<bool> = specifiers
            .iter()
            .map(|specifier| {
                let type_only = matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it)
                    if it.import_kind == ImportOrExportKind::Type);
                type_only || !self.used.contains(specifier.local().name.as_str())
            })
            .collect();
        if unused.iter().all(|unused| *unused) {
            return self.remove(it.span);
        }
        for (specifier, is_unused) in specifiers.iter().zip(unused) {
            if is_unused {
                let span = specifier.span();
                self.edits.blank(range(span));
                self.blank_next(span.end as usize, b',');
            }
        }
    }

    /// Blanks the parts of an export that are types.
    fn export(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            return self.remove(it.span);
        }
        for specifier in &it.specifiers {
            let name = specifier.local.name();
            let name = name.as_str();
            let declared = self.types.contains(name) && !self.values.contains(name);
            if specifier.export_kind == ImportOrExportKind::Type || declared {
                self.edits.blank(range(specifier.span));
                self.blank_next(specifier.span.end as usize, b',');
            }
        }
    }

    /// Moves the brackets of an arrow function whose types hold a line end where JavaScript allows none.
    pub(super) fn arrow_lines(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(types) = &it.type_parameters
            && it.r#async
            && self.text[range(types.span)].contains('\n')
        {
            let open = self.next(types.span.end as usize);
            self.edits.blank(open..open + 1);
            self.edits.put(types.span.start as usize, b'(');
        }
        if let Some(returned) = &it.return_type {
            let close = it.params.span.end as usize - 1;
            let end = returned.span.end as usize;
            let arrow = self.next(end);
            if self.text[close..arrow].contains('\n') && self.text.as_bytes()[close] == b')' {
                self.edits.blank(close..close + 1);
                self.edits.put(end - 1, b')');
                self.edits.blank(end..arrow);
            }
        }
    }

    /// Returns the offset behind the key of a class member.
    pub(super) fn after_key(&self, computed: bool, key: Span) -> usize {
        if computed { self.next(key.end as usize) + 1 } else { key.end as usize }
    }

    /// Makes `constructor(private x: T)` set `this.x`: behind the opening brace, or behind `super()`.
    pub(super) fn set_fields(&mut self, it: &MethodDefinition<'a>) {
        let mut text = String::new();
        for parameter in &it.value.params.items {
            if (parameter.accessibility.is_some() || parameter.readonly || parameter.r#override)
                && let BindingPattern::BindingIdentifier(name) = &parameter.pattern
            {
                let _ = write!(text, " this.{0} = {0};", name.name);
            }
        }
        let Some(body) = it.value.body.as_ref().filter(|_| !text.is_empty()) else { return };
        let derived = self.is_derived == Some(true);
        let at = if derived {
            let called = body.statements.iter().find(|statement| {
                matches!(statement, Statement::ExpressionStatement(it)
                    if matches!(&it.expression, Expression::CallExpression(call) if matches!(call.callee, Expression::Super(_))))
            });
            if let Some(statement) = called {
                statement.span().end as usize
            } else {
                let message = "parameter properties need `super()` as a statement of its own";
                return self.refuse(it.span, message, "set the fields in the constructor's body");
            }
        } else {
            body.span.start as usize + 1
        };
        if derived {
            text.insert(0, ';');
        }
        self.edits.replace(at..at, text);
    }
}

fn is_empty_namespace(body: &TSNamespaceDeclarationBody<'_>) -> bool {
    match body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(it) => is_empty_namespace(&it.body),
        TSNamespaceDeclarationBody::TSModuleBlock(it) => it.body.iter().all(|statement| match statement {
            Statement::TSTypeAliasDeclaration(_) | Statement::TSInterfaceDeclaration(_) => true,
            Statement::ExportDeclaration(it) => matches!(
                it.declaration,
                Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_)
            ),
            _ => false,
        }),
    }
}
