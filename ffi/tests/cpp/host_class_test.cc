// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Types defined at run time, as a host language does it.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/dataclass.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>

#include <string>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

TVMFFIByteArray Text(const char* text) {
  return TVMFFIByteArray{text, std::char_traits<char>::length(text)};
}

void AddField(int32_t type, const char* name, int32_t static_index, int64_t offset, int64_t size) {
  TVMFFIFieldInfo info{};
  info.name = Text(name);
  info.size = size;
  info.alignment = 8;
  info.offset = offset;
  info.field_static_type_index = static_index;
  info.flags = kTVMFFIFieldFlagBitMaskWritable | kTVMFFIFieldFlagBitSetterIsFunctionObj;
  info.getter = reinterpret_cast<TVMFFIFieldGetter>(
      Function::GetGlobalRequired("ffi.MakeFieldGetter")(static_index).cast<int64_t>());
  Function setter =
      Function::GetGlobalRequired("ffi.MakeFieldSetter")(static_index, 0, 0).cast<Function>();
  info.setter = const_cast<Object*>(static_cast<const Object*>(setter.get()));
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(type, &info));
}

/// Fields: int at 24, object at 32, any value at 40.
int32_t DefineType() {
  const TVMFFIByteArray key = Text("test.host.Class");
  const int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  TVMFFITypeMetadata metadata{};
  metadata.total_size = 56;
  metadata.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(type, &metadata));
  AddField(type, "number", kTVMFFIInt, 24, 8);
  AddField(type, "items", kTVMFFIArray, 32, 8);
  AddField(type, "any", kTVMFFIAny, 40, 16);
  Function::GetGlobalRequired("ffi._PyClassRegisterTypeAttrColumns")(type, 56);
  return type;
}

TEST(HostClass, LifeOfAnObject) {
  const int32_t type = DefineType();
  Function init = refl::TypeAttrColumn("__ffi_init__")[type].cast<Function>();
  Array<int> items{1, 2};
  Any object = init(7, items, String("a string on the heap"));
  EXPECT_EQ(items.use_count(), 2U);
  EXPECT_EQ(std::string(ReprPrint(object)),
            "test.host.Class(number=7, items=(1, 2), any=\"a string on the heap\")");
  Function copy_fn = refl::TypeAttrColumn("__ffi_shallow_copy__")[type].cast<Function>();
  Any copy = copy_fn(object);
  EXPECT_EQ(items.use_count(), 3U);
  EXPECT_TRUE(RecursiveEq(object, copy));
  Any deep = DeepCopy(object);
  EXPECT_EQ(items.use_count(), 3U);
  refl::FieldSetter("test.host.Class", "items")(deep.cast<ObjectRef>(), nullptr);
  EXPECT_EQ(std::string(ReprPrint(deep)),
            "test.host.Class(number=7, items=None, any=\"a string on the heap\")");
  object = nullptr;
  copy = nullptr;
  EXPECT_EQ(items.use_count(), 1U);
  EXPECT_THROW(init(7, 5, nullptr), Error);  // an int is no object
  EXPECT_THROW(Function::GetGlobalRequired("ffi.MakeFieldGetter")(11), Error);
}

}  // namespace
