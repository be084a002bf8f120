// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file frame.cc
/// Pools of frames.
#include "runtime/vm/frame.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

size_t ThreadIndex() {
  static std::atomic<size_t> next{0};
  static thread_local size_t index = next.fetch_add(1, std::memory_order_relaxed);
  return index;
}

/// A tuple that only the site still holds must not keep its elements' storages in use.
void DropUnusedElements(TupleSite* site) {
  for (ffi::ObjectPtr<ffi::ArrayObj>& tuple : site->entries) {
    if (!tuple.unique()) continue;
    for (int64_t i = 0; i < static_cast<int64_t>(tuple->size()); ++i) {
      tuple->SetItem(i, ffi::Any());
    }
  }
}

NativeSite* AsSite(const ffi::Any& reg) {
  if (reg.type_index() != NativeSite::RuntimeTypeIndex()) return nullptr;
  return ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<NativeSite>(ViewOf(reg).v_obj);
}

}  // namespace

VMFunc::~VMFunc() {
  for (std::atomic<Frame*>& slot : hot_) delete slot.load();
  while (free_ != nullptr) {
    Frame* frame = free_;
    free_ = frame->next;
    delete frame;
  }
}

Frame* VMFunc::NewFrame() {
  auto* frame = new Frame();
  frame->func = this;
  frame->regs.resize(static_cast<size_t>(num_regs));
  frame->args = arg_template;
  frame->storages.resize(static_cast<size_t>(num_storages));
  frame->tuples.resize(static_cast<size_t>(num_tuples));
  frame->shapes.resize(static_cast<size_t>(num_shapes));
  frame->heaps.resize(static_cast<size_t>(num_heaps));
  frame->resident_refs.resize(residents.size());
  return frame;
}

Frame* VMFunc::Acquire() {
  Frame* frame = hot_[ThreadIndex() % kNumHot].exchange(nullptr, std::memory_order_acquire);
  if (frame == nullptr) {
    std::lock_guard<std::mutex> lock(mu_);
    if ((frame = free_) != nullptr) free_ = frame->next;
  }
  if (frame == nullptr) return NewFrame();
  CheckResidents(frame);
  for (TupleSite& site : frame->tuples) DropUnusedElements(&site);
  if (info->kind == VMFuncInfo::FuncKind::kVMTIRFunc) {
    for (const ffi::Any& reg : frame->regs) {
      if (NativeSite* site = AsSite(reg)) DropUnusedElements(&site->tuples);
    }
  }
  return frame;
}

void VMFunc::Release(Frame* frame) {
  if (info->kind == VMFuncInfo::FuncKind::kVMTIRFunc) {
    for (ffi::Any& reg : frame->regs) {
      if (AsSite(reg) == nullptr) reg.reset();
    }
  } else {
    for (int32_t reg : passing_regs) frame->regs[static_cast<size_t>(reg)].reset();
  }
  frame->caller = nullptr;
  Frame* expected = nullptr;
  if (hot_[ThreadIndex() % kNumHot].compare_exchange_strong(
          expected, frame, std::memory_order_release, std::memory_order_relaxed)) {
    return;
  }
  std::lock_guard<std::mutex> lock(mu_);
  frame->next = free_;
  free_ = frame;
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
