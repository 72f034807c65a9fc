//! What of a program is types: a walk over the tree that notes ranges to blank.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use oxc_ast::ast::{
    AccessorProperty, AccessorPropertyType, ArrowFunctionExpression, BindingIdentifier, BindingPattern, Class,
    ClassElement, Declaration, Decorator, ExportDefaultDeclarationKind, ExportNamedDeclaration, ExportSpecifier,
    Expression, FormalParameter, Function, IdentifierReference, ImportDeclaration, ImportDeclarationSpecifier,
    ImportOrExportKind, JSXElement, JSXFragment, MethodDefinition, MethodDefinitionKind, MethodDefinitionType,
    ModuleExportName, Program, PropertyDefinition, PropertyDefinitionType, Statement, TSAsExpression,
    TSClassImplements, TSEnumDeclaration, TSImportEqualsDeclaration, TSInstantiationExpression, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody, TSNonNullExpression, TSSatisfiesExpression, TSThisParameter, TSType, TSTypeAnnotation,
    TSTypeAssertion, TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::edits::Edits;
use super::{SyntaxError, enums};

/// The changes that make JavaScript of a program.
pub(super) fn edits<'a>(text: &'a str, program: &Program<'a>) -> Result<Edits, SyntaxError> {
    let mut blanker = Blanker {
        text,
        edits: Edits::default(),
        used: HashSet::new(),
        values: HashSet::new(),
        types: HashSet::new(),
        problem: None,
        fields: None,
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

struct Blanker<'a> {
    text: &'a str,
    edits: Edits,
    /// Names used as values.
    used: HashSet<&'a str>,
    /// Names that are bound to values anywhere, imports aside.
    values: HashSet<&'a str>,
    /// Names of types declared here.
    types: HashSet<&'a str>,
    problem: Option<SyntaxError>,
    /// What a constructor's parameters are to set, and whether that waits for `super()`.
    fields: Option<(String, bool)>,
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl<'a> Blanker<'a> {
    fn refuse(&mut self, span: Span, message: &str, help: &str) {
        let problem = || SyntaxError::at(self.text, span.start as usize, message, Some(help.to_owned()));
        if self.problem.is_none() {
            self.problem = Some(problem());
        }
    }

    /// Blanks a whole statement or class member. A semicolon takes its place: what stands around it must not grow
    /// together.
    fn remove(&mut self, span: Span) {
        self.edits.blank(range(span));
        self.edits.put(span.start as usize, b';');
    }

    /// The next character at or after `at` that is neither space nor comment.
    fn next(&self, mut at: usize) -> usize {
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

    /// Blanks one character if it stands next.
    fn blank_next(&mut self, at: usize, byte: u8) -> bool {
        let at = self.next(at);
        let found = self.text.as_bytes().get(at) == Some(&byte);
        if found {
            self.edits.blank(at..at + 1);
        }
        found
    }

    /// Blanks the words of `list` between two places, and says where the first token and the first blanked word stand.
    fn blank_words(&mut self, from: usize, to: usize, list: &[&str]) -> Option<usize> {
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

    /// A statement or field that ended with a type and without a semicolon gets one, lest the next line continue it.
    fn close(&mut self, span: Span) {
        if span.end == 0 || self.text.as_bytes()[span.end as usize - 1] == b';' {
            return;
        }
        if let Some(at) = self.edits.blanked_until(self.text, span.end as usize)
            && at > span.start as usize
        {
            self.edits.put(at, b';');
        }
    }

    fn is_type_only(declaration: &Declaration<'a>) -> bool {
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

    fn declare_type(&mut self, declaration: &Declaration<'a>) {
        match declaration {
            Declaration::TSTypeAliasDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            Declaration::TSInterfaceDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            Declaration::TSNamespaceDeclaration(it) => drop(self.types.insert(it.id.name.as_str())),
            _ => {}
        }
    }

    fn import(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            return self.remove(it.span);
        }
        let Some(specifiers) = it.specifiers.as_ref().filter(|specifiers| !specifiers.is_empty()) else { return };
        let gone: Vec<bool> = specifiers
            .iter()
            .map(|specifier| {
                let type_only = matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it)
                    if it.import_kind == ImportOrExportKind::Type);
                type_only || !self.used.contains(specifier.local().name.as_str())
            })
            .collect();
        if gone.iter().all(|gone| *gone) {
            return self.remove(it.span);
        }
        for (specifier, gone) in specifiers.iter().zip(gone) {
            if gone {
                let span = specifier.span();
                self.edits.blank(range(span));
                self.blank_next(span.end as usize, b',');
            }
        }
    }

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

    /// The return type of an arrow function, or its parameters, may hold a line end where JavaScript allows none.
    fn arrow_lines(&mut self, it: &ArrowFunctionExpression<'a>) {
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

const MODIFIERS: &[&str] = &["public", "private", "protected", "readonly", "override", "abstract", "declare"];

impl<'a> Visit<'a> for Blanker<'a> {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.used.insert(it.name.as_str());
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.values.insert(it.name.as_str());
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if let Some(declaration) = it.as_declaration()
            && Blanker::is_type_only(declaration)
        {
            self.declare_type(declaration);
            return self.remove(it.span());
        }
        match it {
            // Dealt with at the end, when it is known what is used.
            Statement::ImportDeclaration(_) => {}
            Statement::ExportNamedDeclaration(it) => {
                for specifier in &it.specifiers {
                    if it.export_kind == ImportOrExportKind::Value
                        && specifier.export_kind == ImportOrExportKind::Value
                        && let ModuleExportName::IdentifierReference(local) = &specifier.local
                    {
                        self.used.insert(local.name.as_str());
                    }
                }
            }
            Statement::ExportAllDeclaration(it) if it.export_kind == ImportOrExportKind::Type => self.remove(it.span),
            Statement::ExportFromDeclaration(it) => {
                let type_only = |specifier: &ExportSpecifier<'_>| specifier.export_kind == ImportOrExportKind::Type;
                let all = !it.specifiers.is_empty() && it.specifiers.iter().all(type_only);
                if it.export_kind == ImportOrExportKind::Type || all {
                    return self.remove(it.span);
                }
                for specifier in it.specifiers.iter().filter(|specifier| type_only(specifier)) {
                    self.edits.blank(range(specifier.span));
                    self.blank_next(specifier.span.end as usize, b',');
                }
            }
            Statement::ExportDeclaration(export) if Blanker::is_type_only(&export.declaration) => {
                self.declare_type(&export.declaration);
                self.remove(export.span);
            }
            Statement::ExportDefaultDeclaration(export) => match &export.declaration {
                ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => self.remove(export.span),
                ExportDefaultDeclarationKind::FunctionDeclaration(function) if function.body.is_none() => {
                    self.remove(export.span);
                }
                _ => {
                    walk::walk_statement(self, it);
                    self.close(export.span);
                }
            },
            Statement::TSNamespaceExportDeclaration(it) => self.remove(it.span),
            Statement::TSExportAssignment(it) => {
                self.refuse(
                    it.span,
                    "`export =` is not supported in toolsets",
                    "use `export default` or named exports",
                );
            }
            _ => {
                walk::walk_statement(self, it);
                self.close(it.span());
            }
        }
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.refuse(it.span, "`namespace` with values is not supported in toolsets", "use a module or an object");
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.refuse(it.span, "`import … =` is not supported in toolsets", "use `import … from`");
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "decorators are not supported in toolsets", "call the function instead");
    }

    fn visit_jsx_element(&mut self, it: &JSXElement<'a>) {
        self.refuse(it.span, "JSX is not supported in toolsets", "write strings");
    }

    fn visit_jsx_fragment(&mut self, it: &JSXFragment<'a>) {
        self.refuse(it.span, "JSX is not supported in toolsets", "write strings");
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.values.insert(it.id.name.as_str());
        for member in &it.body.members {
            if let Some(initializer) = &member.initializer {
                self.visit_expression(initializer);
            }
        }
        enums::lower(&mut self.edits, self.text, it);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.edits.blank(range(it.span));
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.edits.blank(range(it.span));
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.edits.blank(range(it.span));
    }

    fn visit_ts_type(&mut self, _: &TSType<'a>) {}

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end as usize..it.span.end as usize);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end as usize..it.span.end as usize);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end as usize..it.span.end as usize);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let types = it.span.start as usize..it.expression.span().start as usize;
        if self.text[types.clone()].contains('\n') {
            let message = "a type assertion over several lines is not supported in toolsets";
            return self.refuse(it.span, message, "write `value as Type`");
        }
        self.visit_expression(&it.expression);
        let rest = &self.text[types.end..];
        let word = |word: &str| {
            rest.strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$'))
        };
        // Without the assertion these would be a block or a declaration where a statement or an arrow's body begins.
        if rest.starts_with('{') || ["function", "class", "async", "let"].into_iter().any(word) {
            self.edits.put(types.start, b'(');
            self.edits.replace(it.span.end as usize..it.span.end as usize, ")".into());
        }
        self.edits.blank(types);
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.edits.blank(it.expression.span().end as usize..it.span.end as usize);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if let Some(this) = &it.this_param {
            let end = it.params.items.first().map(|first| first.span.start as usize);
            self.edits.blank(this.span.start as usize..this.span.end as usize);
            match end {
                Some(end) => self.edits.blank(this.span.end as usize..end),
                None => drop(self.blank_next(this.span.end as usize, b',')),
            }
        }
        walk::walk_function(self, it, flags);
    }

    fn visit_ts_this_parameter(&mut self, _: &TSThisParameter<'a>) {}

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        walk::walk_arrow_function_expression(self, it);
        self.arrow_lines(it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let pattern = it.pattern.span();
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.blank_words(it.span.start as usize, pattern.start as usize, MODIFIERS);
        }
        if it.optional {
            self.blank_next(pattern.end as usize, b'?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_next(it.id.span().end as usize, b'!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        let body = it.body.span.start as usize;
        if it.r#abstract {
            let end = it.id.as_ref().map_or(body, |id| id.span.start as usize);
            self.blank_words(it.span.start as usize, end, &["abstract"]);
        }
        if let Some(first) = it.implements.first() {
            let start = first.span.start as usize;
            let name = it.id.as_ref().map_or(it.span.start, |id| id.span.end);
            let name = it.type_parameters.as_ref().map_or(name, |types| types.span.end);
            let from = it.heritage.as_ref().map_or(name, |heritage| heritage.span().end);
            self.blank_words(from as usize, start, &["implements"]);
            self.edits.blank(start..it.implements.last().map_or(start, |last| last.span.end as usize));
        }
        let derived = it.heritage.is_some();
        let outer = self.fields.replace((String::new(), derived));
        walk::walk_class(self, it);
        self.fields = outer;
    }

    fn visit_ts_class_implements_list(&mut self, _: &oxc_allocator::Vec<'a, TSClassImplements<'a>>) {}

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        if let ClassElement::TSIndexSignature(it) = it {
            return self.remove(it.span);
        }
        walk::walk_class_element(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        if it.r#type == MethodDefinitionType::TSAbstractMethodDefinition || it.value.body.is_none() {
            return self.remove(it.span);
        }
        let key = it.key.span();
        let leading = self.blank_words(it.span.start as usize, key.start as usize, MODIFIERS);
        if let Some(at) = leading.filter(|_| it.computed || it.value.generator) {
            self.edits.put(at, b';');
        }
        if it.optional {
            let end = self.after_key(it.computed, key);
            self.blank_next(end, b'?');
        }
        walk::walk_method_definition(self, it);
        if it.kind == MethodDefinitionKind::Constructor {
            self.set_fields(it);
        }
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition {
            return self.remove(it.span);
        }
        let key = it.key.span();
        let leading = self.blank_words(it.span.start as usize, key.start as usize, MODIFIERS);
        if let Some(at) = leading.filter(|_| it.computed) {
            self.edits.put(at, b';');
        }
        let end = self.after_key(it.computed, key);
        if it.optional {
            self.blank_next(end, b'?');
        }
        if it.definite {
            self.blank_next(end, b'!');
        }
        walk::walk_property_definition(self, it);
        self.close(it.span);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        if it.r#type == AccessorPropertyType::TSAbstractAccessorProperty {
            return self.remove(it.span);
        }
        self.blank_words(it.span.start as usize, it.key.span().start as usize, MODIFIERS);
        if it.definite {
            let end = self.after_key(it.computed, it.key.span());
            self.blank_next(end, b'!');
        }
        walk::walk_accessor_property(self, it);
        self.close(it.span);
    }
}

impl<'a> Blanker<'a> {
    fn after_key(&self, computed: bool, key: Span) -> usize {
        if computed { self.next(key.end as usize) + 1 } else { key.end as usize }
    }

    /// `constructor(private x: T)` sets `this.x`: behind the opening brace, or behind `super()`.
    fn set_fields(&mut self, it: &MethodDefinition<'a>) {
        let mut text = String::new();
        for parameter in &it.value.params.items {
            if (parameter.accessibility.is_some() || parameter.readonly || parameter.r#override)
                && let BindingPattern::BindingIdentifier(name) = &parameter.pattern
            {
                let _ = write!(text, " this.{0} = {0};", name.name);
            }
        }
        let Some(body) = it.value.body.as_ref().filter(|_| !text.is_empty()) else { return };
        let derived = self.fields.as_ref().is_some_and(|(_, derived)| *derived);
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
