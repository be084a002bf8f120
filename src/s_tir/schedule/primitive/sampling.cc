// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// sample_categorical, sample_perfect_tile, sample_partitioned_tile, sample_compute_location:
/// random choices, recorded as decisions.
#include <algorithm>

#include "s_tir/schedule/primitive/block_nest.h"
#include "s_tir/schedule/primitive_registry.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

ffi::Array<ffi::Any> SampleCategorical(PrimitiveCall& call) {
  const auto candidates = call.Attr<ffi::Array<int64_t>>(0);
  ffi::Array<double> probs;
  for (const ffi::Any& p : call.Attr<ffi::Array<ffi::Any>>(1)) {
    const auto* imm = p.as<FloatImmNode>();
    probs.push_back(imm != nullptr ? imm->value : p.cast<double>());
  }
  TVM_FFI_CHECK(!candidates.empty() && candidates.size() == probs.size(), ValueError)
      << "sample_categorical needs as many probabilities as candidates, at least one, but got "
      << candidates.size() << " candidates and " << probs.size() << " probabilities";
  int64_t index = -1;
  if (call.decision != nullptr) {
    index = call.decision.cast<int64_t>();
    TVM_FFI_CHECK(index >= 0 && index < static_cast<int64_t>(candidates.size()), ValueError)
        << "the decision of sample_categorical has to be in [0, " << candidates.size()
        << "), but is " << index;
  } else {
    double total = 0;
    for (double p : probs) {
      TVM_FFI_CHECK(p >= 0, ValueError) << "a probability is negative: " << p;
      total += p;
    }
    double at = call.sch->RandUniform() * total;
    for (index = 0; index + 1 < static_cast<int64_t>(probs.size()); ++index) {
      at -= probs[index];
      if (at < 0) break;
    }
  }
  call.decision = ffi::Any(index);
  return {call.sch->NewExprRV(candidates[index])};
}

std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    small.push_back(d);
    if (d * d != n) large.push_back(n / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

/// Factors whose product is `extent`: each prime goes to a place at random. Walks from the inside,
/// where the limit holds.
std::vector<int64_t> SampleTile(ScheduleNode* sch, int64_t extent, int64_t n, int64_t limit) {
  std::vector<int64_t> tile(n, 1);
  int64_t rest = extent;
  if (n > 1) {
    std::vector<int64_t> choices;
    for (int64_t d : Divisors(rest)) {
      if (limit < 0 || d <= limit) choices.push_back(d);
    }
    tile[n - 1] = choices[sch->RandInt(0, static_cast<int64_t>(choices.size()))];
    rest /= tile[n - 1];
  }
  const int64_t places = std::max<int64_t>(n - 1, 1);
  for (int64_t p = 2; rest > 1;) {
    if (rest % p == 0) {
      tile[sch->RandInt(0, places)] *= p;
      rest /= p;
    } else {
      p = p * p > rest ? rest : p + 1;
    }
  }
  return tile;
}

ffi::Array<ffi::Any> TileRVs(PrimitiveCall& call, const std::vector<int64_t>& tile) {
  ffi::Array<ffi::Any> outputs;
  for (int64_t factor : tile) outputs.push_back(call.sch->NewExprRV(factor));
  call.decision = ffi::Array<int64_t>(tile.begin(), tile.end());
  return outputs;
}

/// The recorded factors, made to fit an extent that may have changed: what does not divide goes to
/// the outermost factor.
std::vector<int64_t> AdaptTile(const ffi::Any& decision, int64_t extent, int64_t n) {
  const auto recorded = decision.cast<ffi::Array<int64_t>>();
  TVM_FFI_CHECK(static_cast<int64_t>(recorded.size()) == n, ValueError)
      << "the decision has " << recorded.size() << " factors, but " << n << " are sampled";
  std::vector<int64_t> tile(recorded.begin(), recorded.end());
  int64_t rest = extent;
  for (int64_t i = n - 1; i > 0; --i) {
    TVM_FFI_CHECK(tile[i] > 0, ValueError) << "a factor of the decision is not positive";
    if (rest % tile[i] != 0) {
      // The largest divisor that is not above what was asked for.
      int64_t best = 1;
      for (int64_t d : Divisors(rest)) {
        if (d <= tile[i]) best = d;
      }
      tile[i] = best;
    }
    rest /= tile[i];
  }
  tile[0] = rest;
  return tile;
}

std::vector<int64_t> SymbolicTile(int64_t n) {
  std::vector<int64_t> tile(n, 1);
  tile[0] = -1;
  return tile;
}

ffi::Array<ffi::Any> SamplePerfectTile(PrimitiveCall& call) {
  const ForNode* loop = LoopOf(call.Loop(0));
  const int64_t n = call.Int(0), limit = call.Int(1);
  TVM_FFI_CHECK(n >= 1, ValueError) << "the number of factors has to be positive, but is " << n;
  TVM_FFI_CHECK(limit >= 1 || limit == -1, ValueError)
      << "max_innermost_factor has to be positive, or -1 for no limit, but is " << limit;
  const int64_t* extent = as_const_int(loop->extent);
  if (extent == nullptr) return TileRVs(call, SymbolicTile(n));
  SCHEDULE_CHECK(*extent > 0, call.Loop(0)) << "The loop {0} has no iterations to tile";
  if (call.decision != nullptr) return TileRVs(call, AdaptTile(call.decision, *extent, n));
  return TileRVs(call, SampleTile(call.sch, *extent, n, limit));
}

ffi::Array<ffi::Any> SamplePartitionedTile(PrimitiveCall& call) {
  const ForNode* loop = LoopOf(call.Loop(0));
  const int64_t n = call.Int(0), position = call.Int(1), inner = call.Int(2);
  TVM_FFI_CHECK(n >= 1, ValueError) << "the number of factors has to be positive, but is " << n;
  TVM_FFI_CHECK(position >= 0 && position <= n, ValueError)
      << "partition_pos has to be in [0, " << n << "], but is " << position;
  TVM_FFI_CHECK(inner >= 1, ValueError) << "innerpart_factor has to be positive, but is " << inner;
  const int64_t* extent = as_const_int(loop->extent);
  if (extent == nullptr) return TileRVs(call, SymbolicTile(n));
  SCHEDULE_CHECK(*extent > 0, call.Loop(0)) << "The loop {0} has no iterations to tile";
  // What does not divide leaves the inner part alone.
  const int64_t fixed = position == 0 || position == n || *extent % inner != 0 ? 1 : inner;
  if (call.decision != nullptr) {
    std::vector<int64_t> tile = AdaptTile(call.decision, *extent, n);
    int64_t product = 1;
    for (int64_t i = position; i < n; ++i) product *= tile[i];
    if (product % fixed == 0) return TileRVs(call, tile);
  }
  std::vector<int64_t> tile = SampleTile(call.sch, *extent / fixed, n, -1);
  if (fixed > 1) {
    std::vector<int64_t> more = SampleTile(call.sch, fixed, n - position, -1);
    for (int64_t i = position; i < n; ++i) tile[i] *= more[i - position];
  }
  return TileRVs(call, tile);
}

/// Loops at which a block could be computed: those around all of its consumers, or producers.
std::vector<int64_t> Locations(PrimitiveCall& call, const StmtSRef& block,
                               const ffi::Array<StmtSRef>& loops, bool reverse) {
  std::vector<int64_t> result{-2};
  for (size_t i = 0; i < loops.size(); ++i) {
    Schedule copy = call.sch->Copy();
    copy->Seed(1);
    try {
      SBlockRV b = copy->NewBlockRV(copy->state()->GetSRef(block->get_stmt())).cast<SBlockRV>();
      LoopRV l = copy->NewLoopRV(copy->state()->GetSRef(loops[i]->get_stmt())).cast<LoopRV>();
      if (reverse) {
        copy->ReverseComputeAt(b, l);
      } else {
        copy->ComputeAt(b, l);
      }
      result.push_back(static_cast<int64_t>(i));
    } catch (const ffi::Error& error) {
      if (error.kind() != "ScheduleError") throw;
    }
  }
  Schedule copy = call.sch->Copy();
  try {
    SBlockRV b = copy->NewBlockRV(copy->state()->GetSRef(block->get_stmt())).cast<SBlockRV>();
    if (reverse) {
      copy->ReverseComputeInline(b);
    } else {
      copy->ComputeInline(b);
    }
    result.push_back(-1);
  } catch (const ffi::Error& error) {
    if (error.kind() != "ScheduleError") throw;
  }
  return result;
}

ffi::Array<ffi::Any> SampleComputeLocation(PrimitiveCall& call) {
  const StmtSRef block = call.Block(0);
  const StmtSRef scope_root = ScopeRootOf(block);
  ffi::Array<StmtSRef> partners = ConsumersOf(call.state, block);
  // An output block goes to its producers.
  const bool reverse = partners.empty() || IsOutputBlock(call.state, block, scope_root);
  if (reverse) partners = ProducersOf(call.state, block);
  ffi::Array<StmtSRef> loops;
  if (!partners.empty()) {
    for (const StmtSRef& loop : LoopsAbove(partners[0])) {
      bool common = true;
      for (const StmtSRef& partner : partners) common = common && Encloses(loop, partner);
      if (common) loops.push_back(loop);
    }
  }
  int64_t location = -2;
  if (call.decision != nullptr) {
    location = call.decision.cast<int64_t>();
    TVM_FFI_CHECK(location >= -2 && location < static_cast<int64_t>(loops.size()), ValueError)
        << "the decision of sample_compute_location has to be in [-2, " << loops.size()
        << "), but is " << location;
  } else {
    std::vector<int64_t> choices = Locations(call, block, loops, reverse);
    location = choices[call.sch->RandInt(0, static_cast<int64_t>(choices.size()))];
  }
  call.decision = ffi::Any(location);
  if (location == -1) return {call.sch->NewLoopRV(StmtSRef::InlineMark())};
  if (location == -2) return {call.sch->NewLoopRV(StmtSRef::RootMark())};
  return {call.sch->NewLoopRV(loops[location])};
}

const PrimitiveRegistration kSampleCategorical{{
    .name = "SampleCategorical",
    .method = "sample_categorical",
    .pure = true,
    .params = "candidates=a0 probs=a1 decision",
    .result = Result::kOne,
    .run = SampleCategorical,
}};

const PrimitiveRegistration kSamplePerfectTile{{
    .name = "SamplePerfectTile",
    .method = "sample_perfect_tile",
    .pure = true,
    .params = "loop=i0 n=a0 max_innermost_factor=a1 decision",
    .result = Result::kList,
    .run = SamplePerfectTile,
}};

const PrimitiveRegistration kSamplePartitionedTile{{
    .name = "SamplePartitionedTile",
    .method = "sample_partitioned_tile",
    .pure = true,
    .params = "loop=i0 n=a0 partition_pos=a1 innerpart_factor=a2 decision",
    .result = Result::kList,
    .run = SamplePartitionedTile,
}};

const PrimitiveRegistration kSampleComputeLocation{{
    .name = "SampleComputeLocation",
    .method = "sample_compute_location",
    .pure = true,
    .params = "block=i0 decision",
    .result = Result::kOne,
    .run = SampleComputeLocation,
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
