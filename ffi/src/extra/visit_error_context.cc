// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/library_init.h"
#include "structural_common.h"
#include "value_util.h"

namespace tvm {
namespace ffi {
namespace {

using reflection::AccessPath;
using reflection::AccessStep;

/// Depth-first search for paths that meet the objects of the pattern in order.
class PathFinder {
 public:
  PathFinder(const VisitErrorContext& context, bool allow_prefix) : allow_prefix_(allow_prefix) {
    for (size_t i = context->reverse_visit_pattern.size(); i-- > 0;) {
      const ObjectRef object = context->reverse_visit_pattern[i];
      pattern_.push_back(RawAny(Any(object)).v_obj);
    }
  }

  Array<AccessPath> Find(const ObjectRef& root) {
    if (pattern_.empty()) return {};
    Enter(Any(root), AccessPath::Root(), 0);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.children.size()) {
        on_path_.erase(RawAny(frame.value).v_obj);
        // A state that led nowhere leads nowhere on another path either.
        if (found_.size() == frame.found_before) dead_.insert(StateKey(frame.value, frame.matched));
        stack_.pop_back();
        continue;
      }
      auto child = frame.children[frame.next++];
      Enter(child.second, frame.path->Extend(child.first), frame.matched);
    }
    if (!allow_prefix_ && best_ < pattern_.size()) return {};
    return Array<AccessPath>(found_.begin(), found_.end());
  }

 private:
  struct Frame {
    Any value;
    AccessPath path;
    size_t matched;
    size_t found_before;
    std::vector<std::pair<AccessStep, Any>> children;
    size_t next = 0;
  };

  static uint64_t StateKey(const Any& value, size_t matched) {
    return CombineHash(reinterpret_cast<uintptr_t>(RawAny(value).v_obj), matched);
  }

  void Enter(const Any& value, const AccessPath& path, size_t matched) {
    if (!IsObject(RawAny(value))) return;
    const TVMFFIObject* object = RawAny(value).v_obj;
    if (on_path_.count(object) != 0) return;
    if (matched < pattern_.size() && pattern_[matched] == object) {
      ++matched;
      if (matched > best_) {
        best_ = matched;
        found_.clear();
        dead_.clear();
      }
      if (matched == best_) found_.push_back(path);
      if (matched == pattern_.size()) return;
    }
    if (dead_.count(StateKey(value, matched)) != 0) return;
    on_path_.insert(object);
    stack_.push_back(Frame{value, path, matched, found_.size(), ChildrenOf(value)});
  }

  static std::vector<std::pair<AccessStep, Any>> ChildrenOf(const Any& value) {
    std::vector<std::pair<AccessStep, Any>> children;
    if (IsSequence(value.type_index())) {
      const SequenceView items(RawAny(value));
      for (size_t i = 0; i < items.size(); ++i) {
        children.emplace_back(AccessStep::ArrayItem(static_cast<int64_t>(i)), items[i]);
      }
    } else if (IsMapping(value.type_index())) {
      for (auto& entry : EntriesOf(value)) {
        children.emplace_back(AccessStep::MapItem(entry.first), entry.second);
      }
    } else {
      reflection::ForEachFieldInfo(
          TVMFFIGetTypeInfo(value.type_index()), [&](const TVMFFIFieldInfo* field) {
            String name(std::string(reflection::internal::ToStringView(field->name)));
            children.emplace_back(AccessStep::Attr(name), ReadField(value, field));
          });
    }
    return children;
  }

  const bool allow_prefix_;
  std::vector<const TVMFFIObject*> pattern_;  ///< from the root inwards
  std::vector<Frame> stack_;
  std::unordered_set<const TVMFFIObject*> on_path_;
  std::unordered_set<uint64_t> dead_;
  size_t best_ = 1;  ///< most objects met on one path; nothing counts below one
  std::vector<AccessPath> found_;
};

}  // namespace

Array<AccessPath> VisitErrorContext::FindAccessPaths(const ObjectRef& root,
                                                     const VisitErrorContext& context,
                                                     bool allow_prefix) {
  return PathFinder(context, allow_prefix).Find(root);
}

TVM_FFI_LIBRARY_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<VisitErrorContextObj>(refl::init(false))
      .def_ro("reverse_visit_pattern", &VisitErrorContextObj::reverse_visit_pattern)
      .def_ro("prev_error_context", &VisitErrorContextObj::prev_error_context);
  refl::GlobalDef().def("ffi.VisitErrorContext.FindAccessPaths",
                        VisitErrorContext::FindAccessPaths);
}

}  // namespace ffi
}  // namespace tvm
