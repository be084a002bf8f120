// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/reflection/registry.h>
#include <tvm/kernels/rule.h>
#include <tvm/runtime/logging.h>
#include <tvm/tirx/op.h>
#include <tvm/tirx/stmt_functor.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kernels/group.h"

namespace tvm {
namespace kernels {
namespace {

std::vector<KernelRule>& Rules() {
  static std::vector<KernelRule> rules;
  return rules;
}

/// The rule that the plan named, in the annotations of the anchor; empty when there is none.
std::string PlannedRule(const tirx::PrimFunc& func) {
  std::string why;
  auto group = ParseGroup(func, &why);
  if (!group || group->anchor < 0) return "";
  return group->stages[group->anchor].Text(kKernelRule);
}

/// Whether a loop runs over nothing, which no rule has a way to cut into pieces.
bool HasEmptyLoop(const tirx::PrimFunc& group) {
  bool empty = false;
  tirx::PostOrderVisit(group->body, [&](const ffi::ObjectRef& node) {
    if (const auto* loop = node.as<tirx::ForNode>()) empty = empty || is_zero(loop->extent);
  });
  return empty;
}

bool PlainOnly() {
  const char* choice = std::getenv("TVM_KERNELS");
  return choice != nullptr && std::string_view(choice) == "plain";
}

}  // namespace

bool RegisterRule(KernelRule rule) {
  auto& rules = Rules();
  auto worse = [](const KernelRule& a, const KernelRule& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.name < b.name;
  };
  rules.insert(std::upper_bound(rules.begin(), rules.end(), rule, worse), std::move(rule));
  return true;
}

const std::vector<KernelRule>& AllRules() { return Rules(); }

std::optional<KernelPlan> Query(const KernelQuery& query, const Target& target) {
  if (PlainOnly()) return std::nullopt;
  for (const KernelRule& rule : Rules()) {
    if (rule.query == nullptr) continue;
    if (auto plan = rule.query(query, target)) return plan;
  }
  return std::nullopt;
}

std::vector<KernelPlan> QueryAll(const KernelQuery& query, const Target& target) {
  auto own = Query(query, target);
  if (!own) return {};
  std::vector<KernelPlan> plans{*own};
  KernelQuery wider = query;
  wider.measured = true;
  for (const KernelRule& rule : Rules()) {
    if (rule.query == nullptr || rule.name == own->rule) continue;
    auto plan = rule.query(wider, target);
    if (plan && plan->data_layout == own->data_layout) plans.push_back(*plan);
  }
  return plans;
}

tirx::PrimFunc Emit(const tirx::PrimFunc& group, const Target& target) {
  const bool plain_only = PlainOnly() || HasEmptyLoop(group);
  const std::string planned = PlannedRule(group);
  auto attempt = [&](const KernelRule& rule) -> std::optional<tirx::PrimFunc> {
    std::string why;
    auto func = rule.emit(group, target, {}, &why);
    if (!func) {
      VLOG(2) << "kernel rule " << rule.name << " declines: " << why;
      return func;
    }
    // For whoever asks later which rule it was.
    return WithAttr(*std::move(func), kKernelRule, ffi::String(rule.name));
  };
  if (!plain_only && !planned.empty()) {
    for (const KernelRule& rule : Rules()) {
      if (rule.name != planned) continue;
      if (auto func = attempt(rule)) return *func;
    }
  }
  for (const KernelRule& rule : Rules()) {
    if (rule.emit == nullptr || rule.name == planned) continue;
    if (plain_only && rule.name != "plain") continue;
    if (auto func = attempt(rule)) return *func;
  }
  TVM_FFI_THROW(InternalError) << "no kernel rule accepts the function; `plain` is not registered";
  TVM_FFI_UNREACHABLE();
}

namespace {

KnobChooser& Chooser() {
  static KnobChooser chooser = nullptr;
  return chooser;
}

FormChooser& ChooserOfForms() {
  static FormChooser chooser = nullptr;
  return chooser;
}

}  // namespace

void SetKnobChooser(KnobChooser chooser) { Chooser() = chooser; }

std::vector<KernelChoice> ChooseKnobs(const std::vector<KernelGroup>& groups,
                                      const Target& target) {
  if (Chooser() == nullptr || PlainOnly()) return std::vector<KernelChoice>(groups.size());
  return Chooser()(groups, target);
}

void SetFormChooser(FormChooser chooser) { ChooserOfForms() = chooser; }

size_t ChooseForm(const FormMaker& make, const Target& target) {
  if (ChooserOfForms() == nullptr || PlainOnly()) return 0;
  return ChooserOfForms()(make, target);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  // The blocks as they are: lowering turns them into the loops they stand in.
  RegisterRule({"plain", -1000, nullptr,
                [](const tirx::PrimFunc& group, const Target&, const KernelKnobs&, std::string*) {
                  return std::optional<tirx::PrimFunc>(group);
                }});
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("kernels.Emit", [](tirx::PrimFunc group, Target target) { return Emit(group, target); })
      .def("kernels.ListRules", []() {
        ffi::Array<ffi::String> names;
        for (const KernelRule& rule : AllRules()) names.push_back(rule.name);
        return names;
      });
}

}  // namespace kernels
}  // namespace tvm
