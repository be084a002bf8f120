// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The schedule itself: random variables, running of primitives, random numbers.
#include <tvm/arith/analyzer.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/s_tir/schedule/schedule.h>

#include <random>
#include <utility>

#include "s_tir/schedule/primitive_registry.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

SBlockRV::SBlockRV() { data_ = ffi::make_object<SBlockRVNode>(); }
LoopRV::LoopRV() { data_ = ffi::make_object<LoopRVNode>(); }

namespace {

// Lehmer's generator x -> 48271 x mod (2^31 - 1): small state, the same numbers everywhere.
constexpr int64_t kModulus = 2147483647;
constexpr int64_t kMultiplier = 48271;

ffi::Optional<GlobalVar> DefaultFunction(const IRModule& mod) {
  ffi::Optional<GlobalVar> only;
  int count = 0;
  for (const auto& [gvar, func] : mod->SortedFunctions()) {
    if (func.as<PrimFuncNode>() == nullptr) continue;
    if (gvar->name_hint == "main") return gvar;
    only = gvar;
    ++count;
  }
  return count == 1 ? only : ffi::Optional<GlobalVar>(std::nullopt);
}

}  // namespace

Schedule Schedule::Concrete(IRModule mod, int64_t seed, int debug_mask, int error_render_level,
                            bool enable_check) {
  auto node = ffi::make_object<ScheduleNode>();
  TVM_FFI_CHECK(error_render_level >= 0 && error_render_level <= 2, ValueError)
      << "the error render level has to be 0 (detail), 1 (fast) or 2 (none), but is "
      << error_render_level;
  node->func_working_on_ = DefaultFunction(mod);
  node->state_ = ScheduleState(std::move(mod), debug_mask, enable_check);
  node->error_render_level_ = error_render_level;
  node->Seed(seed);
  return Schedule(std::move(node));
}

Schedule Schedule::Traced(IRModule mod, int64_t seed, int debug_mask, int error_render_level,
                          bool enable_check) {
  Schedule sch = Concrete(std::move(mod), seed, debug_mask, error_render_level, enable_check);
  sch->trace_ = Trace({}, {});
  return sch;
}

void ScheduleNode::WorkOn(const ffi::String& func_name) {
  func_working_on_ = mod()->GetGlobalVar(func_name);
}

Schedule ScheduleNode::Copy() {
  auto node = ffi::make_object<ScheduleNode>();
  std::unordered_map<const ffi::Object*, StmtSRef> srefs;
  node->state_ = state_->Clone(&srefs);
  if (trace_.has_value()) node->trace_ = Trace(trace_.value()->insts, trace_.value()->decisions);
  node->func_working_on_ = func_working_on_;
  node->error_render_level_ = error_render_level_;
  node->rand_state_ = ForkSeed();
  for (const auto& [key, entry] : symbols_) {
    Value copy = entry;
    if (auto sref = entry.value.as<StmtSRef>()) {
      auto it = srefs.find(sref->get());
      const bool mark =
          sref->same_as(StmtSRef::InlineMark()) || sref->same_as(StmtSRef::RootMark());
      if (it != srefs.end()) {
        copy.value = it->second;
      } else if (!mark) {
        copy.value = StmtSRef(std::nullopt, nullptr, -1);  // expired
      }
    }
    node->symbols_.emplace(key, std::move(copy));
  }
  return Schedule(std::move(node));
}

void ScheduleNode::Seed(int64_t seed) {
  if (seed == -1) {
    seed = static_cast<int64_t>(std::random_device()() % (kModulus - 1)) + 1;
  }
  TVM_FFI_CHECK(seed >= 1 && seed <= kModulus, ValueError)
      << "the random seed has to be in [1, 2147483647], but is " << seed;
  // The modulus itself would be a fixed point of the generator.
  rand_state_ = seed == kModulus ? 1 : seed;
}

int64_t ScheduleNode::RandInt(int64_t low, int64_t high) {
  TVM_FFI_ICHECK_LT(low, high);
  rand_state_ = rand_state_ * kMultiplier % kModulus;
  return low + (rand_state_ - 1) % (high - low);
}

double ScheduleNode::RandUniform() {
  rand_state_ = rand_state_ * kMultiplier % kModulus;
  return static_cast<double>(rand_state_ - 1) / static_cast<double>(kModulus - 1);
}

int64_t ScheduleNode::ForkSeed() {
  // Another multiplier, so that the fork does not run behind its parent on the same orbit.
  rand_state_ = rand_state_ * kMultiplier % kModulus;
  return rand_state_ * 69621 % kModulus;
}

// ---- random variables ----

StmtSRef ScheduleNode::Lookup(const ffi::Object* rv, const char* kind) const {
  auto it = symbols_.find(rv);
  TVM_FFI_CHECK(it != symbols_.end(), IndexError)
      << "the " << kind
      << " variable is unknown to this schedule: it was removed, or belongs to "
         "another one";
  StmtSRef sref = it->second.value.cast<StmtSRef>();
  if (sref.same_as(StmtSRef::InlineMark()) || sref.same_as(StmtSRef::RootMark())) return sref;
  TVM_FFI_CHECK(sref->stmt.has_value(), ValueError)
      << "the " << kind << " variable stands for a " << kind
      << " that is not part of the program any more";
  return sref;
}

StmtSRef ScheduleNode::GetSRef(const SBlockRV& block) const { return Lookup(block.get(), "block"); }
StmtSRef ScheduleNode::GetSRef(const LoopRV& loop) const { return Lookup(loop.get(), "loop"); }

SBlock ScheduleNode::Get(const SBlockRV& block) const {
  return Downcast<SBlock>(GetSRef(block)->stmt.value());
}

For ScheduleNode::Get(const LoopRV& loop) const {
  StmtSRef sref = GetSRef(loop);
  TVM_FFI_CHECK(sref->stmt.has_value(), ValueError)
      << "the loop variable is a mark (inline or root), not a loop";
  return Downcast<For>(sref->stmt.value());
}

std::optional<int64_t> ScheduleNode::TryGet(const ExprRV& expr) const {
  PrimExpr value = Substitute(expr, [this](const Var& var) -> ffi::Optional<Expr> {
    auto it = symbols_.find(var.get());
    if (it == symbols_.end()) return std::nullopt;
    return Expr(IntImm(var->dtype(), it->second.value.cast<int64_t>()));
  });
  value = arith::Analyzer()->Simplify(value);
  if (const int64_t* literal = as_const_int(value)) return *literal;
  return std::nullopt;
}

int64_t ScheduleNode::Get(const ExprRV& expr) const {
  std::optional<int64_t> value = TryGet(expr);
  TVM_FFI_CHECK(value.has_value(), ValueError)
      << "the expression " << expr << " is no integer: it uses a variable unknown to the schedule";
  return *value;
}

void ScheduleNode::RemoveRV(const ffi::ObjectRef& rv) {
  TVM_FFI_CHECK(symbols_.erase(rv.get()) == 1, IndexError)
      << "the random variable to remove is unknown to this schedule";
}

ffi::Any ScheduleNode::NewBlockRV(const StmtSRef& block) {
  TVM_FFI_CHECK(block.defined(), ValueError)
      << "the function of this block has no root block around its body; a schedule works on "
         "functions that have one, e.g. by @T.prim_func(s_tir=True)";
  SBlockRV rv;
  symbols_.emplace(rv.get(), Value{rv, block});
  return rv;
}

ffi::Any ScheduleNode::NewLoopRV(const StmtSRef& loop) {
  TVM_FFI_ICHECK(loop.defined());
  LoopRV rv;
  symbols_.emplace(rv.get(), Value{rv, loop});
  return rv;
}

ffi::Any ScheduleNode::NewExprRV(int64_t value) {
  Var rv("v" + std::to_string(symbols_.size()));
  symbols_.emplace(rv.get(), Value{rv, ffi::Any(value)});
  return rv;
}

// ---- primitives ----

ffi::Array<ffi::Any> ScheduleNode::Run(const ffi::String& name, const ffi::Array<ffi::Any>& inputs,
                                       const ffi::Array<ffi::Any>& attrs,
                                       const ffi::Any& decision) {
  const Primitive& primitive = Primitive::Get(std::string(name));
  primitive.CheckArity(inputs.size(), attrs.size());
  PrimitiveCall call(this, inputs, attrs, decision);
  ffi::Array<ffi::Any> outputs;
  if (primitive.spec.pure) {
    try {
      outputs = primitive.spec.run(call);
    } catch (const ScheduleFailure& failure) {
      TVM_FFI_THROW(ScheduleError)
          << RenderFailure(failure, primitive.spec.method, mod(),
                           static_cast<ErrorRenderLevel>(error_render_level_));
    }
  } else {
    const ScheduleStateNode::Snapshot before = state_->Save();
    try {
      outputs = primitive.spec.run(call);
    } catch (const ScheduleFailure& failure) {
      std::string text = RenderFailure(failure, primitive.spec.method, mod(),
                                       static_cast<ErrorRenderLevel>(error_render_level_));
      state_->Restore(before);
      TVM_FFI_THROW(ScheduleError) << text;
    } catch (...) {
      state_->Restore(before);
      throw;
    }
  }
  if (trace_.has_value()) {
    Instruction inst(primitive.kind, call.inputs, call.attrs, outputs);
    if (call.decision != nullptr) {
      trace_.value()->Append(inst, call.decision);
    } else {
      trace_.value()->Append(inst);
    }
  }
  return outputs;
}

void SBlockRVNode::RegisterReflection() { ffi::reflection::ObjectDef<SBlockRVNode>(); }
void LoopRVNode::RegisterReflection() { ffi::reflection::ObjectDef<LoopRVNode>(); }
void ScheduleNode::RegisterReflection() { ffi::reflection::ObjectDef<ScheduleNode>(); }

namespace {

ffi::Any GetValue(const Schedule& sch, const ffi::Any& rv) {
  if (auto block = rv.as<SBlockRV>()) return sch->Get(*block);
  if (auto loop = rv.as<LoopRV>()) return sch->Get(*loop);
  if (auto expr = rv.as<PrimExpr>()) return ffi::Any(sch->Get(*expr));
  TVM_FFI_THROW(TypeError) << "expected a block, loop or integer variable, but got "
                           << rv.GetTypeKey();
  TVM_FFI_UNREACHABLE();
}

ffi::Optional<StmtSRef> GetReference(const Schedule& sch, const ffi::Any& what) {
  StmtSRef sref;
  if (auto block = what.as<SBlockRV>()) {
    sref = sch->GetSRef(*block);
  } else if (auto loop = what.as<LoopRV>()) {
    sref = sch->GetSRef(*loop);
  } else if (auto stmt = what.as<Stmt>()) {
    sref = sch->state()->GetSRef(stmt->get());
  } else {
    TVM_FFI_THROW(TypeError) << "expected a block or loop, as variable or statement, but got "
                             << what.GetTypeKey();
  }
  if (!sref.defined()) return std::nullopt;
  return sref;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  SBlockRVNode::RegisterReflection();
  LoopRVNode::RegisterReflection();
  ScheduleNode::RegisterReflection();
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("s_tir.schedule.SBlockRV", [] { return SBlockRV(); })
      .def("s_tir.schedule.LoopRV", [] { return LoopRV(); })
      .def("s_tir.schedule.ConcreteSchedule",
           [](IRModule mod, int64_t seed, int debug_mask, int level, bool enable_check) {
             return Schedule::Concrete(mod, seed, debug_mask, level, enable_check);
           })
      .def("s_tir.schedule.TracedSchedule",
           [](IRModule mod, int64_t seed, int debug_mask, int level, bool enable_check) {
             return Schedule::Traced(mod, seed, debug_mask, level, enable_check);
           })
      .def("s_tir.schedule.ScheduleGetMod", [](Schedule sch) { return sch->mod(); })
      .def("s_tir.schedule.ScheduleGetState", [](Schedule sch) { return sch->state(); })
      .def("s_tir.schedule.ScheduleGetTrace", [](Schedule sch) { return sch->trace(); })
      .def("s_tir.schedule.ScheduleGetFuncWorkingOn",
           [](Schedule sch) { return sch->func_working_on(); })
      .def("s_tir.schedule.ScheduleCopy", [](Schedule sch) { return sch->Copy(); })
      .def("s_tir.schedule.ScheduleSeed", [](Schedule sch, int64_t seed) { sch->Seed(seed); })
      .def("s_tir.schedule.ScheduleForkSeed", [](Schedule sch) { return sch->ForkSeed(); })
      .def("s_tir.schedule.ScheduleWorkOn",
           [](Schedule sch, ffi::String name) { sch->WorkOn(name); })
      .def("s_tir.schedule.ScheduleGet", GetValue)
      .def("s_tir.schedule.ScheduleGetSRef", GetReference)
      .def("s_tir.schedule.ScheduleRemoveRV",
           [](Schedule sch, ffi::ObjectRef rv) { sch->RemoveRV(rv); });
}

}  // namespace s_tir
}  // namespace tvm
