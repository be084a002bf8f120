// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! A library in Rust for Python: exported functions, a callback, errors, a tensor kernel, an object
//! type and an enumeration. `tests/rust/test_rust_library.py` uses all of it.

use tvm_ffi::{
    bail, def_object_ref, ensure, rs_class, static_init_block, tvm_ffi_dll_export_typed_func,
    tvm_ffi_dll_export_typed_func_doc, Any, AnyView, Array, EnumDef, EnumObj, Function, Map,
    Object, ObjectCore, ObjectDef, ObjectRef, Result, String, TensorView, VALUE_ERROR,
};

/// Adds two numbers.
fn add(x: i64, y: i64) -> Result<i64> {
    match x.checked_add(y) {
        Some(sum) => Ok(sum),
        None => bail!(VALUE_ERROR, "{x} + {y} does not fit int64"),
    }
}
tvm_ffi_dll_export_typed_func_doc!(add, add, "Adds two numbers; ValueError on overflow.");

/// Counts the words of a text, in the order of their first appearance.
fn count_words(text: String) -> Result<Map<String, i64>> {
    let mut counts: Vec<(&str, i64)> = Vec::new();
    for word in text.to_str()?.split_whitespace() {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    Ok(counts.into_iter().map(|(word, count)| (String::from(word), count)).collect())
}
tvm_ffi_dll_export_typed_func!(count_words, count_words);

/// Applies a callback of another language to every element.
fn map_texts(function: Function, texts: Array<String>) -> Result<Array<String>> {
    let results: Result<Vec<String>> =
        texts.iter().map(|text| function.call_tuple((text,))?.cast::<String>()).collect();
    results.map(Array::new)
}
tvm_ffi_dll_export_typed_func!(map_texts, map_texts);

/// `y += a * x` on host tensors of float32.
fn axpy(a: f32, x: TensorView, y: TensorView) -> Result<()> {
    ensure!(
        x.shape() == y.shape(),
        VALUE_ERROR,
        "expected tensors of one shape, got {:?} and {:?}",
        x.shape(),
        y.shape()
    );
    ensure!(x.data_ptr() != y.data_ptr(), VALUE_ERROR, "x and y are the same tensor");
    let (x, y) = (x.data_as_slice::<f32>()?, y.data_as_slice_mut::<f32>()?);
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
    Ok(())
}
tvm_ffi_dll_export_typed_func!(axpy, axpy);

/// Panics, to show what the caller sees.
fn fail(message: String) -> Result<()> {
    panic!("{message}")
}
tvm_ffi_dll_export_typed_func!(fail, fail);

/// Returns what it gets.
fn echo(value: Any) -> Result<Any> {
    Ok(value)
}
tvm_ffi_dll_export_typed_func!(echo, echo);

/// A text with a priority.
#[rs_class("rust_example.Note", final, s_eq_hash_kind = TreeNode, reflection = note_methods)]
pub struct NoteObj {
    base: Object,
    /// What the note says.
    #[reflect(writable)]
    pub text: String,
    #[reflect(default = 0)]
    pub priority: i64,
}

def_object_ref!(
    /// Reference to a note.
    pub Note,
    ObjectRef,
    NoteObj
);

fn note_methods(def: ObjectDef<NoteObj>) -> ObjectDef<NoteObj> {
    let shout = |note: Note| -> Result<String> { Ok(String::from(note.text.to_uppercase())) };
    def.method("shout", Function::from_typed(shout), false, "The text in capitals.")
}

fn make_note(text: String, priority: i64) -> Result<Note> {
    Ok(Note::from(NoteObj::new(Object::new(), text, priority)))
}
tvm_ffi_dll_export_typed_func!(make_note, make_note);

/// How much a note matters.
#[rs_class("rust_example.Weight", final, init = false, s_eq_hash_kind = UniqueInstance)]
pub struct WeightObj {
    base: EnumObj,
}

/// The weight of a note: an entry of the enumeration.
fn weigh(note: Note) -> Result<Weight> {
    let name = if note.priority > 5 { "heavy" } else { "light" };
    match EnumDef::<WeightObj>::get(name)? {
        Some(data) => Ok(Weight { data }),
        None => bail!(VALUE_ERROR, "no weight `{name}`"),
    }
}
tvm_ffi_dll_export_typed_func!(weigh, weigh);

def_object_ref!(
    /// Reference to a weight.
    pub Weight,
    ObjectRef,
    WeightObj
);

tvm_ffi_dll_export_typed_func!(run_static_init_blocks, tvm_ffi::run_static_init_blocks);

static_init_block! {
    NoteObj::type_index(); // registers the type
    EnumDef::new("light", WeightObj::new)?;
    EnumDef::new("heavy", WeightObj::new)?.set_attr("stamps", 2)?;
    let count = |args: &[AnyView<'_>]| Ok(Any::from(args.len()));
    Function::register_global("rust_example.count_args", Function::from_packed(count))?;
}
