// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Control flow, memory accesses, parallel loops, calls and failures.
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>

#include <atomic>
#include <cmath>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

const DataType kInt = DataType::Int(32);
const DataType kFloat = DataType::Float(32);

std::vector<int32_t> RunInt(const Stmt& body, const Buffer& out, int64_t n) {
  ffi::Module module = BuildFor({Packed("f", {out}, body)});
  std::vector<int32_t> values(n, -7);
  Tensor1D<int32_t> tensor(&values, kInt);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(tensor));
  return values;
}

TEST(Control, LoopWithStepBreakContinue) {
  Buffer C = Vector("C", kInt, 16);
  Var i("i", kInt);
  // for i in range(2, 2 + 12, step 3): if i == 5: continue; if i == 11: break; C[i] = i
  Stmt body = SeqStmt::Flatten(IfThenElse(EQ(PrimExpr(i), PrimExpr(5)), Continue(Span())),
                               IfThenElse(EQ(PrimExpr(i), PrimExpr(11)), Break(Span())),
                               BufferStore(C, PrimExpr(i), {PrimExpr(i)}));
  Stmt loop =
      For(i, PrimExpr(2), PrimExpr(12), ForKind::kSerial, body, std::nullopt, {}, PrimExpr(3));
  auto got = RunInt(loop, C, 16);
  for (int k = 0; k < 16; ++k) EXPECT_EQ(got[k], k == 2 || k == 8 ? k : -7) << k;
}

TEST(Control, WhileIfElseAndUnrolled) {
  Buffer C = Vector("C", kInt, 8), n = Vector("n", kInt, 1, "local");
  Var i("i", kInt);
  PrimExpr count = BufferLoad(n, {PrimExpr(0)});
  Stmt grow = While(LT(count, PrimExpr(5)), BufferStore(n, Add(count, PrimExpr(2)), {PrimExpr(0)}));
  Stmt fill = Loop(i, 8,
                   IfThenElse(LT(PrimExpr(i), PrimExpr(3)), BufferStore(C, count, {PrimExpr(i)}),
                              BufferStore(C, Mul(PrimExpr(i), PrimExpr(10)), {PrimExpr(i)})),
                   ForKind::kUnrolled);
  Stmt body =
      SeqStmt::Flatten(AllocBuffer(n), BufferStore(n, PrimExpr(0), {PrimExpr(0)}), grow, fill);
  auto got = RunInt(body, C, 8);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(got[k], k < 3 ? 6 : 10 * k);
}

/// A scalar loop is vectorized by LLVM; one over vectors keeps them, and is unrolled if it is
/// short.
TEST(Control, OnlyScalarAndShortLoopsAreTransformed) {
  Buffer A = Vector("A", kInt, 256), C = Vector("C", kInt, 256);
  Var i("i", kInt), j("j", kInt);
  PrimExpr at = Ramp(PrimExpr(j) * PrimExpr(4), PrimExpr(1), PrimExpr(4));
  auto square = [](const PrimExpr& x) { return Mul(x, x); };
  Stmt scalar = Loop(i, 256, BufferStore(C, square(BufferLoad(A, {PrimExpr(i)})), {PrimExpr(i)}));
  auto vectors = [&](int times) {
    PrimExpr value = BufferLoad(A, {at});
    for (int k = 0; k < times; ++k) {
      PrimExpr x = BufferLoad(A, {at});
      value = Mul(value, Add(x, Broadcast(PrimExpr(k + 7), PrimExpr(4))));
    }
    return Loop(j, 64, BufferStore(C, value, {at}));
  };
  auto products = [&](const Stmt& loop) {
    const char* target = "{\"kind\": \"llvm\", \"mcpu\": \"skylake-avx512\"}";
    const std::string text(BuildFor({Packed("f", {A, C}, loop)}, target)->InspectSource("ll"));
    std::vector<std::string> found;
    for (size_t p = text.find(" = mul "); p != std::string::npos; p = text.find(" = mul ", p + 1)) {
      found.push_back(text.substr(p, text.find(" x i32>", p) - p));
    }
    return found;
  };
  for (const std::string& product : products(vectors(1))) EXPECT_EQ(product, " = mul <4");
  EXPECT_EQ(products(vectors(40)), std::vector<std::string>(40, " = mul <4"));
  const std::vector<std::string> wide = products(scalar);
  ASSERT_FALSE(wide.empty());
  for (const std::string& product : wide) EXPECT_TRUE(product == " = mul <16") << product;
}

TEST(Control, GuardedLoadIsNotEvaluated) {
  // A[i] is read only where i < 4; behind that lies no memory (index 2^40).
  Buffer A = Vector("A", kInt, 4), C = Vector("C", kInt, 8);
  Var i("i", DataType::Int(64));
  PrimExpr wide(i);
  PrimExpr far = Select(LT(wide, IntImm::Int64(4)), wide, IntImm::Int64(int64_t{1} << 40));
  PrimExpr good = And(LT(wide, IntImm::Int64(4)), GT(BufferLoad(A, {far}), PrimExpr(0)));
  Stmt store = BufferStore(C, Cast(kInt, good), {wide});
  Stmt loop = For(i, IntImm::Int64(0), IntImm::Int64(8), ForKind::kSerial, store);
  ffi::Module module = BuildFor({Packed("f", {A, C}, loop)});
  std::vector<int32_t> a = {1, -1, 2, 3}, c(8, 9);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<int32_t>(&a, kInt)),
                              static_cast<DLTensor*>(Tensor1D<int32_t>(&c, kInt)));
  EXPECT_EQ(c, (std::vector<int32_t>{1, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(Memory, VectorAccessForms) {
  // Index expressions of 4 lanes over 32 elements; each copied from A to the same place in C.
  auto lanes = [](int base, int stride) {
    return PrimExpr(Ramp(PrimExpr(base), PrimExpr(stride), 4));
  };
  Buffer table = Vector("T", kInt, 4);
  struct Row {
    const char* what;
    PrimExpr index;
    std::vector<int> touched;
  };
  const Row rows[] = {
      {"contiguous", lanes(3, 1), {3, 4, 5, 6}},
      {"backwards", lanes(9, -1), {9, 8, 7, 6}},
      {"strided", lanes(1, 5), {1, 6, 11, 16}},
      {"scattered", BufferLoad(table, {Ramp(PrimExpr(0), PrimExpr(1), 4)}), {30, 2, 17, 8}},
  };
  for (const Row& row : rows) {
    for (bool masked : {false, true}) {
      Buffer A = Vector("A", kFloat, 32), C = Vector("C", kFloat, 32);
      ffi::Optional<PrimExpr> mask;
      if (masked) mask = LT(lanes(0, 1), Broadcast(PrimExpr(3), 4));
      Stmt body = BufferStore(C, BufferLoad(A, {row.index}, mask), {row.index}, mask);
      ffi::Module module = BuildFor({Packed("f", {A, C, table}, body)});
      std::vector<float> a(32), c(32, -1);
      for (int k = 0; k < 32; ++k) a[k] = 100.f + k;
      std::vector<int32_t> t = {30, 2, 17, 8};
      (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<float>(&a, kFloat)),
                                  static_cast<DLTensor*>(Tensor1D<float>(&c, kFloat)),
                                  static_cast<DLTensor*>(Tensor1D<int32_t>(&t, kInt)));
      std::vector<float> want(32, -1);
      for (int k = 0; k < (masked ? 3 : 4); ++k) want[row.touched[k]] = 100.f + row.touched[k];
      EXPECT_EQ(c, want) << row.what << (masked ? " masked" : "");
    }
  }
}

TEST(Memory, VectorsOfBrainFloatOfAnyLength) {
  // LLVM 22 ends the process on its own vectors of bfloat of 9 lanes.
  const DataType narrow = DataType::BFloat(16);
  for (int lanes = 2; lanes <= 33; ++lanes) {
    Buffer A = Vector("A", narrow, 40), C = Vector("C", narrow, 40), F = Vector("F", kFloat, 40);
    PrimExpr at = Ramp(PrimExpr(1), PrimExpr(1), lanes);
    Stmt body =
        SeqStmt({BufferStore(C, BufferLoad(A, {at}), {at}),
                 BufferStore(F, Cast(kFloat.with_lanes(lanes), BufferLoad(C, {at})), {at}),
                 BufferStore(A, Cast(narrow.with_lanes(lanes), BufferLoad(F, {at})), {at})});
    ffi::Module module =
        BuildFor({Packed("f", {A, C, F}, body)}, R"({"kind": "llvm", "mcpu": "native"})");
    std::vector<uint16_t> a(40), c(40);
    std::vector<float> f(40);
    for (int k = 0; k < 40; ++k) a[k] = static_cast<uint16_t>(0x3f80 + k);
    (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<uint16_t>(&a, narrow)),
                                static_cast<DLTensor*>(Tensor1D<uint16_t>(&c, narrow)),
                                static_cast<DLTensor*>(Tensor1D<float>(&f, kFloat)));
    for (int k = 0; k < 40; ++k) {
      const bool is_inside = k >= 1 && k <= lanes;
      EXPECT_EQ(a[k], 0x3f80 + k) << lanes;
      EXPECT_EQ(c[k], is_inside ? a[k] : 0) << lanes;
      EXPECT_EQ(f[k], is_inside ? 1 + k / 128.f : 0) << lanes;
    }
  }
}

TEST(Memory, BoolBuffersAreBytesAndLaneMaskClips) {
  const DataType boolean = DataType::Bool();
  Buffer A = Vector("A", kInt, 10), C = Vector("C", boolean, 10);
  Var i("i", kInt);
  PrimExpr index = Ramp(Mul(PrimExpr(i), PrimExpr(8)), PrimExpr(1), 8);
  PrimExpr mask = CallBuiltin(DataType::Bool(8), builtin::get_active_lane_mask(),
                              {Mul(PrimExpr(i), PrimExpr(8)), PrimExpr(10)});
  PrimExpr value = GT(BufferLoad(A, {index}, mask), Broadcast(PrimExpr(4), 8));
  ffi::Module module =
      BuildFor({Packed("f", {A, C}, Loop(i, 2, BufferStore(C, value, {index}, mask)))});
  std::vector<int32_t> a = {1, 5, 2, 6, 3, 7, 4, 8, 5, 9};
  std::vector<uint8_t> c(12, 77);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<int32_t>(&a, kInt)),
                              static_cast<DLTensor*>(Tensor1D<uint8_t>(&c, boolean)));
  for (int k = 0; k < 10; ++k) EXPECT_EQ(c[k], a[k] > 4 ? 1 : 0);
  EXPECT_EQ(c[10], 77);
  EXPECT_EQ(c[11], 77);
}

TEST(Memory, ViewsOfOneAllocationMayOverlap) {
  // Two views of one arena: what one writes, the other reads, in program order.
  Buffer arena = Vector("arena", DataType::UInt(8), 256, "local"), C = Vector("C", kFloat, 8);
  Buffer x = Vector("x", kFloat, 8, "local"), y = Vector("y", DataType::Int(32), 8, "local");
  Var p("p", HandleType()), i("i", kInt), j("j", kInt), k("k", kInt);
  auto at = [&](Expr base, int bytes) {
    return Call(HandleType(), builtin::handle_add_byte_offset(), {base, IntImm::Int64(bytes)});
  };
  Stmt body = SeqStmt::Flatten(
      AllocBuffer(arena), Bind(p, at(buffer_data(arena), 64)), DeclBuffer(x, p),
      DeclBuffer(y, at(buffer_data(arena), 64)),
      Loop(i, 8, BufferStore(x, BufferLoad(C, {PrimExpr(i)}), {PrimExpr(i)})),
      // The sign bit of each float is set through the integer view.
      Loop(j, 8, BufferStore(y, BufferLoad(y, {PrimExpr(j)}) + PrimExpr(INT32_MIN), {PrimExpr(j)})),
      Loop(k, 8, BufferStore(C, BufferLoad(x, {PrimExpr(k)}), {PrimExpr(k)})));
  ffi::Module module = BuildFor({Packed("f", {C}, body)});
  std::vector<float> c = {1, 2, 3, 4, 5, 6, 7, 8};
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<float>(&c, kFloat)));
  for (int n = 0; n < 8; ++n) EXPECT_EQ(c[n], -1.f - n);
}

TEST(Parallel, CoversEveryIterationOnce) {
  constexpr int kN = 1000;
  Buffer A = Vector("A", kInt, kN), C = Vector("C", kInt, kN);
  Var i("i", kInt), k("k", kInt), scale("scale", kInt);
  PrimExpr at(i);
  Stmt body = SeqStmt::Flatten(
      Bind(scale, PrimExpr(3)),
      Loop(k, 2,
           Loop(i, kN,
                BufferStore(C,
                            Add(BufferLoad(C, {at}),
                                Add(Mul(BufferLoad(A, {at}), PrimExpr(scale)), PrimExpr(k))),
                            {at}),
                ForKind::kParallel)));
  ffi::Module module = BuildFor({Packed("f", {A, C}, body)});
  std::vector<int32_t> a(kN), c(kN, 5);
  for (int n = 0; n < kN; ++n) a[n] = n;
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<int32_t>(&a, kInt)),
                              static_cast<DLTensor*>(Tensor1D<int32_t>(&c, kInt)));
  for (int n = 0; n < kN; ++n) ASSERT_EQ(c[n], 5 + 6 * n + 1);
}

TEST(Parallel, NestingAndReturnAreRejected) {
  Buffer C = Vector("C", kInt, 4);
  Var i("i", kInt), j("j", kInt);
  Stmt inner = Loop(j, 4, BufferStore(C, PrimExpr(j), {PrimExpr(j)}), ForKind::kParallel);
  EXPECT_THROW(BuildFor({Packed("f", {C}, Loop(i, 4, inner, ForKind::kParallel))}), ffi::Error);
  EXPECT_THROW(BuildFor({Packed("f", {C}, Loop(i, 4, Return(PrimExpr(0)), ForKind::kParallel))}),
               ffi::Error);
  EXPECT_THROW(BuildFor({Packed("f", {C}, Loop(i, 4, tirx::Break(Span()), ForKind::kParallel))}),
               ffi::Error);
  Stmt search = Loop(j, 4, tirx::Break(Span()));  // leaves the inner loop only
  EXPECT_NO_THROW(BuildFor({Packed("f", {C}, Loop(i, 4, search, ForKind::kParallel))}));
}

TEST(Failure, AssertRaisesItsKindAlsoFromATask) {
  for (ForKind kind : {ForKind::kSerial, ForKind::kParallel}) {
    Buffer C = Vector("C", kInt, 8);
    Var i("i", kInt);
    Stmt check = AssertStmt(LT(BufferLoad(C, {PrimExpr(i)}), PrimExpr(5)), StringImm("ValueError"),
                            {StringImm("C is too "), StringImm("large")});
    ffi::Module module = BuildFor({Packed("f", {C}, Loop(i, 8, check, kind))});
    ffi::Function f = *module->GetFunction("f");
    std::vector<int32_t> good(8, 1), bad(8, 9);
    f(static_cast<DLTensor*>(Tensor1D<int32_t>(&good, kInt)));
    try {
      f(static_cast<DLTensor*>(Tensor1D<int32_t>(&bad, kInt)));
      FAIL() << "no error";
    } catch (const ffi::Error& error) {
      EXPECT_NE(std::string(error.message()).find("C is too large"), std::string::npos);
      if (kind == ForKind::kSerial) {
        EXPECT_EQ(error.kind(), "ValueError");
      }
    }
  }
}

TEST(Calls, ExternAndDirectAndPacked) {
  Buffer C = Vector("C", kFloat, 2);
  // C[0] = hypotf(3, 4) + 2.5, by a C function and a private function.
  Var x("x", kFloat);
  PrimFunc add({x}, Return(Add(PrimExpr(x), FloatImm(kFloat, 2.5))), PrimType(kFloat));
  GlobalVar add_var("add");
  PrimExpr extern_call =
      PrimExpr(Call(PrimType(kFloat), builtin::call_pure_extern(),
                    {StringImm("hypotf"), FloatImm(kFloat, 3), FloatImm(kFloat, 4)}));
  PrimExpr direct = PrimExpr(Call(PrimType(kFloat), add_var, {extern_call}));
  PrimFunc main = Packed("f", {C}, BufferStore(C, direct, {PrimExpr(0)}));
  IRModule mod = ModuleOf({main});
  mod.CopyOnWrite()->Add(add_var, add);
  ffi::Module module = Build(mod, Target("llvm"));
  std::vector<float> c(2, 0);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<float>(&c, kFloat)));
  EXPECT_EQ(c[0], 7.5f);
  EXPECT_FALSE(module->GetFunction("add").has_value());
}

std::atomic<int> g_calls{0};

TEST(Calls, PackedByNamePassesArgumentsAndErrors) {
  ffi::Function::SetGlobal(
      "codegen_test.twice", ffi::Function::FromTyped([](int64_t v, double w, ffi::String s) {
        ++g_calls;
        if (v < 0) TVM_FFI_THROW(TypeError) << "negative";
        return 2 * v + static_cast<int64_t>(w) + static_cast<int64_t>(s.size());
      }),
      true);
  Buffer C = Vector("C", kInt, 1);
  Var stack("stack", HandleType());
  PrimExpr value = BufferLoad(C, {PrimExpr(0)});
  auto set = [&](int slot, int type, Expr payload) {
    return SeqStmt::Flatten(
        Evaluate(StructSet(stack, slot, builtin::kTVMFFIAnyTypeIndex, PrimExpr(type))),
        Evaluate(StructSet(stack, slot, builtin::kTVMFFIAnyZeroPadding, PrimExpr(0))),
        Evaluate(StructSet(stack, slot, builtin::kTVMFFIAnyUnionValue, payload)));
  };
  Expr alloca =
      Call(HandleType(), builtin::tvm_stack_alloca(), {StringImm("tvm_ffi_any"), PrimExpr(4)});
  Expr call = Call(PrimType(kInt), builtin::tvm_call_packed_lowered(),
                   {StringImm("codegen_test.twice"), stack, PrimExpr(0), PrimExpr(3)});
  Stmt body = SeqStmt::Flatten(
      Bind(stack, alloca), set(0, kTVMFFIInt, value), set(1, kTVMFFIFloat, FloatImm(kFloat, 1.5)),
      set(2, kTVMFFIRawStr, StringImm("abc")), BufferStore(C, PrimExpr(call), {PrimExpr(0)}));
  ffi::Module module = BuildFor({Packed("f", {C}, body)});
  ffi::Function f = *module->GetFunction("f");
  std::vector<int32_t> c = {20};
  Tensor1D<int32_t> tensor(&c, kInt);
  f(static_cast<DLTensor*>(tensor));
  EXPECT_EQ(c[0], 44);
  f(static_cast<DLTensor*>(tensor));
  EXPECT_EQ(c[0], 92);
  EXPECT_EQ(g_calls, 2);
  c[0] = -1;
  try {
    f(static_cast<DLTensor*>(tensor));
    FAIL() << "no error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
  }
}

TEST(Calls, LLVMIntrinsicByName) {
  Buffer C = Vector("C", kFloat, 4);
  PrimExpr value = BufferLoad(C, {Ramp(PrimExpr(0), PrimExpr(1), 4)});
  PrimExpr root = PrimExpr(Call(PrimType(DataType::Float(32, 4)), builtin::call_llvm_pure_intrin(),
                                {StringImm("llvm.sqrt"), value}));
  ffi::Module module =
      BuildFor({Packed("f", {C}, BufferStore(C, root, {Ramp(PrimExpr(0), PrimExpr(1), 4)}))});
  std::vector<float> c = {4, 9, 16, 2};
  (*module->GetFunction("f"))(static_cast<DLTensor*>(Tensor1D<float>(&c, kFloat)));
  EXPECT_EQ(c, (std::vector<float>{2, 3, 4, std::sqrt(2.f)}));
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
