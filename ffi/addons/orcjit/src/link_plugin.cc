// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "link_plugin.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/x86_64.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "thread_local.h"
#include "thread_local_model.h"

namespace tvm {
namespace ffi {
namespace orcjit {
namespace {

using llvm::StringRef;
using llvm::jitlink::Block;
using llvm::jitlink::LinkGraph;
using llvm::jitlink::Section;

/// A section of function pointers that run at load or unload.
struct InitSection {
  bool constructors;
  bool reversed;  ///< .ctors and .dtors run from the end
  int priority;
};

constexpr int kLastPriority = 65536;  // sections without a number

/// Number behind the last dot; nothing if it is not one.
std::optional<int> Suffix(StringRef rest) {
  if (rest.empty()) return kLastPriority;
  int number = 0;
  if (!rest.consume_front(".") || rest.getAsInteger(10, number) || number < 0 ||
      number > kLastPriority) {
    return std::nullopt;
  }
  return number;
}

std::optional<InitSection> ParseInitSection(StringRef name) {
  struct Form {
    StringRef prefix;
    bool constructors;
    bool reversed;
  };
  static constexpr Form kForms[] = {{".init_array", true, false},
                                    {".fini_array", false, false},
                                    {".ctors", true, true},
                                    {".dtors", false, true}};
  if (name == ".preinit_array") return InitSection{true, false, -1};
  for (const Form& form : kForms) {
    StringRef rest = name;
    if (!rest.consume_front(form.prefix)) continue;
    std::optional<int> number = Suffix(rest);
    if (!number) return std::nullopt;
    // The numbers of the older sections count down.
    const int priority =
        form.reversed && *number != kLastPriority ? kLastPriority - 1 - *number : *number;
    return InitSection{form.constructors, form.reversed, priority};
  }
  return std::nullopt;
}

/// Nothing that the linker sees refers to the tables and to some thread-local variables, so that
/// dead stripping would take them.
llvm::Error KeepSections(LinkGraph& graph) {
  for (Section& section : graph.sections()) {
    if (!ParseInitSection(section.getName()) && !IsThreadLocalSection(section.getName())) continue;
    for (Block* block : section.blocks()) {
      graph.addAnonymousSymbol(*block, 0, block->getSize(), false, true);
    }
  }
  return llvm::Error::success();
}

/// Unwinding reads the records of .eh_frame up to the first zero. Where records of dropped
/// functions went, LLVM would pad the next one to its old alignment, with zeros.
llvm::Error CloseGapsInFrames(LinkGraph& graph) {
  Section* frames = graph.findSectionByName(".eh_frame");
  if (frames == nullptr) return llvm::Error::success();
  for (Block* block : frames->blocks()) {
    block->setAlignmentOffset(0);
    block->setAlignment(4);  // sizes of records are multiples
  }
  return llvm::Error::success();
}

std::vector<Block*> BlocksByAddress(Section& section) {
  std::vector<Block*> blocks(section.blocks().begin(), section.blocks().end());
  std::sort(blocks.begin(), blocks.end(),
            [](Block* a, Block* b) { return a->getAddress() < b->getAddress(); });
  return blocks;
}

/// Reads the tables once relocations have been applied.
void ReadInitSection(Section& section, const InitSection& kind, size_t object,
                     std::vector<LinkRecord::Entry>* out) {
  std::vector<LinkRecord::Initializer> functions;
  for (Block* block : BlocksByAddress(section)) {
    if (block->isZeroFill()) continue;
    const llvm::ArrayRef<char> content = block->getContent();
    for (size_t at = 0; at + sizeof(uintptr_t) <= content.size(); at += sizeof(uintptr_t)) {
      uintptr_t address = 0;
      std::memcpy(&address, content.data() + at, sizeof(address));
      if (address == 0 || address == ~uintptr_t{0}) continue;  // padding of .ctors
      functions.push_back(reinterpret_cast<LinkRecord::Initializer>(address));
    }
  }
  if (kind.reversed) std::reverse(functions.begin(), functions.end());
  for (LinkRecord::Initializer function : functions) {
    out->push_back({kind.priority, object, out->size(), function});
  }
}

/// Announces the initial values of the thread-local variables of an object.
void RegisterImage(LinkGraph& graph) {
  std::map<std::string, Section*> sections;
  for (Section& section : graph.sections()) {
    if (IsThreadLocalSection(section.getName())) sections[section.getName().str()] = &section;
  }
  ThreadLocalLayout layout;
  std::vector<ThreadLocalSegment> segments;
  for (const auto& [name, section] : sections) {
    for (Block* block : BlocksByAddress(*section)) {
      const uint64_t offset = layout.Add(block->getSize(), block->getAlignment());
      segments.push_back({block->getAddress().getValue(), block->getSize(), offset});
    }
  }
  if (segments.empty()) return;
  RegisterThreadLocalImage(std::move(segments), layout.size(), layout.alignment());
}

/// Writes ids into the entries that linking made for thread-local variables.
llvm::Error PrepareThreadLocals(LinkGraph& graph) {
  RegisterImage(graph);
  Section* table = graph.findSectionByName("$__TLSINFO");
  if (table == nullptr) return llvm::Error::success();
  for (Block* block : table->blocks()) {
    auto edge = block->edges().begin();
    if (edge == block->edges().end() || block->getSize() != sizeof(ThreadLocalEntry)) {
      return llvm::createStringError(std::errc::invalid_argument,
                                     "unexpected entry for a thread-local variable");
    }
    const llvm::jitlink::Symbol& variable = edge->getTarget();
    const uint64_t id =
        RegisterThreadLocal(variable.isDefined() ? "" : (*variable.getName()).str());
    std::memcpy(block->getMutableContent(graph).data(), &id, sizeof(id));
  }
  return llvm::Error::success();
}

/// Lowest and highest address of what stays after linking; an object gets one piece of memory.
std::optional<LinkRecord::Range> MemoryOf(LinkGraph& graph) {
  std::optional<LinkRecord::Range> range;
  for (Section& section : graph.sections()) {
    if (section.getMemLifetime() != llvm::orc::MemLifetime::Standard) continue;
    for (Block* block : section.blocks()) {
      const uintptr_t begin = block->getAddress().getValue();
      const uintptr_t end = begin + block->getSize();
      if (!range) range = {begin, end};
      range = {std::min(range->first, begin), std::max(range->second, end)};
    }
  }
  return range;
}

bool RunsBefore(const LinkRecord::Entry& a, const LinkRecord::Entry& b) {
  return std::tie(a.priority, a.object, a.place) < std::tie(b.priority, b.object, b.place);
}

}  // namespace

void LinkRecord::NameObject(std::string name) {
  std::lock_guard<std::mutex> guard(mutex_);
  objects_.emplace(std::move(name), objects_.size());
}

std::vector<LinkRecord::Entry> LinkRecord::TakeConstructors() {
  std::lock_guard<std::mutex> guard(mutex_);
  std::sort(constructors_.begin(), constructors_.end(), RunsBefore);
  return std::exchange(constructors_, {});
}

std::vector<LinkRecord::Entry> LinkRecord::TakeDestructors() {
  std::lock_guard<std::mutex> guard(mutex_);
  std::sort(destructors_.begin(), destructors_.end(), RunsBefore);
  std::reverse(destructors_.begin(), destructors_.end());
  return std::exchange(destructors_, {});
}

std::vector<LinkRecord::Range> LinkRecord::TakeRanges() {
  std::lock_guard<std::mutex> guard(mutex_);
  return std::exchange(ranges_, {});
}

void LinkPlugin::Watch(llvm::orc::JITDylib* library, std::shared_ptr<LinkRecord> record) {
  std::lock_guard<std::mutex> guard(mutex_);
  records_[library] = std::move(record);
}

void LinkPlugin::Forget(llvm::orc::JITDylib* library) {
  std::lock_guard<std::mutex> guard(mutex_);
  records_.erase(library);
}

void LinkPlugin::modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                                  LinkGraph&, llvm::jitlink::PassConfiguration& passes) {
  std::shared_ptr<LinkRecord> record;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    auto it = records_.find(&responsibility.getTargetJITDylib());
    if (it == records_.end()) return;
    record = it->second;
  }
  passes.PostFixupPasses.push_back([record](LinkGraph& graph) {
    std::lock_guard<std::mutex> guard(record->mutex_);
    if (std::optional<LinkRecord::Range> range = MemoryOf(graph)) {
      record->ranges_.push_back(*range);
    }
    return llvm::Error::success();
  });
  if (ranges_only_) return;
  passes.PrePrunePasses.push_back(KeepSections);
  passes.PostPrunePasses.push_back(CloseGapsInFrames);
  passes.PreFixupPasses.push_back(PrepareThreadLocals);
  passes.PostFixupPasses.push_back([record](LinkGraph& graph) {
    std::lock_guard<std::mutex> guard(record->mutex_);
    auto name = record->objects_.find(graph.getName());
    const size_t object = name == record->objects_.end() ? record->objects_.size() : name->second;
    for (Section& section : graph.sections()) {
      if (std::optional<InitSection> kind = ParseInitSection(section.getName())) {
        ReadInitSection(section, *kind, object,
                        kind->constructors ? &record->constructors_ : &record->destructors_);
      }
    }
    return llvm::Error::success();
  });
}

}  // namespace orcjit
}  // namespace ffi
}  // namespace tvm
