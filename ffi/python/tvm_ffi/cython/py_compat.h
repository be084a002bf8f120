// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// One spelling for what the hot path needs from CPython, with and without the limited API.
///
/// A build with the limited API (the abi3 wheel) sees no type object from inside. `TypeSlots` is
/// the layout that CPython 3.12 and later have; `CheckTypeSlots` compares it with what the limited
/// API tells about live types before anything relies on it. Without that layout all still works,
/// only slower: no class is "plain" and calls go through tp_call.
#ifndef TVM_FFI_PYTHON_PY_COMPAT_H_
#define TVM_FFI_PYTHON_PY_COMPAT_H_

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#ifdef Py_LIMITED_API
#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif
#else
#include <frameobject.h>
#endif

#define TVM_FFI_PY_HOT [[gnu::always_inline]] inline

namespace tvm_ffi_py {

#ifdef Py_LIMITED_API

struct TypeSlots {
  PyVarObject head;
  const char* tp_name;
  Py_ssize_t tp_basicsize, tp_itemsize;
  destructor tp_dealloc;
  Py_ssize_t tp_vectorcall_offset;
  void *tp_getattr, *tp_setattr, *tp_as_async, *tp_repr;
  void *tp_as_number, *tp_as_sequence, *tp_as_mapping, *tp_hash;
  ternaryfunc tp_call;
  void *tp_str, *tp_getattro, *tp_setattro, *tp_as_buffer;
  unsigned long tp_flags;  // NOLINT(google-runtime-int): as CPython declares it
  const char* tp_doc;
  void *tp_traverse, *tp_clear, *tp_richcompare;
  Py_ssize_t tp_weaklistoffset;
  void *tp_iter, *tp_iternext, *tp_methods, *tp_members, *tp_getset;
  PyTypeObject* tp_base;
  void *tp_dict, *tp_descr_get, *tp_descr_set;
  Py_ssize_t tp_dictoffset;
  initproc tp_init;
  allocfunc tp_alloc;
  newfunc tp_new;
  freefunc tp_free;
  void *tp_is_gc, *tp_bases, *tp_mro, *tp_cache, *tp_subclasses, *tp_weaklist;
  destructor tp_del;
  unsigned int tp_version_tag;
  destructor tp_finalize;
  vectorcallfunc tp_vectorcall;
};

TVM_FFI_PY_HOT TypeSlots* SlotsOf(PyTypeObject* type) { return reinterpret_cast<TypeSlots*>(type); }

/// Public functions of CPython that its limited API leaves out; NULL where they do not exist.
struct UnlimitedApi {
  int (*is_finalizing)() = nullptr;
  int (*call_finalizer_from_dealloc)(PyObject*) = nullptr;
  PyObject* (*new_empty_code)(const char*, const char*, int) = nullptr;
  PyObject* (*new_frame)(PyThreadState*, PyObject*, PyObject*, PyObject*) = nullptr;

  UnlimitedApi() {
#if defined(__unix__) || defined(__APPLE__)
    auto find = [](const char* name, auto* function) {
      void* symbol = dlsym(RTLD_DEFAULT, name);
      if (symbol == nullptr) return false;
      std::memcpy(function, &symbol, sizeof(symbol));
      return true;
    };
    if (!find("Py_IsFinalizing", &is_finalizing)) find("_Py_IsFinalizing", &is_finalizing);
    find("PyObject_CallFinalizerFromDealloc", &call_finalizer_from_dealloc);
    find("PyCode_NewEmpty", &new_empty_code);
    find("PyFrame_New", &new_frame);
#endif
  }
};

inline const UnlimitedApi g_unlimited;

inline bool IsFinalizing() {
  return g_unlimited.is_finalizing != nullptr && g_unlimited.is_finalizing() != 0;
}
inline int CallFinalizerFromDealloc(PyObject* self) {
  return g_unlimited.call_finalizer_from_dealloc(self);
}

/// Frame object that stands for native code in a traceback; new reference, or None where CPython
/// cannot make one from outside.
inline PyObject* NewNativeFrame(const char* file, const char* function, int line,
                                PyObject* globals) {
  if (g_unlimited.new_empty_code == nullptr || g_unlimited.new_frame == nullptr) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  PyObject* code = g_unlimited.new_empty_code(file, function, line);
  if (code == nullptr) return nullptr;
  PyObject* frame = g_unlimited.new_frame(PyThreadState_Get(), code, globals, nullptr);
  Py_DECREF(code);
  return frame;
}

inline PyObject* NewMethod(PyObject* function, PyObject* self) {
  static PyObject* const type = [] {
    PyObject* types = PyImport_ImportModule("types");
    PyObject* found = types == nullptr ? nullptr : PyObject_GetAttrString(types, "MethodType");
    Py_XDECREF(types);
    return found;
  }();
  if (type == nullptr) {
    PyErr_SetString(PyExc_ImportError, "types.MethodType is not available");
    return nullptr;
  }
  return PyObject_CallFunctionObjArgs(type, function, self, nullptr);
}

inline bool HasAttribute(PyTypeObject* type, const char* name, Py_ssize_t expected) {
  PyObject* value = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name);
  const Py_ssize_t found = value == nullptr ? -1 : PyLong_AsSsize_t(value);
  Py_XDECREF(value);
  PyErr_Clear();
  return found == expected;
}

/// Whether `TypeSlots` is the layout of a type of this interpreter, as far as it can be asked.
inline bool DescribesType(PyTypeObject* type) {
  const TypeSlots* slots = SlotsOf(type);
  auto is = [type](int slot, auto value) {
    void* pointer;
    std::memcpy(&pointer, &value, sizeof(pointer));
    return PyType_GetSlot(type, slot) == pointer;
  };
  return PyType_GetFlags(type) == slots->tp_flags &&
         HasAttribute(type, "__basicsize__", slots->tp_basicsize) &&
         HasAttribute(type, "__itemsize__", slots->tp_itemsize) &&
         HasAttribute(type, "__dictoffset__", slots->tp_dictoffset) &&
         HasAttribute(type, "__weakrefoffset__", slots->tp_weaklistoffset) &&
         is(Py_tp_dealloc, slots->tp_dealloc) && is(Py_tp_repr, slots->tp_repr) &&
         is(Py_tp_hash, slots->tp_hash) && is(Py_tp_call, slots->tp_call) &&
         is(Py_tp_getattro, slots->tp_getattro) && is(Py_tp_traverse, slots->tp_traverse) &&
         is(Py_tp_iter, slots->tp_iter) && is(Py_tp_base, slots->tp_base) &&
         is(Py_tp_init, slots->tp_init) && is(Py_tp_alloc, slots->tp_alloc) &&
         is(Py_tp_new, slots->tp_new) && is(Py_tp_free, slots->tp_free) &&
         is(Py_tp_is_gc, slots->tp_is_gc) && is(Py_tp_del, slots->tp_del) &&
         is(Py_tp_finalize, slots->tp_finalize);
}

/// Versions of which the layout is known; later ones may move what cannot be asked for.
inline bool CheckTypeSlots() {
  constexpr unsigned long kFirst = 0x030C0000, kBehind = 0x030F0000;  // NOLINT
  if (Py_Version < kFirst || Py_Version >= kBehind) return false;
  if (g_unlimited.call_finalizer_from_dealloc == nullptr) return false;
  for (PyTypeObject* type : {&PyType_Type, &PyLong_Type, &PyList_Type, &PyUnicode_Type,
                             &PyDict_Type, &PyCFunction_Type}) {
    if (!DescribesType(type)) return false;
  }
  return SlotsOf(&PyList_Type)->tp_vectorcall != nullptr &&
         SlotsOf(&PyCFunction_Type)->tp_vectorcall_offset > 0;
}

// Item access is checked in the limited API, but cannot fail where it is used.
TVM_FFI_PY_HOT Py_ssize_t TupleSize(PyObject* tuple) { return PyTuple_Size(tuple); }
TVM_FFI_PY_HOT PyObject* TupleItem(PyObject* tuple, Py_ssize_t i) {
  return PyTuple_GetItem(tuple, i);
}
/// Steals the reference to `item`; the tuple is new.
TVM_FFI_PY_HOT void SetTupleItem(PyObject* tuple, Py_ssize_t i, PyObject* item) {
  PyTuple_SetItem(tuple, i, item);
}
TVM_FFI_PY_HOT Py_ssize_t ListSize(PyObject* list) { return PyList_Size(list); }
TVM_FFI_PY_HOT PyObject* ListItem(PyObject* list, Py_ssize_t i) { return PyList_GetItem(list, i); }
TVM_FFI_PY_HOT Py_ssize_t DictSize(PyObject* dict) { return PyDict_Size(dict); }
TVM_FFI_PY_HOT double FloatValue(PyObject* number) { return PyFloat_AsDouble(number); }
/// Value of an exact int; false if it does not fit.
TVM_FFI_PY_HOT bool CompactInt(PyObject* arg, int64_t* out) {
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(arg, &overflow);
  return overflow == 0;
}
TVM_FFI_PY_HOT const char* Utf8(PyObject* text, Py_ssize_t* size) {
  return PyUnicode_AsUTF8AndSize(text, size);
}

#else  // the full API

using TypeSlots = PyTypeObject;

TVM_FFI_PY_HOT TypeSlots* SlotsOf(PyTypeObject* type) { return type; }
inline bool CheckTypeSlots() {
#ifdef Py_GIL_DISABLED
  return false;  // an object may be shared by threads that no lock keeps apart
#else
  return true;
#endif
}

inline bool IsFinalizing() {
#if PY_VERSION_HEX < 0x030D0000
  return _Py_IsFinalizing() != 0;
#else
  return Py_IsFinalizing() != 0;
#endif
}
inline int CallFinalizerFromDealloc(PyObject* self) {
  return PyObject_CallFinalizerFromDealloc(self);
}

/// Frame object that stands for native code in a traceback; new reference.
inline PyObject* NewNativeFrame(const char* file, const char* function, int line,
                                PyObject* globals) {
  PyCodeObject* code = PyCode_NewEmpty(file, function, line);
  if (code == nullptr) return nullptr;
  PyFrameObject* frame = PyFrame_New(PyThreadState_Get(), code, globals, nullptr);
  Py_DECREF(code);
#if PY_VERSION_HEX < 0x030B0000
  // It is kept for later errors and must not hold the caller's variables.
  if (frame != nullptr) Py_CLEAR(frame->f_back);
#endif
  return reinterpret_cast<PyObject*>(frame);
}

inline PyObject* NewMethod(PyObject* function, PyObject* self) {
  return PyMethod_New(function, self);
}

TVM_FFI_PY_HOT Py_ssize_t TupleSize(PyObject* tuple) { return PyTuple_GET_SIZE(tuple); }
TVM_FFI_PY_HOT PyObject* TupleItem(PyObject* tuple, Py_ssize_t i) {
  return PyTuple_GET_ITEM(tuple, i);
}
/// Steals the reference to `item`; the tuple is new.
TVM_FFI_PY_HOT void SetTupleItem(PyObject* tuple, Py_ssize_t i, PyObject* item) {
  PyTuple_SET_ITEM(tuple, i, item);
}
TVM_FFI_PY_HOT Py_ssize_t ListSize(PyObject* list) { return PyList_GET_SIZE(list); }
TVM_FFI_PY_HOT PyObject* ListItem(PyObject* list, Py_ssize_t i) { return PyList_GET_ITEM(list, i); }
TVM_FFI_PY_HOT Py_ssize_t DictSize(PyObject* dict) { return PyDict_GET_SIZE(dict); }
TVM_FFI_PY_HOT double FloatValue(PyObject* number) { return PyFloat_AS_DOUBLE(number); }

/// Value of an exact int that fits one machine digit; false for all others.
TVM_FFI_PY_HOT bool CompactInt(PyObject* arg, int64_t* out) {
  auto* value = reinterpret_cast<PyLongObject*>(arg);
#if PY_VERSION_HEX >= 0x030C0000
  if (!PyUnstable_Long_IsCompact(value)) return false;
  *out = PyUnstable_Long_CompactValue(value);
  return true;
#else
  const Py_ssize_t size = Py_SIZE(value);
  if (size < -1 || size > 1) return false;
  *out = static_cast<int64_t>(size) * static_cast<int64_t>(value->ob_digit[0]);
  return true;
#endif
}

/// UTF-8 of a str, borrowed from it; NULL with an exception set.
TVM_FFI_PY_HOT const char* Utf8(PyObject* text, Py_ssize_t* size) {
  if (PyUnicode_IS_COMPACT_ASCII(text)) {
    *size = PyUnicode_GET_LENGTH(text);
    return reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(text));
  }
  return PyUnicode_AsUTF8AndSize(text, size);
}

#endif  // Py_LIMITED_API

/// Whether type objects may be read and written through `SlotsOf`. Set once, at import.
inline bool g_slots_known = false;

/// TVM_FFI_PLAIN_CLASSES=0 takes the general ways, so that tests can compare the two.
inline void FindTypeSlots() {
  const char* setting = std::getenv("TVM_FFI_PLAIN_CLASSES");
  const bool wanted = setting == nullptr || std::strcmp(setting, "0") != 0;
  g_slots_known = wanted && CheckTypeSlots();
}

/// Whether the vectorcall slot of a class may be set after the fact.
inline bool VectorcallKnown() {
#ifdef Py_LIMITED_API
  return g_slots_known;
#else
  return true;
#endif
}

/// Name of a class for messages.
class TypeName {
 public:
#if defined(Py_LIMITED_API)
  explicit TypeName(PyTypeObject* type) : name_(PyType_GetName(type)) {}
  ~TypeName() { Py_XDECREF(name_); }
  TypeName(const TypeName&) = delete;
  TypeName& operator=(const TypeName&) = delete;
  const char* text() const {
    const char* text = name_ == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name_, nullptr);
    return text == nullptr ? "?" : text;
  }

 private:
  PyObject* name_;
#else
  explicit TypeName(PyTypeObject* type) : name_(type->tp_name) {}
  const char* text() const { return name_; }

 private:
  const char* name_;
#endif
};

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_COMPAT_H_
