// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Uses something of every public header, so that the symbols this file needs are those that
/// clients may need. test_symbols.py compares them with what released libraries export.
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/endian.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/extra/dtype.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/structural_key.h>
#include <tvm/ffi/extra/structural_mutate.h>
#include <tvm/ffi/extra/structural_visit.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/access_path.h>
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <sstream>
#include <string>
#include <vector>

namespace every_header {

using namespace tvm::ffi;  // NOLINT(google-build-using-namespace)

class PairObj : public Object {
 public:
  int64_t a = 0;
  String b;
  PairObj() = default;
  PairObj(int64_t a, String b) : a(a), b(std::move(b)) {}
  int64_t Sum(int64_t x) const { return a + x; }
  int64_t Sum(double x) const { return a + static_cast<int64_t>(x); }
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("every_header.Pair", PairObj, Object);
};

class Pair : public ObjectRef {
 public:
  explicit Pair(int64_t a, String b) : ObjectRef(make_object<PairObj>(a, std::move(b))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Pair, ObjectRef, PairObj);
};

class LevelObj : public IntEnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("every_header.Level", LevelObj, IntEnumObj);
};

class DemoModuleObj : public ModuleObj {
 public:
  const char* kind() const final { return "every_header"; }
  Optional<Function> GetFunction(const String& name) final {
    if (name != "f") return std::nullopt;
    return Function::FromTyped([](int64_t x) { return x + 1; });
  }
};

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<PairObj>()
      .def_ro("a", &PairObj::a, "doc", refl::default_value(1))
      .def_rw("b", &PairObj::b, refl::default_factory([] { return String("x"); }))
      .def("sum", refl::overload_cast<int64_t>(&PairObj::Sum, refl::const_))
      .def_static("make", [](int64_t a) { return Pair(a, "m"); });
  refl::ObjectDef<LevelObj>(refl::init(false));
  refl::EnumDef<LevelObj>("low", 1).set_attr("weight", 3);
  refl::GlobalDef().def("every_header.echo", [](Any x) { return x; });
}

void Containers(const Any& value) {
  Array<Any> array{1, "a", value};
  array.push_back(2.5);
  List<int64_t> list{1, 2};
  list.insert(list.begin(), 3);
  Map<String, Any> map{{"k", array}, {"l", list}};
  map.Set("m", map.Get("k"));
  map.erase("k");
  Dict<Any, Any> dict{{1, 2}};
  for (int64_t i = 0; i < 100; ++i) dict.Set(i, value);
  dict.erase(3);
  dict.clear();
  Tuple<int64_t, String> tuple(1, "a");
  Variant<int64_t, String> variant(String("v"));
  Shape shape({1, 2});
  const std::vector<int64_t> numbers = Any(list).cast<std::vector<int64_t>>();
  static_cast<void>(numbers);
  static_cast<void>(Any(tuple).try_cast<Array<Any>>());
  static_cast<void>(Any(variant).cast<String>());
  static_cast<void>(map.at("m"));
  static_cast<void>(shape->size);
}

void Tensors(DLManagedTensorVersioned* managed, const Tensor& like) {
  Tensor tensor = Tensor::FromDLPackVersioned(managed);
  static_cast<void>(tensor.as_strided({1}, {1}));
  static_cast<void>(
      Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, like.shape(), like.dtype(), like.device()));
  static_cast<void>(tensor.ToDLPackVersioned());
  static_cast<void>(DTypeAbbrev(tensor.dtype()));
  static_cast<void>(Any("cuda:1").try_cast<DLDevice>());
}

void Structure(const Any& value) {
  static_cast<void>(StructuralEqual()(value, value));
  static_cast<void>(StructuralHash()(value));
  static_cast<void>(StructuralEqual::GetFirstMismatch(value, value));
  static_cast<void>(StructuralKey(value));
  StructuralWalk(value, [](const Pair& pair) { static_cast<void>(pair->a); });
  StructuralVisit(value, [](const Pair& pair, StructuralVisitorObj* visitor) {
    return visitor->DefaultVisitExpected(pair);
  });
  auto count = [](const Pair& pair) { static_cast<void>(pair->a); };
  using Walk = StructuralWalkEngine<StructuralVisitorObj, WalkOrder::kPreOrder, decltype(count)>;
  make_object<Walk>(count)->Visit(value);
  static_cast<void>(StructuralMap(
      value, [](const Pair& pair) -> UnchangedOr<Any> { return Any(Pair(pair->a, "new")); }));
  static_cast<void>(StructuralMutate(value, [](const Pair& pair, StructuralMutatorObj* mutator) {
    return mutator->Mutate(pair->b).ValueOrUnchanged(pair);
  }));
  static_cast<void>(RecursiveEq(value, value) && RecursiveLt(value, value) &&
                    RecursiveLe(value, value) && RecursiveGt(value, value) &&
                    RecursiveGe(value, value) && RecursiveHash(value) != 0);
  static_cast<void>(DeepCopy(value));
  static_cast<void>(ReprPrint(value));
  static_cast<void>(json::Stringify(json::Parse("[1]"), 2));
  static_cast<void>(FromJSONGraph(ToJSONGraph(value, Any())));
  static_cast<void>(Base64Encode(Bytes("ab", 2)));
  const auto path = reflection::AccessPath::Root()->Attr("a")->ArrayItem(1);
  static_cast<void>(path->IsPrefixOf(path) && path->PathEqual(path) && path->ToSteps().size() != 0);
  static_cast<void>(reflection::ObjectCreator("every_header.Pair")(Map<String, Any>()));
}

void Errors(const ObjectRef& place) {
  try {
    TVM_FFI_VISIT_BEGIN();
    TVM_FFI_CHECK_EQ(1, 2, ValueError) << "no";
    TVM_FFI_ICHECK(place.defined());
    TVM_FFI_VISIT_END(place);
  } catch (const Error& error) {
    Error again("RuntimeError", error.what(), "", error, std::nullopt);
    const TVMFFIByteArray frames{"", 0};
    again.UpdateBacktrace(&frames, kTVMFFIBacktraceUpdateModeAppend);
    static_cast<void>(VisitErrorContext::FindAccessPaths(place, VisitErrorContext()));
  }
  Expected<int64_t> expected = Function::GetGlobalRequired("f").CallExpected<int64_t>(1);
  static_cast<void>(expected.is_ok());
}

void Numbers() {
  BigInt big = BigInt(2) << 100;
  big = big * big / BigInt(7) % BigInt(1000) - BigInt(1.5e300);
  std::stringstream stream;
  stream << big;
  stream >> big;
  static_cast<void>(static_cast<double>(big) > 0 && (big & BigInt(3)) < BigInt(4));
  static_cast<void>(EscapeStringJSON("x"));
  static_cast<void>(EscapedStringPy("x"));
}

void Modules() {
  Module module(make_object<DemoModuleObj>());
  module->ImportModule(module);
  static_cast<void>(module->GetFunction("f", true));
  static_cast<void>(module->ImplementsFunction("f", true));
  static_cast<void>(module->GetFunctionDoc("f", true));
  static_cast<void>(module->GetFunctionMetadata("f", true));
  module->ClearImports();
  static_cast<void>(Module::LoadFromFile("x.so"));
  Module::VisitContextSymbols([](String, void*) {});
}

int64_t AddOne(int64_t x) { return x + 1; }

}  // namespace every_header

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, every_header::AddOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add_one, "Adds one.");
