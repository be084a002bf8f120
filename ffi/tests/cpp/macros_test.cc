// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Macros: class declarations, checks that throw, checks that return.
#include <gtest/gtest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/object.h>

#include <algorithm>
#include <memory>
#include <string>

#include "testing_object.h"

namespace tvm {
namespace ffi {
namespace {

using testing::ErrorOf;

// --- declarations ------------------------------------------------------------------------------

/// Two slots for three children: the third overflows into an index of its own.
class BaseObj : public Object {
 public:
  static constexpr uint32_t _type_child_slots = 2;
  TVM_FFI_DECLARE_OBJECT_INFO("test.macros.Base", BaseObj, Object);
};

class NamedObj : public BaseObj {
 public:
  static constexpr const char* _type_key = "test.macros.Named";
  static constexpr uint32_t _type_child_slots = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_PREDEFINED_TYPE_KEY(NamedObj, BaseObj);
};

class SecondObj : public BaseObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.macros.Second", SecondObj, BaseObj);
};

class ThirdObj : public BaseObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.macros.Third", ThirdObj, BaseObj);
};

class StrangerObj : public Object {
 public:
  static constexpr bool _type_child_slots_can_overflow = false;
  TVM_FFI_DECLARE_OBJECT_INFO("test.macros.Stranger", StrangerObj, Object);
};

TEST(Declarations, IndicesAndAncestors) {
  EXPECT_EQ(NamedObj::_type_depth, 2);
  EXPECT_EQ(Object::TypeIndex2Key(NamedObj::RuntimeTypeIndex()), "test.macros.Named");
  const int32_t base = BaseObj::RuntimeTypeIndex();
  int inside = 0;
  for (int32_t index : {NamedObj::RuntimeTypeIndex(), SecondObj::RuntimeTypeIndex(),
                        ThirdObj::RuntimeTypeIndex()}) {
    inside += index > base && index <= base + 2;
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
    ASSERT_EQ(info->type_depth, 2);
    EXPECT_EQ(info->type_ancestors[0]->type_index, kTVMFFIObject);
    EXPECT_EQ(info->type_ancestors[1]->type_index, base);
  }
  EXPECT_EQ(inside, 2) << "the parent's slots are used first";
  ObjectRef third(make_object<ThirdObj>());
  EXPECT_NE(third.as<BaseObj>(), nullptr);
  EXPECT_EQ(third.as<SecondObj>(), nullptr);
  EXPECT_EQ(third.as<StrangerObj>(), nullptr);
  EXPECT_FALSE(third->IsInstance<NamedObj>());
}

TEST(Declarations, OneKeyOneIndex) {
  const TVMFFIByteArray key{"test.macros.Second", 18};
  EXPECT_EQ(TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, BaseObj::RuntimeTypeIndex()),
            SecondObj::RuntimeTypeIndex());
  EXPECT_EQ(TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, -2), SecondObj::RuntimeTypeIndex());
  const TVMFFIByteArray unknown{"test.macros.nothing", 19};
  EXPECT_EQ(TVMFFITypeGetOrAllocIndex(&unknown, -1, 1, 0, 1, -2), -2);
  int32_t index = 0;
  EXPECT_EQ(TVMFFITypeKeyToIndex(&unknown, &index), -1);
  EXPECT_EQ(detail::MoveFromSafeCallRaised().message(), "Cannot find type `test.macros.nothing`");
}

// --- checks that throw -------------------------------------------------------------------------

TEST(Checks, EveryComparison) {
  const int one = 1, two = 2;
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_EQ(one, two, ValueError) << "t"; }),
            "ValueError: Check failed: one == two (1 vs. 2) : t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_NE(one, one, TypeError) << "t"; }),
            "TypeError: Check failed: one != one (1 vs. 1) : t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_LT(two, one, IndexError) << "t"; }),
            "IndexError: Check failed: two < one (2 vs. 1) : t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_LE(two, one, KeyError) << "t"; }),
            "KeyError: Check failed: two <= one (2 vs. 1) : t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_GT(one, two, ValueError) << "t"; }),
            "ValueError: Check failed: one > two (1 vs. 2) : t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_GE(one, two, ValueError) << "t"; }),
            "ValueError: Check failed: one >= two (1 vs. 2) : t");
  EXPECT_EQ(ErrorOf([&] {
              TVM_FFI_CHECK_EQ(one, 1, ValueError) << "passes";
              TVM_FFI_CHECK_NE(one, two, ValueError) << "passes";
              TVM_FFI_CHECK_LT(one, two, ValueError) << "passes";
              TVM_FFI_CHECK_LE(one, one, ValueError) << "passes";
              TVM_FFI_CHECK_GT(two, one, ValueError) << "passes";
              TVM_FFI_CHECK_GE(two, two, ValueError) << "passes";
            }),
            "no error");
}

TEST(Checks, InternalAndDebug) {
  const int one = 1, two = 2;
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_ICHECK(one == two) << "t"; }),
            "InternalError: Check failed: (one == two) is false: t");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_ICHECK_NE(one, one); }),
            "InternalError: Check failed: one != one (1 vs. 1) : ");
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_ICHECK_LT(two, one); }),
            "InternalError: Check failed: two < one (2 vs. 1) : ");
  int evaluated = 0;
  const std::string debug = ErrorOf([&] { TVM_FFI_DCHECK_EQ(++evaluated, 7) << "t"; });
#ifdef NDEBUG
  EXPECT_EQ(debug, "no error");
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_EQ(debug, "InternalError: Check failed: ++evaluated == 7 (1 vs. 7) : t");
#endif
}

TEST(Checks, OperandsAreEvaluatedOnce) {
  int calls = 0;
  auto next = [&] { return ++calls; };
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_CHECK_EQ(next(), 5, ValueError); }),
            "ValueError: Check failed: next() == 5 (1 vs. 5) : ");
  EXPECT_EQ(calls, 1);
}

/// What an `else` after a check belongs to.
std::string Branch(bool outer, int x) {
  std::string taken = "none";
  if (outer)
    TVM_FFI_CHECK(x > 0, ValueError) << "positive";
  else
    taken = "plain else";
  if (outer)
    TVM_FFI_CHECK_LT(x, 10, ValueError) << "small";
  else
    taken += ", comparison else";
  if (!outer)
    TVM_FFI_DCHECK_EQ(x, x);
  else
    taken = "debug else";
  return taken;
}

TEST(Checks, ElseBelongsToTheSurroundingIf) {
  EXPECT_EQ(Branch(false, -1), "plain else, comparison else");
  EXPECT_EQ(Branch(true, 5), "debug else");
  EXPECT_EQ(ErrorOf([] { Branch(true, -1); }),
            "ValueError: Check failed: (x > 0) is false: positive");
  EXPECT_EQ(ErrorOf([] { Branch(true, 11); }),
            "ValueError: Check failed: x < 10 (11 vs. 10) : small");
}

TEST(Checks, NotNullIsEvaluatedOnce) {
  int calls = 0;
  int target = 3;
  auto find = [&](bool found) {
    ++calls;
    return found ? &target : nullptr;
  };
  EXPECT_EQ(*TVM_FFI_CHECK_NOTNULL(find(true), ValueError), 3);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ErrorOf([&] { TVM_FFI_ICHECK_NOTNULL(find(false)); }),
            "InternalError: Check not null: find(false) ");
  EXPECT_EQ(calls, 2);
  int* pointer = &target;
  EXPECT_EQ(&TVM_FFI_CHECK_NOTNULL(pointer, ValueError), &pointer) << "an lvalue stays one";
  auto owner = TVM_FFI_ICHECK_NOTNULL(std::make_unique<int>(4));
  EXPECT_EQ(*owner, 4);
}

TEST(Checks, LoggingOnesPrintFirst) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ErrorOf([] { TVM_FFI_LOG_AND_THROW(RuntimeError) << "seen " << 1; }),
            "RuntimeError: seen 1");
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("RuntimeError: seen 1"),
            std::string::npos);
}

// --- checks that return ------------------------------------------------------------------------

Expected<int> Compare(int which, int x, int y) {
  switch (which) {
    case 0:
      TVM_FFI_RET_CHECK_EQ(x, y, ValueError) << "t";
      break;
    case 1:
      TVM_FFI_RET_CHECK_NE(x, y, ValueError) << "t";
      break;
    case 2:
      TVM_FFI_RET_CHECK_LT(x, y, ValueError) << "t";
      break;
    case 3:
      TVM_FFI_RET_CHECK_LE(x, y, ValueError) << "t";
      break;
    case 4:
      TVM_FFI_RET_CHECK_GT(x, y, ValueError) << "t";
      break;
    default:
      TVM_FFI_RET_CHECK_GE(x, y, ValueError) << "t";
  }
  return which;
}

TEST(ReturningChecks, EveryComparison) {
  const char* const texts[] = {"==", "!=", "<", "<=", ">", ">="};
  const int failing[][2] = {{1, 2}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 2}};
  const int passing[][2] = {{1, 1}, {1, 2}, {1, 2}, {1, 1}, {2, 1}, {1, 1}};
  for (int i = 0; i < 6; ++i) {
    const auto [x, y] = failing[i];
    Expected<int> failed = Compare(i, x, y);
    ASSERT_TRUE(failed.is_err()) << texts[i];
    EXPECT_EQ(failed.error().kind(), "ValueError");
    EXPECT_EQ(failed.error().message(), std::string("Check failed: x ") + texts[i] + " y (" +
                                            std::to_string(x) + " vs. " + std::to_string(y) +
                                            ") : t");
    EXPECT_EQ(Compare(i, passing[i][0], passing[i][1]).value(), i);
  }
}

Expected<void> Internal(int x) {
  TVM_FFI_RET_ICHECK(x != 0) << "zero";
  TVM_FFI_RET_ICHECK_LT(x, 5) << "large";
  return {};
}

Expected<int> ReturningBranch(bool outer, int x) {
  if (outer)
    TVM_FFI_RET_CHECK(x > 0, ValueError) << "positive";
  else
    return 1;
  if (!outer)
    TVM_FFI_RET_CHECK_LT(x, 10, ValueError) << "small";
  else
    return 2;
  return 3;
}

TEST(ReturningChecks, ElseBelongsToTheSurroundingIf) {
  EXPECT_EQ(ReturningBranch(false, -1).value(), 1);
  EXPECT_EQ(ReturningBranch(true, 20).value(), 2);
  EXPECT_TRUE(ReturningBranch(true, -1).is_err());
}

TEST(ReturningChecks, InternalOnes) {
  EXPECT_TRUE(Internal(1).is_ok());
  EXPECT_EQ(Internal(0).error().kind(), "InternalError");
  EXPECT_EQ(Internal(0).error().message(), "Check failed: (x != 0) is false: zero");
  EXPECT_EQ(Internal(7).error().message(), "Check failed: x < 5 (7 vs. 5) : large");
}

Expected<Array<int>> FitsEveryExpected(bool ok) {
  if (!ok) return TVM_FFI_UNEXPECTED(KeyError) << "key " << 3;
  return Array<int>{1};
}

TEST(ReturningChecks, UnexpectedHasOneFrame) {
  Error error = FitsEveryExpected(false).error();
  EXPECT_EQ(error.message(), "key 3");
  const std::string trace = error.backtrace();
  EXPECT_EQ(std::count(trace.begin(), trace.end(), '\n'), 1) << trace;
  EXPECT_NE(trace.find("macros_test.cc"), std::string::npos) << trace;
  EXPECT_EQ(FitsEveryExpected(true).value()[0], 1);
}

}  // namespace
}  // namespace ffi
}  // namespace tvm
