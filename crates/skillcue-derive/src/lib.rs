//! The derive of `skillcue_base::ErrorInfo`: the code and the hint of an error are attributes of its variants, in
//! `#[info(…)]`.
//!
//! Use it through `skillcue-base`, which documents the attribute and has the example.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Lit, LitStr, Member, Result, Token};

/// Derives `skillcue_base::ErrorInfo`; see there.
#[proc_macro_derive(ErrorInfo, attributes(info))]
pub fn error_info(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The arguments of `#[info(…)]` on a type or a variant.
#[derive(Default)]
struct Info {
    code: Option<LitStr>,
    hint: Option<Expr>,
    /// Whether the rest is taken from a field.
    is_transparent: bool,
    /// That field, if there are several.
    field: Option<Member>,
}

impl Info {
    fn read(attributes: &[Attribute]) -> Result<Info> {
        let mut info = Info::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("info")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("code") {
                    info.code = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("hint") {
                    info.hint = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("transparent") {
                    info.is_transparent = true;
                    if meta.input.peek(Token![=]) {
                        info.field = Some(meta.value()?.parse()?);
                    }
                } else {
                    return Err(meta.error("expected `code`, `hint` or `transparent`"));
                }
                Ok(())
            })?;
        }
        Ok(info)
    }
}

/// One arm of each of the two `match`es.
struct Arms {
    code: TokenStream,
    hint: TokenStream,
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let of_type = Info::read(&input.attrs)?;
    let arms = match &input.data {
        Data::Struct(data) => vec![arms(&quote!(Self), &data.fields, &of_type, &Info::default(), input)?],
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                let name = &variant.ident;
                arms(&quote!(Self::#name), &variant.fields, &Info::read(&variant.attrs)?, &of_type, variant)
            })
            .collect::<Result<_>>()?,
        Data::Union(_) => return Err(Error::new(input.span(), "a union cannot be an error")),
    };
    let (codes, hints) = (arms.iter().map(|arms| &arms.code), arms.iter().map(|arms| &arms.hint));
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::skillcue_base::ErrorInfo for #name #arguments #bounds {
            fn code(&self) -> &'static str {
                match self { #(#codes)* }
            }

            #[allow(unused_variables)]
            fn hint(&self) -> ::std::option::Option<::std::borrow::Cow<'_, str>> {
                match self { #(#hints)* }
            }
        }
    })
}

/// Returns the arms of one variant. `over` has the attributes of the type, for all variants.
fn arms(path: &TokenStream, fields: &Fields, info: &Info, over: &Info, at: &dyn syn::spanned::Spanned) -> Result<Arms> {
    let bound = fields.members().map(|member| binding(&member));
    let pattern = quote!(#path { #(#bound),* });
    let inner = info.is_transparent.then(|| inner(fields, info, at)).transpose()?;
    let code = match (&info.code, &inner, &over.code) {
        (Some(code), _, _) | (None, None, Some(code)) => quote!(#path { .. } => #code,),
        (None, Some(member), _) => {
            let (binding, name) = (binding(member), bound_name(member));
            quote!(#path { #binding, .. } => ::skillcue_base::ErrorInfo::code(#name),)
        }
        (None, None, None) => return Err(Error::new(at.span(), "no code: #[info(code = \"…\")] here or on the type")),
    };
    let hint = match (&info.hint, &inner, &over.hint) {
        (Some(hint), _, _) | (None, None, Some(hint)) => {
            let hint = hint_value(hint);
            quote!(#pattern => ::std::option::Option::Some(#hint),)
        }
        (None, Some(member), _) => {
            let (binding, name) = (binding(member), bound_name(member));
            quote!(#path { #binding, .. } => ::skillcue_base::ErrorInfo::hint(#name),)
        }
        (None, None, None) => quote!(#path { .. } => ::std::option::Option::None,),
    };
    Ok(Arms { code, hint })
}

/// Returns the field that code and hint are taken from.
fn inner(fields: &Fields, info: &Info, at: &dyn syn::spanned::Spanned) -> Result<Member> {
    let member = match (&info.field, fields.len()) {
        (Some(field), _) => fields.members().find(|member| member == field),
        (None, 1) => fields.members().next(),
        (None, _) => None,
    };
    member.ok_or_else(|| Error::new(at.span(), "name the field: #[info(transparent = field)]"))
}

/// Returns a field as a pattern binds it.
fn binding(member: &Member) -> TokenStream {
    let name = bound_name(member);
    match member {
        Member::Named(_) => quote!(#name),
        Member::Unnamed(index) => quote!(#index: #name),
    }
}

/// Returns the name of a field in a hint: its own, or `_0`, `_1` and so on.
fn bound_name(member: &Member) -> syn::Ident {
    match member {
        Member::Named(name) => name.clone(),
        Member::Unnamed(index) => format_ident!("_{}", index.index),
    }
}

/// Returns the value of a hint: a text as it is, a text with braces as a format of the fields, any other expression
/// converted to a text.
fn hint_value(hint: &Expr) -> TokenStream {
    match hint {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().contains(['{', '}']) => {
            quote!(::std::borrow::Cow::Owned(::std::format!(#text)))
        }
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => quote!(::std::borrow::Cow::Borrowed(#text)),
        other => quote!(::std::borrow::Cow::from(#other)),
    }
}
