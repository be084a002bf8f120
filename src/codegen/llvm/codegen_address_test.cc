// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
// Addresses of elements: sums of many terms, and pointers that step along with a loop.
#include <gtest/gtest.h>

#include "codegen/testing.h"

namespace tvm {
namespace codegen {
namespace testing {
namespace {

const DataType kInt = DataType::Int(32), kWide = DataType::Int(64);

std::vector<int32_t> Counting(int64_t n) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7 + 3);
  return values;
}

/// What `body` writes to C of n elements while it reads A, which counts in sevens.
std::vector<int32_t> Written(const Stmt& body, const Buffer& a, const Buffer& c, int64_t n,
                             int64_t read) {
  ffi::Module module = BuildFor({Packed("f", {a, c}, body)});
  std::vector<int32_t> source = Counting(read), values(static_cast<size_t>(n), -1);
  Tensor1D<int32_t> from(&source, kInt), to(&values, kInt);
  (*module->GetFunction("f"))(static_cast<DLTensor*>(from), static_cast<DLTensor*>(to));
  return values;
}

PrimExpr Wide(int64_t value) { return IntImm::Int64(value); }

/// for m < 5: row = m * 12 + 2: for k < n (by `step`): body of `copies` vectors
///   C[m * 64 + k * 4 + 64 * u ..] = A[row * 3 + k * 4 - m * 6 + 20 - 8 + u] in vectors of four
struct Nest {
  int64_t turns, copies;
  Buffer a = Vector("A", kInt, 512), c = Vector("C", kInt, 4096);
  Var m{"m", kWide}, row{"row", kWide}, k{"k", kWide};

  PrimExpr From(int64_t u) const {
    return (PrimExpr(row) - PrimExpr(m) * Wide(2)) * Wide(3) + PrimExpr(k) * Wide(4) +
           Wide(20 + u) - Wide(8);
  }
  PrimExpr To(int64_t u) const {
    return Wide(u * 320) + PrimExpr(k) * Wide(4) + PrimExpr(m) * Wide(64);
  }
  Stmt Body() const {
    std::vector<Stmt> seq;
    for (int64_t u = 0; u < copies; ++u) {
      PrimExpr value = BufferLoad(a, {Ramp(From(u), Wide(1), PrimExpr(4))});
      seq.push_back(BufferStore(c, value, {Ramp(To(u), Wide(1), PrimExpr(4))}));
    }
    Stmt inner = For(k, Wide(0), Wide(turns), ForKind::kSerial, SeqStmt::Flatten(seq));
    Stmt bind = Bind(row, PrimExpr(m) * Wide(12) + Wide(2));
    return For(m, Wide(0), Wide(5), ForKind::kSerial, SeqStmt::Flatten(bind, inner));
  }
  void Expect() const {
    const std::vector<int32_t> source = Counting(512), got = Written(Body(), a, c, 4096, 512);
    std::vector<int32_t> want(4096, -1);
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < turns; ++j) {
        for (int64_t u = 0; u < copies; ++u) {
          for (int64_t lane = 0; lane < 4; ++lane) {
            const int64_t from = (i * 12 + 2 - i * 2) * 3 + j * 4 + 12 + u + lane;
            want[static_cast<size_t>(u * 320 + j * 4 + i * 64 + lane)] =
                source[static_cast<size_t>(from)];
          }
        }
      }
    }
    EXPECT_EQ(got, want) << turns << " turns, " << copies << " copies";
  }
};

TEST(Address, TermsOfManyLoops) {
  for (int64_t copies : {1, 2, 12}) {
    for (int64_t turns : {0, 1, 2, 16}) Nest{turns, copies}.Expect();
  }
}

/// In a long loop one pointer for each buffer steps along: no other address is computed in it.
TEST(Address, PointersStepAlongInLongLoops) {
  Nest nest{16, 12};
  const char* target = "{\"kind\": \"llvm\", \"mcpu\": \"skylake-avx512\"}";
  const std::string text(
      BuildFor({Packed("f", {nest.a, nest.c}, nest.Body())}, target)->InspectSource("ll"));
  auto count = [&](const std::string& what) {
    size_t times = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++times;
    }
    return times;
  };
  EXPECT_EQ(count(" = phi ptr "), 2) << text;
  const size_t body = text.find(" = phi ptr ");
  ASSERT_NE(body, std::string::npos);
  const std::string loop = text.substr(body, text.find("br i1", body) - body);
  EXPECT_EQ(loop.find(" mul "), std::string::npos) << loop;
  EXPECT_EQ(loop.find(" shl "), std::string::npos) << loop;
}

/// More buffers than pointers may step along, and an index that is read from memory.
TEST(Address, ManyBuffersAndIndicesFromMemory) {
  constexpr int64_t kParts = 14;
  Buffer a = Vector("A", kInt, 512), c = Vector("C", kInt, 64);
  Var k("k", kWide), part("part", kWide);
  std::vector<Stmt> seq;
  PrimExpr sum = Broadcast(PrimExpr(0), PrimExpr(4));
  std::vector<Var> starts;
  for (int64_t p = 0; p < kParts; ++p) {
    starts.emplace_back("start" + std::to_string(p), kWide);
    // A[p] = 7 p + 3, taken apart again: start = p
    PrimExpr read = cast(kWide, BufferLoad(a, {Wide(p)}));
    seq.push_back(Bind(starts.back(), floordiv(read - Wide(3), Wide(7))));
    PrimExpr at = PrimExpr(starts.back()) + PrimExpr(k) * Wide(4) + Wide(p * 16);
    sum = sum + BufferLoad(a, {Ramp(at, Wide(1), PrimExpr(4))});
  }
  PrimExpr place = floordiv(cast(kWide, BufferLoad(a, {PrimExpr(k)})) - Wide(3), Wide(7)) * Wide(4);
  Stmt store = BufferStore(c, sum, {Ramp(place, Wide(1), PrimExpr(4))});
  seq.push_back(For(k, Wide(0), Wide(16), ForKind::kSerial, store));
  const std::vector<int32_t> source = Counting(512);
  const std::vector<int32_t> got = Written(SeqStmt::Flatten(seq), a, c, 64, 512);
  for (int64_t i = 0; i < 64; ++i) {
    int32_t want = 0;
    for (int64_t p = 0; p < kParts; ++p) want += source[static_cast<size_t>(p + i + p * 16)];
    EXPECT_EQ(got[static_cast<size_t>(i)], want) << i;
  }
}

/// Steps other than one, other first values, and lanes apart or backwards.
TEST(Address, StepsAndLanes) {
  Buffer a = Vector("A", kInt, 512), c = Vector("C", kInt, 512);
  Var k("k", kWide);
  for (int64_t first : {0, 3}) {
    for (int64_t step : {1, 2, 3}) {
      std::vector<Stmt> seq;
      for (int64_t u = 0; u < 8; ++u) {
        const int64_t stride = u % 2 == 0 ? -1 : 2;
        PrimExpr from = PrimExpr(k) * Wide(8) + Wide(16 + u);
        PrimExpr value = BufferLoad(a, {Ramp(from, Wide(stride), PrimExpr(4))});
        PrimExpr to = PrimExpr(k) * Wide(4) + Wide(u * 64);
        seq.push_back(BufferStore(c, value, {Ramp(to, Wide(1), PrimExpr(4))}));
      }
      Stmt loop = For(k, Wide(first), Wide(9), ForKind::kSerial, SeqStmt::Flatten(seq),
                      std::nullopt, {}, Wide(step));
      const std::vector<int32_t> source = Counting(512), got = Written(loop, a, c, 512, 512);
      std::vector<int32_t> want(512, -1);
      for (int64_t i = first; i < first + 9; i += step) {
        for (int64_t at = 0; at < 32; ++at) {
          const int64_t u = at / 4, lane = at % 4;
          const int64_t from = i * 8 + 16 + u + lane * (u % 2 == 0 ? -1 : 2);
          want[static_cast<size_t>(i * 4 + u * 64 + lane)] = source[static_cast<size_t>(from)];
        }
      }
      EXPECT_EQ(got, want) << "from " << first << " by " << step;
    }
  }
}

}  // namespace
}  // namespace testing
}  // namespace codegen
}  // namespace tvm
