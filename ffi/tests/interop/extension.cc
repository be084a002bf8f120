// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// An extension library that compiles against the headers of any release. Built once with ours and
/// once with released ones; driver.py loads both into one process. SIDE is a string of its own per
/// build, so that both register types.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdlib>
#include <string>

namespace {

namespace ffi = tvm::ffi;
using ffi::Any;
using ffi::Array;
using ffi::Dict;
using ffi::Function;
using ffi::List;
using ffi::Map;
using ffi::String;

class PairObj : public ffi::Object {
 public:
  int64_t a = 0;
  String b;
  Array<Any> items;

  PairObj() = default;
  PairObj(int64_t a, String b) : a(a), b(std::move(b)) {}
  int64_t Sum(int64_t x) const { return a + x; }

  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO(SIDE ".Pair", PairObj, ffi::Object);
};

class Pair : public ffi::ObjectRef {
 public:
  Pair(int64_t a, String b) : ObjectRef(ffi::make_object<PairObj>(a, std::move(b))) {}
  explicit Pair(ffi::ObjectPtr<PairObj> data) : ObjectRef(std::move(data)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Pair, ffi::ObjectRef, PairObj);
};

/// Counts living objects: shows that the deleter of the defining library runs.
int64_t alive = 0;

class CountedObj : public PairObj {
 public:
  CountedObj() { ++alive; }
  explicit CountedObj(int64_t a) : PairObj(a, "counted") { ++alive; }
  CountedObj(const CountedObj& other) : PairObj(other) { ++alive; }
  ~CountedObj() { --alive; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL(SIDE ".Counted", CountedObj, PairObj);
};

class Counted : public Pair {
 public:
  explicit Counted(int64_t a) : Pair(ffi::make_object<CountedObj>(a)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Counted, Pair, CountedObj);
};

class DemoModuleObj : public ffi::ModuleObj {
 public:
  const char* kind() const final { return SIDE; }
  ffi::Optional<Function> GetFunction(const String& name) final {
    if (name == "twice") return Function::FromTyped([](int64_t x) { return 2 * x; });
    return std::nullopt;
  }
  String InspectSource(const String& format) const final { return "source of " SIDE; }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<PairObj>()
      .def(refl::init<int64_t, String>())
      .def_rw("a", &PairObj::a)
      .def_rw("b", &PairObj::b)
      .def_rw("items", &PairObj::items)
      .def("sum", &PairObj::Sum);
  refl::ObjectDef<CountedObj>().def(refl::init<int64_t>());
  refl::GlobalDef().def(SIDE ".global_add", [](int64_t a, int64_t b) { return a + b; });
}

// -- functions, callbacks, errors ------------------------------------------------------------

int64_t Add(int64_t a, int64_t b) { return a + b; }
Any CallBack(const Function& fn, const Any& x) { return fn(x); }
Any CallGlobal(const String& name, int64_t a, int64_t b) {
  return Function::GetGlobalRequired(name)(a, b);
}
void Throw(const String& kind, const String& message) {
  throw ffi::Error(kind.operator std::string(), message.operator std::string(), "");
}
/// kind|message of what `fn` throws, rethrowing nothing.
String Catch(const Function& fn) {
  try {
    fn();
  } catch (const ffi::Error& error) {
    return error.kind() + "|" + error.message();
  }
  return "nothing";
}
String CatchExpected(const Function& fn) {
  ffi::Expected<Any> result = fn.CallExpected<Any>();
  return result.is_ok() ? String("ok") : String(result.error().kind());
}

// -- tensors ---------------------------------------------------------------------------------

struct MallocAlloc {
  void AllocData(DLTensor* tensor) { tensor->data = std::malloc(ffi::GetDataSize(*tensor)); }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};
ffi::Tensor MakeTensor(int64_t n) {
  ffi::Tensor tensor = ffi::Tensor::FromNDAlloc(MallocAlloc(), ffi::Shape({n}),
                                                DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  for (int64_t i = 0; i < n; ++i) static_cast<float*>(tensor.data_ptr())[i] = 1.5f;
  return tensor;
}
double TensorSum(ffi::TensorView tensor) {
  double sum = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) sum += static_cast<float*>(tensor.data_ptr())[i];
  return sum;
}
ffi::Shape TensorShape(const ffi::Tensor& tensor) { return ffi::Shape(tensor.shape()); }

// -- strings, arrays, maps -------------------------------------------------------------------

String Concat(const String& a, const String& b) { return a + b; }
ffi::Bytes Repeat(const ffi::Bytes& x) {
  std::string text(x.data(), x.size());
  return ffi::Bytes(text + text);
}
int64_t ArraySum(const Array<int64_t>& values) {
  int64_t sum = 0;
  for (int64_t value : values) sum += value;
  return sum;
}
Array<Any> ArrayAppend(Array<Any> values, const Any& value) {
  values.push_back(value);
  return values;
}
void ListExtend(List<Any> values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
}
Map<Any, Any> MakeMap(int64_t n) {
  Map<Any, Any> map;
  for (int64_t i = 0; i < n; ++i) map.Set(String("key" + std::to_string(i)), i);
  return map;
}
int64_t MapSum(const Map<String, int64_t>& map) {
  int64_t sum = 0;
  for (const auto& entry : map) sum += entry.second;
  return sum;
}
Map<Any, Any> MapSet(Map<Any, Any> map, const Any& key, const Any& value) {
  map.Set(key, value);
  return map;
}
Any MapGet(const Map<Any, Any>& map, const Any& key) { return map.at(key); }
Array<Any> MapKeys(const Map<Any, Any>& map) {
  Array<Any> keys;
  for (const auto& entry : map) keys.push_back(entry.first);
  return keys;
}
void DictFill(Dict<Any, Any> dict, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dict.Set(i, String("value" + std::to_string(i)));
}
void DictErase(Dict<Any, Any> dict, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dict.erase(i);
}
int64_t DictCheck(const Dict<Any, Any>& dict, int64_t end) {
  int64_t found = 0;
  for (int64_t i = 0; i < end; ++i) {
    if (dict.count(i) == 0) continue;
    if (dict.at(i).cast<String>() != "value" + std::to_string(i)) return -1;
    ++found;
  }
  return found;
}

// -- objects, modules, structure -------------------------------------------------------------

Pair MakePair(int64_t a, const String& b) { return Pair(a, b); }
Counted MakeCounted(int64_t a) { return Counted(a); }
int64_t Alive() { return alive; }
int64_t PairA(const Pair& pair) { return pair->a; }
bool IsPair(const Any& value) { return value.as<PairObj>() != nullptr; }
ffi::Module MakeModule() { return ffi::Module(ffi::make_object<DemoModuleObj>()); }
Any ModuleTwice(const ffi::Module& module, int64_t x) {
  return module->GetFunction("twice", true).value()(x);
}
bool Same(const Any& a, const Any& b) { return ffi::StructuralEqual()(a, b); }
int64_t Hash(const Any& value) { return static_cast<int64_t>(ffi::StructuralHash()(value)); }
int64_t CountInts(const Any& value) {
  int64_t count = 0;
  ffi::StructuralWalk<ffi::WalkOrder::kPreOrder>(value, [&](int64_t) {
    ++count;
    return ffi::WalkResult::Advance();
  });
  return count;
}
Any IncrementInts(const Any& value) {
  return ffi::StructuralMap<ffi::WalkOrder::kPostOrder>(
      value, [](int64_t x) -> ffi::UnchangedOr<Any> { return Any(x + 1); });
}
String ToJSON(const Any& value) { return ffi::json::Stringify(value, 1); }
ffi::BigInt Square(const ffi::BigInt& x) { return x * x; }

}  // namespace

#define EXPORT(name, fn) TVM_FFI_DLL_EXPORT_TYPED_FUNC(name, fn)
EXPORT(add, Add);
EXPORT(call_back, CallBack);
EXPORT(call_global, CallGlobal);
EXPORT(throw_error, Throw);
EXPORT(catch_error, Catch);
EXPORT(catch_expected, CatchExpected);
EXPORT(make_tensor, MakeTensor);
EXPORT(tensor_sum, TensorSum);
EXPORT(tensor_shape, TensorShape);
EXPORT(concat, Concat);
EXPORT(repeat, Repeat);
EXPORT(array_sum, ArraySum);
EXPORT(array_append, ArrayAppend);
EXPORT(list_extend, ListExtend);
EXPORT(make_map, MakeMap);
EXPORT(map_sum, MapSum);
EXPORT(map_set, MapSet);
EXPORT(map_get, MapGet);
EXPORT(map_keys, MapKeys);
EXPORT(dict_fill, DictFill);
EXPORT(dict_erase, DictErase);
EXPORT(dict_check, DictCheck);
EXPORT(make_pair, MakePair);
EXPORT(make_counted, MakeCounted);
EXPORT(alive, Alive);
EXPORT(pair_a, PairA);
EXPORT(is_pair, IsPair);
EXPORT(make_module, MakeModule);
EXPORT(module_twice, ModuleTwice);
EXPORT(same, Same);
EXPORT(hash, Hash);
EXPORT(count_ints, CountInts);
EXPORT(increment_ints, IncrementInts);
EXPORT(to_json, ToJSON);
EXPORT(square, Square);
