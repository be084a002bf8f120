// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Global functions by which other languages create and use containers and strings.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/library_init.h"

namespace tvm {
namespace ffi {
namespace {

const Any& Missing() {
  static const Any missing = Function::GetGlobalRequired("ffi.GetInvalidObject")();
  return missing;
}

template <typename Sequence>
void MakeSequence(PackedArgs args, Any* result) {
  Sequence sequence;
  sequence.reserve(args.size());
  for (int i = 0; i < args.size(); ++i) sequence.push_back(Any(args[i]));
  *result = std::move(sequence);
}

template <typename TableRef>
void MakeTable(PackedArgs args, Any* result) {
  if (args.size() % 2 != 0) {
    TVM_FFI_THROW(ValueError) << "a table is made from key, value, .. but got " << args.size()
                              << " arguments";
  }
  TableRef table;
  for (int i = 0; i < args.size(); i += 2) table.Set(Any(args[i]), Any(args[i + 1]));
  *result = std::move(table);
}

bool SequenceContains(const SeqBaseObj* sequence, const Any& value) {
  const AnyEqual equal;
  for (const Any& cell : *sequence) {
    if (equal(cell, value)) return true;
  }
  return false;
}

Any GetItemOrMissing(const MapBaseObj* table, const Any& key) {
  const MapBaseObj::iterator position = table->find(key);
  return position == table->end() ? Missing() : position->second;
}

/// Cursor: f(0) key, f(1) value, f(2) advance (true while entries remain). Keeps the table alive.
Function ForwardIterator(const MapBaseObj* table) {
  ObjectRef owner(GetObjectPtr<Object>(const_cast<MapBaseObj*>(table)));
  return Function::FromTyped([owner, table, position = table->begin()](int command) mutable -> Any {
    if (command == 2) {
      ++position;
      return position != table->end();
    }
    if (position == table->end()) TVM_FFI_THROW(IndexError) << "the iterator is at its end";
    return command == 0 ? position->first : position->second;
  });
}

/// First non-CPU device among tensors inside nested containers; None if there is none. Lists and
/// dicts may contain themselves.
Any FindFirstNonCPUDevice(const Any& value) {
  std::vector<Any> todo{value};
  std::unordered_set<const Object*> seen;
  while (!todo.empty()) {
    const Any next = std::move(todo.back());
    todo.pop_back();
    if (const auto* tensor = next.as<TensorObj>()) {
      if (tensor->device.device_type != kDLCPU) return tensor->device;
      continue;
    }
    const size_t first = todo.size();
    const SeqBaseObj* sequence = next.as<ArrayObj>();
    if (sequence == nullptr) sequence = next.as<ListObj>();
    if (sequence != nullptr && seen.insert(sequence).second) {
      todo.insert(todo.end(), sequence->begin(), sequence->end());
    }
    const MapBaseObj* table = next.as<MapObj>();
    if (table == nullptr) table = next.as<DictObj>();
    if (table != nullptr && seen.insert(table).second) {
      for (const auto& [key, entry] : *table) {
        todo.push_back(key);
        todo.push_back(entry);
      }
    }
    std::reverse(todo.begin() + static_cast<std::ptrdiff_t>(first), todo.end());
  }
  return Any();
}

void ReplaceSlice(List<Any> list, int64_t begin, int64_t end, const Array<Any>& replacement) {
  ListObj* cells = list.GetListObj();
  const int64_t count = static_cast<int64_t>(replacement.size());
  cells->erase(begin, end);
  cells->ReserveExtra(count);
  cells->insert(begin, replacement.GetArrayObj()->begin(), replacement.GetArrayObj()->end());
}

void RegisterSequences() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def_packed("ffi.Array", MakeSequence<Array<Any>>)
      .def("ffi.ArrayGetItem", [](const ArrayObj* self, int64_t i) -> Any { return self->at(i); })
      .def("ffi.ArraySize", [](const ArrayObj* self) { return static_cast<int64_t>(self->size()); })
      .def("ffi.ArrayContains",
           [](const ArrayObj* self, const Any& value) { return SequenceContains(self, value); })
      .def_packed("ffi.List", MakeSequence<List<Any>>)
      .def("ffi.ListGetItem", [](const ListObj* self, int64_t i) -> Any { return self->at(i); })
      .def("ffi.ListSetItem", [](List<Any> self, int64_t i, Any value) { self.Set(i, value); })
      .def("ffi.ListSize", [](const ListObj* self) { return static_cast<int64_t>(self->size()); })
      .def("ffi.ListContains",
           [](const ListObj* self, const Any& value) { return SequenceContains(self, value); })
      .def("ffi.ListAppend", [](List<Any> self, const Any& value) { self.push_back(value); })
      .def("ffi.ListInsert", [](List<Any> self, int64_t i,
                                const Any& value) { self.insert(self.begin() + i, value); })
      .def("ffi.ListPop",
           [](List<Any> self, int64_t i) -> Any {
             Any value = self[i];
             self.GetListObj()->erase(i);
             return value;
           })
      .def("ffi.ListErase", [](List<Any> self, int64_t i) { self.GetListObj()->erase(i); })
      .def("ffi.ListEraseRange",
           [](List<Any> self, int64_t begin, int64_t end) { self.GetListObj()->erase(begin, end); })
      .def("ffi.ListReplaceSlice", ReplaceSlice)
      .def("ffi.ListReserve", [](List<Any> self, int64_t n) { self.reserve(n); })
      .def("ffi.ListReverse", [](List<Any> self) { self.GetListObj()->Reverse(); })
      .def("ffi.ListClear", [](List<Any> self) { self.clear(); });
}

void RegisterTables() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def_packed("ffi.Map", MakeTable<Map<Any, Any>>)
      .def("ffi.MapSize", [](const MapObj* self) { return static_cast<int64_t>(self->size()); })
      .def("ffi.MapGetItem",
           [](const MapObj* self, const Any& key) -> Any { return self->at(key); })
      .def("ffi.MapCount", [](const MapObj* self,
                              const Any& key) { return static_cast<int64_t>(self->count(key)); })
      .def("ffi.MapGetItemOrMissing",
           [](const MapObj* self, const Any& key) { return GetItemOrMissing(self, key); })
      .def("ffi.MapForwardIterFunctor", [](const MapObj* self) { return ForwardIterator(self); })
      .def_packed("ffi.Dict", MakeTable<Dict<Any, Any>>)
      .def("ffi.DictSize", [](const DictObj* self) { return static_cast<int64_t>(self->size()); })
      .def("ffi.DictGetItem",
           [](const DictObj* self, const Any& key) -> Any { return self->at(key); })
      .def("ffi.DictSetItem",
           [](Dict<Any, Any> self, const Any& key, const Any& value) { self.Set(key, value); })
      .def("ffi.DictCount", [](const DictObj* self,
                               const Any& key) { return static_cast<int64_t>(self->count(key)); })
      .def("ffi.DictErase", [](Dict<Any, Any> self, const Any& key) { self.erase(key); })
      .def("ffi.DictClear", [](Dict<Any, Any> self) { self.clear(); })
      .def("ffi.DictGetItemOrMissing",
           [](const DictObj* self, const Any& key) { return GetItemOrMissing(self, key); })
      .def("ffi.DictForwardIterFunctor", [](const DictObj* self) { return ForwardIterator(self); });
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  RegisterSequences();
  RegisterTables();
  refl::GlobalDef()
      .def("ffi.ContainerFindFirstNonCPUDevice", FindFirstNonCPUDevice)
      .def_packed("ffi.Shape",
                  [](PackedArgs args, Any* result) {
                    int64_t* extents;
                    ObjectPtr<ShapeObj> shape =
                        detail::MakeEmptyShape(static_cast<size_t>(args.size()), &extents);
                    for (int i = 0; i < args.size(); ++i) extents[i] = args[i].cast<int64_t>();
                    *result = std::move(shape);
                  })
      .def("ffi.String", [](const String& value) { return value; })
      .def("ffi.Bytes", [](const Bytes& value) { return value; });
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
