// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Other ways to emit a group than the one that its rule would choose: what the tuner measures.
#include <tvm/ffi/error.h>
#include <tvm/kernels/rule.h>
#include <tvm/runtime/logging.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tvm {
namespace kernels {
namespace {

/// The rule that emitted `func`.
const KernelRule& RuleOf(const tirx::PrimFunc& func) {
  const std::string name = func->GetAttr<ffi::String>(kKernelRule).value_or("");
  for (const KernelRule& rule : AllRules()) {
    if (rule.name == name) return rule;
  }
  TVM_FFI_THROW(InternalError) << "no kernel rule is called `" << name << "`";
  TVM_FFI_UNREACHABLE();
}

}  // namespace

int64_t Knob(const KernelKnobs& knobs, const char* name, int64_t otherwise) {
  auto it = knobs.find(name);
  return it == knobs.end() ? otherwise : (*it).second;
}

std::string KnobsText(const KernelKnobs& knobs) {
  std::vector<std::string> items;
  for (const auto& [name, value] : knobs) {
    items.push_back(std::string(name) + "=" + std::to_string(value));
  }
  std::sort(items.begin(), items.end());
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : " ") + item;
  return text;
}

KernelCandidates Candidates(const tirx::PrimFunc& group, const Target& target) {
  const KernelRule& rule = RuleOf(Emit(group, target));
  KernelCandidates result{rule.name, {}};
  if (rule.candidates != nullptr) result.list = rule.candidates(group, target);
  std::sort(result.list.begin(), result.list.end(),
            [](const KernelCandidate& a, const KernelCandidate& b) {
              return a.cost != b.cost ? a.cost < b.cost : KnobsText(a.knobs) < KnobsText(b.knobs);
            });
  result.list.insert(result.list.begin(), KernelCandidate{});
  return result;
}

tirx::PrimFunc EmitWith(const tirx::PrimFunc& group, const Target& target, const std::string& name,
                        const KernelKnobs& knobs) {
  const tirx::PrimFunc plain = Emit(group, target);
  const KernelRule& rule = RuleOf(plain);
  TVM_FFI_CHECK(rule.name == name, ValueError)
      << "the knobs are for kernel rule `" << name << "`, but the group is taken by `" << rule.name
      << "`";
  if (knobs.empty()) return plain;
  const std::string text = KnobsText(knobs);
  bool known = false;
  if (rule.candidates != nullptr) {
    for (const KernelCandidate& each : rule.candidates(group, target)) {
      known = known || KnobsText(each.knobs) == text;
    }
  }
  TVM_FFI_CHECK(known, ValueError)
      << "`" << text << "` is no candidate of kernel rule `" << name << "` for this group";
  std::string why;
  auto func = rule.emit(group, target, knobs, &why);
  TVM_FFI_CHECK(func.has_value(), ValueError)
      << "kernel rule `" << name << "` declines `" << text << "`: " << why;
  return WithAttr(*std::move(func), kKernelRule, ffi::String(name));
}

tirx::PrimFunc EmitChosen(const tirx::PrimFunc& group, const Target& target,
                          const KernelChoice& choice) {
  if (choice.knobs.empty()) return Emit(group, target);
  try {
    return EmitWith(group, target, choice.rule, choice.knobs);
  } catch (const ffi::Error& error) {
    if (error.kind() != "ValueError") throw;
    LOG(WARNING) << "a kernel is compiled as if it were not tuned: " << error.message();
    return Emit(group, target);
  }
}

}  // namespace kernels
}  // namespace tvm
