// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Hot path between CPython and the C ABI: argument packing, vectorcall, callbacks, and the error
/// object that carries a Python exception through C++. Everything that is not hot lives in the
/// .pxi files and is reached through `Hooks`, which the extension fills while it is imported.
#ifndef TVM_FFI_PYTHON_PY_CALL_H_
#define TVM_FFI_PYTHON_PY_CALL_H_

#include <Python.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "py_object.h"

namespace tvm_ffi_py {

/// Arguments of one call with what must live until it ends. Destroying it drops every temporary,
/// on success and on every error path.
struct CallFrame {
  static constexpr int kInline = 24;
  TVMFFIAny* args = inline_args;
  void** owned = inline_owned;  ///< per argument: object to release after the call, or NULL
  int32_t size = 0;
  int32_t stream_device_type = -1;  ///< -1: no argument asked for a stream
  int32_t stream_device_id = 0;
  void* stream = nullptr;
  const DLPackExchangeAPI* api = nullptr;  ///< decides the class of returned tensors
  TVMFFIAny result;
  TVMFFIAny inline_args[kInline];
  void* inline_owned[kInline];

  CallFrame() : result(NoneAny()) {}
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  /// Makes room for `n` arguments; false with MemoryError set.
  bool Reserve(Py_ssize_t n) {
    if (n <= kInline) return true;
    if (n > INT32_MAX / 32) {
      PyErr_SetString(PyExc_OverflowError, "too many arguments for one FFI call");
      return false;
    }
    args = static_cast<TVMFFIAny*>(PyMem_Malloc(sizeof(TVMFFIAny) * n));
    owned = static_cast<void**>(PyMem_Malloc(sizeof(void*) * n));
    if (args != nullptr && owned != nullptr) return true;
    FreeHeap();
    args = inline_args;
    owned = inline_owned;
    PyErr_NoMemory();
    return false;
  }
  void FreeHeap() {
    PyMem_Free(args);
    PyMem_Free(owned);
  }

  /// The call took the result over.
  TVMFFIAny TakeResult() {
    TVMFFIAny out = result;
    result.type_index = kTVMFFINone;
    return out;
  }

  TVM_FFI_PY_HOT ~CallFrame() {
    for (int32_t i = 0; i < size; ++i) {
      if (owned[i] != nullptr) TVMFFIObjectDecRef(owned[i]);
    }
    if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
    if (args != inline_args) FreeHeap();
  }
};

/// Numpy array -> tensor, see py_numpy.h; false if the array needs the general way.
bool PackNumpy(PyObject* array, TVMFFIAny* out, void** owned);

TVM_FFI_PY_HOT int PackText(PyObject* arg, TVMFFIAny* out, void** owned) {
  Py_ssize_t size;
  const char* data = Utf8(arg, &size);
  if (data == nullptr) return -1;
  if (size <= 7) {
    out->type_index = kTVMFFISmallStr;
    out->small_str_len = static_cast<uint32_t>(size);
    std::memcpy(out->v_bytes, data, static_cast<size_t>(size));
    return 0;
  }
  TVMFFIByteArray bytes{data, static_cast<size_t>(size)};
  if (TVMFFIStringFromByteArray(&bytes, out) != 0) {
    hooks().raise_ffi_error(-1);
    return -1;
  }
  *owned = out->v_obj;
  return 0;
}

int PackOther(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame);

/// Writes the view of `arg`. 0, or -1 with a Python exception set.
TVM_FFI_PY_HOT int PackArg(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame) {
  out->zero_padding = 0;
  *owned = nullptr;
  if (Py_TYPE(arg) == &PyLong_Type && CompactInt(arg, &out->v_int64)) {
    out->type_index = kTVMFFIInt;
    return 0;
  }
  return PackOther(arg, out, owned, frame);
}

/// Exact built-in classes and plain wrappers; the rest finds its converter by class.
inline int PackOther(PyObject* arg, TVMFFIAny* out, void** owned, CallFrame* frame) {
  out->v_int64 = 0;
  PyTypeObject* type = Py_TYPE(arg);
  if (type == &PyLong_Type) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(arg, &overflow);
    if (overflow != 0) return hooks().pack_slow(arg, out, owned, frame);
    out->type_index = kTVMFFIInt;
    out->v_int64 = value;
    return 0;
  }
  if (type == hooks().tensor_fast_type) {
    void* handle = reinterpret_cast<CObjectLayout*>(arg)->handle;
    if (handle == nullptr) return hooks().pack_slow(arg, out, owned, frame);
    out->type_index = kTVMFFITensor;
    out->v_ptr = handle;
    return 0;
  }
  if (type == &PyFloat_Type) {
    out->type_index = kTVMFFIFloat;
    out->v_float64 = FloatValue(arg);
    return 0;
  }
  if (type == &PyUnicode_Type) return PackText(arg, out, owned);
  if (IsPlain(type)) {
    void* handle = reinterpret_cast<CObjectLayout*>(arg)->handle;
    if (handle == nullptr) return hooks().pack_slow(arg, out, owned, frame);
    if (static_cast<size_t>(SlotsOf(type)->tp_basicsize) > sizeof(CObjectLayout)) {
      const DLPackExchangeAPI* api = reinterpret_cast<ContainerLayout*>(arg)->api;
      if (api != nullptr) frame->api = api;
    }
    out->type_index = static_cast<TVMFFIObject*>(handle)->type_index;
    out->v_ptr = handle;
    return 0;
  }
  if (arg == Py_None) {
    out->type_index = kTVMFFINone;
    return 0;
  }
  if (type == &PyBool_Type) {
    out->type_index = kTVMFFIBool;
    out->v_int64 = arg == Py_True;
    return 0;
  }
  if (type == hooks().function_type) {
    void* handle = reinterpret_cast<CObjectLayout*>(arg)->handle;
    if (handle == nullptr) return hooks().pack_slow(arg, out, owned, frame);
    out->type_index = kTVMFFIFunction;
    out->v_ptr = handle;
    return 0;
  }
  if (type == hooks().ndarray_type && PackNumpy(arg, out, owned)) return 0;
  return hooks().pack_slow(arg, out, owned, frame);
}

TVM_FFI_PY_HOT int PackArgs(PyObject* const* args, Py_ssize_t n, CallFrame* frame) {
  if (!frame->Reserve(n)) return -1;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PackArg(args[i], &frame->args[i], &frame->owned[i], frame) != 0) {
      // A converter that failed half way may already own something.
      frame->size = static_cast<int32_t>(i);
      if (frame->owned[i] != nullptr) TVMFFIObjectDecRef(frame->owned[i]);
      return -1;
    }
    frame->size = static_cast<int32_t>(i + 1);
  }
  return 0;
}

TVM_FFI_PY_HOT int CallCell(void* func, bool release_gil, CallFrame* frame) {
  const TVMFFISafeCallType call = TVMFFIFunctionGetCellPtr(func)->safe_call;
  if (!release_gil) return call(func, frame->args, frame->size, &frame->result);
  PyThreadState* saved = PyEval_SaveThread();
  const int status = call(func, frame->args, frame->size, &frame->result);
  PyEval_RestoreThread(saved);
  return status;
}

/// Calls `func` under the stream and allocator that the arguments ask for.
inline int InvokeInEnvironment(void* func, bool release_gil, CallFrame* frame) {
  void* old_stream = nullptr;
  DLPackManagedTensorAllocator old_allocator = nullptr;
  const bool set_stream = frame->stream_device_type >= 0;
  const bool set_allocator =
      frame->api != nullptr && frame->api->managed_tensor_allocator != nullptr;
  if (set_stream && TVMFFIEnvSetStream(frame->stream_device_type, frame->stream_device_id,
                                       frame->stream, &old_stream) != 0) {
    return -1;
  }
  if (set_allocator && TVMFFIEnvSetDLPackManagedTensorAllocator(
                           frame->api->managed_tensor_allocator, 0, &old_allocator) != 0) {
    return -1;
  }
  const int status = CallCell(func, release_gil, frame);
  if (set_allocator) TVMFFIEnvSetDLPackManagedTensorAllocator(old_allocator, 0, nullptr);
  if (set_stream) {
    TVMFFIEnvSetStream(frame->stream_device_type, frame->stream_device_id, old_stream, nullptr);
  }
  return status;
}

/// Calls `func` with the packed arguments.
TVM_FFI_PY_HOT int Invoke(void* func, bool release_gil, CallFrame* frame) {
  if (frame->stream_device_type >= 0 || frame->api != nullptr) {
    return InvokeInEnvironment(func, release_gil, frame);
  }
  return CallCell(func, release_gil, frame);
}

/// The error of a call whose result may hold something; NULL.
[[gnu::noinline, gnu::cold]] inline PyObject* FailedCall(int status, const TVMFFIAny& result) {
  if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  hooks().raise_ffi_error(status);
  return nullptr;
}

TVM_FFI_PY_HOT PyObject* CallWithoutArguments(void* func) {
  TVMFFIAny none = NoneAny();
  TVMFFIAny result = NoneAny();
  const int status = TVMFFIFunctionGetCellPtr(func)->safe_call(func, &none, 0, &result);
  if (status != 0) return FailedCall(status, result);
  if (result.type_index == kTVMFFINone) Py_RETURN_NONE;
  return ToPython(result, nullptr);
}

/// Calls that need a frame. Not part of the function below, whose stack would hold it in each call.
[[gnu::noinline]] inline PyObject* CallWithFrame(FunctionLayout* self, PyObject* const* args,
                                                 size_t nargsf, PyObject* kwnames) {
  if (kwnames != nullptr && TupleSize(kwnames) != 0) {
    PyErr_Format(PyExc_TypeError, "__call__() got an unexpected keyword argument '%U'",
                 TupleItem(kwnames, 0));
    return nullptr;
  }
  if (self->base.handle == nullptr) {
    PyErr_SetString(PyExc_ValueError, "call of a ffi.Function whose handle was moved away");
    return nullptr;
  }
  CallFrame frame;
  if (PackArgs(args, PyVectorcall_NARGS(nargsf), &frame) != 0) return nullptr;
  const int status = Invoke(self->base.handle, self->release_gil != 0, &frame);
  if (status != 0) {
    hooks().raise_ffi_error(status);
    return nullptr;
  }
  return ToPython(frame.TakeResult(), frame.api);
}

inline PyObject* FunctionVectorcall(PyObject* callable, PyObject* const* args, size_t nargsf,
                                    PyObject* kwnames) {
  auto* self = reinterpret_cast<FunctionLayout*>(callable);
  if (kwnames == nullptr && PyVectorcall_NARGS(nargsf) == 0 && self->release_gil == 0 &&
      self->base.handle != nullptr) {
    return CallWithoutArguments(self->base.handle);
  }
  return CallWithFrame(self, args, nargsf, kwnames);
}

/// True if an object of dynamic type `actual` is an instance of `expected`.
inline bool IsInstance(int32_t actual, int32_t expected) {
  if (actual == expected) return true;
  if (actual < kTVMFFIStaticObjectBegin) return false;
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(actual);
  const TVMFFITypeInfo* target = TVMFFIGetTypeInfo(expected);
  return info->type_depth > target->type_depth &&
         info->type_ancestors[target->type_depth]->type_index == expected;
}

/// Address of a reflected field inside `obj`; NULL with a Python exception set.
inline void* FieldAddress(PyObject* obj, int64_t offset, int32_t type_index) {
  if (!PyObject_TypeCheck(obj, hooks().object_type)) {
    PyErr_Format(PyExc_TypeError, "expected an FFI object, got %s", TypeName(Py_TYPE(obj)).text());
    return nullptr;
  }
  void* handle = reinterpret_cast<CObjectLayout*>(obj)->handle;
  if (handle == nullptr) {
    PyErr_Format(PyExc_ValueError, "%s object has no value: it was moved away or never built",
                 TypeName(Py_TYPE(obj)).text());
    return nullptr;
  }
  if (!IsInstance(static_cast<TVMFFIObject*>(handle)->type_index, type_index)) {
    PyErr_Format(PyExc_TypeError, "%s object has no such field", TypeName(Py_TYPE(obj)).text());
    return nullptr;
  }
  return static_cast<char*>(handle) + offset;
}

inline PyObject* FieldGetterVectorcall(PyObject* callable, PyObject* const* args, size_t nargsf,
                                       PyObject* kwnames) {
  auto* self = reinterpret_cast<FieldGetterLayout*>(callable);
  if (PyVectorcall_NARGS(nargsf) != 1 || kwnames != nullptr) {
    PyErr_SetString(PyExc_TypeError, "field getter takes exactly one argument");
    return nullptr;
  }
  void* field = FieldAddress(args[0], self->offset, self->type_index);
  if (field == nullptr) return nullptr;
  TVMFFIAny value = NoneAny();
  const int status = self->getter(field, &value);
  if (status != 0) {
    hooks().raise_ffi_error(status);
    return nullptr;
  }
  return ToPython(value, nullptr);
}

/// Makes instances of `type` callable without an argument tuple.
inline void EnableVectorcall(PyTypeObject* type, Py_ssize_t offset) {
  if (!VectorcallKnown()) return;
  TypeSlots* slots = SlotsOf(type);
  slots->tp_vectorcall_offset = offset;
  slots->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  slots->tp_call = PyVectorcall_Call;
  PyType_Modified(type);
}

// ---------------------------------------------------------------------------------------------
// Callbacks
// ---------------------------------------------------------------------------------------------

struct Closure {
  PyObject* callable;
  const DLPackExchangeAPI* api;  ///< class of tensor arguments, or NULL for tvm_ffi.Tensor
};

inline void ClosureDeleter(void* self) {
  auto* closure = static_cast<Closure*>(self);
  ReleasePyObject(closure->callable);
  delete closure;
}

/// Owned form of a Python value; 0, or -1 with a Python exception set.
inline int ToOwnedAny(PyObject* value, TVMFFIAny* out) {
  CallFrame frame;
  void* owned = nullptr;
  TVMFFIAny view;
  if (PackArg(value, &view, &owned, &frame) != 0) {
    if (owned != nullptr) TVMFFIObjectDecRef(owned);
    return -1;
  }
  if (owned != nullptr || view.type_index < kTVMFFIDLTensorPtr) {
    *out = view;  // a plain value, or a reference of its own already
    return 0;
  }
  if (TVMFFIAnyViewToOwnedAny(&view, out) == 0) return 0;
  hooks().raise_ffi_error(-1);
  return -1;
}

inline int CallbackBody(Closure* closure, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  constexpr int kInline = 8;
  PyObject* inline_slots[kInline + 1];
  PyObject** slots = inline_slots;
  if (n > kInline) {
    slots = static_cast<PyObject**>(PyMem_Malloc(sizeof(PyObject*) * (n + 1)));
    if (slots == nullptr) {
      PyErr_NoMemory();
      return -1;
    }
  }
  slots[0] = nullptr;  // scratch of PY_VECTORCALL_ARGUMENTS_OFFSET
  int32_t done = 0;
  int status = -1;
  for (; done < n; ++done) {
    slots[done + 1] = ViewToPython(&args[done], closure->api);
    if (slots[done + 1] == nullptr) break;
  }
  if (done == n) {
    PyObject* value =
        PyObject_Vectorcall(closure->callable, slots + 1,
                            static_cast<size_t>(n) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (value != nullptr) {
      status = ToOwnedAny(value, result);
      Py_DECREF(value);
    }
  }
  for (int32_t i = 0; i < done; ++i) Py_DECREF(slots[i + 1]);
  if (slots != inline_slots) PyMem_Free(slots);
  return status;
}

inline int CallbackSafeCall(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (!PythonIsUp()) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError",
                                 "a Python callback was called after the interpreter ended");
    return -1;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  const int status = CallbackBody(static_cast<Closure*>(self), args, n, result);
  if (status != 0) hooks().set_raised_from_python();
  PyGILState_Release(state);
  return status;
}

/// New reference to a Function around `callable`; NULL with the FFI error raised.
inline void* NewCallback(PyObject* callable, const DLPackExchangeAPI* api) {
  auto* closure = new Closure{callable, api};
  Py_INCREF(callable);
  void* out = nullptr;
  if (TVMFFIFunctionCreate(closure, CallbackSafeCall, ClosureDeleter, &out) == 0) return out;
  ClosureDeleter(closure);
  return nullptr;
}

// ---------------------------------------------------------------------------------------------
// Errors that carry their Python exception
// ---------------------------------------------------------------------------------------------

/// An ffi.Error whose exception object comes back unchanged when the error reaches Python again.
/// C++ sees the plain error cell; only `deleter` tells the two apart.
struct PyErrorObject {
  TVMFFIObject header;
  TVMFFIErrorCell cell;
  PyObject* exception;
  size_t python_frames;  ///< length of the leading part of `backtrace` that Python already has
  std::string kind;
  std::string message;
  std::string backtrace;
};

inline void PyErrorDeleter(void* self, int flags) {
  auto* error = static_cast<PyErrorObject*>(self);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    ReleasePyObject(error->exception);
    if (error->cell.cause_chain != nullptr) TVMFFIObjectDecRef(error->cell.cause_chain);
    if (error->cell.extra_context != nullptr) TVMFFIObjectDecRef(error->cell.extra_context);
    error->kind.~basic_string();
    error->message.~basic_string();
    error->backtrace.~basic_string();
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) ::operator delete(self);
}

inline void PyErrorUpdateBacktrace(TVMFFIObjectHandle self, const TVMFFIByteArray* text,
                                   int32_t mode) {
  auto* error = static_cast<PyErrorObject*>(self);
  if (mode == kTVMFFIBacktraceUpdateModeReplace) {
    error->backtrace.assign(text->data, text->size);
    error->python_frames = 0;
  } else {
    error->backtrace.append(text->data, text->size);
  }
  error->cell.backtrace = {error->backtrace.data(), error->backtrace.size()};
}

/// New reference. `cause` and `extra` are borrowed and may be NULL.
inline void* NewPyError(PyObject* exception, const char* kind, const char* message,
                        size_t message_size, const char* frames, size_t frames_size, void* cause,
                        void* extra) {
  void* memory = ::operator new(sizeof(PyErrorObject));
  auto* error = new (memory) PyErrorObject{};
  error->header.combined_ref_count = (uint64_t{1} << 32) | 1;
  error->header.type_index = kTVMFFIError;
  error->header.deleter = PyErrorDeleter;
  error->kind = kind;
  error->message.assign(message, message_size);
  error->backtrace.assign(frames, frames_size);
  error->python_frames = frames_size;
  error->cell.kind = {error->kind.data(), error->kind.size()};
  error->cell.message = {error->message.data(), error->message.size()};
  error->cell.backtrace = {error->backtrace.data(), error->backtrace.size()};
  error->cell.update_backtrace = PyErrorUpdateBacktrace;
  if (cause != nullptr) TVMFFIObjectIncRef(cause);
  if (extra != nullptr) TVMFFIObjectIncRef(extra);
  error->cell.cause_chain = cause;
  error->cell.extra_context = extra;
  Py_INCREF(exception);
  error->exception = exception;
  return error;
}

inline PyErrorObject* AsPyError(void* handle) {
  auto* header = static_cast<TVMFFIObject*>(handle);
  return header->deleter == PyErrorDeleter ? static_cast<PyErrorObject*>(handle) : nullptr;
}

/// The exception of a Python-born error (new reference), or NULL. A sole owner moves it out, so
/// that exception and error do not keep each other alive.
inline PyObject* TakeException(void* handle) {
  PyErrorObject* error = AsPyError(handle);
  if (error == nullptr || error->exception == nullptr) return nullptr;
  PyObject* exception = error->exception;
  if (error->header.combined_ref_count == ((uint64_t{1} << 32) | 1)) {
    error->exception = nullptr;
  } else {
    Py_INCREF(exception);
  }
  return exception;
}

/// Part of the backtrace that was added below Python.
inline TVMFFIByteArray NativeFrames(void* handle) {
  TVMFFIByteArray all = TVMFFIErrorGetCellPtr(handle)->backtrace;
  PyErrorObject* error = AsPyError(handle);
  if (error == nullptr || error->exception == nullptr) return all;
  const size_t skip = error->python_frames < all.size ? error->python_frames : all.size;
  return {all.data + skip, all.size - skip};
}

inline void AppendBacktrace(void* handle, const TVMFFIByteArray* text) {
  TVMFFIErrorGetCellPtr(handle)->update_backtrace(handle, text, kTVMFFIBacktraceUpdateModeAppend);
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_CALL_H_
