// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/endian.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/string.h>

#include <cstddef>
#include <sstream>
#include <thread>
#include <vector>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;

TEST(CApi, StructLayout) {
  static_assert(sizeof(TVMFFIAny) == 16 && offsetof(TVMFFIAny, v_int64) == 8);
  static_assert(offsetof(TVMFFIObject, type_index) == 8 && offsetof(TVMFFIObject, deleter) == 16);
  static_assert(sizeof(TVMFFIFieldInfo) == 120 && offsetof(TVMFFIFieldInfo, flags) == 48 &&
                offsetof(TVMFFIFieldInfo, setter) == 88 &&
                offsetof(TVMFFIFieldInfo, field_static_type_index) == 112);
  static_assert(sizeof(TVMFFIMethodInfo) == 72 && offsetof(TVMFFIMethodInfo, method) == 56);
  static_assert(sizeof(TVMFFITypeMetadata) == 32 && sizeof(TVMFFITypeAttrColumn) == 16);
  static_assert(sizeof(TVMFFITypeInfo) == 72 && offsetof(TVMFFITypeInfo, type_ancestors) == 24 &&
                offsetof(TVMFFITypeInfo, metadata) == 64);
  static_assert(offsetof(TVMFFIErrorCell, update_backtrace) == 48 &&
                offsetof(TVMFFIErrorCell, cause_chain) == 56);
  static_assert(sizeof(DLPackExchangeAPI) == 56 &&
                offsetof(DLPackExchangeAPI, managed_tensor_allocator) == 16);
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  EXPECT_EQ(version.minor, 1u);
  EXPECT_EQ(version.patch, 16u);
}

TEST(CApi, OpaqueObjects) {
  static int deleted = 0;
  TVMFFIObjectHandle handle;
  int payload = 3;
  ASSERT_EQ(TVMFFIObjectCreateOpaque(
                &payload, kTVMFFIOpaquePyObject,
                [](void* self) { deleted += *static_cast<int*>(self); }, &handle),
            0);
  EXPECT_EQ(TVMFFIOpaqueObjectGetCellPtr(handle)->handle, &payload);
  EXPECT_EQ(TVMFFIObjectIncRef(handle), 0);
  EXPECT_EQ(TVMFFIObjectDecRef(handle), 0);
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(TVMFFIObjectDecRef(handle), 0);
  EXPECT_EQ(deleted, 3);
  EXPECT_EQ(
      ErrorOf([&] {
        TVM_FFI_CHECK_SAFE_CALL(TVMFFIObjectCreateOpaque(nullptr, kTVMFFITensor, nullptr, &handle));
      }).substr(0, 13),
      "RuntimeError:");
}

int init_calls = 0;
int InitHandle(void** result) {
  *result = &++init_calls;
  return 0;
}

TEST(CApi, InitOnceUnderThreads) {
  static void* slot = nullptr;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] { EXPECT_EQ(TVMFFIHandleInitOnce(&slot, InitHandle), 0); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(init_calls, 1);
  EXPECT_EQ(TVMFFIHandleDeinitOnce(&slot, [](void* handle) { return handle == nullptr ? 1 : 0; }),
            0);
  EXPECT_EQ(slot, nullptr);
  EXPECT_EQ(TVMFFIHandleDeinitOnce(&slot, [](void*) { return 5; }), 0) << "already gone";
  EXPECT_EQ(ErrorOf([] {
              TVM_FFI_CHECK_SAFE_CALL(TVMFFIHandleInitOnce(&slot, [](void** result) {
                *result = nullptr;
                return 0;
              }));
            }).substr(0, 13),
            "RuntimeError:");
}

TEST(CApi, CustomAllocator) {
  TVMFFICustomAllocator* initial = TVMFFIGetCustomAllocator();
  ASSERT_NE(initial, nullptr);
  for (size_t alignment : {8, 64}) {
    void* space = initial->allocate(100, alignment, kTVMFFIObject, initial->context);
    ASSERT_NE(space, nullptr);
    EXPECT_EQ(reinterpret_cast<size_t>(space) % alignment, 0u);
    detail::ObjectUnsafe::GetObjectAllocHeaderFromPtr(space)->delete_space(space);
  }
  TVMFFICustomAllocator mine{nullptr, nullptr};
  EXPECT_EQ(TVMFFISetCustomAllocator(&mine), 0);
  EXPECT_EQ(TVMFFIGetCustomAllocator(), &mine);
  EXPECT_EQ(TVMFFISetCustomAllocator(nullptr), 0);
  EXPECT_EQ(TVMFFIGetCustomAllocator(), initial);
}

TEST(Error, TextAndBacktrace) {
  Error error("KeyError", "missing", "  File \"b\", line 2, in g\n  File \"a\", line 1, in f\n");
  EXPECT_STREQ(error.what(), "missing");
  EXPECT_EQ(error.FullMessage(),
            "Traceback (most recent call last):\n  File \"a\", line 1, in f\n"
            "  File \"b\", line 2, in g\nKeyError: missing\n");
  const std::string frame = "  File \"c\", line 3, in h\n";
  TVMFFIByteArray more{frame.data(), frame.size()};
  Error alias = error;
  alias.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeAppend);
  EXPECT_EQ(error.backtrace().substr(error.backtrace().size() - frame.size()), frame);
  error.UpdateBacktrace(&more, kTVMFFIBacktraceUpdateModeReplace);
  EXPECT_EQ(alias.backtrace(), frame);
}

TEST(Error, CauseChainIsOwned) {
  {
    testing::Node context(1);
    Error cause("ValueError", "inner", "");
    Error outer("TypeError", "outer", "", cause, context);
    EXPECT_EQ(cause.use_count(), 2);
    EXPECT_EQ(outer.cause_chain()->message(), "inner");
    EXPECT_TRUE(outer.extra_context()->same_as(context));
    EXPECT_FALSE(cause.cause_chain().has_value());
  }
  EXPECT_EQ(testing::NodeObj::live, 0);
}

TEST(Error, CheckMacros) {
  int x = 1, y = 2;
  void* null = nullptr;
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK(x == y, ValueError) << "text"; }),
            "ValueError: Check failed: (x == y) is false: text");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_ICHECK_GE(x, y) << "text"; }),
            "InternalError: Check failed: x >= y (1 vs. 2) : text");
  EXPECT_EQ(ErrorOf([&] { (void)TVM_FFI_CHECK_NOTNULL(null, TypeError); }),
            "TypeError: Check not null: null ");
  EXPECT_EQ(TVM_FFI_ICHECK_NOTNULL(&x), &x);
  TVM_FFI_CHECK_EQ(x, 1, ValueError) << "not evaluated " << (y = 5);
  EXPECT_EQ(y, 2);
  EXPECT_EQ(ErrorOf([] { throw EnvErrorAlreadySet(); }), "EnvErrorAlreadySet: ");
  EXPECT_EQ(ErrorOf([] {
              TVMFFIObjectHandle handle;
              const char* parts[] = {"a", nullptr, "b"};
              TVMFFIErrorSetRaisedFromCStrParts("AttributeError", parts, 3);
              (void)handle;
              throw detail::MoveFromSafeCallRaised();
            }),
            "AttributeError: ab");
}

TEST(Error, RaisedSlotIsPerThread) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "main");
  std::thread other([] {
    TVMFFIObjectHandle handle;
    TVMFFIErrorMoveFromRaised(&handle);
    EXPECT_EQ(handle, nullptr);
    TVMFFIErrorSetRaisedFromCStr("ValueError", "released at thread exit");
  });
  other.join();
  EXPECT_EQ(detail::MoveFromSafeCallRaised().message(), "main");
}

TEST(String, FormsAndMoves) {
  EXPECT_EQ(Any(String("1234567")).type_index(), kTVMFFISmallStr);
  EXPECT_EQ(Any(String("12345678")).type_index(), kTVMFFIStr);
  String heap("a text of some length");
  String shared = heap;
  EXPECT_EQ(heap.data(), shared.data());
  String moved = std::move(heap);
  EXPECT_EQ(heap.size(), 0u);  // NOLINT: moved-from is empty
  EXPECT_STREQ(moved.c_str(), "a text of some length");
  std::string source(40, 'x');
  String taken(std::move(source));
  EXPECT_TRUE(source.empty());
  EXPECT_EQ(taken.size(), 40u);
  Any any = taken;
  String back = std::move(any).cast<String>();
  EXPECT_EQ(back.data(), taken.data());
  auto& self = shared;
  shared = self;
  EXPECT_EQ(shared, moved);
}

TEST(String, Operations) {
  String text("hello world");
  EXPECT_EQ(text.find("o"), 4u);
  EXPECT_EQ(text.find(String("o"), 5), 7u);
  EXPECT_EQ(text.find("zzz"), String::npos);
  EXPECT_EQ(text.substr(6), "world");
  EXPECT_EQ(text.substr(0, 5), "hello");
  EXPECT_THROW(text.substr(20), std::out_of_range);
  EXPECT_THROW(text.at(11), std::out_of_range);
  EXPECT_TRUE(text.starts_with("hell") && text.ends_with("rld") && !text.ends_with("hello"));
  EXPECT_EQ(text + "!" + std::string("?"), "hello world!?");
  EXPECT_LT(String("abc"), "abd");
  EXPECT_GT(String("b").compare("abc"), 0);
  EXPECT_EQ(String("a,b,,").Split(',').size(), 4u);
  EXPECT_EQ(String("a\0b", 3).size(), 3u);
  std::ostringstream os;
  os << text;
  EXPECT_EQ(os.str(), "hello world");
  EXPECT_EQ(Bytes("ab", 2), Bytes(std::string("ab")));
}

TEST(String, Escapes) {
  EXPECT_EQ(EscapeStringJSON("a\"b\\c/d\n\x01\x7f\xc3\xa9"),
            "\"a\\\"b\\\\c\\/d\\n\\u0001\\u007f\xc3\xa9\"");
  EXPECT_EQ(EscapedStringPy("a\"'\t\b\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xed\xa0\x80"),
            "\"a\\\"'\\t\\x08\\u00e9\\u20ac\\U0001f600\\xff\\xed\\xa0\\x80\"");
}

TEST(Endian, Swap) {
  uint32_t words[2] = {0x01020304, 0x0A0B0C0D};
  ByteSwap(words, 4, 2);
  EXPECT_EQ(words[0], 0x04030201u);
  EXPECT_EQ(words[1], 0x0D0C0B0Au);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
