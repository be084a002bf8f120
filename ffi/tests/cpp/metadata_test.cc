// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Schemas: of types, of global functions, of fields and methods, of exported symbols.
#define TVM_FFI_DLL_EXPORT_INCLUDE_METADATA 1
#include <gtest/gtest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

#include <optional>
#include <string>
#include <vector>

namespace tvm {
namespace ffi {
namespace {

namespace refl = tvm::ffi::reflection;

int64_t Multiply(int64_t x, int64_t y) { return x * y; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(metadata_test_multiply, Multiply);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(metadata_test_multiply, "Product of \"two\" numbers.");

/// The schema text inside metadata such as {"type_schema":"..."}.
std::string SchemaIn(const String& metadata) {
  return json::Parse(metadata).cast<Map<String, Any>>()["type_schema"].cast<String>();
}

template <typename T>
std::string Schema() {
  return TypeTraits<T>::TypeSchema();
}

TEST(Schema, PlainTypes) {
  EXPECT_EQ(Schema<int>(), R"({"type":"int"})");
  EXPECT_EQ(Schema<uint8_t>(), R"({"type":"int"})");
  EXPECT_EQ(Schema<float>(), R"({"type":"float"})");
  EXPECT_EQ(Schema<bool>(), R"({"type":"bool"})");
  EXPECT_EQ(Schema<void*>(), R"({"type":"void*"})");
  EXPECT_EQ(Schema<DLDevice>(), R"({"type":"Device"})");
  EXPECT_EQ(Schema<DLDataType>(), R"({"type":"DataType"})");
  EXPECT_EQ(Schema<DLTensor*>(), R"({"type":"DLTensor*"})");
  EXPECT_EQ(Schema<TensorView>(), R"({"type":"DLTensor*"})");
  EXPECT_EQ(Schema<Tensor>(), R"({"type":"ffi.Tensor"})");
  EXPECT_EQ(Schema<String>(), R"({"type":"ffi.String"})");
  EXPECT_EQ(Schema<BigInt>(), R"({"type":"ffi.BigInt"})");
  EXPECT_EQ(Schema<std::string>(), R"({"type":"std::string"})");
  EXPECT_EQ(Schema<Function>(), R"({"type":"ffi.Function"})");
}

TEST(Schema, ComposedTypes) {
  EXPECT_EQ((Schema<Dict<String, List<int>>>()),
            R"({"type":"ffi.Dict","args":[{"type":"ffi.String"},)"
            R"({"type":"ffi.List","args":[{"type":"int"}]}]})");
  EXPECT_EQ((Schema<Tuple<int, Optional<String>>>()),
            R"({"type":"Tuple","args":[{"type":"int"},)"
            R"({"type":"Optional","args":[{"type":"ffi.String"}]}]})");
  EXPECT_EQ((Schema<Variant<int, Array<Any>>>()),
            R"({"type":"Variant","args":[{"type":"int"},)"
            R"({"type":"ffi.Array","args":[{"type":"Any"}]}]})");
  EXPECT_EQ((Schema<std::vector<int>>()), R"({"type":"std::vector","args":[{"type":"int"}]})");
  const std::string typed = TypedFunction<Expected<int>(String)>::TypeSchema();
  EXPECT_EQ(typed, R"({"type":"ffi.Function","named_args":{"return":[{"type":"Expected","args":)"
                   R"([{"type":"int"},{"type":"ffi.Error"}]}],"params":[{"type":"ffi.String"}]}})");
}

TEST(Metadata, ExportedSymbols) {
  const String text =
      Function::InvokeExternC(nullptr, __tvm_ffi__metadata_metadata_test_multiply).cast<String>();
  EXPECT_EQ(SchemaIn(text),
            R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":)"
            R"([{"type":"int"},{"type":"int"}]}})");
  EXPECT_EQ(Function::InvokeExternC(nullptr, __tvm_ffi__doc_metadata_test_multiply).cast<String>(),
            "Product of \"two\" numbers.");
}

class ThingObj : public Object {
 public:
  Map<String, int> sizes;
  double weight = 0;
  double Scaled(double by) const { return weight * by; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.metadata.Thing", ThingObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<ThingObj>("A thing.")
      .def_ro("sizes", &ThingObj::sizes, "By name.")
      .def_ro("weight", &ThingObj::weight, refl::Metadata{{"unit", "kg"}, {"digits", 3}})
      .def("scaled", &ThingObj::Scaled, "Weight times a factor.");
  refl::GlobalDef().def("test.metadata.multiply", Multiply, "Multiplies.");
  refl::GlobalDef().def_packed("test.metadata.packed", [](PackedArgs, Any*) {});
}

std::string Text(const TVMFFIByteArray& bytes) { return std::string(bytes.data, bytes.size); }

TEST(Metadata, TypesAndMembers) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(ThingObj::RuntimeTypeIndex());
  ASSERT_NE(info->metadata, nullptr);
  EXPECT_EQ(Text(info->metadata->doc), "A thing.");
  EXPECT_EQ(info->metadata->total_size, static_cast<int32_t>(sizeof(ThingObj)));
  ASSERT_EQ(info->num_fields, 2);
  EXPECT_EQ(Text(info->fields[0].doc), "By name.");
  EXPECT_EQ(SchemaIn(Text(info->fields[0].metadata)),
            R"({"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"int"}]})");
  auto extra = json::Parse(Text(info->fields[1].metadata)).cast<Map<String, Any>>();
  EXPECT_EQ(extra["unit"].cast<String>(), "kg");
  EXPECT_EQ(extra["digits"].cast<int>(), 3);
  const TVMFFIMethodInfo* scaled = nullptr;
  for (int i = 0; i < info->num_methods; ++i) {
    if (Text(info->methods[i].name) == "scaled") scaled = &info->methods[i];
  }
  ASSERT_NE(scaled, nullptr);
  EXPECT_EQ(Text(scaled->doc), "Weight times a factor.");
  EXPECT_EQ(SchemaIn(Text(scaled->metadata)),
            R"({"type":"ffi.Function","named_args":{"return":[{"type":"float"}],"params":)"
            R"([{"type":"test.metadata.Thing"},{"type":"float"}]}})");
}

TEST(Metadata, GlobalFunctions) {
  Function metadata = Function::GetGlobalRequired("ffi.GetGlobalFuncMetadata");
  EXPECT_NE(SchemaIn(metadata("test.metadata.multiply").cast<String>()).find("params"),
            std::string::npos);
  const std::string packed = SchemaIn(metadata("test.metadata.packed").cast<String>());
  EXPECT_EQ(packed, R"({"type":"ffi.Function"})") << "untyped";
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
