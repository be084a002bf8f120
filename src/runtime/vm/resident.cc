// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file resident.cc
/// Storages and tensors of a static memory plan, made once a frame.
///
/// A step whose operands are constants gives the same value in every call. If only kernels
/// see that value, nobody can tell it from a new one, so it stays in its register and in the
/// argument arrays of its users:
///
///   %1 = alloc_storage(vm, c[0], 0, c[1], c[2])    made once; a later call jumps
///   %2 = alloc_tensor(%1, 256, c[3], c[4])         from here
///   %3 = reshape(%2, c[5])
///   kernel(%0, %3)                                 to here, and reads %0 only
///
/// A callee that keeps such a tensor is found out before the next call: the frame then lets go of
/// all of them and makes new ones.
#include <tvm/ffi/container/tensor.h>

#include <algorithm>

#include "runtime/vm/frame.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

uint32_t StrongCount(const ffi::Any& value) {
  if (value.type_index() < ffi::TypeIndex::kTVMFFIStaticObjectBegin) return 0;
  const auto* object = static_cast<const TVMFFIObject*>(ViewOf(value).v_obj);
  uint64_t both = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
  return static_cast<uint32_t>(both & 0xFFFFFFFFu);
}

bool Writes(const Op& op) {
  return op.step != Step::kRet && op.step != Step::kIf && op.step != Step::kGoto && op.reg >= 0;
}

/// Which steps of a function make residents.
class ResidentAnalysis {
 public:
  explicit ResidentAnalysis(const VMFunc& func)
      : func_(func), maker_(static_cast<size_t>(func.num_regs), -1) {
    FindMakers();
    while (Refute()) {
    }
  }

  /// The step that makes the resident of a register; -1 if it holds none.
  int32_t MakerOf(int32_t reg) const { return maker_[static_cast<size_t>(reg)]; }
  /// The register of what a step cuts its result from; -1 for a storage.
  int32_t ParentOf(const Op& op) const {
    return op.step == Step::kAllocStorage ? -1 : FillsOf(op)->reg;
  }

 private:
  const Fill* FillsOf(const Op& op) const { return func_.fills.data() + op.fill_begin; }

  static bool IsCandidate(const Op& op, const Fill* fills) {
    const int32_t variable = op.fill_end - op.fill_begin;
    if (op.step == Step::kAllocStorage) return variable == 0;
    return (op.step == Step::kAllocTensor || op.step == Step::kReshape) && variable == 1 &&
           fills->slot == op.arg_begin;
  }

  /// A register has one value if one step alone writes it.
  void FindMakers() {
    std::vector<int> writes(maker_.size(), 0);
    for (int32_t reg = 0; reg < func_.num_args; ++reg) writes[static_cast<size_t>(reg)] = 2;
    for (const Op& op : func_.code) {
      if (Writes(op)) ++writes[static_cast<size_t>(op.reg)];
    }
    for (size_t pc = 0; pc < func_.code.size(); ++pc) {
      const Op& op = func_.code[pc];
      if (Writes(op) && writes[static_cast<size_t>(op.reg)] == 1 && IsCandidate(op, FillsOf(op))) {
        maker_[static_cast<size_t>(op.reg)] = static_cast<int32_t>(pc);
      }
    }
  }

  bool Drop(int32_t reg) {
    int32_t& maker = maker_[static_cast<size_t>(reg)];
    const bool was = maker >= 0;
    maker = -1;
    return was;
  }

  /// What kernels do not keep: they return nothing, and nothing is asked of a condition's tensor
  /// but its value.
  static bool OnlyReads(const Op& op) {
    return (op.step == Step::kCall && op.reg < 0) || op.step == Step::kReadCond;
  }

  bool HoldsStorage(int32_t reg) const {
    const int32_t maker = MakerOf(reg);
    return maker >= 0 && func_.code[static_cast<size_t>(maker)].step == Step::kAllocStorage;
  }

  /// Drops registers that others see. True if one was dropped, which may show in more of them.
  bool Refute() {
    bool changed = false;
    std::vector<bool> is_parent(maker_.size(), false);
    for (const Op& op : func_.code) {
      if (op.step == Step::kRet && op.reg >= 0) changed |= Drop(op.reg);
      const bool made = Writes(op) && MakerOf(op.reg) >= 0;
      for (int32_t i = op.fill_begin; i < op.fill_end; ++i) {
        const int32_t reg = func_.fills[static_cast<size_t>(i)].reg;
        // A tensor that others see may be cut from a storage that stays: it is made in each call.
        const bool fits = HoldsStorage(reg) ? op.step == Step::kAllocTensor
                                            : OnlyReads(op) || (made && op.step == Step::kReshape);
        if (!fits) changed |= Drop(reg);
      }
      if (!made || op.step == Step::kAllocStorage) continue;
      const int32_t parent = ParentOf(op);
      const bool apt =
          MakerOf(parent) >= 0 && HoldsStorage(parent) == (op.step == Step::kAllocTensor);
      if (apt) is_parent[static_cast<size_t>(parent)] = true;
      if (!apt) changed |= Drop(op.reg);
    }
    // The storage of a result is no part of the plan.
    for (size_t reg = 0; reg < maker_.size(); ++reg) {
      if (HoldsStorage(static_cast<int32_t>(reg)) && !is_parent[reg]) {
        changed |= Drop(static_cast<int32_t>(reg));
      }
    }
    return changed;
  }

  const VMFunc& func_;
  std::vector<int32_t> maker_;
};

/// Steps that a jump goes to.
std::vector<bool> JumpTargets(const std::vector<Op>& code) {
  std::vector<bool> targets(code.size() + 1, false);
  for (const Op& op : code) {
    if (op.step == Step::kGoto || op.step == Step::kIf)
      targets[static_cast<size_t>(op.target)] = true;
  }
  return targets;
}

/// Gives neighbouring residents a way past them all.
void LinkRuns(std::vector<Op>* code) {
  const std::vector<bool> targets = JumpTargets(*code);
  for (size_t begin = 0; begin < code->size();) {
    size_t end = begin;
    while (end < code->size() && (*code)[end].step == Step::kResident &&
           (end == begin || !targets[end])) {
      ++end;
    }
    if (end == begin) {
      ++begin;
      continue;
    }
    (*code)[begin].run_reg = (*code)[end - 1].reg;
    (*code)[begin].target = static_cast<int32_t>(end);
    begin = end;
  }
}

}  // namespace

void VMFunc::PlanResidents() {
  const ResidentAnalysis analysis(*this);
  std::vector<int32_t> index_of(static_cast<size_t>(num_regs), -1);
  for (Op& op : code) {
    if (!Writes(op) || analysis.MakerOf(op.reg) < 0) continue;
    Resident resident;
    resident.reg = op.reg;
    resident.parent = analysis.ParentOf(op);  // a register, for now
    index_of[static_cast<size_t>(op.reg)] = static_cast<int32_t>(residents.size());
    op.resident = static_cast<int32_t>(residents.size());
    residents.push_back(resident);
  }
  if (residents.empty()) return;
  for (Resident& r : residents) {
    if (r.parent >= 0) r.parent = index_of[static_cast<size_t>(r.parent)];
  }
  // Users find residents in their argument arrays.
  std::vector<std::vector<int32_t>> slots(residents.size());
  std::vector<Fill> rest;
  for (Op& op : code) {
    const auto begin = static_cast<int32_t>(rest.size());
    for (int32_t i = op.fill_begin; i < op.fill_end; ++i) {
      const Fill& fill = fills[static_cast<size_t>(i)];
      const int32_t index = index_of[static_cast<size_t>(fill.reg)];
      if (index >= 0) {
        slots[static_cast<size_t>(index)].push_back(fill.slot);
      } else {
        rest.push_back(fill);
      }
    }
    op.fill_begin = begin;
    op.fill_end = static_cast<int32_t>(rest.size());
    if (op.resident >= 0) {
      op.made = op.step;
      op.step = Step::kResident;
    }
  }
  fills = std::move(rest);
  for (size_t i = 0; i < residents.size(); ++i) {
    residents[i].slot_begin = static_cast<int32_t>(resident_slots.size());
    resident_slots.insert(resident_slots.end(), slots[i].begin(), slots[i].end());
    residents[i].slot_end = static_cast<int32_t>(resident_slots.size());
  }
  LinkRuns(&code);
  auto stays = [&](int32_t reg) { return index_of[static_cast<size_t>(reg)] >= 0; };
  passing_regs.erase(std::remove_if(passing_regs.begin(), passing_regs.end(), stays),
                     passing_regs.end());
}

void VMFunc::SettleResident(Frame* frame, const Op& op) {
  const VMFunc* func = frame->func;
  const Resident& resident = func->residents[static_cast<size_t>(op.resident)];
  const TVMFFIAny value = ViewOf(frame->regs[static_cast<size_t>(resident.reg)]);
  for (int32_t i = resident.slot_begin; i < resident.slot_end; ++i) {
    frame->args[static_cast<size_t>(func->resident_slots[static_cast<size_t>(i)])] = value;
  }
  // The site that made a storage holds it as well, and so does every tensor in it.
  frame->resident_refs[static_cast<size_t>(op.resident)] = op.made == Step::kAllocStorage ? 2 : 1;
  if (resident.parent >= 0) ++frame->resident_refs[static_cast<size_t>(resident.parent)];
}

void VMFunc::CheckResidents(Frame* frame) const {
  bool alone = true;
  for (size_t i = 0; i < residents.size(); ++i) {
    const uint32_t refs = frame->resident_refs[i];
    alone &= refs == 0 || StrongCount(frame->regs[static_cast<size_t>(residents[i].reg)]) == refs;
  }
  if (alone) {
    // Orders our writes after the last use by a thread that let go of one.
    std::atomic_thread_fence(std::memory_order_acquire);
    return;
  }
  TVMFFIAny none{};
  none.type_index = ffi::TypeIndex::kTVMFFINone;
  for (size_t i = 0; i < residents.size(); ++i) {
    const Resident& resident = residents[i];
    for (int32_t k = resident.slot_begin; k < resident.slot_end; ++k) {
      frame->args[static_cast<size_t>(resident_slots[static_cast<size_t>(k)])] = none;
    }
    frame->regs[static_cast<size_t>(resident.reg)].reset();
    frame->resident_refs[i] = 0;
  }
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
