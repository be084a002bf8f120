// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! What the four containers have in common: their declarations and their conversion from cells.

/// Declares the object struct and the reference type of a container.
///
/// `marker` is what the reference type stands for when the compiler asks whether it may cross
/// threads and how its parameters vary.
macro_rules! container_type {
    (
        $(#[$meta:meta])*
        $name:ident<$($param:ident),+> as $marker:ty,
        $(#[$object_meta:meta])*
        $object:ident { $cell:ty } = $key:literal, $index:expr
    ) => {
        $(#[$object_meta])*
        #[repr(C)]
        pub struct $object {
            base: Object,
            cell: $cell,
        }

        // SAFETY: the layout that the ABI gives this container.
        unsafe impl ObjectCore for $object {
            const TYPE_KEY: &'static str = $key;
            const TYPE_DEPTH: i32 = 1;
            const TYPE_FINAL: bool = true;

            fn type_index() -> i32 {
                $index
            }
        }

        $(#[$meta])*
        #[repr(transparent)]
        pub struct $name<$($param),+> {
            data: ObjectArc<$object>,
            content: PhantomData<$marker>,
        }

        impl<$($param),+> Clone for $name<$($param),+> {
            fn clone(&self) -> Self {
                Self { data: self.data.clone(), content: PhantomData }
            }
        }

        // SAFETY: transparent over the ObjectArc.
        unsafe impl<$($param),+> ObjectRefCore for $name<$($param),+> {
            type ContainerType = $object;

            fn data(this: &Self) -> &ObjectArc<$object> {
                &this.data
            }
            fn into_data(this: Self) -> ObjectArc<$object> {
                this.data
            }
            fn from_data(data: ObjectArc<$object>) -> Self {
                Self { data, content: PhantomData }
            }
        }

        impl<$($param),+> $name<$($param),+> {
            /// Number of entries.
            pub fn len(&self) -> usize {
                // A raw read: a shared container may change through other references.
                // SAFETY: the object is alive.
                unsafe { (&raw const (*ObjectArc::as_raw(&self.data)).cell.size).read() as usize }
            }

            /// Whether there are no entries.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

/// Implements storage in cells for a container, with conversion of its entries. `$family` has the
/// functions `is_strict`, `converted` and `mismatch` over the parameters.
macro_rules! container_cells {
    ($name:ident<$($param:ident),+>, $key:literal, $index:expr, $family:ident) => {
        // SAFETY: a cell of this type whose entries are all of the parameter types.
        unsafe impl<$($param: ContainerElement),+> AnyCompatible for $name<$($param),+> {
            $crate::impl_object_ref_cells!(@shared $name<$($param),+>);

            fn type_str() -> std::string::String {
                format!("{}<{}>", stringify!($name), [$($param::element_type_str()),+].join(", "))
            }
            fn type_schema() -> std::string::String {
                let args = [$($param::element_schema()),+].join(",");
                format!("{{\"type\":\"{}\",\"args\":[{args}]}}", $key)
            }
            unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
                // SAFETY: promised by the caller; checking runs no foreign code.
                data.type_index == $index && unsafe { $family::is_strict::<$($param),+>(data) }
            }
            unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
                // SAFETY: promised by the caller; copied after the check.
                unsafe {
                    if Self::check_any_strict(data) {
                        return Some(ref_cell::copied::<Self>(data));
                    }
                    $family::converted::<$($param),+>(data).map(Self::from_iter)
                }
            }
            unsafe fn get_mismatch_type_info(data: &TVMFFIAny) -> std::string::String {
                // SAFETY: promised by the caller.
                unsafe { $family::mismatch::<$($param),+>(stringify!($name), data) }
            }
        }
        $crate::impl_any_compatible_conversions!(
            [$($param: ContainerElement),+] $name<$($param),+>
        );
        $crate::impl_optional_object!([$($param: ContainerElement),+] $name<$($param),+>);

        impl<$($param: ContainerElement),+> Default for $name<$($param),+> {
            fn default() -> Self {
                Self::from_iter([])
            }
        }
    };
}

pub(crate) use {container_cells, container_type};
