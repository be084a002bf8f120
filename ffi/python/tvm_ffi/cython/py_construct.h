// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Calling a registered class. `Class(...)` of a plain class packs the arguments, calls the packed
/// constructor and wraps the result, without an argument tuple or an empty instance in between.
/// Whatever differs from that (subclasses, a replaced __init__ or __new__) goes through type().
#ifndef TVM_FFI_PYTHON_PY_CONSTRUCT_H_
#define TVM_FFI_PYTHON_PY_CONSTRUCT_H_

#include <vector>

#include "py_call.h"

namespace tvm_ffi_py {

enum class ConstructKind {
  kFields,    ///< arguments go to the constructor as they are
  kSequence,  ///< one list or tuple, whose items are the arguments
  kMapping,   ///< one dict, whose keys and values are the arguments
};

/// How one class is built. Entries live as long as the process, like registered types.
struct ConstructPlan {
  PyTypeObject* type;
  ConstructKind kind;
  newfunc make;        ///< tp_new at registration
  PyObject* init;      ///< __init__ of the class body
  PyObject* function;  ///< Function that makes the object
  PyObject* after;     ///< called with the new object, or NULL
  void* kwargs;        ///< sentinel between positional and keyword arguments, or NULL
};

/// Open addressing by class; written under the interpreter lock.
class PlanTable {
 public:
  const ConstructPlan* Find(PyTypeObject* type) const {
    if (slots_.empty()) return nullptr;
    for (size_t at = Home(type);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].type == type) return &slots_[at];
      if (slots_[at].type == nullptr) return nullptr;
    }
  }
  void Insert(const ConstructPlan& plan) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    size_t at = Home(plan.type);
    while (slots_[at].type != nullptr && slots_[at].type != plan.type) {
      at = (at + 1) & (slots_.size() - 1);
    }
    if (slots_[at].type == nullptr) ++count_;
    slots_[at] = plan;
  }

 private:
  size_t Home(PyTypeObject* type) const {
    return (reinterpret_cast<uintptr_t>(type) >> 6) & (slots_.size() - 1);
  }
  void Grow() {
    std::vector<ConstructPlan> old(slots_.empty() ? 256 : 2 * slots_.size(), ConstructPlan{});
    old.swap(slots_);
    count_ = 0;
    for (const ConstructPlan& plan : old) {
      if (plan.type != nullptr) Insert(plan);
    }
  }

  std::vector<ConstructPlan> slots_;
  size_t count_ = 0;
};

inline PlanTable& plans() {
  static PlanTable table;
  return table;
}

/// tp_init of classes with a plan: calls their __init__. Finding it in the slot proves that the
/// __init__ is still the one of the plan.
inline int PlannedInit(PyObject* self, PyObject* args, PyObject* kwargs) {
  const ConstructPlan* plan = plans().Find(Py_TYPE(self));
  if (plan == nullptr) {
    PyErr_SetString(PyExc_SystemError, "class lost its construction plan");
    return -1;
  }
  const Py_ssize_t n = TupleSize(args);
  PyObject* with_self = PyTuple_New(n + 1);
  if (with_self == nullptr) return -1;
  Py_INCREF(self);
  SetTupleItem(with_self, 0, self);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = TupleItem(args, i);
    Py_INCREF(item);
    SetTupleItem(with_self, i + 1, item);
  }
  PyObject* result = PyObject_Call(plan->init, with_self, kwargs);
  Py_DECREF(with_self);
  if (result == nullptr) return -1;
  Py_DECREF(result);
  return 0;
}

inline PyObject* CallGenerically(PyObject* type, PyObject* const* args, Py_ssize_t n,
                                 PyObject* kwnames) {
  PyObject* result = nullptr;
  PyObject* kwargs = nullptr;
  PyObject* tuple = PyTuple_New(n);
  if (tuple == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    Py_INCREF(args[i]);
    SetTupleItem(tuple, i, args[i]);
  }
  if (kwnames != nullptr && TupleSize(kwnames) != 0) {
    kwargs = PyDict_New();
    if (kwargs == nullptr) goto done;
    for (Py_ssize_t i = 0; i < TupleSize(kwnames); ++i) {
      if (PyDict_SetItem(kwargs, TupleItem(kwnames, i), args[n + i]) != 0) goto done;
    }
  }
  result = SlotsOf(Py_TYPE(type))->tp_call(type, tuple, kwargs);
done:
  Py_XDECREF(kwargs);
  Py_DECREF(tuple);
  return result;
}

/// Packs an item that Python code run by a later conversion could drop from its container.
inline int PackItem(PyObject* item, CallFrame* frame) {
  const int32_t i = frame->size;
  Py_INCREF(item);
  int status = PackArg(item, &frame->args[i], &frame->owned[i], frame);
  if (status == 0 && frame->owned[i] == nullptr) {
    TVMFFIAny* view = &frame->args[i];
    if (view->type_index >= kTVMFFIStaticObjectBegin) {
      TVMFFIObjectIncRef(view->v_obj);
      frame->owned[i] = view->v_obj;
    } else if (view->type_index >= kTVMFFIDLTensorPtr && view->type_index < kTVMFFISmallStr) {
      TVMFFIAny value;
      status = TVMFFIAnyViewToOwnedAny(view, &value);
      if (status != 0) {
        hooks().raise_ffi_error(status);
      } else {
        *view = value;
        if (value.type_index >= kTVMFFIStaticObjectBegin) frame->owned[i] = value.v_obj;
      }
    }
  }
  Py_DECREF(item);
  if (status != 0) {
    if (frame->owned[i] != nullptr) TVMFFIObjectDecRef(frame->owned[i]);
    return -1;
  }
  frame->size = i + 1;
  return 0;
}

/// Items of a list or tuple; a list may change while its items are converted.
inline int PackSequence(PyObject* items, CallFrame* frame) {
  const bool is_list = PyList_CheckExact(items);
  const Py_ssize_t n = is_list ? ListSize(items) : TupleSize(items);
  if (!frame->Reserve(n)) return -1;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (is_list && i >= ListSize(items)) break;
    PyObject* item = is_list ? ListItem(items, i) : TupleItem(items, i);
    if (PackItem(item, frame) != 0) return -1;
  }
  return 0;
}

inline int PackMapping(PyObject* items, CallFrame* frame) {
  const Py_ssize_t n = DictSize(items);
  if (!frame->Reserve(2 * n)) return -1;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(items, &position, &key, &value)) {
    if (frame->size == 2 * n) break;
    Py_INCREF(value);  // converting the key may change the dict
    int status = PackItem(key, frame);
    if (status == 0) status = PackItem(value, frame);
    Py_DECREF(value);
    if (status != 0) return -1;
    if (DictSize(items) != n) {
      PyErr_SetString(PyExc_RuntimeError, "dictionary changed size during iteration");
      return -1;
    }
  }
  return 0;
}

TVM_FFI_PY_HOT int PackFields(const ConstructPlan& plan, PyObject* const* args, Py_ssize_t n,
                              PyObject* kwnames, CallFrame* frame) {
  const Py_ssize_t named = kwnames == nullptr ? 0 : TupleSize(kwnames);
  if (named == 0) return PackArgs(args, n, frame);
  if (!frame->Reserve(n + 1 + 2 * named)) return -1;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PackItem(args[i], frame) != 0) return -1;
  }
  TVMFFIAny* sentinel = &frame->args[frame->size];
  sentinel->type_index = static_cast<TVMFFIObject*>(plan.kwargs)->type_index;
  sentinel->zero_padding = 0;
  sentinel->v_ptr = plan.kwargs;
  frame->owned[frame->size++] = nullptr;
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PackItem(TupleItem(kwnames, i), frame) != 0) return -1;
    if (PackItem(args[n + i], frame) != 0) return -1;
  }
  return 0;
}

/// True if the fast way serves these arguments.
inline bool Serves(const ConstructPlan& plan, PyObject* const* args, Py_ssize_t n,
                   PyObject* kwnames) {
  const bool named = kwnames != nullptr && TupleSize(kwnames) != 0;
  switch (plan.kind) {
    case ConstructKind::kFields:
      return !named || plan.kwargs != nullptr;
    case ConstructKind::kSequence:
      return !named && n == 1 && (PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]));
    case ConstructKind::kMapping:
      return !named && n == 1 && PyDict_CheckExact(args[0]);
  }
  return false;
}

inline PyObject* ConstructVectorcall(PyObject* callable, PyObject* const* args, size_t nargsf,
                                     PyObject* kwnames) {
  auto* type = reinterpret_cast<PyTypeObject*>(callable);
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const ConstructPlan* plan = SlotsOf(type)->tp_init == PlannedInit ? plans().Find(type) : nullptr;
  if (plan == nullptr || SlotsOf(type)->tp_new != plan->make || !IsPlain(type) ||
      !Serves(*plan, args, n, kwnames)) {
    return CallGenerically(callable, args, n, kwnames);
  }
  CallFrame frame;
  int status;
  switch (plan->kind) {
    case ConstructKind::kSequence:
      status = PackSequence(args[0], &frame);
      break;
    case ConstructKind::kMapping:
      status = PackMapping(args[0], &frame);
      break;
    default:
      status = PackFields(*plan, args, n, kwnames, &frame);
  }
  if (status != 0) return nullptr;
  // Constructors fill memory and return; the interpreter lock stays.
  status = Invoke(reinterpret_cast<CObjectLayout*>(plan->function)->handle, false, &frame);
  if (status != 0) {
    hooks().raise_ffi_error(status);
    return nullptr;
  }
  const TVMFFIAny value = frame.TakeResult();
  if (value.type_index < kTVMFFIStaticObjectBegin) {
    PyObject* shown = ToPython(value, nullptr);
    if (shown != nullptr) {
      PyErr_Format(PyExc_TypeError, "constructor of %s returned no object but %R",
                   TypeName(type).text(), shown);
      Py_DECREF(shown);
    }
    return nullptr;
  }
  PyObject* self = NewPlain(type, value.v_obj, nullptr);
  if (self == nullptr || plan->after == nullptr) return self;
  PyObject* done = PyObject_CallFunctionObjArgs(plan->after, self, nullptr);
  if (done == nullptr) {
    Py_DECREF(self);
    return nullptr;
  }
  Py_DECREF(done);
  return self;
}

/// Gives a plain class its plan. All objects are kept for good. False if the class is not plain.
inline bool AddPlan(PyObject* cls, int kind, PyObject* init, PyObject* function, PyObject* after,
                    void* kwargs) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!IsPlain(type)) return false;
  for (PyObject* kept : {cls, init, function, after}) Py_XINCREF(kept);
  plans().Insert(ConstructPlan{type, static_cast<ConstructKind>(kind), SlotsOf(type)->tp_new, init,
                               function, after, kwargs});
  SlotsOf(type)->tp_init = PlannedInit;
  SlotsOf(type)->tp_vectorcall = ConstructVectorcall;
  return true;
}

/// Lets the classes of a metaclass be called through their tp_vectorcall.
inline void EnableClassVectorcall(PyObject* metaclass) {
  if (!g_slots_known) return;
  auto* type = reinterpret_cast<PyTypeObject*>(metaclass);
  SlotsOf(type)->tp_vectorcall_offset = offsetof(TypeSlots, tp_vectorcall);
  SlotsOf(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
}

}  // namespace tvm_ffi_py
#endif  // TVM_FFI_PYTHON_PY_CONSTRUCT_H_
