// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `#[dispatch]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Error, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, Receiver, Result, ReturnType, Type,
};

fn receiver_of(method: &ImplItemFn) -> Result<&Receiver> {
    match method.sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) if receiver.reference.is_some() => Ok(receiver),
        _ => Err(Error::new_spanned(&method.sig, "a handler takes `&self` or `&mut self`")),
    }
}

/// Types of the parameters after the receiver.
fn parameters(method: &ImplItemFn) -> Vec<&Type> {
    let inputs = method.sig.inputs.iter().skip(1);
    inputs
        .filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        })
        .collect()
}

fn is_view(ty: &Type) -> bool {
    matches!(ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|segment| segment.ident == "AnyView"))
}

pub fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let prefix: Ident = syn::parse2(args)?;
    let item: ItemImpl = syn::parse2(item)?;
    if let Some((_, path, _)) = &item.trait_ {
        return Err(Error::new_spanned(path, "#[dispatch] stands on an inherent impl"));
    }
    let start = format!("{prefix}_");
    let handlers: Vec<&ImplItemFn> = item
        .items
        .iter()
        .filter_map(|item| match item {
            ImplItem::Fn(method) if method.sig.ident.to_string().starts_with(&start) => {
                Some(method)
            }
            _ => None,
        })
        .collect();
    if handlers.is_empty() {
        let text = format!("no method starts with `{start}`");
        return Err(Error::new_spanned(&prefix, text));
    }
    let mut mutable = false;
    for handler in &handlers {
        mutable |= receiver_of(handler)?.mutability.is_some();
        if parameters(handler).is_empty() {
            return Err(Error::new_spanned(&handler.sig, "a handler takes the value"));
        }
    }
    let Some(longest) = handlers.iter().max_by_key(|handler| parameters(handler).len()) else {
        return Err(Error::new_spanned(&prefix, "no handlers"));
    };
    let output = match &longest.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => quote!(#ty),
    };
    let extra_types: Vec<&Type> = parameters(longest).into_iter().skip(1).collect();
    let extra_names: Vec<Ident> = (0..extra_types.len()).map(|i| format_ident!("arg{i}")).collect();
    let mut calls = Vec::new();
    for (index, handler) in handlers.iter().enumerate() {
        let name = &handler.sig.ident;
        let types = parameters(handler);
        let extra = &extra_names[..types.len() - 1];
        let call = |value: TokenStream| quote!(return Some(self.#name(#value #(, #extra)*)));
        calls.push(match types[0] {
            view if is_view(view) => {
                if index + 1 != handlers.len() {
                    let text = "the handler of AnyView takes everything, so it must be the last";
                    return Err(Error::new_spanned(view, text));
                }
                call(quote!(value))
            }
            Type::Reference(node) => {
                let node = &node.elem;
                let call = call(quote!(node));
                quote!(if let Some(node) = value.downcast_ref::<#node>() { #call; })
            }
            ty => {
                let call = call(quote!(typed));
                quote!(if let Some(typed) = value.try_as::<#ty>() { #call; })
            }
        });
    }
    let ends = calls
        .last()
        .is_some_and(|_| handlers.last().is_some_and(|handler| is_view(parameters(handler)[0])));
    let tail = (!ends).then(|| quote!(None));
    let (impl_generics, _, where_clause) = item.generics.split_for_impl();
    let generics = item.generics.params.iter();
    let self_ty = &item.self_ty;
    let reference = if mutable { quote!(&mut) } else { quote!(&) };
    Ok(quote! {
        #item

        impl #impl_generics #self_ty #where_clause {
            /// Calls the first handler that takes the value; None if none does.
            #[inline]
            pub fn dispatch(
                #reference self,
                value: ::tvm_ffi::AnyView<'_> #(, #extra_names: #extra_types)*
            ) -> ::core::option::Option<#output> {
                #(#calls)*
                #tail
            }
        }

        impl<'dispatch_view, #(#generics),*>
            ::tvm_ffi::Dispatcher<(::tvm_ffi::AnyView<'dispatch_view>, #(#extra_types,)*)>
            for &mut #self_ty #where_clause
        {
            type Output = #output;

            fn dispatch_tuple(
                self,
                (value, #(#extra_names,)*): (::tvm_ffi::AnyView<'dispatch_view>, #(#extra_types,)*),
            ) -> ::core::option::Option<#output> {
                self.dispatch(value #(, #extra_names)*)
            }
        }
    })
}
