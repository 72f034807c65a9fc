//! Modules: requested from the host, stripped of their types, compiled, or taken from bytecode.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::object::Property;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Result, Value, WriteOptions};

use super::link::HostLink;
use super::position;
use crate::message::{
    ChildMessage, ModuleAnswer, ModuleKind, ModuleQuestion, ModuleRefusal, ModuleSource, SourceQuestion, WireDiagnostic,
};
use crate::{resolve, strip};

/// The module that every toolset imports, and for which there is no file.
pub(super) const AGENT_TOOLS: &str = "@agent/tools";

/// Resolves and loads by asking the host.
pub(super) struct HostLoader(pub(super) Rc<HostLink>);

impl Resolver for HostLoader {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if name == AGENT_TOOLS {
            return Ok(name.to_owned());
        }
        let key = (base.to_owned(), name.to_owned());
        if let Some(id) = self.0.resolved.borrow().get(&key) {
            return Ok(id.clone());
        }
        if let Some(id) = self.known_relative(base, name) {
            return Ok(id);
        }
        let question = ModuleQuestion { specifier: key.1.clone(), from: key.0.clone() };
        match self.0.ask(&ChildMessage::Module(question)) {
            ModuleAnswer::Found { id, source } => {
                if let Some(source) = source {
                    self.take(ctx, &id, source)?;
                }
                self.0.known.borrow_mut().insert(id.clone());
                self.0.resolved.borrow_mut().insert(key, id.clone());
                Ok(id)
            }
            ModuleAnswer::Refused(refused) => Err(self.refuse(ctx, base, name, refused)),
        }
    }
}

impl HostLoader {
    /// Returns the module that a relative specifier names letter for letter, if it is known already and of the same
    /// package.
    ///
    /// The host would answer the same: a file that is there comes before those that would have to be guessed. Modules
    /// of libraries import each other often; this saves four questions of five.
    fn known_relative(&self, base: &str, name: &str) -> Option<String> {
        if base.is_empty() || !(name.starts_with("./") || name.starts_with("../")) {
            return None;
        }
        let path = base.strip_prefix(resolve::PACKAGES_PREFIX).unwrap_or(base);
        let joined = resolve::join(path.rsplit_once('/')?.0, name)?;
        let same = resolve::package_root(path) == resolve::package_root(&joined);
        let id = format!("{}{joined}", &base[..base.len() - path.len()]);
        (same && self.0.known.borrow().contains(&id)).then_some(id)
    }

    fn refuse(&self, ctx: &Ctx<'_>, base: &str, name: &str, refused: ModuleRefusal) -> Error {
        let at = position::text_of(base).and_then(|module| position::of_specifier(&module.text, name));
        let message = refused.message.clone();
        let code = if refused.code == "module_not_found" { "module_not_found" } else { "module_refused" };
        self.0.report(WireDiagnostic {
            file: (!base.is_empty()).then(|| base.to_owned()),
            line: at.map(|at| at.0),
            column: at.map(|at| at.1),
            help: refused.help,
            ..WireDiagnostic::new(code, refused.message, None)
        });
        Exception::throw_message(ctx, &message)
    }

    /// Keeps a source that came from the host.
    fn take(&self, ctx: &Ctx<'_>, id: &str, source: ModuleSource) -> Result<()> {
        if let Err(refused) = self.0.admit(source.text.len()) {
            return Err(self.refuse(ctx, id, id, refused));
        }
        let (text, moved) = match source.kind {
            ModuleKind::Ts => match strip::strip(&source.text) {
                Ok(stripped) => stripped,
                Err(error) => {
                    self.0.broken.borrow_mut().insert(id.to_owned(), error.in_file(id));
                    (source.text.clone(), vec![(0, 0)])
                }
            },
            ModuleKind::Js | ModuleKind::Json => (source.text.clone(), vec![(0, 0)]),
        };
        let text: Rc<str> = text.into();
        position::remember(id, source.text, &text, moved);
        self.0.sources.borrow_mut().insert(id.to_owned(), (source.kind, text));
        Ok(())
    }

    fn source(&self, ctx: &Ctx<'_>, id: &str) -> Result<(ModuleKind, Rc<str>)> {
        if let Some((kind, text)) = self.0.sources.borrow().get(id) {
            return Ok((*kind, Rc::clone(text)));
        }
        match self.0.ask(&ChildMessage::Source(SourceQuestion { id: id.to_owned() })) {
            ModuleAnswer::Found { source: Some(source), .. } => {
                self.take(ctx, id, source)?;
                let sources = self.0.sources.borrow();
                let (kind, text) = &sources[id];
                Ok((*kind, Rc::clone(text)))
            }
            ModuleAnswer::Found { .. } => Err(Exception::throw_message(ctx, "the host has no such module")),
            ModuleAnswer::Refused(refused) => Err(self.refuse(ctx, "", id, refused)),
        }
    }

    fn fail(&self, ctx: &Ctx<'_>, id: &str, found: WireDiagnostic) -> Error {
        let message = found.message.clone();
        self.0.broken.borrow_mut().insert(id.to_owned(), found.clone());
        self.0.report(found);
        Exception::throw_syntax(ctx, &message)
    }
}

impl Loader for HostLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js>> {
        if name == AGENT_TOOLS {
            return Module::declare_def::<AgentTools, _>(ctx.clone(), name);
        }
        if let Some(bytes) = self.0.cached.borrow().get(name) {
            return super::unsafe_load::module(ctx, bytes);
        }
        let (kind, text) = self.source(ctx, name)?;
        let known = self.0.broken.borrow().get(name).cloned();
        if let Some(found) = known {
            return Err(self.fail(ctx, name, found));
        }
        if kind == ModuleKind::Json {
            if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                let found = WireDiagnostic {
                    file: Some(name.to_owned()),
                    line: u32::try_from(error.line()).ok(),
                    column: u32::try_from(error.column()).ok(),
                    ..WireDiagnostic::new("toolset_syntax", format!("this is not JSON: {error}"), None)
                };
                return Err(self.fail(ctx, name, found));
            }
            JSON.with_borrow_mut(|texts| texts.insert(name.to_owned(), text));
            return Module::declare_def::<JsonModule, _>(ctx.clone(), name);
        }
        let module = match Module::declare(ctx.clone(), name, text.as_bytes()) {
            Ok(module) => module,
            // An import of the module failed, which has been reported.
            Err(error) if self.0.first_problem.borrow().is_some() => return Err(error),
            Err(_) => {
                let thrown = position::thrown(ctx, &ctx.catch());
                // The message of the TypeScript parser is better; the engine knows rules it does not check.
                let found = strip::check(&text).map_or_else(
                    || WireDiagnostic {
                        file: Some(name.to_owned()),
                        line: thrown.position.as_ref().map(|position| position.line),
                        column: thrown.position.as_ref().map(|position| position.column),
                        ..WireDiagnostic::new("toolset_syntax", thrown.message, None)
                    },
                    |error| error.in_file(name),
                );
                return Err(self.fail(ctx, name, found));
            }
        };
        if let Some(compiled) = &mut *self.0.compiled.borrow_mut()
            // Without the sources, which only `toString` of a function would show: a third of the bytes.
            && let Ok(bytes) = module.write(WriteOptions { strip_source: true, ..WriteOptions::default() })
        {
            compiled.push((name.to_owned(), bytes));
        }
        Ok(module)
    }
}

thread_local! {
    static JSON: RefCell<HashMap<String, Rc<str>>> = RefCell::default();
}

struct JsonModule;

impl ModuleDef for JsonModule {
    fn declare(decl: &Declarations<'_>) -> Result<()> {
        decl.declare("default")?;
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        let name: String = exports.module().name()?;
        let text = JSON.with_borrow(|texts| texts.get(&name).cloned()).unwrap_or_else(|| "null".into());
        exports.export("default", ctx.json_parse(text.as_bytes())?)?;
        Ok(())
    }
}

struct AgentTools;

impl ModuleDef for AgentTools {
    fn declare(decl: &Declarations<'_>) -> Result<()> {
        decl.declare("Tool")?.declare("default")?;
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        let tool = Object::new(ctx.clone())?;
        tool.prop("define", Property::from(Function::new(ctx.clone(), define)?.with_name("define")?).enumerable())?;
        exports.export("Tool", tool.clone())?.export("default", tool)?;
        Ok(())
    }
}

/// `Tool.define(id, {description, parameters, execute})`: returns its arguments, fixed, with the position of the call.
///
/// Problems are reported when the toolset is read, so that one bad tool does not affect the others.
#[expect(clippy::needless_pass_by_value, reason = "functions of the engine are given their arguments")]
fn define<'js>(ctx: Ctx<'js>, id: Value<'js>, spec: Opt<Value<'js>>) -> Result<Object<'js>> {
    let tool = Object::new(ctx.clone())?;
    tool.prop("id", Property::from(id).enumerable())?;
    if let Some(spec) = spec.0.as_ref().and_then(Value::as_object) {
        for key in ["description", "parameters", "execute"] {
            let value: Value<'js> = spec.get(key)?;
            tool.prop(key, Property::from(value).enumerable())?;
        }
    }
    if let Some(at) = position::here(&ctx) {
        tool.prop("definedAt", Property::from(format!("{}:{}:{}", at.file, at.line, at.column)))?;
    }
    Ok(tool)
}
