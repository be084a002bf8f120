// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The loops of one attention. What they are is told in attention.cc; attention_loops.cc walks over
/// tasks, panels and blocks, attention_scores.cc makes scores and their exponentials,
/// attention_values.cc adds up rows of V.
#ifndef TVM_KERNELS_ATTENTION_EMITTER_H_
#define TVM_KERNELS_ATTENTION_EMITTER_H_

#include <tvm/kernels/rule.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/attention_match.h"
#include "kernels/attention_plan.h"
#include "kernels/attention_tile.h"
#include "kernels/dot_step.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// A load of the scores that is turned first.
struct TurnedMask {
  PrimExpr load;
  Var value;  ///< in its place
  tirx::Buffer turned;
};

/// The sizes of a match.
AttentionShape ShapeOf(const Attention& attention);

class AttentionEmitter {
 public:
  AttentionEmitter(const Group& group, Attention a, Epilogue epilogue, const Target& target,
                   const KernelKnobs& knobs);

  /// Whether columns of V lie at equal distances, so that vectors can run along them.
  bool CanEmit() const { return column_stride_.has_value(); }
  tirx::Stmt Emit();

 private:
  // --- attention_loops.cc ---

  /// Whether results gather over several blocks of keys.
  bool Online() const { return plan_.blocks > 1; }
  /// Whether rows along keys are worth a copy of each block, or cannot be read as they are.
  bool CopiesKeys(bool reused);
  bool IsFar(const PrimExpr& operand);
  tirx::Buffer Scratch(const char* name, int64_t size, DataType dtype, ffi::Array<tirx::Stmt>* seq);
  void Allocate(ffi::Array<tirx::Stmt>* seq);
  /// `make` for each panel of the task; the last panel of a head may have fewer queries.
  void ForEachPanel(ffi::Array<tirx::Stmt>* seq,
                    const std::function<tirx::Stmt(const AttentionPanel&)>& make);
  /// An expression in the iterations of the anchor, at a row, key and column.
  PrimExpr At(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& key,
              const PrimExpr& col = Index(0));
  /// An operand of the scores at one step of the depth.
  PrimExpr AtStep(const PrimExpr& operand, const PrimExpr& row, const PrimExpr& key,
                  const PrimExpr& step);
  /// One loop of vectors over all places of a row of `width` values.
  tirx::Stmt OverWidth(int64_t width, const std::function<tirx::Stmt(const PrimExpr&)>& body);
  /// Places of a panel's queries in per-query buffers, whole vectors unless there are few.
  int64_t Places(int64_t queries) const;
  PrimExpr StateAt(const AttentionPanel& panel, const PrimExpr& query);
  tirx::Stmt Begin(const AttentionPanel& panel);
  /// The first block that some row of the task sees, and the one after the last.
  std::pair<PrimExpr, PrimExpr> VisibleBlocks();
  /// Blocks that some row of the task sees; the last one may be shorter.
  void Blocks(ffi::Array<tirx::Stmt>* seq);
  /// One block of keys for one panel.
  tirx::Stmt Step(const AttentionPanel& panel, const Var& key0, int64_t keys);
  /// scale_ = 1 / sum_
  tirx::Stmt Reciprocals(const AttentionPanel& panel);
  tirx::Stmt Finish(const AttentionPanel& panel);

  // --- attention_scores.cc ---

  /// What the scores read along keys, e.g. a mask of its own for each row, is turned block by block
  /// for vectors along queries.
  void TurnMasks();
  tirx::Stmt RaiseMax(const PrimExpr& at, const PrimExpr& value);
  PrimExpr Score(const PrimExpr& product, const PrimExpr& row, const PrimExpr& key);
  tirx::Stmt CopyKeys(const Var& key0, int64_t keys);
  tirx::Stmt TurnMask(const TurnedMask& mask, const AttentionPanel& panel, const Var& key0,
                      int64_t keys);
  /// Many queries: vectors along them.
  tirx::Stmt ManyScores(const AttentionPanel& panel, const Var& key0, int64_t keys);
  /// Scores of keys [key0 + start, + rows) with all queries of a panel.
  tirx::Stmt ManyScoreTile(const AttentionPanel& panel, const Var& key0, const PrimExpr& start,
                           int64_t rows);
  /// The elements of one word of a key.
  PrimExpr LoadKey(const PrimExpr& key0, const PrimExpr& key, const PrimExpr& word);
  /// Stores one vector of scores, those of queries from `query` on with one key of the block, and
  /// raises their maxima. `slot` is where `products` has them.
  tirx::Stmt StoreScores(const AttentionPanel& panel, const Var& key0, const PrimExpr& key,
                         int64_t query, const tirx::Buffer& products, int64_t slot);
  tirx::Stmt ManyExponentials(const AttentionPanel& panel, int64_t keys);
  /// Exponentials of one word of keys, `valid` of which exist, rounded and side by side.
  tirx::Stmt ExponentialWord(const AttentionPanel& panel, const PrimExpr& word, int64_t valid);
  /// Few queries: vectors along the head size, then along keys.
  tirx::Stmt FewScores(const AttentionPanel& panel, const Var& key0, int64_t keys);
  /// lane-wise maximum of value(key) over all keys
  tirx::Stmt ReduceKeys(const tirx::Buffer& into, int64_t keys, const PrimExpr& init,
                        const std::function<PrimExpr(const PrimExpr&)>& value);
  /// Scores of keys [key0 + start, + count), each query in turn.
  tirx::Stmt FewScoreTile(const AttentionPanel& panel, const Var& key0, const PrimExpr& start,
                          int64_t count);
  tirx::Stmt FewExponentials(const AttentionPanel& panel, int64_t keys);

  // --- attention_values.cc ---

  tirx::Stmt CopyValues(const Var& key0, int64_t keys);
  /// Row `key` of V from a column on, in the type of the products.
  PrimExpr LoadValues(const PrimExpr& key, const PrimExpr& col, int64_t width);
  /// Exponentials times V, vectors along its columns.
  tirx::Stmt WeighValues(const AttentionPanel& panel, const Var& key0, int64_t keys);
  /// Rows [first, + rows) of a panel, columns [col, + cols).
  tirx::Stmt ValueTile(const AttentionPanel& panel, const Var& key0, int64_t keys,
                       const PrimExpr& first, int64_t rows, const PrimExpr& col, int64_t cols);
  PrimExpr OutAt(const AttentionPanel& panel, const PrimExpr& query, const PrimExpr& column);
  tirx::Stmt StoreResult(const PrimExpr& result, const PrimExpr& row, const PrimExpr& column);

  /// Words of the depth as scores multiply them, and of `keys` keys as values do.
  int64_t DepthWords() const { return CeilDiv(Product(a_.depth), score_step_.group); }
  int64_t KeyWords(int64_t keys) const { return CeilDiv(keys, value_step_.group); }

  const Stage& anchor_;
  Attention a_;
  Epilogue epilogue_;
  const Target& target_;
  int64_t lanes_;
  AttentionPlan plan_;
  DotStep score_step_, value_step_;  ///< of Q K^T, and of the exponentials and V
  FlatAccess access_;
  std::optional<VisibleKeys> visible_;
  std::optional<int64_t> column_stride_;  ///< between columns of V
  ffi::Map<Var, PrimExpr> values_;        ///< batch iterations of the task
  PrimExpr first_panel_;
  int64_t pitch_ = 0, score_pitch_ = 0;  ///< of out_ and v_block_, and of scores_
  bool copies_k_ = false, copies_v_ = false;
  std::vector<TurnedMask> turned_;
  /// weights_ holds exponentials as they are multiplied: scores_ itself, or words of it.
  tirx::Buffer packed_q_, scores_, weights_, max_, sum_, scale_, out_, k_block_, v_block_;
};

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_ATTENTION_EMITTER_H_
