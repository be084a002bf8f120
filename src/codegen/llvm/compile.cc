// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "codegen/llvm/compile.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ir/error_context.h>
#include <tvm/runtime/host_signals.h>
#include <tvm/support/hash.h>
#include <tvm/support/parallel_for.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "codegen/cache.h"
#include "codegen/content_key.h"
#include "codegen/llvm/optimize.h"

namespace tvm {
namespace codegen {

// Generated from src/codegen/argcheck/unit.c; the object is for the system that this was built for.
extern const unsigned char kGlueBitcode[], kGlueObject[];
extern const unsigned long kGlueBitcodeSize, kGlueObjectSize;  // NOLINT(runtime/int)

namespace {

constexpr char kPackedPrefix[] = "__tvm_ffi_";
/// Functions are batched until they hold about this many IR nodes.
constexpr int64_t kBatchNodes = 400;

struct FunctionFacts {
  int64_t nodes = 0;
  std::vector<const GlobalVarNode*> callees;
};

FunctionFacts Inspect(const tirx::PrimFunc& func) {
  FunctionFacts facts;
  tirx::PostOrderVisit(func->body, [&](const ffi::ObjectRef& node) {
    ++facts.nodes;
    if (const auto* call = node.as<CallNode>()) {
      if (const auto* callee = call->op.as<GlobalVarNode>()) facts.callees.push_back(callee);
    }
  });
  return facts;
}

class UnionFind {
 public:
  explicit UnionFind(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<size_t> parent_;
};

FunctionUnit MakeUnit(const GlobalVar& var, const tirx::PrimFunc& func) {
  FunctionUnit unit{var, func, "", true, {}};
  auto symbol = func->GetAttr<ffi::String>(tvm::attr::kGlobalSymbol);
  unit.exported = symbol.has_value();
  unit.symbol = unit.exported ? std::string(*symbol) : "_internal_" + std::string(var->name_hint);
  const int64_t convention = func->GetAttr<int64_t>(tvm::attr::kCallingConv).value_or(0);
  if (unit.exported && convention == static_cast<int64_t>(CallingConv::kCPackedFunc) &&
      unit.symbol.rfind(kPackedPrefix, 0) != 0) {
    unit.symbol = kPackedPrefix + unit.symbol;
  }
  return unit;
}

/// A function as far as equal code goes: its symbol left out, also where the body repeats it.
tirx::PrimFunc Anonymous(const tirx::PrimFunc& func) {
  tirx::PrimFunc anonymous = WithoutAttr(func, tvm::attr::kGlobalSymbol);
  const auto* seq = func->body.as<tirx::SeqStmtNode>();
  if (seq == nullptr) return anonymous;
  ffi::Array<tirx::Stmt> stmts;
  for (const tirx::Stmt& stmt : seq->seq) {
    const auto* scope = stmt.as<tirx::AttrStmtNode>();
    const bool named = scope != nullptr && scope->attr_key == tirx::attr::compute_scope;
    stmts.push_back(named ? scope->body : stmt);
  }
  anonymous.CopyOnWrite()->body = tirx::SeqStmt(stmts);
  return anonymous;
}

}  // namespace

CompilePlan PlanCompilation(const IRModule& mod, const CodeReuse& reuse) {
  CompilePlan plan;
  if (auto prefix = mod->GetAttr<ffi::String>(tvm::attr::kSystemLibPrefix)) {
    plan.is_system_lib = true;
    plan.system_lib_prefix = *prefix;
  }
  std::vector<FunctionUnit> units;
  std::vector<FunctionFacts> facts;
  std::unordered_map<const GlobalVarNode*, size_t> index;
  std::unordered_map<std::string, GlobalVar> owner;
  std::string entry;
  for (const auto& [var, base] : mod->SortedFunctions()) {
    auto func = base.as<tirx::PrimFunc>();
    TVM_FFI_CHECK(func.has_value(), ValueError)
        << "function `" << var->name_hint << "` of kind " << base->GetTypeKey()
        << " cannot be compiled by the LLVM target; expected a PrimFunc";
    FunctionUnit unit = MakeUnit(var, *func);
    auto [it, fresh] = owner.emplace(unit.symbol, var);
    TVM_FFI_ICHECK(fresh) << "symbol `" << unit.symbol << "` is defined by both `"
                          << it->second->name_hint << "` and `" << var->name_hint << "`";
    plan.symbols.insert(unit.symbol);
    if (unit.exported && unit.symbol.rfind(kPackedPrefix, 0) == 0) {
      plan.function_names.push_back(unit.symbol.substr(sizeof(kPackedPrefix) - 1));
      // A function that is kept for other modules has no say in what this one's entry is.
      const bool kept = reuse.separate.count(std::string(var->name_hint)) != 0;
      if ((*func)->HasNonzeroAttr(tirx::attr::kIsEntryFunc) && !kept) entry = unit.symbol;
    }
    index[var.get()] = units.size();
    units.push_back(std::move(unit));
    facts.push_back(Inspect(*func));
  }
  const std::string main_symbol = std::string(kPackedPrefix) + "main";
  if (!entry.empty() && !plan.symbols.count(main_symbol)) {
    for (FunctionUnit& unit : units) {
      if (unit.symbol == entry) unit.aliases.push_back(main_symbol);
    }
    plan.symbols.insert(main_symbol);
  }
  // Functions that call each other share a module.
  UnionFind groups(units.size());
  std::vector<bool> linked(units.size(), false);
  for (size_t i = 0; i < units.size(); ++i) {
    for (const GlobalVarNode* callee : facts[i].callees) {
      auto it = index.find(callee);
      if (it == index.end()) continue;  // reported by the generator
      groups.Join(i, it->second);
      linked[i] = linked[it->second] = true;
    }
  }
  // Equal bodies are compiled once.
  std::unordered_map<uint64_t, std::vector<size_t>> by_hash;
  std::vector<bool> dropped(units.size(), false);
  auto is_separate = [&](size_t i) {
    return !linked[i] && reuse.separate.count(std::string(units[i].var->name_hint)) != 0;
  };
  for (size_t i = 0; i < units.size(); ++i) {
    if (is_separate(i)) continue;
    if (auto it = reuse.separate.find(std::string(units[i].var->name_hint));
        it != reuse.separate.end()) {
      // It turned out to call another one: its further names become aliases after all.
      for (const std::string& name : it->second) {
        if (kPackedPrefix + name == units[i].symbol) continue;
        units[i].aliases.push_back(kPackedPrefix + name);
        plan.symbols.insert(units[i].aliases.back());
        plan.function_names.push_back(name);
      }
      continue;
    }
    if (linked[i] || !units[i].exported) continue;
    const tirx::PrimFunc body = Anonymous(units[i].func);
    std::vector<size_t>& same = by_hash[ffi::StructuralHash::Hash(body)];
    for (size_t known : same) {
      if (!ffi::StructuralEqual::Equal(Anonymous(units[known].func), body)) continue;
      units[known].aliases.push_back(units[i].symbol);
      for (const std::string& alias : units[i].aliases) units[known].aliases.push_back(alias);
      dropped[i] = true;
      break;
    }
    if (!dropped[i]) same.push_back(i);
  }
  std::map<size_t, FunctionBatch> clusters;
  std::map<size_t, int64_t> cost;
  for (size_t i = 0; i < units.size(); ++i) {
    if (dropped[i]) continue;
    clusters[groups.Find(i)].push_back(units[i]);
    cost[groups.Find(i)] += facts[i].nodes;
  }
  // Large ones first, so that the last thread to finish holds a small one.
  std::vector<size_t> order;
  for (const auto& [root, batch] : clusters) order.push_back(root);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return cost[a] != cost[b] ? cost[a] > cost[b] : a < b; });
  int64_t filled = kBatchNodes;
  std::vector<size_t> alone;
  for (size_t root : order) {
    if (is_separate(root)) {
      alone.push_back(root);
      continue;
    }
    if (filled + cost[root] > kBatchNodes) {
      plan.batches.emplace_back();
      filled = 0;
    }
    for (FunctionUnit& unit : clusters[root]) plan.batches.back().push_back(std::move(unit));
    filled += cost[root];
  }
  plan.separate.resize(plan.batches.size());
  for (size_t root : alone) {
    plan.separate.push_back(clusters[root][0].symbol);
    plan.batches.push_back(std::move(clusters[root]));
  }
  return plan;
}

std::unique_ptr<llvm::Module> GenerateBatch(const FunctionBatch& batch, const CompilePlan& plan,
                                            const LLVMTarget& target, llvm::LLVMContext* context,
                                            llvm::TargetMachine* machine) {
  CodeGenLLVM generator(target, context, "TVMMod", plan.symbols);
  for (auto step : {&CodeGenLLVM::Declare, &CodeGenLLVM::Define}) {
    for (const FunctionUnit& unit : batch) {
      try {
        (generator.*step)(unit);
      } catch (const ffi::Error& error) {
        throw EnrichFunctionErrorWithContext(error, unit.var, unit.func, "code generation: llvm");
      }
    }
  }
  const LoopWork loops{generator.has_scalar_loops(),
                       generator.has_scalar_loops() || generator.has_short_loops()};
  std::unique_ptr<llvm::Module> module = generator.Finish();
#ifndef NDEBUG
  VerifyLLVM(*module);
#endif
  if (machine != nullptr) OptimizeModule(module.get(), target, machine, loops);
  return module;
}

namespace {

/// Start-up code that offers the functions of a library linked into an executable.
void AddSystemLibStartup(llvm::Module* module, const CompilePlan& plan) {
  llvm::LLVMContext& context = module->getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* int32 = llvm::Type::getInt32Ty(context);
  auto* startup =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                             llvm::GlobalValue::InternalLinkage, "__tvm_module_startup", module);
  llvm::FunctionCallee add =
      module->getOrInsertFunction("TVMFFIEnvModRegisterSystemLibSymbol",
                                  llvm::FunctionType::get(int32, {pointer, pointer}, false));
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", startup));
  for (const std::string& symbol : plan.symbols) {
    if (symbol.rfind(kPackedPrefix, 0) != 0) continue;
    llvm::Constant* function =
        module->getOrInsertFunction(
                  symbol, llvm::FunctionType::get(int32, {pointer, pointer, int32, pointer}, false))
                .getCallee()
            ? module->getNamedValue(symbol)
            : nullptr;
    const std::string name =
        kPackedPrefix + plan.system_lib_prefix + symbol.substr(sizeof(kPackedPrefix) - 1);
    builder.CreateCall(add, {builder.CreateGlobalString(name), function});
  }
  builder.CreateRetVoid();
  llvm::appendToGlobalCtors(*module, startup, 65535);
}

std::unique_ptr<llvm::Module> StartupModule(const CompilePlan& plan, const LLVMTarget& target,
                                            llvm::LLVMContext* context) {
  CodeGenLLVM generator(target, context, "TVMStartup", plan.symbols);
  std::unique_ptr<llvm::Module> module = generator.Finish();
  AddSystemLibStartup(module.get(), plan);
  return module;
}

}  // namespace

std::unique_ptr<llvm::Module> GenerateWhole(const CompilePlan& plan, const LLVMTarget& target,
                                            llvm::LLVMContext* context, bool optimize,
                                            bool with_glue) {
  FunctionBatch all;
  for (const FunctionBatch& batch : plan.batches) all.insert(all.end(), batch.begin(), batch.end());
  const auto machine = optimize ? target.CreateMachine() : nullptr;
  std::unique_ptr<llvm::Module> module = GenerateBatch(all, plan, target, context, machine.get());
  module->addModuleFlag(llvm::Module::Override, "tvm_target",
                        llvm::MDString::get(*context, target.target_text()));
  if (plan.is_system_lib) AddSystemLibStartup(module.get(), plan);
  if (with_glue) {
    TVM_FFI_ICHECK(!llvm::Linker::linkModules(*module, GlueModule(target, context)))
        << "cannot link the library glue";
  }
  return module;
}

void ParallelCompile(size_t count, const std::function<void(size_t)>& run) {
  support::ParallelFor(count, [&](size_t i) {
    run(i);
    runtime::CheckHostSignals();
  });
}

namespace {

/// Target machines, each for one thread at a time: what one knows of its processor takes as long as
/// to compile a small kernel.
class MachinePool {
 public:
  explicit MachinePool(const LLVMTarget& target) : target_(target) {}

  std::unique_ptr<llvm::TargetMachine> Take() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<llvm::TargetMachine> machine = std::move(free_.back());
        free_.pop_back();
        return machine;
      }
    }
    return target_.CreateMachine();
  }
  void Return(std::unique_ptr<llvm::TargetMachine> machine) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(machine));
  }

 private:
  const LLVMTarget& target_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> free_;
};

}  // namespace

std::vector<std::string> CompileBatches(CompilePlan* plan, const LLVMTarget& target,
                                        bool keep_functions,
                                        std::shared_ptr<const std::string>* glue) {
  const size_t batches = plan->batches.size();
  std::vector<std::string> objects(batches + (plan->is_system_lib ? 1 : 0));
  MachinePool machines(target);
  ParallelCompile(objects.size() + 1, [&](size_t i) {
    if (i == objects.size()) {
      *glue = GlueObject(target);
      return;
    }
    llvm::LLVMContext context;
    std::unique_ptr<llvm::TargetMachine> machine = machines.Take();
    std::unique_ptr<llvm::Module> module;
    if (i == batches) {
      module = StartupModule(*plan, target, &context);
    } else {
      module = GenerateBatch(plan->batches[i], *plan, target, &context, machine.get());
      if (!keep_functions) plan->batches[i] = FunctionBatch();
    }
    objects[i] = EmitModule(module.get(), target, machine.get(), EmitKind::kObject);
    machines.Return(std::move(machine));
  });
  return objects;
}

std::unique_ptr<llvm::Module> GlueModule(const LLVMTarget& target, llvm::LLVMContext* context) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(kGlueBitcode), kGlueBitcodeSize);
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "glue"), *context);
  if (!parsed) {
    TVM_FFI_THROW(InternalError) << "cannot read the library glue: "
                                 << LLVMErrorText(parsed.takeError());
  }
  std::unique_ptr<llvm::Module> module = std::move(*parsed);
  // The C code uses pointers and integers of fixed width only, so any 64-bit little-endian target
  // may take it.
  TVM_FFI_CHECK(target.data_layout().getPointerSize() == 8 && target.data_layout().isLittleEndian(),
                ValueError)
      << "the packed ABI needs a 64-bit little-endian target, not " << target.triple().str();
  SetTriple(module.get(), target.triple());
  module->setDataLayout(target.data_layout());
  for (llvm::Function& function : *module) {
    for (const char* attribute :
         {"target-cpu", "target-features", "tune-cpu", "frame-pointer", "min-legal-vector-width"}) {
      function.removeFnAttr(attribute);
    }
    if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return module;
}

std::shared_ptr<const std::string> GlueObject(const LLVMTarget& target) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, std::shared_ptr<const std::string>>();
  const std::string key = target.triple().str();
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const std::string>& object = (*known)[key];
  if (object == nullptr && target.RunsHere()) {
    object = std::make_shared<const std::string>(reinterpret_cast<const char*>(kGlueObject),
                                                 kGlueObjectSize);
  }
  if (object == nullptr) {
    auto cache = CompileCache::Current();
    CacheKey entry_key{};
    if (cache != nullptr) {
      support::Sha256 digest;
      digest.Update("glue " + key + CompilerIdentity());
      entry_key = digest.Finish();
    }
    if (auto entry = cache != nullptr ? cache->Lookup(entry_key, "glue") : nullptr) {
      object = std::make_shared<const std::string>(entry->bytes());
      return object;
    }
    // Portable within its architecture: it is no hot code.
    const LLVMTarget portable = LLVMTarget::ForTriple(key);
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = GlueModule(portable, &context);
    object = std::make_shared<const std::string>(
        EmitModule(module.get(), portable, portable.CreateMachine().get(), EmitKind::kObject));
    if (cache != nullptr) cache->Store(entry_key, "glue", *object);
  }
  return object;
}

}  // namespace codegen
}  // namespace tvm
