// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rule `map`: groups without a reduction, e.g. elementwise chains, broadcasts, transposes, concat.
///
/// Everything is inlined into the outputs. For each output, the innermost dimensions over which all
/// accesses advance evenly are fused to one run, which is walked in vectors when the accesses are
/// contiguous or constant along it; the dimensions around it are shared out among threads. Operands
/// that are contiguous along another dimension are turned in registers: map_transpose.h.
///
/// Conditions such as `j < 3` on one iteration (concat, pad) cut the output into boxes, in each of
/// which they are decided: no test is left in a loop, and nothing is read that is not there.
#include <tvm/ir/expr_functor.h>
#include <tvm/kernels/rule.h>
#include <tvm/target/cpu_features.h>
#include <tvm/tirx/builtin.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <utility>

#include "kernels/contraction_plan.h"
#include "kernels/epilogue.h"
#include "kernels/group.h"
#include "kernels/map_transpose.h"
#include "kernels/names.h"

namespace tvm {
namespace kernels {
namespace {

constexpr int kMaxBoxes = 64;
constexpr int64_t kGrain = 16384;   // elements that are worth a thread
constexpr int64_t kTurn = 4;        // vectors of one turn of a cheap loop
constexpr int64_t kCheapSteps = 5;  // operations on a vector that hardly outweigh the loop

/// Part of an output: iteration i runs over [low[i], high[i]).
struct Box {
  std::vector<int64_t> low, high;
  PrimExpr value;
};

/// Where to cut one iteration.
struct Cut {
  size_t axis;
  int64_t at;
};

class BoxCutter {
 public:
  explicit BoxCutter(const Stage& stage) : stage_(stage) {}

  /// nullopt when the conditions need too many boxes.
  std::optional<std::vector<Box>> Run(const PrimExpr& value) {
    Box all{{}, {}, value};
    for (const Iter& iter : stage_.spatial) {
      all.low.push_back(0);
      all.high.push_back(iter.extent);
    }
    std::vector<Box> work{all}, done;
    while (!work.empty()) {
      Box box = std::move(work.back());
      work.pop_back();
      box.value = Decide(box);
      auto cut = FindCut(box);
      if (!cut) {
        done.push_back(std::move(box));
      } else {
        Box below = box;
        below.high[cut->axis] = cut->at;
        box.low[cut->axis] = cut->at;
        work.push_back(std::move(box));
        work.push_back(std::move(below));
      }
      if (work.size() + done.size() > kMaxBoxes) return std::nullopt;
    }
    return done;
  }

 private:
  static bool IsChoice(const CallNode* call) {
    return call->op.same_as(tirx::builtin::if_then_else());
  }

  /// Replaces the conditions that are constant in the box.
  PrimExpr Decide(const Box& box) {
    FlatAccess access;
    for (size_t i = 0; i < stage_.spatial.size(); ++i) {
      access.BindRange(stage_.spatial[i].var, box.low[i], box.high[i] - box.low[i]);
    }
    class Decider : public ExprMutator {
     public:
      explicit Decider(FlatAccess* access) : access_(access) {}

     private:
      Expr VisitExpr_(const CallNode* op) final {
        if (!IsChoice(op)) return ExprMutator::VisitExpr_(op);
        PrimExpr condition = access_->Simplify(PrimExpr(op->args[0]));
        if (is_one(condition)) return VisitExpr(op->args[1]);
        if (is_zero(condition)) return VisitExpr(op->args[2]);
        return ExprMutator::VisitExpr_(op);
      }
      FlatAccess* access_;
    };
    return PrimExpr(Decider(&access)(box.value));
  }

  std::optional<Cut> FindCut(const Box& box) {
    std::optional<Cut> found;
    PostOrderVisitExpr(box.value, [&](const Expr& node) {
      const auto* call = node.as<CallNode>();
      if (found || call == nullptr || !IsChoice(call)) return;
      found = CutOf(PrimExpr(call->args[0]), box);
    });
    return found;
  }

  /// A threshold in a conjunction or disjunction of comparisons of one iteration with a constant.
  std::optional<Cut> CutOf(const PrimExpr& condition, const Box& box) {
    if (const auto* op = condition.as<tirx::AndNode>()) {
      auto cut = CutOf(op->a, box);
      return cut ? cut : CutOf(op->b, box);
    }
    if (const auto* op = condition.as<tirx::OrNode>()) {
      auto cut = CutOf(op->a, box);
      return cut ? cut : CutOf(op->b, box);
    }
    if (const auto* op = condition.as<tirx::NotNode>()) return CutOf(op->a, box);
    // Which positions along the only iteration of the condition make it true? It is monotonous for
    // the comparisons that occur; the cut is where its value first differs from that at the start.
    const tirx::BinaryOpNode* compare = nullptr;
    if (condition.as<tirx::LTNode>() || condition.as<tirx::LENode>() ||
        condition.as<tirx::GTNode>() || condition.as<tirx::GENode>()) {
      compare = static_cast<const tirx::BinaryOpNode*>(condition.get());
    }
    if (compare == nullptr) return std::nullopt;
    std::optional<size_t> axis;
    for (const Var& var : FreeVars(condition)) {
      auto it = std::find_if(stage_.spatial.begin(), stage_.spatial.end(),
                             [&](const Iter& iter) { return iter.var.same_as(var); });
      if (it == stage_.spatial.end() || axis) return std::nullopt;
      axis = static_cast<size_t>(it - stage_.spatial.begin());
    }
    if (!axis || !ReadBuffers(condition).empty()) return std::nullopt;
    FlatAccess access;
    const Var& var = stage_.spatial[*axis].var;
    auto at = [&](int64_t position) -> std::optional<bool> {
      PrimExpr value =
          access.Simplify(Substitute(condition, Map<Var, PrimExpr>{{var, Index(position)}}));
      if (const int64_t* known = as_const_int(value)) return *known != 0;
      return std::nullopt;
    };
    int64_t low = box.low[*axis], high = box.high[*axis] - 1;
    auto first = at(low), last = at(high);
    if (!first || !last || *first == *last) return std::nullopt;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      auto here = at(middle);
      if (!here) return std::nullopt;
      (*here == *first ? low : high) = middle;
    }
    return Cut{*axis, high};
  }

  const Stage& stage_;
};

/// A box of an output, or several that are walked together: `body` for one turn of `outer`.
struct MapPart {
  std::vector<Iter> outer;
  Stmt body;
  int64_t elements = 0;
  bool complete = false;  ///< `body` has all loops
  Buffer output;
  std::vector<Buffer> reads;

  /// Whether one loop can do both: neither waits for the other, and they take the same turns.
  bool Joins(const MapPart& other) const {
    const bool waits = std::any_of(other.reads.begin(), other.reads.end(),
                                   [&](const Buffer& read) { return read.same_as(output); });
    if (complete || other.complete || waits || outer.size() != other.outer.size()) return false;
    return std::equal(outer.begin(), outer.end(), other.outer.begin(),
                      [](const Iter& a, const Iter& b) { return a.extent == b.extent; });
  }
};

/// The loops of parts that join. One walk over what they read and write is kinder to the memory
/// than one for each, and threads are started once.
Stmt ShareOut(const std::vector<MapPart>& parts, const Target& target, const KernelKnobs& knobs,
              FlatAccess* access) {
  if (parts[0].complete) return parts[0].body;
  int64_t elements = 0;
  for (const MapPart& part : parts) elements += part.elements;
  const bool threads = elements >= 2 * kGrain && CpuFeaturesOf(target).num_cores > 1;
  const bool parallel = Knob(knobs, "parallel", threads) != 0;
  if (parts.size() == 1 && !parallel) {
    Stmt body = parts[0].body;
    const std::vector<Iter>& outer = parts[0].outer;
    for (size_t i = outer.size(); i-- > 0;) body = Loop(outer[i].var, outer[i].extent, body);
    return body;
  }
  Var task = IndexVar("task");
  const int64_t tasks = Product(parts[0].outer);
  access->Bind(task, tasks);
  Array<Stmt> seq;
  for (const MapPart& part : parts) {
    Map<Var, Expr> digits;
    for (const auto& [var, digit] : Digits(part.outer, task)) {
      digits.Set(var, access->Simplify(digit));
    }
    seq.push_back(tirx::Substitute(part.body, digits));
  }
  Stmt body = SeqStmt::Flatten(seq);
  return parallel ? ParallelLoop(task, tasks, body) : Loop(task, tasks, body);
}

class MapEmitter {
 public:
  MapEmitter(const Stage& stage, Box box, const Target& target, const KernelKnobs& knobs)
      : stage_(stage), box_(std::move(box)), target_(target), knobs_(knobs) {}

  /// nullopt for an empty box.
  std::optional<MapPart> Emit(FlatAccess* access) {
    access_ = access;
    Map<Var, PrimExpr> shifted;
    for (size_t i = 0; i < stage_.spatial.size(); ++i) {
      const int64_t extent = box_.high[i] - box_.low[i];
      if (extent <= 0) return std::nullopt;
      Iter iter{stage_.spatial[i].var.copy_with_suffix("_b"), extent};
      if (extent == 1) {
        shifted.Set(stage_.spatial[i].var, Index(box_.low[i]));
        continue;
      }
      access_->Bind(iter.var, extent);
      shifted.Set(stage_.spatial[i].var, PrimExpr(iter.var) + Index(box_.low[i]));
      iters_.push_back(iter);
    }
    PrimExpr value = access_->Loads(Substitute(box_.value, shifted));
    Array<PrimExpr> indices =
        stage_.indices.Map([&](const PrimExpr& index) { return Substitute(index, shifted); });
    Buffer output = access_->Alias(stage_.output);
    PrimExpr offset = access_->Offset(stage_.output, indices);
    MapPart part;
    part.output = output;
    part.reads = ReadBuffers(value);
    if (iters_.empty()) {
      part.body = tirx::BufferStore(output, value, {offset});
      part.elements = 1;
    } else {
      Loops(output, value, offset, &part);
    }
    return part;
  }

 private:
  /// Number of innermost iterations that every access walks as one run.
  size_t FusedCount(const PrimExpr& value, const PrimExpr& offset) {
    std::vector<PrimExpr> offsets{offset};
    bool plain = true;
    PostOrderVisitExpr(value, [&](const Expr& node) {
      if (const auto* load = node.as<BufferLoadNode>()) offsets.push_back(load->indices[0]);
    });
    for (const Iter& iter : iters_) {
      if (UsesOutsideOfLoads(value, iter.var)) plain = false;
    }
    size_t count = 1;
    if (!plain) return count;
    for (; count < iters_.size(); ++count) {
      std::vector<Iter> run(iters_.end() - static_cast<int64_t>(count) - 1, iters_.end());
      for (const PrimExpr& each : offsets) {
        if (!access_->FusedCoefficient(each, run)) return count;
      }
    }
    return count;
  }

  void Loops(const Buffer& output, PrimExpr value, PrimExpr offset, MapPart* part) {
    const size_t fused = FusedCount(value, offset);
    std::vector<Iter> outer(iters_.begin(), iters_.end() - static_cast<int64_t>(fused));
    std::vector<Iter> run(iters_.end() - static_cast<int64_t>(fused), iters_.end());
    Iter inner{IndexVar("i"), Product(run)};
    access_->Bind(inner.var, inner.extent);
    if (fused > 1) {
      value = Fuse(value, run, inner.var);
      offset = FuseOffset(offset, run, inner.var);
    } else {
      Map<Var, PrimExpr> same{{run[0].var, PrimExpr(inner.var)}};
      value = Substitute(value, same);
      offset = Substitute(offset, same);
    }
    JoinOuter(&outer, &value, &offset);
    const int64_t lanes = VectorizableLanes(value, offset, inner.var);
    if (lanes == 1 && access_->Coefficient(offset, inner.var) == 1) {
      const MapLoops loops{output, value, offset, outer, inner};
      part->body = TransposedLoops(loops, target_, knobs_, access_);
      part->complete = part->body.defined();
      if (part->complete) return;
    }
    Stmt store = tirx::BufferStore(output, value, {offset});
    part->elements = Product(outer) * inner.extent;
    const int64_t pieces = Pieces(part->elements, Product(outer), inner.extent, lanes);
    if (pieces == 1) {
      part->outer = std::move(outer);
      part->body = Run(inner, lanes, store);
      return;
    }
    Var task = IndexVar("task");
    const int64_t tasks = Product(outer) * pieces;
    access_->Bind(task, tasks);
    Map<Var, Expr> digits;
    for (const auto& [var, digit] : Digits(outer, floordiv(PrimExpr(task), Index(pieces)))) {
      digits.Set(var, access_->Simplify(digit));
    }
    Stmt body = tirx::Substitute(PieceOfRun(inner, lanes, store, task, pieces), digits);
    part->body = ParallelLoop(task, tasks, body);
    part->complete = true;
  }

  /// In how many pieces the run is cut for threads, where there are too few outer iterations.
  int64_t Pieces(int64_t elements, int64_t outer, int64_t run, int64_t lanes) const {
    const int64_t cores = std::max(1, CpuFeaturesOf(target_).num_cores);
    const bool parallel = Knob(knobs_, "parallel", elements >= 2 * kGrain && cores > 1) != 0;
    if (!parallel || outer >= 2 * cores) return 1;
    const int64_t most = Knob(knobs_, "pieces", 4 * cores);
    return std::max<int64_t>(1,
                             std::min<int64_t>(most, run / std::max<int64_t>(kGrain / 4, lanes)));
  }

  /// Joins neighbouring outer dimensions that all accesses walk as one: a task then needs no
  /// division to find where it begins.
  void JoinOuter(std::vector<Iter>* outer, PrimExpr* value, PrimExpr* offset) {
    std::vector<PrimExpr> offsets{*offset};
    PostOrderVisitExpr(*value, [&](const Expr& node) {
      if (const auto* load = node.as<BufferLoadNode>()) offsets.push_back(load->indices[0]);
    });
    for (size_t last = outer->size(); last-- > 1;) {
      const std::vector<Iter> pair{(*outer)[last - 1], (*outer)[last]};
      const bool joins = std::all_of(offsets.begin(), offsets.end(), [&](const PrimExpr& each) {
        return access_->FusedCoefficient(each, pair).has_value();
      });
      if (!joins || UsesOutsideOfLoads(*value, pair[0].var) ||
          UsesOutsideOfLoads(*value, pair[1].var)) {
        continue;
      }
      Iter joined{IndexVar("o"), Product(pair)};
      access_->Bind(joined.var, joined.extent);
      *value = Fuse(*value, pair, joined.var);
      *offset = FuseOffset(*offset, pair, joined.var);
      for (PrimExpr& each : offsets) each = FuseOffset(each, pair, joined.var);
      outer->erase(outer->begin() + static_cast<int64_t>(last));
      (*outer)[last - 1] = joined;
    }
  }

  /// Operations on a vector; addresses are the same for all vectors of a run, but for a constant.
  static int64_t StepsOf(const PrimExpr& value) {
    class Blinder : public ExprMutator {
     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        return tirx::BufferLoad(op->buffer, {Index(0)});
      }
    };
    return EpilogueSteps(PrimExpr(Blinder()(value)));
  }

  /// A loop over `inner`; cheap runs take several vectors a turn, and short ones have no loop.
  static Stmt Run(const Iter& inner, int64_t lanes, const Stmt& store) {
    if (lanes == 1) return Loop(inner.var, inner.extent, store);
    const auto* node = store.as<tirx::BufferStoreNode>();
    const int64_t whole = inner.extent / lanes;
    if (node == nullptr || whole < 2 || StepsOf(node->value) > kCheapSteps) {
      return VectorRun(inner, lanes, store);
    }
    const int64_t turn = std::min(whole, kTurn);
    Array<Stmt> seq;
    Var outer = IndexVar("run");
    auto vectors = [&](const PrimExpr& start, int64_t count) {
      for (int64_t v = 0; v < count; ++v) {
        Var lane = IndexVar("lane");
        PrimExpr at = start + Index(v * lanes) + lane;
        seq.push_back(
            VectorLoop(lane, lanes, tirx::Substitute(store, Map<Var, Expr>{{inner.var, at}})));
      }
      Stmt all = SeqStmt::Flatten(seq);
      seq.clear();
      return all;
    };
    Stmt body = Loop(outer, whole / turn, vectors(PrimExpr(outer) * Index(turn * lanes), turn));
    Array<Stmt> parts{body};
    const int64_t done = whole / turn * turn;
    if (done < whole) parts.push_back(vectors(Index(done * lanes), whole - done));
    if (const int64_t rest = inner.extent % lanes; rest > 0) {
      Var lane = IndexVar("lane");
      Map<Var, Expr> place{{inner.var, Index(whole * lanes) + lane}};
      parts.push_back(VectorLoop(lane, rest, tirx::Substitute(store, place)));
    }
    return SeqStmt::Flatten(parts);
  }

  Stmt PieceOfRun(const Iter& inner, int64_t lanes, const Stmt& store, const Var& task,
                  int64_t pieces) {
    int64_t size = (inner.extent + pieces - 1) / pieces;
    size = (size + lanes - 1) / lanes * lanes;
    PrimExpr piece = floormod(PrimExpr(task), Index(pieces));
    auto part = [&](int64_t extent) {
      Iter local{IndexVar("i"), extent};
      PrimExpr at = piece * Index(size) + local.var;
      Stmt moved = tirx::Substitute(store, Map<Var, Expr>{{inner.var, at}});
      return Run(local, lanes, moved);
    };
    const int64_t whole = inner.extent / size, rest = inner.extent % size;
    Stmt body = part(size);
    if (rest == 0 && whole == pieces) return body;
    tirx::Stmt tail;
    if (rest > 0) tail = tirx::IfThenElse(piece == Index(whole), part(rest));
    body = tirx::IfThenElse(piece < Index(whole), body,
                            tail.defined() ? ffi::Optional<Stmt>(tail) : std::nullopt);
    return body;
  }

  PrimExpr FuseOffset(const PrimExpr& offset, const std::vector<Iter>& run, const Var& inner) {
    const int64_t step = access_->FusedCoefficient(offset, run).value();
    return access_->Simplify(Substitute(offset, Zeros(run)) + PrimExpr(inner) * Index(step));
  }

  PrimExpr Fuse(const PrimExpr& value, const std::vector<Iter>& run, const Var& inner) {
    class Fuser : public ExprMutator {
     public:
      Fuser(MapEmitter* self, const std::vector<Iter>& run, const Var& inner)
          : self_(self), run_(run), inner_(inner) {}

     private:
      Expr VisitExpr_(const BufferLoadNode* op) final {
        return tirx::BufferLoad(op->buffer, {self_->FuseOffset(op->indices[0], run_, inner_)});
      }
      MapEmitter* self_;
      const std::vector<Iter>& run_;
      const Var& inner_;
    };
    return PrimExpr(Fuser(this, run, inner)(value));
  }

  /// Lanes to use along `inner`: 1 unless all accesses are contiguous or constant along it and no
  /// condition that depends on it guards a load.
  int64_t VectorizableLanes(const PrimExpr& value, const PrimExpr& offset, const Var& inner) {
    auto even = [&](const PrimExpr& index) {
      auto c = access_->Coefficient(index, inner);
      return c && (*c == 0 || *c == 1);
    };
    auto c = access_->Coefficient(offset, inner);
    if (!c || *c != 1) return 1;
    bool ok = true;
    int bits = std::max(8, stage_.output.dtype().bits());
    PostOrderVisitExpr(value, [&](const Expr& node) {
      if (const auto* load = node.as<BufferLoadNode>()) {
        ok = ok && even(load->indices[0]);
        bits = std::max(bits, load->dtype().bits());
      } else if (const auto* call = node.as<CallNode>()) {
        if (call->op.same_as(tirx::builtin::if_then_else())) {
          ok = ok && !UsesVar(call->args[0], inner);
        }
      }
    });
    if (!ok) return 1;
    return VectorLanes(DataType::Int(std::min(bits, 64)), target_);
  }

  const Stage& stage_;
  Box box_;
  const Target& target_;
  const KernelKnobs& knobs_;
  FlatAccess* access_ = nullptr;
  std::vector<Iter> iters_;
};

std::optional<tirx::PrimFunc> EmitMap(const tirx::PrimFunc& func, const Target& target,
                                      const KernelKnobs& knobs, std::string* why) {
  auto group = ParseGroup(func, why);
  if (!group) return std::nullopt;
  std::vector<MapPart> parts;
  FlatAccess access;
  for (size_t i = 0; i < group->stages.size(); ++i) {
    const Stage& stage = group->stages[i];
    if (!stage.reduce.empty()) {
      *why = "a reduction";
      return std::nullopt;
    }
    if (!group->IsParam(stage.output)) continue;
    PrimExpr value = InlineProducers(*group, stage.value, static_cast<int>(i));
    for (const Buffer& buffer : ReadBuffers(value)) {
      if (!group->IsParam(buffer)) {
        *why = "an intermediate cannot be inlined";
        return std::nullopt;
      }
    }
    auto boxes = BoxCutter(stage).Run(value);
    if (!boxes) {
      *why = "conditions cut the output into too many boxes";
      return std::nullopt;
    }
    for (Box& box : *boxes) {
      auto part = MapEmitter(stage, std::move(box), target, knobs).Emit(&access);
      if (part) parts.push_back(*std::move(part));
    }
  }
  Array<Stmt> seq;
  std::vector<MapPart> joined;
  for (MapPart& part : parts) {
    const bool joins = std::all_of(joined.begin(), joined.end(),
                                   [&](const MapPart& other) { return other.Joins(part); });
    if (!joins) {
      seq.push_back(ShareOut(joined, target, knobs, &access));
      joined.clear();
    }
    joined.push_back(std::move(part));
  }
  if (!joined.empty()) seq.push_back(ShareOut(joined, target, knobs, &access));
  if (seq.empty()) seq.push_back(tirx::Evaluate(0));
  return ScheduledFunc(func, access.Wrap(SeqStmt::Flatten(seq)));
}

/// Whether and in how many pieces threads share the work.
std::vector<KernelCandidate> MapCandidates(const tirx::PrimFunc& func, const Target& target) {
  const int64_t cores = CpuFeaturesOf(target).num_cores;
  if (cores <= 1) return {};
  std::vector<KernelCandidate> list{{{{"parallel", 0}}, 1}, {{{"parallel", 1}}, 1}};
  for (int64_t share : {1, 2, 8}) list.push_back({{{"pieces", share * cores}}, 2});
  return list;
}

const bool kRegistered = RegisterRule({"map", 50, nullptr, EmitMap, MapCandidates});

}  // namespace
}  // namespace kernels
}  // namespace tvm
