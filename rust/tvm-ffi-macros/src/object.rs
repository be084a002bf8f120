// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! `derive(Object)` and `derive(ObjectRef)`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Ident, LitStr, Path, Result, Type};

/// What the attributes of an object struct say.
pub struct ObjectOptions {
    pub key: Expr,
    pub index: Option<Expr>,
    pub is_final: bool,
    pub register: bool,
    pub child_slots: Expr,
    pub can_overflow: Expr,
    pub kind: Ident,
    pub reflection: Option<Path>,
    pub krate: TokenStream,
    /// Whether objects can be made from zeros and copied.
    pub complete: bool,
    /// Whether other languages get a constructor.
    pub init: bool,
}

impl ObjectOptions {
    pub fn new(key: Expr) -> Self {
        Self {
            key,
            index: None,
            is_final: false,
            register: false,
            child_slots: syn::parse_quote!(0),
            can_overflow: syn::parse_quote!(true),
            kind: format_ident!("Unsupported"),
            reflection: None,
            krate: quote!(::tvm_ffi),
            complete: false,
            init: true,
        }
    }
}

fn name_value(attr: &Attribute) -> Result<Expr> {
    Ok(attr.meta.require_name_value()?.value.clone())
}

fn last_ident(expr: &Expr) -> Result<Ident> {
    match expr {
        Expr::Path(path) => match path.path.segments.last() {
            Some(segment) => Ok(segment.ident.clone()),
            None => Err(Error::new_spanned(expr, "expected a name")),
        },
        _ => Err(Error::new_spanned(expr, "expected a name, such as TreeNode")),
    }
}

fn read_options(input: &DeriveInput) -> Result<ObjectOptions> {
    let mut key = None;
    let mut options = ObjectOptions::new(syn::parse_quote!(""));
    for attr in &input.attrs {
        let Some(name) = attr.path().get_ident() else {
            continue;
        };
        match name.to_string().as_str() {
            "type_key" => key = Some(name_value(attr)?),
            "type_index" => options.index = Some(attr.parse_args()?),
            "type_final" => options.is_final = true,
            "type_register" => options.register = true,
            "type_child_slots" => options.child_slots = name_value(attr)?,
            "type_child_slots_can_overflow" => options.can_overflow = name_value(attr)?,
            "type_s_eq_hash_kind" => options.kind = last_ident(&name_value(attr)?)?,
            "type_reflection" => options.reflection = Some(attr.parse_args()?),
            _ => {}
        }
    }
    options.key = key.ok_or_else(|| Error::new_spanned(&input.ident, "missing #[type_key]"))?;
    Ok(options)
}

/// One field as `#[reflect(..)]` describes it.
pub struct Reflected {
    pub ident: Ident,
    pub ty: Type,
    name: String,
    doc: String,
    flags: Vec<Ident>,
    default: Option<Expr>,
}

const FLAGS: [&str; 9] = [
    "writable",
    "seq_hash_ignore",
    "seq_hash_def_pattern",
    "seq_hash_def_simple",
    "repr_off",
    "compare_off",
    "hash_off",
    "init_off",
    "kw_only",
];

/// Text of the doc comments.
pub fn doc_text(attrs: &[Attribute]) -> String {
    let lines =
        attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(
            |attr| match name_value(attr).ok()? {
                Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                    Some(text.value().trim().to_string())
                }
                _ => None,
            },
        );
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads `#[reflect(..)]`; a field without it is reflected only if `by_default`.
pub fn reflected(field: &Field, by_default: bool) -> Result<Option<Reflected>> {
    let ident = field
        .ident
        .clone()
        .ok_or_else(|| Error::new_spanned(field, "object structs need named fields"))?;
    let name = ident.to_string().trim_start_matches("r#").to_string();
    let mut result = Reflected {
        name,
        ident,
        ty: field.ty.clone(),
        doc: doc_text(&field.attrs),
        flags: Vec::new(),
        default: None,
    };
    let mut found = by_default;
    for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("reflect")) {
        found = true;
        if matches!(attr.meta, syn::Meta::Path(_)) {
            continue;
        }
        attr.parse_nested_meta(|meta| {
            let word = meta.path.require_ident()?.to_string();
            match word.as_str() {
                "name" => result.name = meta.value()?.parse::<LitStr>()?.value(),
                "doc" => result.doc = meta.value()?.parse::<LitStr>()?.value(),
                "default" => result.default = Some(meta.value()?.parse()?),
                flag if FLAGS.contains(&flag) => {
                    result.flags.push(format_ident!("{}", flag.to_uppercase()));
                }
                _ => return Err(meta.error(format!("unknown reflect option `{word}`"))),
            }
            Ok(())
        })?;
    }
    Ok(found.then_some(result))
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>> {
    match &input.data {
        Data::Struct(data) => Ok(data.fields.iter().collect()),
        _ => Err(Error::new_spanned(&input.ident, "expected a struct")),
    }
}

pub fn derive_object(input: DeriveInput) -> Result<TokenStream> {
    let options = read_options(&input)?;
    let fields = named_fields(&input)?;
    let Some(parent) = fields.first() else {
        return Err(Error::new_spanned(
            &input.ident,
            "the first field must be the parent's struct",
        ));
    };
    let mut members = Vec::new();
    for field in &fields[1..] {
        members.extend(reflected(field, false)?);
    }
    if !options.register && !members.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "#[reflect] needs #[type_register]: a bound type has its reflection already",
        ));
    }
    let doc = doc_text(&input.attrs);
    Ok(implement_object(&input.ident, &parent.ty, &members, &doc, &options))
}

/// The `ObjectCore` implementation.
pub fn implement_object(
    name: &Ident,
    parent: &Type,
    members: &[Reflected],
    doc: &str,
    options: &ObjectOptions,
) -> TokenStream {
    let ObjectOptions { key, is_final, child_slots, can_overflow, krate, .. } = options;
    let type_index = if let Some(index) = &options.index {
        quote!((#index) as i32)
    } else if options.register {
        quote! {
            static INDEX: ::std::sync::OnceLock<i32> = ::std::sync::OnceLock::new();
            static REFLECTED: ::std::sync::atomic::AtomicBool =
                ::std::sync::atomic::AtomicBool::new(false);
            let index = *INDEX.get_or_init(|| #krate::object::register_type(
                <Self as #krate::ObjectCore>::TYPE_KEY,
                <#parent as #krate::ObjectCore>::type_index(),
                #krate::object::TypeRegistration {
                    depth: <Self as #krate::ObjectCore>::TYPE_DEPTH,
                    child_slots: #child_slots,
                    child_slots_can_overflow: #can_overflow,
                },
            ));
            #krate::reflection::register_once(&REFLECTED, index, Self::__register_reflection);
            index
        }
    } else {
        quote! {
            static INDEX: ::std::sync::OnceLock<i32> = ::std::sync::OnceLock::new();
            *INDEX.get_or_init(|| {
                match #krate::object::lookup_type_index(<Self as #krate::ObjectCore>::TYPE_KEY) {
                    ::core::result::Result::Ok(index) => index,
                    ::core::result::Result::Err(error) => {
                        panic!("{error}; is the library that defines the type loaded?")
                    }
                }
            })
        }
    };
    let reflection = options.register.then(|| reflection_of(name, members, doc, options));
    quote! {
        // SAFETY: by the derive's contract the struct is repr(C) and begins with its parent.
        unsafe impl #krate::ObjectCore for #name {
            const TYPE_KEY: &'static str = #key;
            const TYPE_DEPTH: i32 = <#parent as #krate::ObjectCore>::TYPE_DEPTH + 1;
            const TYPE_FINAL: bool = #is_final;

            fn type_index() -> i32 {
                #type_index
            }
        }
        #reflection
    }
}

fn reflection_of(
    name: &Ident,
    members: &[Reflected],
    doc: &str,
    options: &ObjectOptions,
) -> TokenStream {
    let ObjectOptions { krate, kind, complete, init, .. } = options;
    let fields = members.iter().map(|member| {
        let Reflected { ident, ty, name: key, doc, flags, default } = member;
        let default = match default {
            Some(value) => quote!(::core::option::Option::Some(
                #krate::ContainerElement::into_any(<#ty as ::core::convert::From<_>>::from(#value))
            )),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            // SAFETY: offset and type are those of the field.
            .field_with_default::<#ty>(
                #key,
                ::core::mem::offset_of!(#name, #ident),
                #krate::FieldFlags::NONE #(| #krate::FieldFlags::#flags)*,
                #doc,
                #default,
            )
        }
    });
    let complete = complete.then(|| quote!(.creatable().copyable()));
    let no_init = (!init).then(|| quote!(.without_init()));
    let extra = options.reflection.as_ref().map(|path| quote!(let def = #path(def);));
    quote! {
        impl #name {
            #[doc(hidden)]
            #[allow(unused_unsafe, clippy::useless_conversion)]
            fn __register_reflection() -> #krate::Result<()> {
                let def = #krate::ObjectDef::<Self>::new(#krate::SEqHashKind::#kind).doc(#doc);
                // SAFETY: offsets and types are those of the fields.
                let def = unsafe { def #(#fields)* };
                let def = def #complete #no_init;
                #extra
                def.finish()
            }
        }
    }
}

pub fn derive_object_ref(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = named_fields(&input)?;
    let [field] = fields[..] else {
        return Err(Error::new_spanned(name, "expected a struct with one ObjectArc field"));
    };
    let member = match &field.ident {
        Some(ident) => quote!(#ident),
        None => quote!(0),
    };
    let ty = &field.ty;
    let krate = quote!(::tvm_ffi);
    Ok(quote! {
        // SAFETY: by the derive's contract the ObjectArc is the only field.
        unsafe impl #krate::ObjectRefCore for #name {
            type ContainerType = <#ty as #krate::object::ArcTarget>::Target;

            fn data(this: &Self) -> &#krate::ObjectArc<Self::ContainerType> {
                &this.#member
            }
            fn into_data(this: Self) -> #krate::ObjectArc<Self::ContainerType> {
                this.#member
            }
            fn from_data(data: #krate::ObjectArc<Self::ContainerType>) -> Self {
                Self { #member: data }
            }
        }
        #krate::impl_object_ref_cells!([] #name);
    })
}
