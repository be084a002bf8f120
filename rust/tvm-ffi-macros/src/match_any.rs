// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `match_any!`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{braced, parenthesized, Error, Expr, Ident, Pat, Path, Result, Token};

/// What an arm takes.
enum Head {
    /// `Type(pattern)`
    Value(Path, Pat),
    /// `Type(ref name)`
    Node(Path, Ident),
    /// `_` or `name`
    Rest(Option<Ident>),
}

struct Arm {
    head: Head,
    guard: Option<Expr>,
    body: Expr,
}

pub struct Match {
    value: Expr,
    arms: Vec<Arm>,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Token![_]) {
            input.parse::<Token![_]>()?;
            return Ok(Head::Rest(None));
        }
        let path: Path = input.parse()?;
        if !input.peek(syn::token::Paren) {
            return match path.get_ident() {
                Some(name) => Ok(Head::Rest(Some(name.clone()))),
                None => Err(Error::new_spanned(path, "expected `Type(binding)`")),
            };
        }
        let content;
        parenthesized!(content in input);
        if content.peek(Token![ref]) {
            content.parse::<Token![ref]>()?;
            let name: Ident = content.parse()?;
            if !content.is_empty() {
                return Err(content.error("expected one name after `ref`"));
            }
            return Ok(Head::Node(path, name));
        }
        let pattern = Pat::parse_multi_with_leading_vert(&content)?;
        if !content.is_empty() {
            return Err(content.error("expected one pattern"));
        }
        Ok(Head::Value(path, pattern))
    }
}

impl Parse for Arm {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let head = input.parse()?;
        let guard = match input.parse::<Option<Token![if]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        input.parse::<Token![=>]>()?;
        let body: Expr = input.parse()?;
        let block = matches!(body, Expr::Block(_));
        if !input.is_empty() && (!block || input.peek(Token![,])) {
            input.parse::<Token![,]>()?;
        }
        Ok(Self { head, guard, body })
    }
}

impl Parse for Match {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let value = Expr::parse_without_eager_brace(input)?;
        let content;
        braced!(content in input);
        let mut arms: Vec<Arm> = Vec::new();
        while !content.is_empty() {
            arms.push(content.parse()?);
        }
        for (i, arm) in arms.iter().enumerate() {
            let is_rest = matches!(arm.head, Head::Rest(_)) && arm.guard.is_none();
            if is_rest != (i + 1 == arms.len()) {
                let text = "the last arm, and no other, must be `_` or a name, without a guard";
                return Err(Error::new_spanned(&arm.body, text));
            }
        }
        if arms.is_empty() {
            return Err(content.error("expected at least the arm `_ => ..`"));
        }
        Ok(Self { value, arms })
    }
}

pub fn expand(input: Match) -> TokenStream {
    let Match { value, arms } = input;
    let arms = arms.into_iter().map(|Arm { head, guard, body }| {
        let guard = guard.unwrap_or_else(|| syn::parse_quote!(true));
        match head {
            Head::Value(ty, pattern) => quote! {
                #[allow(irrefutable_let_patterns)]
                if let ::core::option::Option::Some(#pattern) =
                    ::tvm_ffi::AnyView::try_as::<#ty>(&__view)
                {
                    if #guard {
                        break '__match_any #body;
                    }
                }
            },
            Head::Node(ty, name) => quote! {
                if let ::core::option::Option::Some(#name) =
                    ::tvm_ffi::AnyView::downcast_ref::<#ty>(&__view)
                {
                    if #guard {
                        break '__match_any #body;
                    }
                }
            },
            Head::Rest(Some(name)) => quote!({ let #name = __view; break '__match_any #body }),
            Head::Rest(None) => quote!({ break '__match_any #body }),
        }
    });
    quote! {{
        #[allow(unreachable_code, unused_braces, clippy::let_and_return, clippy::needless_else)]
        let __result =
            match <::tvm_ffi::AnyView<'_> as ::core::convert::From<_>>::from(#value) {
                __view => '__match_any: { #(#arms)* }
            };
        __result
    }}
}
