// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `#[rs_class]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, ToTokens};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, ItemStruct, LitStr, Path, Result, Token, Type};

use crate::object::{doc_text, implement_object, reflected, ObjectOptions};

struct Args(ObjectOptions);

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key: LitStr = input.parse()?;
        let mut options = ObjectOptions::new(syn::parse_quote!(#key));
        options.register = true;
        options.complete = true;
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(Token![final]) {
                input.parse::<Token![final]>()?;
                options.is_final = true;
                continue;
            }
            if input.peek(Token![crate]) {
                input.parse::<Token![crate]>()?;
                input.parse::<Token![=]>()?;
                options.krate = Path::parse_mod_style(input)?.into_token_stream();
                continue;
            }
            let word: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match word.to_string().as_str() {
                "s_eq_hash_kind" => {
                    let kind: Path = input.parse()?;
                    options.kind = match kind.segments.last() {
                        Some(segment) => segment.ident.clone(),
                        None => return Err(Error::new_spanned(kind, "expected a kind")),
                    };
                }
                "child_slots" => options.child_slots = input.parse::<Expr>()?,
                "child_slots_can_overflow" => options.can_overflow = input.parse::<Expr>()?,
                "init" => options.init = input.parse::<syn::LitBool>()?.value(),
                "reflection" => options.reflection = Some(input.parse()?),
                _ => return Err(Error::new_spanned(&word, format!("unknown option `{word}`"))),
            }
        }
        Ok(Self(options))
    }
}

/// Numbers and bool: taken by `new` as they are, so that literals get their type.
fn is_scalar(ty: &Type) -> bool {
    const SCALARS: [&str; 13] = [
        "bool", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32",
        "f64",
    ];
    matches!(ty, Type::Path(path) if path.qself.is_none()
        && path.path.get_ident().is_some_and(|ident| SCALARS.iter().any(|s| ident == s)))
}

pub fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Args(options) = syn::parse2(args)?;
    let mut item: ItemStruct = syn::parse2(item)?;
    let name = item.ident.clone();
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, "object types cannot be generic"));
    }
    let base = item.fields.iter().next().cloned();
    let base = base.filter(|field| field.ident.as_ref().is_some_and(|ident| ident == "base"));
    let Some(base) = base else {
        return Err(Error::new_spanned(
            &name,
            "the first field must be `base`: the parent's struct",
        ));
    };
    let mut members = Vec::new();
    for field in item.fields.iter().skip(1) {
        members.extend(reflected(field, true)?);
    }
    for field in &mut item.fields {
        field.attrs.retain(|attr| !attr.path().is_ident("reflect"));
    }
    let krate = &options.krate;
    let parent = &base.ty;
    let names: Vec<&Ident> = members.iter().map(|member| &member.ident).collect();
    let types: Vec<&Type> = members.iter().map(|member| &member.ty).collect();
    let parameters = members.iter().map(|member| {
        let (ident, ty) = (&member.ident, &member.ty);
        if is_scalar(ty) {
            quote!(#ident: #ty)
        } else {
            quote!(#ident: impl ::core::convert::Into<#ty>)
        }
    });
    let arguments = members.iter().map(|member| {
        let ident = &member.ident;
        if is_scalar(&member.ty) {
            quote!(#ident)
        } else {
            quote!(#ident: ::core::convert::Into::into(#ident))
        }
    });
    let implementation =
        implement_object(&name, parent, &members, &doc_text(&item.attrs), &options);
    let vis = &item.vis;
    let no_drop = format_ident!("__{}HasNoDrop", name);
    Ok(quote! {
        #[repr(C)]
        #item

        #implementation

        impl ::core::ops::Deref for #name {
            type Target = #parent;
            fn deref(&self) -> &#parent {
                &self.base
            }
        }

        impl #name {
            /// Struct for a new object: the parent's part, then the fields in order.
            #[allow(clippy::too_many_arguments)]
            #vis fn new(base: #parent, #(#parameters),*) -> Self {
                Self { base, #(#arguments),* }
            }
        }

        impl #krate::ShallowCopy for #name {
            fn shallow_copy(&self) -> Self {
                Self {
                    base: #krate::ShallowCopy::shallow_copy(&self.base),
                    #(#names: ::core::clone::Clone::clone(&self.#names)),*
                }
            }
        }

        // SAFETY: every field goes through drop_if_defined, and the type has no Drop.
        unsafe impl #krate::UnsafeInit for #name {
            unsafe fn drop_defined_fields(this: *mut Self) {
                // SAFETY: promised by the caller.
                unsafe {
                    <#parent as #krate::UnsafeInit>::drop_defined_fields(&raw mut (*this).base);
                    #(#krate::reflection::drop_if_defined::<#types>(&raw mut (*this).#names);)*
                }
            }
        }

        // Objects made from zeros are not dropped as a whole, so a Drop would not always run.
        #[allow(non_camel_case_types, dead_code)]
        trait #no_drop {}
        #[allow(drop_bounds)]
        impl<T: ::core::ops::Drop> #no_drop for T {}
        impl #no_drop for #name {}
    })
}
