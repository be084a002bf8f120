// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// The argument check: every message, through compiled code.
#include <gtest/gtest.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/error.h>
#include <tvm/support/argcheck.h>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

constexpr char kSignature[] = "f(A: Tensor([m, 4], float32), B: Tensor([m], float32), n: int32)";

// Slots.
enum { kA, kB, kN, kM, kDevice, kDataA, kDataB, kNumSlots };

/// The program that MakePackedAPI would write for kSignature, then A[0] = n and B[0] = m.
PrimFunc Checked() {
  const std::vector<std::string> strings = {
      kSignature,              // 0
      "A",                     // 1
      "B",                     // 2
      "n",                     // 3
      "float32",               // 4
      "to match A.shape[0]",   // 5
      "4",                     // 6
      "cpu",                   // 7
      "to match A.device_id",  // 8
      "0",                     // 9
      "ValueError",            // 10
      "m must be even",        // 11
  };
  const std::vector<int64_t> words = {
      kArgCheckCount, 3, kArgCheckTensor, 0, kA, 1, kArgCheckTensor, 1, kB, 2, kArgCheckInt, 2, kN,
      3, 32, 0, kArgCheckNdim, kA, 2, kArgCheckDType, kA, kDLFloat, 32, 1, 4, kArgCheckBindShape,
      kA, 0, kM, 32, 0, kArgCheckDeviceType, kA, kDLCPU, 7, kArgCheckNdim, kB, 1, kArgCheckDType,
      kB, kDLFloat, 32, 1, 4, kArgCheckMatchShape, kB, 0, kM, 5, kArgCheckDeviceType, kB, kDLCPU, 7,
      kArgCheckCompact, kA, 2, 2, kArgExprSlot, kM, 2, kArgExprConst, 4, kArgCheckBindDeviceId, kA,
      kDevice, kArgCheckData, kA, kDataA, 1, kArgCheckCompact, kB, 1, 2, kArgExprSlot, kM,
      kArgCheckMatchDeviceId, kB, kDevice, 8, kArgCheckData, kB, kDataB, 4, kArgCheckShape, kA, 1,
      2, kArgExprConst, 4, 6, kArgCheckByteOffset, kA, 2, kArgExprConst, 0, 9,
      // m % 2 == 0
      kArgCheckAssert, 8, kArgExprSlot, kM, kArgExprConst, 2, kArgExprFloorMod, kArgExprConst, 0,
      kArgExprEq, 10, 11, 0, kArgCheckEnd};
  const DataType f32 = DataType::Float(32), i64 = DataType::Int(64);
  Var self("self", HandleType()), args("args", HandleType());
  Var num_args("num_args", DataType::Int(32)), result("result", HandleType());
  Buffer slots = Vector("slots", i64, kNumSlots, "local");
  ffi::Array<Expr> call = {args, num_args, buffer_data(slots)};
  for (const std::string& text : strings) call.push_back(StringImm(text));
  for (int64_t word : words) call.push_back(IntImm::Int64(word));
  auto slot = [&](int index) { return BufferLoad(slots, {PrimExpr(index)}); };
  Buffer A = Vector("A", f32, 4), B = Vector("B", f32, 4);
  auto pointer = [&](int index) {
    return Call(HandleType(), builtin::reinterpret(), {slot(index)});
  };
  Stmt body = SeqStmt::Flatten(
      AllocBuffer(slots), Evaluate(Call(PrimType(DataType::Int(32)), builtin::check_args(), call)),
      DeclBuffer(A, pointer(kDataA)), DeclBuffer(B, pointer(kDataB)),
      BufferStore(A, Cast(f32, slot(kN)), {PrimExpr(0)}),
      BufferStore(B, Cast(f32, slot(kM)), {PrimExpr(0)}), Return(PrimExpr(0)));
  PrimFunc func({self, args, num_args, result}, body, PrimType(DataType::Int(32)));
  func = WithAttr(std::move(func), tvm::attr::kGlobalSymbol, ffi::String("__tvm_ffi_f"));
  return WithAttr(std::move(func), tvm::attr::kCallingConv, static_cast<int64_t>(1));
}

/// Arguments that pass; each test spoils one.
struct Arguments {
  float data[64] = {};
  int64_t shape_a[2] = {6, 4}, shape_b[1] = {6}, strides[2] = {4, 1};
  DLTensor a{}, b{};
  std::vector<ffi::AnyView> views;

  Arguments() {
    for (DLTensor* t : {&a, &b}) {
      t->data = data + (t == &a ? 0 : 32);
      t->device = {kDLCPU, 0};
      t->ndim = t == &a ? 2 : 1;
      t->shape = t == &a ? shape_a : shape_b;
      t->dtype = DLDataType{kDLFloat, 32, 1};
    }
    views = {ffi::AnyView(&a), ffi::AnyView(&b), ffi::AnyView(int64_t{42})};
  }
};

class ArgCheck : public ::testing::Test {
 protected:
  static ffi::Function Function() {
    static ffi::Module module = BuildFor({Checked()});
    return *module->GetFunction("f");
  }
  static void Call(Arguments* args, int count = 3) {
    ffi::Any result;
    Function().CallPacked(args->views.data(), count, &result);
  }
  static void ExpectError(Arguments* args, const std::string& kind, const std::string& head,
                          const std::string& expected, int count = 3) {
    const std::string want = head + " when calling:\n  `" + kSignature + "`" +
                             (expected.empty() ? "" : ",\n  expected " + expected);
    try {
      Call(args, count);
      ADD_FAILURE() << "no error for: " << head;
    } catch (const ffi::Error& error) {
      EXPECT_EQ(std::string(error.kind()), kind);
      EXPECT_EQ(std::string(error.message()), want);
    }
  }
};

TEST_F(ArgCheck, GoodArgumentsBindSlots) {
  Arguments args;
  Call(&args);
  EXPECT_EQ(args.data[0], 42.f);
  EXPECT_EQ(args.data[32], 6.f);
  args.a.strides = args.strides;
  Call(&args);
  // A stride of a dimension that the declaration fixes to 1 may be anything; an empty tensor too.
  args.shape_a[0] = args.shape_b[0] = 0;
  args.strides[0] = 77;
  args.a.data = nullptr;
  args.b.data = args.data;
  args.a.data = args.data + 8;
  Call(&args);
}

TEST_F(ArgCheck, TensorObjectIsAccepted) {
  Arguments args;
  // Layout of a Tensor object: a 24-byte header, then the DLTensor.
  struct {
    int64_t header[3];
    DLTensor tensor;
  } object = {{0, 0, 0}, args.a};
  TVMFFIAny raw[3];
  for (int i = 0; i < 3; ++i) raw[i] = args.views[i].CopyToTVMFFIAny();
  raw[0].type_index = kTVMFFITensor;
  raw[0].v_ptr = &object;
  TVMFFIAny result{};
  ffi::Function f = Function();
  EXPECT_EQ(f.get()->safe_call(const_cast<ffi::FunctionObj*>(f.get()), raw, 3, &result), 0);
  EXPECT_EQ(args.data[0], 42.f);
}

TEST_F(ArgCheck, CountAndTypes) {
  Arguments args;
  ExpectError(&args, "TypeError", "Expected 3 arguments", "", 2);
  args.views[0] = ffi::AnyView(int64_t{1});
  ExpectError(&args, "TypeError", "Mismatched type on argument #0", "Tensor");
  args.views[0] = ffi::AnyView(&args.a);
  args.views[1] = ffi::AnyView(nullptr);
  ExpectError(&args, "TypeError", "Mismatched type on argument #1", "Tensor");
  args.views[1] = ffi::AnyView(&args.b);
  args.views[2] = ffi::AnyView(1.5);
  ExpectError(&args, "TypeError", "Mismatched type on argument #2", "int");
  args.views[2] = ffi::AnyView(int64_t{1} << 40);
  ExpectError(&args, "ValueError", "Invalid n on argument #2", "value in int32 range");
}

TEST_F(ArgCheck, TensorFields) {
  auto spoil = [](void (*change)(Arguments*), const char* kind, const char* head,
                  const char* expected) {
    Arguments args;
    args.views = {ffi::AnyView(&args.a), ffi::AnyView(&args.b), ffi::AnyView(int64_t{42})};
    change(&args);
    ExpectError(&args, kind, head, expected);
  };
  spoil([](Arguments* a) { a->a.ndim = 1; }, "ValueError", "Mismatched A.ndim", "2");
  spoil([](Arguments* a) { a->b.dtype.bits = 64; }, "TypeError",
        "Mismatched B.dtype on argument #1", "float32");
  spoil([](Arguments* a) { a->shape_b[0] = 5; }, "ValueError", "Mismatched B.shape[0]",
        "to match A.shape[0]");
  spoil([](Arguments* a) { a->shape_a[1] = 5; }, "ValueError", "Invalid A.shape[1]", "4");
  spoil([](Arguments* a) { a->a.device.device_type = kDLCUDA; }, "ValueError",
        "Mismatched A.device_type", "cpu");
  spoil([](Arguments* a) { a->b.device.device_id = 3; }, "ValueError", "Mismatched B.device_id",
        "to match A.device_id");
  spoil([](Arguments* a) { a->b.data = nullptr; }, "ValueError",
        "B data pointer is NULL on argument #1", "non-NULL data pointer");
  spoil([](Arguments* a) { a->a.byte_offset = 8; }, "ValueError", "Invalid A.byte_offset", "0");
  spoil([](Arguments* a) { a->b.byte_offset = 2; }, "ValueError", "Misaligned Tensor data",
        "data alignment=4 bytes");
  spoil(
      [](Arguments* a) {
        a->a.strides = a->strides;
        a->strides[0] = 5;
      },
      "ValueError", "Mismatched A.strides", "to be compact array");
  spoil([](Arguments* a) { a->shape_a[0] = a->shape_b[0] = int64_t{1} << 33; }, "ValueError",
        "Invalid A.shape[0]", "extent in int32 range");
  spoil([](Arguments* a) { a->shape_a[0] = a->shape_b[0] = 5; }, "ValueError", "m must be even",
        "");
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
