// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

/// Functions whose signatures cover every schema form, and a type with a field of each.
#include <tvm/ffi/tvm_ffi.h>

namespace tvm {
namespace ffi {
namespace {

namespace refl = reflection;

template <typename T>
T Identity(T value) {
  return value;
}

using ArrayOfInt = Array<int64_t>;
using MapOfArray = Map<String, ArrayOfInt>;

class SchemaAllTypesObj : public Object {
 public:
  bool v_bool = true;
  int64_t v_int = 0;
  double v_float = 0;
  DLDevice v_device{kDLCPU, 0};
  DLDataType v_dtype{kDLInt, 32, 1};
  String v_string = "s";
  Bytes v_bytes{"b"};
  Optional<int64_t> v_opt_int;
  Optional<String> v_opt_str;
  ArrayOfInt v_arr_int;
  Array<String> v_arr_str;
  Map<String, int64_t> v_map_str_int;
  MapOfArray v_map_str_arr_int;
  Variant<String, ArrayOfInt, Map<String, int64_t>> v_variant = String("v");
  Optional<Array<Variant<int64_t, String>>> v_opt_arr_variant;

  int64_t AddInt(int64_t other) const { return v_int + other; }
  ArrayOfInt AppendInt(ArrayOfInt values, int64_t value) const {
    values.push_back(value);
    return values;
  }
  Optional<String> MaybeConcat(Optional<String> a, Optional<String> b) const {
    if (a.has_value() && b.has_value()) return String(std::string(*a) + std::string(*b));
    return a.has_value() ? a : b;
  }
  MapOfArray MergeMap(MapOfArray left, MapOfArray right) const {
    for (const auto& [key, values] : right) left.Set(key, values);
    return left;
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("testing.SchemaAllTypes", SchemaAllTypesObj, Object);
};

class SchemaAllTypes : public ObjectRef {
 public:
  static SchemaAllTypes MakeWith(int64_t v_int, double v_float, String v_string) {
    auto node = make_object<SchemaAllTypesObj>();
    node->v_int = v_int;
    node->v_float = v_float;
    node->v_string = std::move(v_string);
    return SchemaAllTypes(std::move(node));
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SchemaAllTypes, ObjectRef, SchemaAllTypesObj);
};

void RegisterType() {
  const refl::Metadata marks{{"bool_attr", true}, {"int_attr", 1}, {"str_attr", String("hello")}};
  refl::ObjectDef<SchemaAllTypesObj>(refl::init(false))
      .def_rw("v_bool", &SchemaAllTypesObj::v_bool, "bool field", marks)
      .def_rw("v_int", &SchemaAllTypesObj::v_int, "int field", refl::default_value(0))
      .def_rw("v_float", &SchemaAllTypesObj::v_float, "float field", refl::default_value(0.0))
      .def_rw("v_device", &SchemaAllTypesObj::v_device, "device field")
      .def_rw("v_dtype", &SchemaAllTypesObj::v_dtype, "dtype field")
      .def_rw("v_string", &SchemaAllTypesObj::v_string, "string field",
              refl::default_value(String("s")))
      .def_rw("v_bytes", &SchemaAllTypesObj::v_bytes, "bytes field")
      .def_rw("v_opt_int", &SchemaAllTypesObj::v_opt_int, "optional int")
      .def_rw("v_opt_str", &SchemaAllTypesObj::v_opt_str, "optional str")
      .def_rw("v_arr_int", &SchemaAllTypesObj::v_arr_int, "array<int>")
      .def_rw("v_arr_str", &SchemaAllTypesObj::v_arr_str, "array<str>")
      .def_rw("v_map_str_int", &SchemaAllTypesObj::v_map_str_int, "map<str,int>")
      .def_rw("v_map_str_arr_int", &SchemaAllTypesObj::v_map_str_arr_int, "map<str,array<int>>")
      .def_rw("v_variant", &SchemaAllTypesObj::v_variant, "variant<str,array<int>,map<str,int>>")
      .def_rw("v_opt_arr_variant", &SchemaAllTypesObj::v_opt_arr_variant,
              "optional<array<variant<int,str>>>")
      .def("add_int", &SchemaAllTypesObj::AddInt, "add int method", marks)
      .def("append_int", &SchemaAllTypesObj::AppendInt, "append int to array")
      .def("maybe_concat", &SchemaAllTypesObj::MaybeConcat, "optional concat")
      .def("merge_map", &SchemaAllTypesObj::MergeMap, "merge maps")
      .def_static("make_with", &SchemaAllTypes::MakeWith, "Constructor with subset of fields");
}

void RegisterIdentities() {
  const refl::Metadata marks{{"bool_attr", true}, {"int_attr", 1}, {"str_attr", String("hello")}};
  refl::GlobalDef()
      .def("testing.schema_id_int", Identity<int64_t>, "", marks)
      .def("testing.schema_id_float", Identity<double>)
      .def("testing.schema_id_bool", Identity<bool>)
      .def("testing.schema_id_device", Identity<DLDevice>)
      .def("testing.schema_id_dtype", Identity<DLDataType>)
      .def("testing.schema_id_string", Identity<String>)
      .def("testing.schema_id_bytes", Identity<Bytes>)
      .def("testing.schema_id_func", Identity<Function>)
      .def("testing.schema_id_func_typed", Identity<TypedFunction<void(int64_t, float, Function)>>)
      .def("testing.schema_id_any", Identity<Any>)
      .def("testing.schema_id_object", Identity<ObjectRef>)
      .def("testing.schema_id_dltensor", Identity<DLTensor*>)
      .def("testing.schema_id_tensor", Identity<Tensor>)
      .def("testing.schema_id_opt_int", Identity<Optional<int64_t>>)
      .def("testing.schema_id_opt_str", Identity<Optional<String>>)
      .def("testing.schema_id_opt_obj", Identity<Optional<ObjectRef>>)
      .def("testing.schema_id_arr", Identity<Array<Any>>)
      .def("testing.schema_id_arr_int", Identity<ArrayOfInt>)
      .def("testing.schema_id_arr_str", Identity<Array<String>>)
      .def("testing.schema_id_arr_obj", Identity<Array<ObjectRef>>)
      .def("testing.schema_id_list_int", Identity<List<int64_t>>)
      .def("testing.schema_id_list_str", Identity<List<String>>)
      .def("testing.schema_id_list_obj", Identity<List<ObjectRef>>)
      .def("testing.schema_id_map", Identity<Map<Any, Any>>)
      .def("testing.schema_id_map_str_int", Identity<Map<String, int64_t>>)
      .def("testing.schema_id_map_str_str", Identity<Map<String, String>>)
      .def("testing.schema_id_map_str_obj", Identity<Map<String, ObjectRef>>)
      .def("testing.schema_id_dict_str_int", Identity<Dict<String, int64_t>>)
      .def("testing.schema_id_dict_str_str", Identity<Dict<String, String>>)
      .def("testing.schema_id_variant_int_str", Identity<Variant<int64_t, String>>);
}

void RegisterOthers() {
  refl::GlobalDef()
      .def_packed("testing.schema_packed", [](PackedArgs, Any*) {})
      .def("testing.schema_tensor_view_input", [](TensorView) {})
      .def("testing.schema_variant_mix", Identity<Variant<int64_t, String, ArrayOfInt>>)
      .def("testing.schema_no_args", []() { return 1; })
      .def("testing.schema_no_return", [](int64_t) {})
      .def("testing.schema_no_args_no_return", []() {})
      .def("testing.schema_arr_map_opt",
           [](const Array<Optional<int64_t>>& values, MapOfArray map, const Optional<String>& key) {
             if (!key.has_value()) return map;
             ArrayOfInt present;
             for (const Optional<int64_t>& value : values) {
               if (value.has_value()) present.push_back(*value);
             }
             map.Set(*key, present);
             return map;
           });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterType();
  RegisterIdentities();
  RegisterOthers();
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
