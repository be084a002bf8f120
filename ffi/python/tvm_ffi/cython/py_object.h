// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Wrappers of FFI objects and the fast half of FFI value -> Python value. What is not hot lives
/// in the .pxi files and is reached through `Hooks`, which the extension fills at import.
#ifndef TVM_FFI_PYTHON_PY_OBJECT_H_
#define TVM_FFI_PYTHON_PY_OBJECT_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>

#include <cstddef>
#include <cstring>

#include "py_compat.h"

namespace tvm_ffi_py {

/// First fields of `cdef class CObject`; the layout is checked at import.
struct CObjectLayout {
  PyObject_HEAD void* handle;
};

/// First fields of `cdef class _ContainerState`.
struct ContainerLayout {
  CObjectLayout base;
  const DLPackExchangeAPI* api;
};

/// First fields of `cdef class Function`.
struct FunctionLayout {
  CObjectLayout base;
  vectorcallfunc vectorcall;
  int release_gil;
};

/// First fields of `cdef class FieldGetter`.
struct FieldGetterLayout {
  PyObject_HEAD vectorcallfunc vectorcall;
  TVMFFIFieldGetter getter;
  int64_t offset;
  int32_t type_index;
};

struct CallFrame;

struct Hooks {
  PyTypeObject* tensor_type = nullptr;       ///< core.Tensor
  PyTypeObject* tensor_fast_type = nullptr;  ///< class in which tensors are handed out
  PyTypeObject* function_type = nullptr;
  PyTypeObject* object_type = nullptr;
  PyTypeObject* error_type = nullptr;
  PyTypeObject* ndarray_type = nullptr;  ///< numpy.ndarray once its layout was verified
  int (*pack_slow)(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame) = nullptr;
  /// Takes ownership of the value.
  PyObject* (*to_python)(TVMFFIAny value, const DLPackExchangeAPI* api) = nullptr;
  /// Turns the raised FFI error into the pending Python exception.
  void (*raise_ffi_error)(int status) = nullptr;
  /// Turns the pending Python exception into the raised FFI error.
  void (*set_raised_from_python)() = nullptr;
};

inline Hooks g_hooks;

TVM_FFI_PY_HOT Hooks& hooks() { return g_hooks; }

inline TVMFFIAny NoneAny() {
  TVMFFIAny value;
  value.type_index = kTVMFFINone;
  value.zero_padding = 0;
  value.v_int64 = 0;
  return value;
}

inline bool PythonIsUp() { return Py_IsInitialized() != 0 && !IsFinalizing(); }

/// Drops a reference from any thread. After the interpreter is gone the reference is leaked.
inline void ReleasePyObject(void* obj) {
  if (obj == nullptr || !PythonIsUp()) return;
  PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(obj));
  PyGILState_Release(state);
}

// ---------------------------------------------------------------------------------------------
// Plain wrapper classes
// ---------------------------------------------------------------------------------------------
// A class is plain when an instance is nothing but its handle: no dict, no slots, no weak
// references, no __new__ of its own. Such instances are made and freed without the generic steps
// of heap types. `PlainDealloc` doubles as the mark of these classes.

/// The constructors that only zero an instance: those of the wrapper classes written in Cython.
inline newfunc* PlainConstructors() {
  static newfunc list[8] = {};
  return list;
}

inline void AddPlainConstructor(PyTypeObject* type) {
  if (!g_slots_known) return;
  newfunc* list = PlainConstructors();
  while (*list != nullptr && *list != SlotsOf(type)->tp_new) ++list;
  *list = SlotsOf(type)->tp_new;
}

inline bool HasPlainConstructor(PyTypeObject* type) {
  for (newfunc* at = PlainConstructors(); *at != nullptr; ++at) {
    if (*at == SlotsOf(type)->tp_new) return true;
  }
  return false;
}

inline void PlainDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  TypeSlots* slots = SlotsOf(type);
  TypeSlots* owner = slots;  // the generic dealloc of a subclass ends up here too
  while (owner->tp_dealloc != PlainDealloc) owner = SlotsOf(owner->tp_base);
  if (slots->tp_finalize != nullptr && owner == slots && CallFinalizerFromDealloc(self) < 0) {
    return;
  }
  void* handle = reinterpret_cast<CObjectLayout*>(self)->handle;
  if (handle != nullptr) TVMFFIObjectDecRef(handle);
  slots->tp_free(self);
  // By the rules of CPython a subclass drops its type only above a static base.
  if ((owner->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) Py_DECREF(type);
}

TVM_FFI_PY_HOT bool IsPlain(PyTypeObject* type) {
  return SlotsOf(type)->tp_dealloc == PlainDealloc;
}

constexpr unsigned long kAbstractFlag = 1UL << 20;  // NOLINT: Py_TPFLAGS_IS_ABSTRACT

/// Makes a class plain if it can be; true if it is. Python classes are tracked by the cycle
/// collector by default; a `fresh` one, of which there is no instance yet, leaves it, as its
/// instances refer to nothing.
inline bool MakePlain(PyTypeObject* type, bool fresh) {
  if (!g_slots_known) return false;
  if (IsPlain(type)) return true;
  TypeSlots* slots = SlotsOf(type);
  const auto size = static_cast<size_t>(slots->tp_basicsize);
  if ((slots->tp_flags & kAbstractFlag) != 0 ||
      (size != sizeof(CObjectLayout) && size != sizeof(ContainerLayout)) ||
      slots->tp_itemsize != 0 || slots->tp_dictoffset != 0 || slots->tp_weaklistoffset != 0 ||
      slots->tp_alloc != PyType_GenericAlloc || slots->tp_del != nullptr ||
      !HasPlainConstructor(type)) {
    return false;
  }
  if ((slots->tp_flags & Py_TPFLAGS_HAVE_GC) != 0) {
    if (!fresh) return false;
    slots->tp_flags &= ~static_cast<unsigned long>(Py_TPFLAGS_HAVE_GC);  // NOLINT
    slots->tp_free = PyObject_Free;
  }
  slots->tp_dealloc = PlainDealloc;
  return true;
}

/// Instance of a plain class that takes `handle` over; NULL with an exception set.
TVM_FFI_PY_HOT PyObject* NewPlain(PyTypeObject* type, void* handle, const DLPackExchangeAPI* api) {
  const auto size = static_cast<size_t>(SlotsOf(type)->tp_basicsize);
  auto* self = static_cast<PyObject*>(PyObject_Malloc(size));
  if (self == nullptr) {
    TVMFFIObjectDecRef(handle);
    return PyErr_NoMemory();
  }
  PyObject_Init(self, type);
  reinterpret_cast<CObjectLayout*>(self)->handle = handle;
  if (size > sizeof(CObjectLayout)) {
    reinterpret_cast<ContainerLayout*>(self)->api = api;
  }
  return self;
}

/// Per type index the plain class of its objects, or NULL. The Cython side owns the classes.
struct ClassTable {
  PyTypeObject** classes = nullptr;
  int32_t size = 0;

  bool Set(int32_t index, PyTypeObject* type) {
    // Nothing is plain without the interpreter lock, and the table stays as it is: readers take
    // none.
    if (type == nullptr && index >= size) return true;
    if (index >= size) {
      const int32_t wanted = (index / 256 + 1) * 256;
      auto** grown = static_cast<PyTypeObject**>(
          PyMem_Realloc(classes, sizeof(PyTypeObject*) * static_cast<size_t>(wanted)));
      if (grown == nullptr) return false;
      std::memset(grown + size, 0, sizeof(PyTypeObject*) * static_cast<size_t>(wanted - size));
      classes = grown;
      size = wanted;
    }
    classes[index] = type;
    return true;
  }
  PyTypeObject* Find(int32_t index) const { return index < size ? classes[index] : nullptr; }
};

inline ClassTable g_class_table;

TVM_FFI_PY_HOT ClassTable& class_table() { return g_class_table; }

// ---------------------------------------------------------------------------------------------
// FFI value -> Python value
// ---------------------------------------------------------------------------------------------

TVM_FFI_PY_HOT PyObject* TextToPython(const char* data, size_t size) {
  return PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "replace");
}

/// Python form of an owned value, which is consumed; NULL with an exception set.
inline PyObject* ToPython(TVMFFIAny value, const DLPackExchangeAPI* api) {
  const int32_t index = value.type_index;
  switch (index) {
    case kTVMFFINone:
      Py_RETURN_NONE;
    case kTVMFFIInt:
      return PyLong_FromLongLong(value.v_int64);
    case kTVMFFIBool:
      return PyBool_FromLong(value.v_int64 != 0);
    case kTVMFFIFloat:
      return PyFloat_FromDouble(value.v_float64);
    case kTVMFFISmallStr:
      return TextToPython(value.v_bytes, value.small_str_len);
    case kTVMFFIStr: {
      const TVMFFIByteArray* text = TVMFFIBytesGetByteArrayPtr(value.v_obj);
      PyObject* result = TextToPython(text->data, text->size);
      TVMFFIObjectDecRef(value.v_obj);
      return result;
    }
    case kTVMFFITensor:
      if (api == nullptr && IsPlain(hooks().tensor_fast_type)) {
        return NewPlain(hooks().tensor_fast_type, value.v_obj, nullptr);
      }
      break;
    default:
      if (index >= kTVMFFIStaticObjectBegin) {
        if (PyTypeObject* type = class_table().Find(index)) return NewPlain(type, value.v_obj, api);
      }
  }
  return hooks().to_python(value, api);
}

/// Python form of a borrowed value.
inline PyObject* ViewToPython(const TVMFFIAny* view, const DLPackExchangeAPI* api) {
  if (view->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectIncRef(view->v_obj);
  return ToPython(*view, api);
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_OBJECT_H_
