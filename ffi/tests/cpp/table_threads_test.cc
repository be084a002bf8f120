// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The tables of types, attributes and functions under many threads, for the thread sanitizer; and
/// what they say to indices that do not exist.
#include <gtest/gtest.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;

constexpr int kThreads = 4;
constexpr int kTypes = 60;

template <typename F>
void OnThreads(F body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TVMFFIByteArray Bytes(const std::string& text) { return TVMFFIByteArray{text.data(), text.size()}; }

int32_t Register(const std::string& key) {
  const TVMFFIByteArray bytes = Bytes(key);
  return TVMFFITypeGetOrAllocIndex(&bytes, -1, 1, 0, 1, kTVMFFIObject);
}

int ReadNothing(void*, TVMFFIAny* result) {
  result->type_index = kTVMFFINone;
  return 0;
}

void AddField(int32_t index, const std::string& name) {
  TVMFFIFieldInfo info{};
  info.name = Bytes(name);
  info.size = 8;
  info.alignment = 8;
  info.offset = 24;
  info.getter = ReadNothing;
  info.field_static_type_index = kTVMFFIAny;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(index, &info));
}

/// All threads register the same keys, with readers beside them.
TEST(Tables, SameTypesFromManyThreads) {
  std::atomic<bool> done{false};
  std::thread reader([&] {
    const TVMFFIByteArray last = Bytes("test.threads.same59");
    while (!done) {
      const int32_t index = TVMFFITypeGetOrAllocIndex(&last, -1, 1, 0, 1, -2);
      if (index >= 0) EXPECT_EQ(TVMFFIGetTypeInfo(index)->type_depth, 1);
      EXPECT_NE(
          Function::GetGlobalRequired("ffi.GetRegisteredTypeKeys")().cast<Array<String>>().size(),
          0U);
    }
  });
  std::vector<std::vector<int32_t>> seen(kThreads, std::vector<int32_t>(kTypes));
  OnThreads([&](int t) {
    for (int i = 0; i < kTypes; ++i) {
      seen[t][i] = Register("test.threads.same" + std::to_string(i));
    }
  });
  done = true;
  reader.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(seen[t], seen[0]);
}

TEST(Tables, MembersAndAttributesWhileOthersRead) {
  const int32_t index = Register("test.threads.grows");
  const std::string column_name = "__test_threads__";
  const TVMFFIByteArray column_bytes = Bytes(column_name);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
      const int32_t count = __atomic_load_n(&info->num_fields, __ATOMIC_ACQUIRE);
      const TVMFFIFieldInfo* fields = __atomic_load_n(&info->fields, __ATOMIC_ACQUIRE);
      for (int32_t i = 0; i < count; ++i) EXPECT_EQ(fields[i].offset, 24);
      const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&column_bytes);
      if (column != nullptr) {
        const int32_t size = __atomic_load_n(&column->size, __ATOMIC_ACQUIRE);
        const TVMFFIAny* data = __atomic_load_n(&column->data, __ATOMIC_ACQUIRE);
        if (index < size) EXPECT_LE(__atomic_load_n(&data[index].type_index, __ATOMIC_ACQUIRE), 1);
      }
    }
  });
  OnThreads([&](int t) {
    for (int i = 0; i < kTypes; ++i) {
      AddField(index, "f" + std::to_string(t) + "_" + std::to_string(i));
      const int32_t own = Register("test.threads." + std::to_string(t) + "." + std::to_string(i));
      const TVMFFIAny value = AnyView(static_cast<int64_t>(i)).CopyToTVMFFIAny();
      TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterAttr(own, &column_bytes, &value));
    }
  });
  done = true;
  reader.join();
  EXPECT_EQ(TVMFFIGetTypeInfo(index)->num_fields, kThreads * kTypes);
  const reflection::TypeAttrColumn column("__test_threads__");
  for (int t = 0; t < kThreads; ++t) {
    const int32_t own = Register("test.threads." + std::to_string(t) + ".7");
    EXPECT_EQ(column[own].cast<int>(), 7);
  }
}

TEST(Tables, FunctionsWhileOthersCall) {
  auto fresh = [](int seed) {
    return Function::FromTyped([state = std::vector<int>{seed}](int x) { return x + state[0]; });
  };
  Function::SetGlobal("test.threads.f", fresh(0));
  OnThreads([&](int t) {
    for (int i = 0; i < 200; ++i) {
      if (t == 0) {
        Function::SetGlobal("test.threads.f", fresh(i % 2), true);  // may free the last one
      } else {
        const int result = Function::GetGlobalRequired("test.threads.f")(i).cast<int>();
        EXPECT_TRUE(result == i || result == i + 1) << result;
      }
    }
  });
  Function::RemoveGlobal("test.threads.f");
}

TEST(Tables, UnknownIndicesAreErrors) {
  constexpr int32_t kUnknown = 900000;
  for (int32_t bad : {kUnknown, -1, -100, 127, std::numeric_limits<int32_t>::max(),
                      std::numeric_limits<int32_t>::min()}) {
    const std::string expected = "InternalError: Unknown type index " + std::to_string(bad);
    const TVMFFIByteArray name = Bytes("__test_unknown__");
    const TVMFFIAny value = AnyView(1).CopyToTVMFFIAny();
    EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterAttr(bad, &name, &value)); }),
              expected);
    EXPECT_EQ(ErrorOf([&] { AddField(bad, "f"); }), expected);
    TVMFFIMethodInfo method{};
    method.name = Bytes("m");
    EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMethod(bad, &method)); }),
              expected);
    TVMFFITypeMetadata metadata{};
    EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterMetadata(bad, &metadata)); }),
              expected);
    for (const char* global : {"ffi._RegisterFFIInit", "ffi.MakeObjectFromPackedArgs"}) {
      EXPECT_EQ(ErrorOf([&] { Function::GetGlobalRequired(global)(bad); }), expected) << global;
    }
    if (bad == kTVMFFIAny) continue;  // stands for all types below
    const Function nothing = Function::FromPacked([](PackedArgs, Any*) {});
    const Array<Tuple<int64_t, Function>> callbacks{Tuple<int64_t, Function>(bad, nothing)};
    const Array<Any> none;
    for (const char* global : {"ffi.StructuralWalk", "ffi.StructuralMap"}) {
      Function walk = Function::GetGlobalRequired(global);
      EXPECT_EQ(ErrorOf([&] { walk(none, callbacks, none, 1); }), expected) << global;
      EXPECT_EQ(ErrorOf([&] { walk(none, none, callbacks, 1); }), expected) << global;
    }
    EXPECT_EQ(ErrorOf([&] { Function::GetGlobalRequired("ffi.StructuralVisit")(none, callbacks); }),
              expected);
  }
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
