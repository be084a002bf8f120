// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Quick way from an error born in C++ to the pending Python exception. It serves what error.pxi
/// has served before: kinds with a class, and backtraces whose frames are known. The same few
/// places fail again and again where errors are part of normal work.
#ifndef TVM_FFI_PYTHON_PY_ERROR_H_
#define TVM_FFI_PYTHON_PY_ERROR_H_

#include <cstddef>
#include <cstring>
#include <string>

#include "py_call.h"

namespace tvm_ffi_py {

/// Python objects by text; a new text takes the place of the oldest. Filled and read with the
/// interpreter lock held.
template <size_t kCapacity>
class TextTable {
 public:
  void Set(const char* data, size_t size, PyObject* value) {
    PyObject** place = Find(data, size);
    if (place == nullptr) {
      Entry& entry = entries_[next_];
      next_ = (next_ + 1) % kCapacity;
      entry.text.assign(data, size);
      place = &entry.value;
    }
    Py_INCREF(value);
    PyObject* old = *place;
    *place = value;
    Py_XDECREF(old);
  }
  PyObject* Get(const TVMFFIByteArray& text) {
    PyObject** place = Find(text.data, text.size);
    return place == nullptr ? nullptr : *place;
  }

 private:
  struct Entry {
    std::string text;
    PyObject* value = nullptr;
  };

  PyObject** Find(const char* data, size_t size) {
    for (Entry& entry : entries_) {
      if (entry.value != nullptr && entry.text.size() == size &&
          std::memcmp(entry.text.data(), data, size) == 0) {
        return &entry.value;
      }
    }
    return nullptr;
  }

  Entry entries_[kCapacity];
  size_t next_ = 0;
};

struct ErrorTables {
  TextTable<16> classes;  ///< by kind
  TextTable<8> frames;    ///< tuples ((frame, line), ..), innermost first, by backtrace
  PyObject* attribute = nullptr;
};

inline ErrorTables& error_tables() {
  static auto* tables = new ErrorTables();
  return *tables;
}

inline void RememberErrorClass(const char* kind, Py_ssize_t size, PyObject* cls) {
  error_tables().classes.Set(kind, static_cast<size_t>(size), cls);
}

inline void RememberFrames(const TVMFFIByteArray& backtrace, PyObject* frames) {
  constexpr size_t kMaxText = 8192;  // of a deep recursion: it would hardly come again
  if (backtrace.size <= kMaxText) error_tables().frames.Set(backtrace.data, backtrace.size, frames);
}

/// Exception for an error that was not born in Python; NULL, without an exception, if it needs the
/// general way.
inline PyObject* NewKnownException(void* handle, PyObject* cls) {
  ErrorTables& tables = error_tables();
  const TVMFFIByteArray message = TVMFFIErrorGetCellPtr(handle)->message;
  PyObject* exception = nullptr;
  PyObject* error = nullptr;
  if (tables.attribute == nullptr) {
    tables.attribute = PyUnicode_InternFromString("__tvm_ffi_error__");
  }
  PyObject* text = TextToPython(message.data, message.size);
  if (text != nullptr && tables.attribute != nullptr) {
    exception = PyObject_CallFunctionObjArgs(cls, text, nullptr);
  }
  Py_XDECREF(text);
  if (exception != nullptr && PyExceptionInstance_Check(exception)) {
    TVMFFIObjectIncRef(handle);
    error = NewPlain(hooks().error_type, handle, nullptr);
  }
  if (error == nullptr) {
    Py_XDECREF(exception);
    exception = nullptr;
  } else if (PyObject_SetAttr(exception, tables.attribute, error) != 0) {
    PyErr_Clear();  // a class without room for attributes
  }
  Py_XDECREF(error);
  if (exception == nullptr) PyErr_Clear();
  return exception;
}

/// Makes the raised error pending, its native frames in the traceback. False, with nothing changed,
/// if the general way has to do it.
inline bool RaiseKnownError(int status) {
#ifdef Py_GIL_DISABLED
  return false;  // the tables have no lock
#else
  if (status != -1 || PyErr_Occurred() != nullptr || !IsPlain(hooks().error_type)) return false;
  void* handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (handle == nullptr) return false;
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
  PyObject* cls = error_tables().classes.Get(cell->kind);
  PyObject* frames =
      cell->backtrace.size == 0 ? nullptr : error_tables().frames.Get(cell->backtrace);
  PyObject* exception = nullptr;
  if (cls != nullptr && (frames != nullptr || cell->backtrace.size == 0) &&
      AsPyError(handle) == nullptr) {
    Py_XINCREF(frames);  // the constructor of a registered class may raise, and so change the table
    exception = NewKnownException(handle, cls);
  }
  if (exception == nullptr) {
    TVMFFIErrorSetRaised(handle);
    TVMFFIObjectDecRef(handle);
    return false;
  }
  // Sets `__context__` when another exception is being handled.
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  const Py_ssize_t n = frames == nullptr ? 0 : TupleSize(frames);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyTraceBack_Here(reinterpret_cast<PyFrameObject*>(TupleItem(TupleItem(frames, i), 0)));
  }
  Py_XDECREF(frames);
  TVMFFIObjectDecRef(handle);
  return true;
#endif
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_ERROR_H_
