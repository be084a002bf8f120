// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Convolutions whose windows are read where they lie: in the source, or, where there is a border,
/// in a copy of the image rows of a task with that border. A row of A for each window would hold
/// each element of the image as often as windows overlap.
#include "kernels/contraction_image.h"

#include <tvm/ir/expr_functor.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/contraction_emitter.h"
#include "kernels/names.h"
#include "kernels/register_tile.h"

namespace tvm {
namespace kernels {

namespace {

/// Positions along one dimension of the image that a condition allows, and the iterations of a
/// position: window * step + tap.
struct Side {
  Var window, tap;  // undefined for none
  int64_t step = 1;
  int64_t low, high;

  /// Takes `sign` * (position) + `constant` <= 0.
  void Bound(int64_t sign, int64_t constant) {
    if (sign > 0) high = std::min(high, 1 - constant);
    if (sign < 0) low = std::max(low, constant);
  }
};

class ImageReader {
 public:
  ImageReader(const Contraction& c, FlatAccess* access) : c_(c), access_(access) {}

  std::optional<WindowedImage> Read() {
    PrimExpr read = c_.a, inside;
    if (const auto* call = read.as<CallNode>()) {
      if (!call->op.same_as(tirx::builtin::if_then_else())) return std::nullopt;
      inside = PrimExpr(call->args[0]);
      read = PrimExpr(call->args[1]);
      image_.border = PrimExpr(call->args[2]);
      if (!image_.border.as<IntImmNode>() && !image_.border.as<FloatImmNode>()) return std::nullopt;
    }
    const auto* load = read.as<BufferLoadNode>();
    if (load == nullptr || c_.rows.size() < 2) return std::nullopt;
    image_.source = load->buffer;
    offset_ = access_->Offset(load->buffer, load->indices);
    if (!ReadWindows() || (inside.defined() && !ReadInside(inside))) return std::nullopt;
    image_.origin = Substitute(Substitute(offset_, Zeros(Windows())), Zeros(c_.depth));
    image_.top = std::max<int64_t>(0, y_.low);
    image_.bottom = std::min(image_.rows(), y_.high);
    image_.left = std::max<int64_t>(0, x_.low * pixel_);
    image_.right = std::min(image_.columns(), x_.high * pixel_);
    const bool empty = image_.top >= image_.bottom || image_.left >= image_.right;
    return empty ? std::nullopt : std::optional(image_);
  }

 private:
  std::vector<Iter> Windows() const { return {c_.rows.end() - 2, c_.rows.end()}; }

  /// Steps between windows and between the elements of one, from what the offset grows by.
  bool ReadWindows() {
    const Iter &y = *(c_.rows.end() - 2), &x = c_.rows.back();
    image_.height = y.extent;
    image_.width = x.extent;
    std::vector<Iter> depth = NonUnit(c_.depth);
    image_.run = 1;
    while (!depth.empty() && access_->Coefficient(offset_, depth.back().var) == image_.run) {
      x_.tap = depth.back().var;
      pixel_ = image_.run;
      image_.run *= depth.back().extent;
      depth.pop_back();
    }
    const auto down = access_->Coefficient(offset_, y.var),
               across = access_->Coefficient(offset_, x.var);
    if (!down || !across || *across <= 0 || *down <= 0 || depth.size() > 1) return false;
    image_.step_x = *across;
    image_.step_y = image_.runs = 1;
    image_.pitch = *down;
    if (!depth.empty()) {
      const auto pitch = access_->Coefficient(offset_, depth[0].var);
      if (!pitch || *pitch <= 0 || *down % *pitch != 0) return false;
      image_.pitch = *pitch;
      image_.step_y = *down / *pitch;
      image_.runs = depth[0].extent;
      y_.tap = depth[0].var;
    }
    y_.window = y.var;
    x_.window = x.var;
    y_.step = image_.step_y;
    y_.low = x_.low = 0;
    y_.high = image_.rows();
    if (*across % pixel_ != 0) return false;
    x_.high = image_.columns() / pixel_;
    x_.step = *across / pixel_;
    return true;
  }

  bool ReadInside(const PrimExpr& condition) {
    if (const auto* both = condition.as<tirx::AndNode>()) {
      return ReadInside(both->a) && ReadInside(both->b);
    }
    if (const auto* node = condition.as<tirx::LTNode>()) return ReadBound(node->a - node->b, 1, 1);
    if (const auto* node = condition.as<tirx::LENode>()) return ReadBound(node->a - node->b, 1, 0);
    if (const auto* node = condition.as<tirx::GTNode>()) return ReadBound(node->a - node->b, -1, 1);
    if (const auto* node = condition.as<tirx::GENode>()) return ReadBound(node->a - node->b, -1, 0);
    return false;
  }

  /// sign * difference + slack <= 0
  bool ReadBound(const PrimExpr& difference, int64_t sign, int64_t slack) {
    Map<Var, PrimExpr> zeros = Zeros(c_.rows);
    for (const Iter& iter : c_.depth) zeros.Set(iter.var, Index(0));
    const PrimExpr rest = access_->Simplify(Substitute(difference, zeros));
    const int64_t* constant = as_const_int(rest);
    if (constant == nullptr) return false;
    for (Side* side : {&y_, &x_}) {
      if (!UsesVar(difference, side->window)) continue;
      const auto window = access_->Coefficient(difference, side->window);
      if (!side->tap.defined() || !window) return false;
      const auto tap = access_->Coefficient(difference, side->tap);
      if (!tap || std::abs(*tap) != 1 || *window != *tap * side->step) return false;
      for (const auto* iters : {&c_.rows, &c_.depth}) {
        for (const Iter& iter : *iters) {
          const bool own = iter.var.same_as(side->window) || iter.var.same_as(side->tap);
          if (!own && UsesVar(difference, iter.var)) return false;
        }
      }
      side->Bound(sign * *tap, sign * *constant + slack);
      return true;
    }
    return false;
  }

  const Contraction& c_;
  FlatAccess* access_;
  PrimExpr offset_;
  WindowedImage image_;
  int64_t pixel_ = 1;  // elements of one position across
  Side y_, x_;
};

}  // namespace

std::optional<WindowedImage> ReadImage(const Contraction& c, FlatAccess* access) {
  return ImageReader(c, access).Read();
}

std::optional<WindowedImage> ReadImage(const tirx::PrimFunc& func, const Target& target) {
  std::string why;
  auto group = ParseGroup(func, &why);
  auto c = group && group->anchor >= 0 ? ReadContraction(*group, target, &why) : std::nullopt;
  if (!c) return std::nullopt;
  FlatAccess access;
  for (const auto* iters : {&c->batch, &c->rows, &c->cols, &c->depth}) {
    for (const Iter& iter : *iters) access.Bind(iter.var, iter.extent);
  }
  return ReadImage(*c, &access);
}

bool ContractionEmitter::SkipsBorder() const {
  const PrimExpr& border = image_->border;
  if (!border.defined() || step_.shifts_a) return false;
  const auto* imm = border.as<FloatImmNode>();
  return imm != nullptr ? imm->value == 0 : is_zero(border);
}

double ContractionEmitter::ImageCost(int64_t rows) const {
  const WindowedImage& x = *image_;
  const int64_t m = x.height * x.width, vectors = CeilDiv(panel_, lanes_);
  double cost = 0;
  for (int64_t at = 0; at < m; at += rows) {
    const int64_t here = std::min(rows, m - at);
    int64_t first = 0, end = x.runs;
    if (SkipsBorder()) {
      first = std::max(first, x.top - (at + here - 1) / x.width * x.step_y);
      end = std::min(end, x.bottom - at / x.width * x.step_y);
    }
    const int64_t words = std::max<int64_t>(0, end - first) * (x.run / step_.group);
    cost += static_cast<double>(words * StepCycles(here * vectors) + TileCycles(here * vectors));
  }
  return cost;
}

bool ContractionEmitter::PlanImageRows() {
  // Windows a multiple of a page apart fall on each other in the first-level cache.
  const bool collide = image_->step_x * step_.a.bytes() % 4096 == 0;
  const int64_t limit = collide ? CachedRowsAPageApart(target_) : INT64_MAX;
  if (knobs_.count("rows") != 0) return rows_ <= limit && image_->Fits(rows_);
  const int64_t m = image_->height * image_->width;
  const int64_t most = std::min({m, MostTileRows(panel_, dtype_, target_), limit});
  int64_t best = 0;
  double least = 0;
  for (int64_t rows = most; rows >= (most + 1) / 2; --rows) {
    if (!image_->Fits(rows)) continue;
    const double cost = ImageCost(rows);
    if (best == 0 || cost < least) best = rows, least = cost;
  }
  if (best == 0) return false;
  // Against tiles of any rows, which are copied: some cycles a vector, shared by all panels.
  const int64_t own = OwnRows(), vectors = CeilDiv(panel_, lanes_), rest = m % own;
  auto tile = [&](int64_t rows) {
    return c_.words * StepCycles(rows * vectors) + TileCycles(rows * vectors);
  };
  const int64_t copied = m / own * tile(own) + (rest == 0 ? 0 : tile(rest)) +
                         5 * m * c_.words / (lanes_ * CeilDiv(c_.n, panel_));
  if (least > static_cast<double>(copied)) return false;
  rows_ = best;
  return true;
}

void ContractionEmitter::PlanImage() {
  if (Knob(knobs_, "copy_a", 0) != 0 || c_.weight_bits > 0 || c_.n == 1) return;
  image_ = ReadImage(c_, &access_);
  if (!image_) return;
  const WindowedImage& x = *image_;
  constexpr int64_t kLeastWords = 4;  // of a run, which is a loop
  const bool in_words = x.run % step_.group == 0 && x.run >= kLeastWords * step_.group;
  const bool readable = CopiesImage() || (x.source.dtype() == step_.a && !step_.shifts_a);
  if (!in_words || !readable || !PlanImageRows()) return image_.reset();
  c_.batch.insert(c_.batch.end(), c_.rows.begin(), c_.rows.end() - 2);
  c_.rows.erase(c_.rows.begin(), c_.rows.end() - 2);
  c_.m = x.height * x.width;
  run_words_ = x.run / step_.group;
}

Stmt ContractionEmitter::PrepareImage(const PrimExpr& rows_here) {
  const WindowedImage& x = *image_;
  const PrimExpr origin = Place(x.origin);
  if (!CopiesImage()) {
    a_buffer_ = access_.Alias(x.source);
    a_pitch_ = x.pitch;
    a_base_ = origin;
    image_top_ = Index(0);
    return tirx::Evaluate(Index(0));
  }
  const int64_t vector = lanes_ * step_.group;
  a_pitch_ = RoundUp(x.columns(), vector);
  // Image rows must not all fall on the same cache sets.
  if (a_pitch_ * step_.a.bytes() % 1024 == 0) a_pitch_ += vector;
  a_base_ = Index(0);
  // Blocks may begin and end within a row of windows.
  const bool whole = t_.block_rows % x.width == 0;
  const int64_t down = std::min(x.height, CeilDiv(t_.block_rows, x.width) + (whole ? 0 : 1));
  const int64_t most = (down - 1) * x.step_y + x.runs;
  a_buffer_ = FlatAccess::Scratch("a_image", a_pitch_ * most, step_.a, "global");
  access_.UseAsIs(a_buffer_);
  const PrimExpr first = access_.Simplify(floordiv(PrimExpr(row0_), Index(x.width)));
  const PrimExpr last =
      access_.Simplify(floordiv(PrimExpr(row0_) + rows_here - Index(1), Index(x.width)));
  Var top = IndexVar("top"), row = IndexVar("row");
  access_.Bind(top, x.rows());
  access_.Bind(row, most);
  image_top_ = top;
  const PrimExpr y = PrimExpr(top) + row;
  const PrimExpr inside = access_.Simplify(Index(x.top) <= y && y < Index(x.bottom));
  const PrimExpr at = PrimExpr(row) * Index(a_pitch_), from = origin + y * Index(x.pitch);
  Stmt body = SeqStmt::Flatten(FillBorder(at, 0, x.left), CopyImage(at, from, x.left, x.right),
                               FillBorder(at, x.right, x.columns()));
  // Tiles skip the rows outside, but not in part.
  const bool unread = SkipsBorder() && x.width % rows_ == 0;
  body =
      unread ? IfThenElse(inside, body) : IfThenElse(inside, body, FillBorder(at, 0, x.columns()));
  const PrimExpr count = (last - first) * Index(x.step_y) + Index(x.runs);
  return SeqStmt::Flatten(
      Bind(top, first * Index(x.step_y)), tirx::AllocBuffer(a_buffer_),
      For(row, Index(0), access_.Simplify(count), ForKind::kSerial, std::move(body)));
}

Stmt ContractionEmitter::CopyImage(const PrimExpr& at, const PrimExpr& from, int64_t first,
                                   int64_t end) {
  Var column = IndexVar("column");
  access_.Bind(column, end - first);
  const PrimExpr place = PrimExpr(column) + Index(first);
  PrimExpr element = BufferLoad(access_.Alias(image_->source), {access_.Simplify(from + place)});
  const int64_t lanes = CopyLanes(element, step_.a);
  Stmt store = BufferStore(a_buffer_, AsA(element), {access_.Simplify(at + place)});
  return PowersOfTwoRun({column, end - first}, lanes, store);
}

Stmt ContractionEmitter::FillBorder(const PrimExpr& at, int64_t first, int64_t end) {
  if (first == end) return tirx::Evaluate(Index(0));
  Var column = IndexVar("column");
  access_.Bind(column, end - first);
  const PrimExpr place = access_.Simplify(at + column + Index(first));
  return PowersOfTwoRun({column, end - first}, lanes_ * step_.group,
                        BufferStore(a_buffer_, AsA(image_->border), {place}));
}

Stmt ContractionEmitter::EnterWindows(const Var& row, int64_t rows, RegisterTile* tile) {
  const WindowedImage& x = *image_;
  const PrimExpr y = floordiv(PrimExpr(row), Index(x.width)),
                 across = floormod(PrimExpr(row), Index(x.width));
  window_ = IndexVar("window");
  PrimExpr place = (y * Index(x.step_y) - image_top_) * Index(a_pitch_);
  place = a_base_ + place + across * Index(x.step_x);
  PrimExpr first = Index(0), end = Index(x.runs);
  if (SkipsBorder()) {
    const PrimExpr last = y + Index((rows - 1) / x.width);
    first = max(first, Index(x.top) - last * Index(x.step_y));
    end = min(end, Index(x.bottom) - y * Index(x.step_y));
  }
  run_ = IndexVar("run");
  access_.Bind(run_, x.runs);
  tile->set_outer(run_, access_.Simplify(first), access_.Simplify(end));
  return Bind(window_, access_.Simplify(place));
}

PrimExpr ContractionEmitter::WindowOffset(int64_t i, const PrimExpr& k) {
  const WindowedImage& x = *image_;
  const int64_t place = i / x.width * x.step_y * a_pitch_ + i % x.width * x.step_x;
  return PrimExpr(window_) + Index(place) + PrimExpr(run_) * Index(a_pitch_) +
         k * Index(step_.group);
}

}  // namespace kernels
}  // namespace tvm
