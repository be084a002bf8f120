// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "driver/kernel_reuse.h"

#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/transform.h>
#include <tvm/support/byte_io.h>
#include <tvm/support/parallel_for.h>
#include <tvm/tirx/function.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "codegen/cache.h"
#include "codegen/content_key.h"
#include "codegen/object_symbols.h"

namespace tvm {
namespace driver {
namespace {

using codegen::CacheKey;
using codegen::CompileCache;

constexpr char kKind[] = "kernel";

/// Payload of an entry: u64 size and text of the symbol, then the object.
std::string SymbolHead(const std::string& symbol) {
  std::string head;
  support::ByteWriter(&head).WriteString(symbol);
  return head;
}

struct Candidate {
  std::string symbol;  // global symbol of the first function with this key
  std::vector<std::string> names;
};

/// Names of the functions that others of the module refer to.
std::set<std::string> Referenced(const std::vector<std::string>& globals) {
  return {globals.begin(), globals.end()};
}

/// Context that all keys of a module share; nullopt when it cannot be told. Within one process the
/// compiler is what it is.
std::optional<std::string> KeyPrefix(const Target& host, const ffi::String& pipeline, bool kept) {
  if (pipeline != "default" && pipeline != "s_tir" && pipeline != "tirx") return std::nullopt;
  const std::string options = PassOptionsText();
  if (options.empty()) return std::nullopt;
  std::string prefix = options + std::string(host->str()) + '\n';
  if (kept) prefix += codegen::CompilerIdentity() + '\n' + codegen::RelevantEnvironment();
  return prefix;
}

/// A function, its key unless it has none, and the names it refers to.
struct Keyed {
  GlobalVar var;
  tirx::PrimFunc func;
  std::optional<CacheKey> key;
  std::vector<std::string> globals;
};

std::optional<CacheKey> KeyOf(const tirx::PrimFunc& func, const std::string& prefix,
                              std::vector<std::string>* globals) {
  support::Sha256 digest;
  digest.Update(prefix);
  const bool whole =
      codegen::AddContent(WithoutAttr(func, tvm::attr::kGlobalSymbol), &digest, globals);
  if (!whole || !globals->empty()) return std::nullopt;
  return digest.Finish();
}

/// Takes a kernel out of the cache. An entry that cannot be used is removed.
std::optional<codegen::CodeReuse::Ready> Fetch(CompileCache* cache, const CacheKey& key,
                                               const std::vector<std::string>& names) {
  auto entry = cache->Lookup(key, kKind);
  if (entry == nullptr) return std::nullopt;
  support::ByteReader reader(entry->bytes());
  codegen::CodeReuse::Ready ready;
  if (!reader.ReadString(&ready.symbol)) {
    cache->Discard(key, kKind);
    return std::nullopt;
  }
  ready.object = std::string(entry->bytes().substr(reader.offset()));
  ready.names = names;
  return ready;
}

}  // namespace

std::string PassOptionsText() {
  const auto context = tvm::transform::PassContext::Current();
  // Whoever watches passes wants them to run.
  for (const char* watching : {"TVM_DUMP", "TVM_VERIFY"}) {
    const char* value = std::getenv(watching);
    if (value != nullptr && value[0] != '\0') return "";
  }
  if (!context->instruments.empty()) return "";
  std::string text = "opt_level " + std::to_string(context->opt_level);
  for (const ffi::String& name : context->disabled_pass) text += " -" + std::string(name);
  for (const ffi::String& name : context->required_pass) text += " +" + std::string(name);
  support::Sha256 digest;
  std::vector<std::string> globals;
  std::map<std::string, ffi::Any> sorted;
  for (const auto& [key, value] : context->config) sorted.emplace(std::string(key), value);
  for (const auto& [key, value] : sorted) {
    digest.Update(key);
    if (!codegen::AddContent(value, &digest, &globals)) return "";
  }
  return text + " " + support::ToHex(digest.Finish()) + "\n";
}

KernelReuse PlanKernelReuse(const IRModule& mod, const Target& host, const ffi::String& pipeline) {
  KernelReuse plan{mod, {}};
  // A system library registers its functions itself, by names in its code.
  if (host->kind->name != "llvm" || mod->GetAttr<ffi::String>(tvm::attr::kSystemLibPrefix)) {
    return plan;
  }
  auto cache = CompileCache::Current();
  const std::optional<std::string> prefix = KeyPrefix(host, pipeline, cache != nullptr);
  if (!prefix) return plan;
  std::vector<Keyed> functions;
  for (const auto& [var, base] : mod->SortedFunctions()) {
    auto func = base.as<tirx::PrimFunc>();
    if (!func.has_value()) return plan;
    functions.push_back({var, *func, std::nullopt, {}});
  }
  // Every function is read, as any of them may call a kernel.
  support::ParallelFor(functions.size(), [&](size_t i) {
    functions[i].key = KeyOf(functions[i].func, *prefix, &functions[i].globals);
  });
  std::map<CacheKey, std::vector<std::pair<GlobalVar, std::string>>> groups;
  std::vector<std::string> globals;
  for (const Keyed& f : functions) {
    globals.insert(globals.end(), f.globals.begin(), f.globals.end());
    auto symbol = f.func->GetAttr<ffi::String>(tvm::attr::kGlobalSymbol);
    const bool kernel = f.func->HasNonzeroAttr(tirx::attr::kNoArgCheck) && symbol.has_value() &&
                        *symbol == f.var->name_hint;
    if (f.key && kernel) groups[*f.key].emplace_back(f.var, std::string(*symbol));
  }
  const std::set<std::string> referenced = Referenced(globals);
  // Not to be dropped while its object is being written from another thread.
  auto keys = std::make_shared<std::map<std::string, CacheKey>>();
  auto* left = plan.compile.CopyOnWrite();
  for (const auto& [key, functions] : groups) {
    std::vector<std::string> names;
    bool called = false;
    for (const auto& [var, symbol] : functions) {
      names.push_back(symbol);
      called = called || referenced.count(symbol) != 0;
    }
    if (called) continue;
    if (auto ready = cache != nullptr ? Fetch(cache.get(), key, names) : std::nullopt) {
      plan.reuse.ready.push_back(std::move(*ready));
      for (const auto& [var, symbol] : functions) left->Remove(var);
      continue;
    }
    for (size_t i = 1; i < functions.size(); ++i) left->Remove(functions[i].first);
    plan.reuse.separate[names[0]] = names;
    (*keys)[names[0]] = key;
  }
  if (cache != nullptr) {
    plan.reuse.compiled = [cache, keys](const std::string& symbol, std::string_view object) {
      if (!codegen::IsElfObject(object)) return;
      const std::string head = SymbolHead(symbol);
      cache->Store(keys->at(symbol), kKind, {std::string_view(head), object});
    };
  }
  return plan;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  refl::GlobalDef()
      .def("driver.CacheStats",
           [] {
             const codegen::CacheStats stats = CompileCache::Stats();
             return ffi::Map<ffi::String, int64_t>{
                 {"hits", stats.hits},       {"misses", stats.misses},
                 {"stores", stats.stores},   {"evictions", stats.evictions},
                 {"damaged", stats.damaged}, {"failures", stats.failures}};
           })
      .def("driver.CacheFolder", []() -> ffi::Optional<ffi::String> {
        auto cache = CompileCache::Current();
        if (cache == nullptr) return std::nullopt;
        return ffi::String(cache->folder());
      });
}

}  // namespace driver
}  // namespace tvm
