//! The walk over the tree of a program: which of its nodes are types.

use oxc_ast::ast::{
    AccessorProperty, AccessorPropertyType, ArrowFunctionExpression, BindingIdentifier, Class, ClassElement, Decorator,
    ExportDefaultDeclarationKind, ExportSpecifier, FormalParameter, Function, IdentifierReference, ImportOrExportKind,
    JSXElement, JSXFragment, MethodDefinition, MethodDefinitionKind, MethodDefinitionType, ModuleExportName,
    PropertyDefinition, PropertyDefinitionType, Statement, TSAsExpression, TSClassImplements, TSEnumDeclaration,
    TSImportEqualsDeclaration, TSInstantiationExpression, TSNamespaceDeclaration, TSNonNullExpression,
    TSSatisfiesExpression, TSThisParameter, TSType, TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration,
    TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::blank::{Blanker, range};
use super::enums;

/// The modifiers of class members and parameters that are no JavaScript.
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
            // Handled at the end, when it is known which names are used.
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
        let outer = self.is_derived.replace(it.heritage.is_some());
        walk::walk_class(self, it);
        self.is_derived = outer;
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
