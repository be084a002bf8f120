// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// A group of blocks as rules look at it: one stage a block, with its iterations and its value.
#ifndef TVM_KERNELS_GROUP_H_
#define TVM_KERNELS_GROUP_H_

#include <tvm/tirx/function.h>
#include <tvm/tirx/sblock.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tvm {
namespace kernels {

/// An iteration of a block with a constant extent that starts at 0.
struct Iter {
  Var var;
  int64_t extent;
};

enum class ReduceKind { kNone, kSum, kProd, kMax, kMin };

/// One block: `output[indices] = value` for all spatial iterations, or, when it reduces,
/// `output[indices] (+)= value` from `init` on.
struct Stage {
  tirx::SBlock block;
  std::vector<Iter> spatial, reduce;
  tirx::Buffer output;
  ffi::Array<PrimExpr> indices;
  PrimExpr value;
  PrimExpr init;
  ReduceKind kind = ReduceKind::kNone;

  /// Integer annotation of the block, or `otherwise`.
  int64_t Int(const char* key, int64_t otherwise) const;
  std::string Text(const char* key) const;
};

struct Group {
  tirx::PrimFunc func;
  /// In program order: a stage reads only parameters and earlier stages.
  std::vector<Stage> stages;
  /// Index of the stage that carries the annotation `tile_op`, or -1.
  int anchor = -1;

  /// The anchor if it is of this kind, else null.
  const Stage* Anchor(std::string_view tile_op) const;
  bool IsParam(const tirx::Buffer& buffer) const;
  /// Index of the stage that writes `buffer`, or -1.
  int Writer(const tirx::Buffer& buffer) const;
};

/// What a rule calls to decline: keeps the reason, and gives the empty result.
inline auto Decliner(std::string* why) {
  return [why](const char* reason) {
    *why = reason;
    return std::nullopt;
  };
}

/// Reads the group. nullopt with a reason when a block is not of the form above (several stores,
/// dynamic extents, another reduction): such functions are left to the plain-loop rule.
TVM_DLL std::optional<Group> ParseGroup(const tirx::PrimFunc& func, std::string* why);

/// `expr` with every read of an intermediate that a non-reducing stage before `limit` writes
/// replaced by that stage's value, repeatedly. Reads of the buffers in `keep` stay.
PrimExpr InlineProducers(const Group& group, PrimExpr expr, int limit,
                         const std::vector<tirx::Buffer>& keep = {});

/// `expr` with every read of `buffer` replaced.
PrimExpr ReplaceLoads(const PrimExpr& expr, const tirx::Buffer& buffer,
                      const PrimExpr& replacement);

/// Buffers that `expr` reads, each once, in order of first occurrence.
std::vector<tirx::Buffer> ReadBuffers(const Expr& expr);

/// Whether `expr` uses `var` other than in the indices of reads.
bool UsesOutsideOfLoads(const PrimExpr& expr, const Var& var);

/// One step of a reduction. InternalError for kNone.
PrimExpr Combine(ReduceKind kind, const PrimExpr& a, const PrimExpr& b);

/// Whether computing it twice costs more than keeping it: any call of a mathematical function.
bool IsDear(const PrimExpr& value);

/// Accesses by one flat index: each buffer gets a one-dimensional alias of its storage, and offsets
/// are simplified under the ranges the caller bound.
class FlatAccess {
 public:
  FlatAccess();
  ~FlatAccess();
  FlatAccess(const FlatAccess&) = delete;

  /// Declares 0 <= var < extent for the simplifier.
  void Bind(const Var& var, int64_t extent);
  /// Declares low <= var < low + extent.
  void BindRange(const Var& var, int64_t low, int64_t extent);
  PrimExpr Simplify(const PrimExpr& expr);
  /// Whether `condition` always holds.
  bool CanProve(const PrimExpr& condition);

  /// A new local or global scratch buffer that needs no alias.
  static tirx::Buffer Scratch(const char* name, int64_t size, DataType dtype, const char* scope);
  /// Declares that `buffer` is flat already.
  void UseAsIs(const tirx::Buffer& buffer);

  PrimExpr Offset(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices);
  /// `expr` with all loads made flat.
  PrimExpr Loads(const PrimExpr& expr);
  tirx::Stmt Store(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices, PrimExpr value);
  /// The alias of a buffer, made at the first use.
  tirx::Buffer Alias(const tirx::Buffer& buffer);
  /// By how much `offset` grows when `var` grows by one, if that is a constant.
  std::optional<int64_t> Coefficient(const PrimExpr& offset, const Var& var);
  /// By how much it grows with the row-major fused index of `iters`, if it depends on them so.
  std::optional<int64_t> FusedCoefficient(const PrimExpr& offset, const std::vector<Iter>& iters);
  /// The declarations of all aliases, then `body`.
  tirx::Stmt Wrap(tirx::Stmt body) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Statement shorthands.
tirx::Stmt Loop(const Var& var, int64_t extent, tirx::Stmt body);
tirx::Stmt VectorLoop(const Var& var, int64_t lanes, tirx::Stmt body);
tirx::Stmt ParallelLoop(const Var& var, int64_t extent, tirx::Stmt body);
/// A loop over `iter` in vectors of `lanes`, the rest as one shorter vector; `body` is for one
/// value of `iter`.
tirx::Stmt VectorRun(const Iter& iter, int64_t lanes, const tirx::Stmt& body);
/// All of `iters` mapped to 0.
ffi::Map<Var, PrimExpr> Zeros(const std::vector<Iter>& iters);
/// What each of `iters` is where their row-major fused index is `fused`.
ffi::Map<Var, PrimExpr> Digits(const std::vector<Iter>& iters, const PrimExpr& fused);
int64_t Product(const std::vector<Iter>& iters);
/// Those of more than one turn.
std::vector<Iter> NonUnit(const std::vector<Iter>& iters);
/// a / b, rounded up; b > 0.
inline int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
/// A loop variable of the index type that kernels use.
Var IndexVar(const char* name);
inline PrimExpr Index(int64_t value) { return IntImm(DataType::Int(64), value); }

/// The function with `body` instead of its blocks: attribute s_tir goes, tirx.is_scheduled comes.
tirx::PrimFunc ScheduledFunc(const tirx::PrimFunc& func, tirx::Stmt body);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_GROUP_H_
