// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <gtest/gtest.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/structural_equal.h>
#include <tvm/ffi/extra/structural_hash.h>
#include <tvm/ffi/extra/visit_error_context.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/transform.h>

#include <string>
#include <thread>
#include <vector>

namespace tvm {
namespace {

/// The smallest function class.
class TestFuncNode : public BaseFuncNode {
 public:
  int64_t body = 0;
  static void RegisterReflection() {
    ffi::reflection::ObjectDef<TestFuncNode>().def_ro("body", &TestFuncNode::body);
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.ir.Func", TestFuncNode, BaseFuncNode);
};

class TestFunc : public BaseFunc {
 public:
  explicit TestFunc(int64_t body) {
    auto node = ffi::make_object<TestFuncNode>();
    node->body = body;
    data_ = std::move(node);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(TestFunc, BaseFunc, TestFuncNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(TestFuncNode);
};

TVM_FFI_STATIC_INIT_BLOCK() { TestFuncNode::RegisterReflection(); }

IRModule TwoFunctions(const char* first, const char* second) {
  IRModule mod;
  auto* node = mod.CopyOnWrite();
  node->Add(GlobalVar(first), TestFunc(first[0]));
  node->Add(GlobalVar(second), TestFunc(second[0]));
  return mod;
}

TEST(IRModule, LookupAndErrors) {
  IRModule mod = TwoFunctions("b", "a");
  EXPECT_EQ(mod->SortedFunctions()[0].first->name_hint, "a");
  try {
    mod->GetGlobalVar("x");
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_NE(std::string(error.message())
                  .find("Cannot find global var \"x\" in the Module\ncandidates are: "
                        "[\"a\", \"b\"]"),
              std::string::npos);
  }
  EXPECT_THROW(mod.CopyOnWrite()->Add(GlobalVar("a"), TestFunc(1)), ffi::Error);
  EXPECT_THROW(mod->Lookup(GlobalVar("a")), ffi::Error);
}

TEST(IRModule, EqualityIgnoresInsertionOrder) {
  IRModule x = TwoFunctions("a", "b"), y = TwoFunctions("b", "a");
  EXPECT_TRUE(ffi::StructuralEqual()(x, y));
  EXPECT_EQ(ffi::StructuralHash::Hash(x), ffi::StructuralHash::Hash(y));
  IRModule z = TwoFunctions("a", "c");
  EXPECT_FALSE(ffi::StructuralEqual()(x, z));
  IRModule w = WithAttr(x, "k", 1);
  EXPECT_FALSE(ffi::StructuralEqual()(x, w));
  EXPECT_FALSE(x->attrs.HasAttr("k"));
}

TEST(IRModule, ReplaceGlobalVars) {
  IRModule mod = TwoFunctions("a", "b");
  GlobalVar a = mod->GetGlobalVar("a"), c("c");
  mod.CopyOnWrite()->Update(
      a, WithAttr(WithAttr(TestFunc(1), "global_symbol", ffi::String("a")), "callee", a));
  IRModule renamed = ReplaceGlobalVars(mod, {{a, c}});
  EXPECT_FALSE(renamed->ContainGlobalVar("a"));
  BaseFunc func = renamed->Lookup("c");
  EXPECT_EQ(func->GetAttr<ffi::String>("global_symbol").value(), "c");
  EXPECT_TRUE(func->GetAttr<GlobalVar>("callee").value().same_as(c));
  EXPECT_TRUE(mod->ContainGlobalVar("a"));
}

TEST(BaseFunc, AttributesCopyOnWrite) {
  TestFunc f(3);
  TestFunc g = WithAttr(f, "global_symbol", ffi::String("g"));
  EXPECT_FALSE(f->attrs.HasAttr("global_symbol"));
  EXPECT_EQ(g->GetAttr<ffi::String>("global_symbol").value(), "g");
  BaseFunc h = WithoutAttrOnCopy(g, "global_symbol");
  EXPECT_EQ(h.as<TestFuncNode>()->body, 3);
  EXPECT_FALSE(h->attrs.HasAttr("global_symbol"));
  EXPECT_TRUE(g->attrs.HasAttr("global_symbol"));
}

using transform::CreateModulePass;
using transform::Pass;
using transform::PassContext;
using transform::PassContextScope;
using transform::PassInfo;
using transform::Sequential;

Pass Recorder(std::vector<std::string>* log, const char* name, int level = 0) {
  return CreateModulePass(
      [log, name](IRModule mod, const PassContext&) {
        log->push_back(name);
        return mod;
      },
      level, name);
}

TEST(Pass, SequentialRespectsLevelsAndLists) {
  std::vector<std::string> log;
  Sequential seq({Recorder(&log, "a"), Recorder(&log, "b", 3), Recorder(&log, "c")});
  IRModule mod;
  seq(mod);
  EXPECT_EQ(log, (std::vector<std::string>{"a", "c"}));
  log.clear();
  PassContext ctx = PassContext::Create();
  ctx->required_pass = {"b"};
  ctx->disabled_pass = {"c"};
  {
    PassContextScope scope(ctx);
    EXPECT_TRUE(PassContext::Current().same_as(ctx));
    seq(mod);
  }
  EXPECT_FALSE(PassContext::Current().same_as(ctx));
  EXPECT_EQ(log, (std::vector<std::string>{"a", "b"}));
}

TEST(Pass, InstrumentsSeeEveryPass) {
  std::vector<std::string> log;
  auto callback = [&log](std::string prefix) {
    return ffi::Function::FromTyped([&log, prefix](IRModule, PassInfo info) {
      log.push_back(prefix + std::string(info->name));
    });
  };
  ffi::Function skip_b =
      ffi::Function::FromTyped([](IRModule, PassInfo info) { return info->name != "b"; });
  instrument::PassInstrument item("test", std::nullopt, std::nullopt, skip_b, callback("before "),
                                  callback("after "));
  PassContext ctx = PassContext::Create();
  ctx->instruments = {item};
  std::vector<std::string> ran;
  {
    PassContextScope scope(ctx);
    Recorder(&ran, "a")(IRModule());
    Recorder(&ran, "b")(IRModule());
  }
  EXPECT_EQ(ran, (std::vector<std::string>{"a"}));
  EXPECT_EQ(log, (std::vector<std::string>{"before a", "after a"}));
}

TEST(Pass, FailedEnterUndoesTheOthers) {
  std::vector<std::string> log;
  auto note = [&log](std::string text) {
    return ffi::Function::FromTyped([&log, text]() { log.push_back(text); });
  };
  ffi::Function fail = ffi::Function::FromTyped([]() { TVM_FFI_THROW(ValueError) << "no"; });
  instrument::PassInstrument first("1", note("enter 1"), note("exit 1"), {}, {}, {});
  instrument::PassInstrument second("2", fail, note("exit 2"), {}, {}, {});
  PassContext ctx = PassContext::Create();
  ctx->instruments = {first, second};
  EXPECT_THROW(ctx.EnterWithScope(), ffi::Error);
  EXPECT_EQ(log, (std::vector<std::string>{"enter 1", "exit 1"}));
  EXPECT_TRUE(ctx->instruments.empty());
  EXPECT_FALSE(PassContext::Current().same_as(ctx));
}

TEST(Pass, ConfigIsChecked) {
  auto fails_with = [](const char* key, ffi::Any value, const char* text) {
    try {
      PassContext::ResolveConfig({{key, value}});
      ADD_FAILURE() << key;
    } catch (const ffi::Error& error) {
      EXPECT_EQ(std::string(error.kind()), "AttributeError");
      EXPECT_NE(std::string(error.message()).find(text), std::string::npos) << error.message();
    }
  };
  fails_with("no.such", 1, "Invalid config option 'no.such' candidates are: ");
  fails_with("testing.immutable_module", ffi::Any(), "testing.immutable_module is None");
  fails_with("testing.immutable_module", ffi::String("x"),
             "Expect config testing.immutable_module to have type bool");
  EXPECT_EQ(PassContext::ResolveConfig({{"testing.immutable_module", true}}).size(), 1u);
}

TEST(Pass, ImmutableModuleIsEnforced) {
  Pass cheat = CreateModulePass(
      [](IRModule mod, const PassContext&) {
        const_cast<IRModuleNode*>(mod.get())->Add(GlobalVar("added"), TestFunc(1));
        return mod;
      },
      0, "Cheat");
  PassContext ctx = PassContext::Create();
  ctx->config = PassContext::ResolveConfig({{"testing.immutable_module", true}});
  PassContextScope scope(ctx);
  try {
    cheat(TwoFunctions("a", "b"));
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_NE(
        std::string(error.message()).find("Immutable module has been modified in pass: Cheat"),
        std::string::npos);
  }
}

TEST(Pass, MapFunctionsKeepsTheModuleWhenNothingChanges) {
  IRModule mod = TwoFunctions("a", "b");
  IRModule same = transform::MapFunctions<TestFunc>(
      mod, [](const IRModule&, const GlobalVar&, TestFunc f) { return f; });
  EXPECT_TRUE(same.same_as(mod));
  IRModule changed =
      transform::MapFunctions<TestFunc>(mod, [](const IRModule&, const GlobalVar& var, TestFunc f) {
        if (var->name_hint == "b") return TestFunc();
        f.CopyOnWrite()->body += 1;
        return f;
      });
  EXPECT_FALSE(changed->ContainGlobalVar("b"));
  EXPECT_EQ(changed->Lookup("a").as<TestFuncNode>()->body, 'a' + 1);
  EXPECT_EQ(mod->Lookup("a").as<TestFuncNode>()->body, 'a');
}

bool interrupted = false;

TEST(Pass, ASignalOfTheHostEndsASequence) {
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals",
                        reinterpret_cast<void*>(+[]() -> int { return interrupted ? -1 : 0; }));
  int runs = 0;
  Pass step = CreateModulePass(
      [&runs](IRModule mod, const PassContext&) {
        interrupted = ++runs == 2;
        return mod;
      },
      0, "Step");
  try {
    Sequential({step, step, step}, "Steps")(TwoFunctions("a", "b"));
    ADD_FAILURE() << "expected an error";
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.kind()), "EnvErrorAlreadySet");
  }
  EXPECT_EQ(runs, 2);
  // Another thread leaves the signal alone: the main one may be waiting for it.
  std::thread([&step] { step(TwoFunctions("a", "b")); }).join();
  EXPECT_EQ(runs, 3);
  interrupted = false;
  TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", nullptr);
}

TEST(Pass, ErrorsNameThePassAndThePlace) {
  IRModule mod = TwoFunctions("a", "b");
  Pass failing = CreateModulePass(
      [](IRModule m, const PassContext&) -> IRModule {
        TVM_FFI_VISIT_THROW(ValueError, m->Lookup("b")) << "no good";
        return m;
      },
      0, "Failing");
  try {
    failing(mod);
    FAIL();
  } catch (const ffi::Error& error) {
    std::string message(error.message());
    EXPECT_EQ(std::string(error.kind()), "ValueError");
    EXPECT_EQ(message.find("no good\n\nError in pass: Failing\nLocation (TVMScript):\n"), 0u)
        << message;
    EXPECT_NE(message.find("functions"), std::string::npos) << message;
  }
  Pass plain = CreateModulePass(
      [](IRModule, const PassContext&) -> IRModule { TVM_FFI_THROW(TypeError) << "as it is"; }, 0,
      "Plain");
  try {
    plain(mod);
    FAIL();
  } catch (const ffi::Error& error) {
    EXPECT_EQ(std::string(error.message()), "as it is");
  }
}

TEST(Pass, TimingIsRendered) {
  PassContext ctx = PassContext::Create();
  ctx->instruments = {instrument::PassTimingInstrument()};
  PassContextScope scope(ctx);
  std::vector<std::string> log;
  Sequential({Recorder(&log, "inner")}, "outer")(IRModule());
  std::string text(instrument::RenderTimePassProfiles());
  EXPECT_EQ(text.find("outer: "), 0u) << text;
  EXPECT_NE(text.find("\n\tinner: "), std::string::npos) << text;
}

}  // namespace
}  // namespace tvm
