// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The loops of one contraction. What they are is told in contraction.cc; contraction_loops.cc cuts
/// them into tasks, contraction_copy.cc copies operands, contraction_image.cc reads images in
/// place, contraction_tile.cc does the sums, contraction_dots.cc those of a last column or two,
/// contraction_{low_bit,digits}.cc those of weights of a few bits.
#ifndef TVM_KERNELS_CONTRACTION_EMITTER_H_
#define TVM_KERNELS_CONTRACTION_EMITTER_H_

#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>

#include <functional>
#include <optional>
#include <vector>

#include "kernels/contraction_form.h"
#include "kernels/contraction_image.h"
#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

/// Bytes into which an element of A is split to be multiplied by a weight of a few bits.
inline constexpr int kLowBitDigits = 3;
/// How bytes of A and of a weight of a few bits are multiplied: not at all, four of them a lane, or
/// pairs with sums of 16 bits (pmaddubsw), which hold products with 4 bits.
enum class ByteProducts { kNone, kWords, kPairs };
ByteProducts ByteProductsOf(int64_t m, int bits, const Target& target);
/// Columns of the panels of a weight of a few bits.
int64_t LowBitPanel(int64_t m, int64_t n, int bits, const Target& target);

/// As VectorRun, all vectors being powers of two, as others are slow to store: the last one repeats
/// some of what is before it. `body` must allow that.
tirx::Stmt PowersOfTwoRun(const Iter& iter, int64_t lanes, const tirx::Stmt& body);

class ContractionEmitter {
 public:
  ContractionEmitter(const Group& group, Contraction c, Epilogue epilogue, const Target& target,
                     const KernelKnobs& knobs);
  tirx::Stmt Emit();
  /// What may be measured besides the own choice: other cuts, and each switch the other way.
  std::vector<KernelCandidate> Candidates();

 private:
  /// Whether so many rows may be computed a second time.
  bool MayRepeat(int64_t rows) const;
  int64_t OwnRows(int64_t limit = INT64_MAX) const;
  /// Rows of A a multiple of a page apart fall on each other in the first-level cache: takes tiles
  /// of as few rows as it keeps, or tells that it keeps too few.
  bool FitRowsAPageApart();
  /// Columns of a last panel that are no more than a vector and so belong to the tiles, of `rows`
  /// rows, of the panel before: for themselves they would read A for few products. 0 for none.
  int64_t MergedColumns(int64_t rows) const;
  /// How many of these are multiplied along k (contraction_dots.cc): all or none.
  int64_t DottedColumns(int64_t rows) const;
  ContractionShape Shape(int64_t rows) const;
  ContractionTiles Tiles() const;
  /// Fixes the digits of a row-major fused index.
  void SetDigits(const std::vector<Iter>& iters, const PrimExpr& fused);
  /// Whether each panel of B is copied before it is used.
  bool CopiesB() const { return c_.panel == 0 && !b_direct_; }
  void FindOperandAccess();
  /// Whether k ends before the last word does.
  bool EndsInWord() const { return c_.k % step_.group != 0; }
  /// Whether B is computed from packed panels while it is multiplied.
  bool ComputesB() const { return c_.panel > 0 && c_.b.as<tirx::BufferLoadNode>() != c_.packed; }
  PrimExpr Place(const PrimExpr& expr) { return access_.Simplify(Substitute(expr, values_)); }
  tirx::Stmt TaskBody();
  static int64_t RoundUp(int64_t value, int64_t multiple);
  /// Copies the rows of a block: runs along the innermost reduction, zero where the operand is.
  tirx::Stmt CopyRows(const PrimExpr& rows_here);
  /// An element of A as it is multiplied.
  PrimExpr AsA(const PrimExpr& value) const;
  /// Elements that one step of a copying loop moves.
  int64_t CopyLanes(const PrimExpr& source, DataType target) const;
  /// target[base + step * k] = source for all k of the fused `iters`.
  tirx::Stmt CopyRuns(const tirx::Buffer& target, PrimExpr base, PrimExpr step,
                      const PrimExpr& source, const std::vector<Iter>& iters);
  /// The same with each condition tested where it stands.
  tirx::Stmt CopyEach(const tirx::Buffer& target, PrimExpr base, PrimExpr step,
                      const PrimExpr& source, const std::vector<Iter>& iters);
  /// When a condition holds for all of `iters`, the other iterations being what they are now;
  /// undefined when that cannot be told from the ends.
  PrimExpr HoldsForAll(const PrimExpr& condition, const std::vector<Iter>& iters);
  /// What two nested loops read without a gap, as a convolution does along a row of a picture with
  /// few channels: its first element, and when all of it lies inside; undefined: always.
  struct Joined {
    tirx::Buffer buffer;
    PrimExpr offset, inside;
  };
  /// Whether a condition consists of bounds that are linear in `var`: what holds at both ends of a
  /// loop over it then holds in between.
  bool IsRange(const PrimExpr& condition, const Var& var);
  std::optional<Joined> JoinedRead(const PrimExpr& value, const Iter& outer, const Iter& inner);
  tirx::Stmt PanelLoop(const PrimExpr& rows_here, int64_t last_rows);
  /// Everything of one panel whose first `cols` columns exist, or of the last two.
  tirx::Stmt PanelBody(const PrimExpr& rows_here, int64_t last_rows, int64_t cols);
  /// b_panel[k, col] = B[k, n]; columns past the last one are zero.
  tirx::Stmt CopyPanel(int64_t cols);
  bool ReadsAlongColumns();
  tirx::Stmt CopyAlongColumns(const Var& col, int64_t cols);
  /// b_panel[k / g, col, k % g] = B[k, n]; zero past the last row and column.
  tirx::Stmt CopyWords(const Var& col, int64_t cols);
  /// One column of CopyWords, a word at a time where k is a single loop.
  tirx::Stmt CopyColumn(const Var& col, const std::vector<Iter>& loops);
  /// CopyWords where columns lie side by side: rows of a group are loaded as vectors and shuffled.
  tirx::Stmt Interleave(const Var& k, const Var& col, int64_t cols);
  /// b_sums[col] = -128 * the sum of a column of the copied panel.
  tirx::Stmt SumColumns();
  /// Widths of the vectors of a tile row. The last one is as short as its columns, or, where B is
  /// padded, as the narrowest register that holds them.
  std::vector<int64_t> Widths(int64_t cols, bool padded) const;
  PrimExpr LoadA(const Var& row, int64_t i, const PrimExpr& k);
  /// Flat offset of element k of row `row` + i of A, where that is no window of an image.
  PrimExpr OffsetA(const Var& row, int64_t i, const PrimExpr& k);
  /// Flat offset of the first column of B's panel `tile` in word k.
  PrimExpr LoadOffsetB(const PrimExpr& tile, const PrimExpr& k);
  /// Flat offset in packed B of a column of a tile, in word k.
  PrimExpr PackedOffset(int64_t column, const PrimExpr& k);
  /// `width` columns of B from `column` of a tile on, in word k.
  PrimExpr ColumnsOfB(int64_t column, const PrimExpr& k, int64_t width);
  /// What the sums of `width` columns from `column` on start from when A is 128 too large.
  PrimExpr StartOfSums(int64_t column, int64_t width);
  /// starts[col] = the term of the epilogue that sums start from, for the first `cols` columns.
  tirx::Stmt ComputeStarts(const tirx::Buffer& starts, const Var& row, int64_t cols);
  /// Hints for the next panel's lines, `steps` of k's worth, shared out among the row tiles of a
  /// block: the first tile of a panel then finds it in the second-level cache.
  tirx::Stmt PrefetchPanel(const PrimExpr& tile_row, const PrimExpr& group, int64_t steps);
  /// b_row[col] = what B's packed panel stands for in row k, for the first `cols` columns.
  tirx::Stmt ComputeRowOfB(const tirx::Buffer& b_row, const Var& row, const PrimExpr& k,
                           int64_t cols);
  tirx::Stmt TileBody(const Var& row, const PrimExpr& tile_row, int64_t rows, int64_t cols);
  /// Whether the epilogue is written out for so many vectors.
  bool UnrollsStores(int64_t stores) const;
  /// The epilogue on all sums of a tile; `widths` of the vectors of a row.
  tirx::Stmt StoreTile(const tirx::Buffer& acc, const Var& row, int64_t rows,
                       const std::vector<int64_t>& widths, int64_t cols);
  /// The epilogue on `valid` sums from `slot` on: of row i of a tile, from `column` of it on.
  tirx::Stmt StoreVector(const tirx::Buffer& sums, const PrimExpr& slot, const Var& row,
                         const PrimExpr& i, int64_t column, int64_t valid);
  /// Flat offset of indices that are written in the anchor's iterations. Rows stay fused where the
  /// buffer lets them, so that no division is left in the address.
  PrimExpr Position(const tirx::Buffer& buffer, const ffi::Array<PrimExpr>& indices,
                    const PrimExpr& m, const PrimExpr& column);
  PrimExpr Value(const PrimExpr& expr, const PrimExpr& sum, const PrimExpr& m,
                 const PrimExpr& column);

  // ---- columns multiplied along k ----
  /// b_columns[column, k] = the `count` columns after the tile's panel, and what their sums start
  /// from.
  tirx::Stmt CopyDottedColumns(int64_t count);
  /// Their sums for `rows` rows, and the epilogue on these.
  tirx::Stmt DotColumns(const Var& row, int64_t rows, int64_t count);

  // ---- windows of an image ----
  /// Decides whether A is read so, in tiles of how many rows.
  void PlanImage();
  bool PlanImageRows();
  /// Whether tasks read a copy with a border.
  bool CopiesImage() const { return image_->border.defined(); }
  /// Whether tiles leave out rows of the image in which they have nothing but zeros.
  bool SkipsBorder() const;
  /// Cycles of all tiles of so many rows.
  double ImageCost(int64_t rows) const;
  /// Copies the image rows of a block where that must be.
  tirx::Stmt PrepareImage(const PrimExpr& rows_here);
  /// image[at + column] = source[from + column] for columns [first, end).
  tirx::Stmt CopyImage(const PrimExpr& at, const PrimExpr& from, int64_t first, int64_t end);
  tirx::Stmt FillBorder(const PrimExpr& at, int64_t first, int64_t end);
  /// Fixes the windows of a tile, and the runs of them that its sums are over.
  tirx::Stmt EnterWindows(const Var& row, int64_t rows, RegisterTile* tile);
  /// Flat offset of word k of the present run of window i of the tile.
  PrimExpr WindowOffset(int64_t i, const PrimExpr& k);

  // ---- weights of a few bits ----
  /// How they are multiplied.
  struct LowBits {
    int64_t word = 0, run = 0, runs = 0;          // elements of a word and of a run, runs of k
    ByteProducts products = ByteProducts::kNone;  // of bytes into which A is split
    tirx::Buffer packed;
    tirx::Buffer digit, sum, unit;  // [row, digit, k], [row, digit, run], [row, run]
  };
  /// A register tile: its sums in all and of one run, scales and zero points of its columns.
  struct LowBitTile {
    Var row;
    int64_t rows, vectors;
    tirx::Buffer acc = {}, part = {}, scales = {}, zeros = {};
  };
  /// What is done for a run: its words, and the elements of its last word.
  using RunBody = std::function<tirx::Stmt(const PrimExpr& run, int64_t words, int64_t last)>;
  using WordBody = std::function<tirx::Stmt(const PrimExpr& word, int64_t elements)>;

  void PlanLowBits();
  /// Whether tiles take words of the weight apart themselves.
  bool HasLowBitTiles() const { return c_.weight_bits > 0 && c_.panel > 0; }
  bool SplitsRows() const { return low_.products != ByteProducts::kNone; }
  /// Most rows of a register tile.
  int64_t MostRows() const;
  tirx::Stmt ForEachRun(const RunBody& body);
  tirx::Stmt ForEachWord(const PrimExpr& run, int64_t words, int64_t last, const WordBody& body);
  /// The bytes of vector v of the tile in word `word` of k.
  PrimExpr LowBitWord(int64_t v, const PrimExpr& word);
  /// Element `element` of a word less its zero point, in float32.
  PrimExpr LowBitFloats(const LowBitTile& t, int64_t v, const PrimExpr& word, int64_t element);
  /// Loads what the first `cols` columns have in a run.
  tirx::Stmt LowBitScales(const LowBitTile& t, const PrimExpr& run, int64_t cols);
  tirx::Stmt LowBitTileBody(const Var& row, int64_t rows, int64_t cols);
  tirx::Stmt FloatRun(const LowBitTile& t, const PrimExpr& run, int64_t words, int64_t last);
  tirx::Stmt AddScaled(const LowBitTile& t, int64_t i, int64_t v, const PrimExpr& value);
  /// b_panel[k, col] = B[k, n] in float32.
  tirx::Stmt ExpandPanel(int64_t cols);
  /// Digits, their sums and units of all rows of A.
  tirx::Stmt SplitRows();
  tirx::Stmt SplitRun(const Var& row, const Var& run);
  tirx::Stmt SplitDigits(const Var& row, const Var& run, const PrimExpr& inverse, int64_t width);
  static PrimExpr DigitRow(const PrimExpr& row, int d);
  tirx::Stmt DigitRun(const LowBitTile& t, const PrimExpr& run, int64_t words);
  tirx::Stmt DigitWord(const LowBitTile& t, const PrimExpr& word);
  /// The elements in the lower halves of bytes, then those in the upper ones.
  std::vector<PrimExpr> Halves(const PrimExpr& bytes, ffi::Array<tirx::Stmt>* seq);
  /// Four elements of digit `d` of a row, in all lanes.
  PrimExpr DigitsOf(const LowBitTile& t, int64_t i, int d, const PrimExpr& word, int64_t half,
                    ffi::Array<tirx::Stmt>* seq);
  /// part + the products of all halves `q` with digits `x`, a sum for each lane.
  PrimExpr MultiplyBytes(const std::vector<PrimExpr>& q, const std::vector<PrimExpr>& x,
                         PrimExpr part);

  const Stage& anchor_;
  Contraction c_;
  Epilogue epilogue_;
  PrimExpr start_;  // a term of the epilogue that sums start from; undefined for none
  const Target& target_;
  const KernelKnobs& knobs_;
  DotStep step_;
  DataType dtype_;                // of the sums
  int64_t lanes_, panel_, rows_;  // elements of a vector, columns and rows of a register tile
  ContractionTiles t_;
  FlatAccess access_;
  ffi::Map<Var, PrimExpr> values_;  // iterations fixed so far
  Var task_, row0_, tile_;
  PrimExpr col_task_, block_;
  bool a_direct_ = false, b_direct_ = false;
  tirx::Buffer a_buffer_, b_buffer_, b_sums_;
  tirx::Buffer b_columns_, column_starts_;  // the latter undefined when sums start from 0
  int64_t a_row_ = 0, a_step_ = 1, a_pitch_ = 0, b_step_ = 0;
  PrimExpr a_base_, b_base_;
  std::optional<WindowedImage> image_;
  int64_t run_words_ = 0;  // of a run of a window
  PrimExpr image_top_;     // the image row with which a_buffer_ begins
  Var window_, run_;       // flat offset of a tile's first window, and which of its runs
  LowBits low_;
};

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_CONTRACTION_EMITTER_H_
