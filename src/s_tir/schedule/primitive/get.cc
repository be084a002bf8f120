// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// get_sblock, get_loops, get_child_blocks, get_producers, get_consumers, get_output_blocks.
#include "s_tir/schedule/primitive_registry.h"
#include "s_tir/schedule/rewrite.h"

namespace tvm {
namespace s_tir {

using namespace tirx;  // NOLINT(build/namespaces)

namespace {

ffi::Array<StmtSRef> OutputBlocks(State* state, const StmtSRef& scope_root) {
  ffi::Array<StmtSRef> result;
  for (const StmtSRef& block : ChildBlocks(*state, scope_root)) {
    if (IsOutputBlock(state, block, scope_root)) result.push_back(block);
  }
  return result;
}

const PrimitiveRegistration kGetSBlock{{
    .name = "GetSBlock",
    .method = "get_sblock",
    .pure = true,
    .params = "name=a0 func_name=a1",
    .result = Result::kOne,
    .run = [](PrimitiveCall& call) -> ffi::Array<ffi::Any> {
      const std::string name(call.Attr<ffi::String>(0));
      GlobalVar gvar;
      if (call.attrs[1] == nullptr) {
        TVM_FFI_CHECK(call.sch->func_working_on().has_value(), ValueError)
            << "the module has several functions and none is called \"main\": pass func_name to "
               "get_sblock, or call work_on first";
        gvar = call.sch->func_working_on().value();
        call.attrs.Set(1, gvar->name_hint);
      } else {
        gvar = call.state->mod->GetGlobalVar(call.Attr<ffi::String>(1));
      }
      ffi::Array<StmtSRef> blocks = BlocksNamed(*call.state, name, gvar);
      if (blocks.size() == 1) return call.One(blocks[0]);
      ffi::Array<ffi::ObjectRef> where;
      for (const StmtSRef& block : blocks) where.push_back(At(block));
      FailureBuilder(where).stream()
          << "The function " << gvar->name_hint << " has "
          << (blocks.empty() ? "no block" : "more than one block") << " called \"" << name << "\"";
      TVM_FFI_UNREACHABLE();
    },
}};

const PrimitiveRegistration kGetLoops{{
    .name = "GetLoops",
    .method = "get_loops",
    .pure = true,
    .params = "block=i0",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) { return call.LoopRVs(LoopsAbove(call.Block(0))); },
}};

const PrimitiveRegistration kGetChildBlocks{{
    .name = "GetChildBlocks",
    .method = "get_child_blocks",
    .pure = true,
    .params = "i0",
    .result = Result::kList,
    .run =
        [](PrimitiveCall& call) {
          return call.Blocks(ChildBlocks(*call.state, call.BlockOrLoop(0)));
        },
}};

const PrimitiveRegistration kGetProducers{{
    .name = "GetProducers",
    .method = "get_producers",
    .pure = true,
    .params = "block=i0",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) { return call.Blocks(ProducersOf(call.state, call.Block(0))); },
}};

const PrimitiveRegistration kGetConsumers{{
    .name = "GetConsumers",
    .method = "get_consumers",
    .pure = true,
    .params = "block=i0",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) { return call.Blocks(ConsumersOf(call.state, call.Block(0))); },
}};

const PrimitiveRegistration kGetOutputBlocks{{
    .name = "GetOutputBlocks",
    .method = "get_output_blocks",
    .pure = true,
    .params = "block=i0",
    .result = Result::kList,
    .run = [](PrimitiveCall& call) { return call.Blocks(OutputBlocks(call.state, call.Block(0))); },
}};

}  // namespace

}  // namespace s_tir
}  // namespace tvm
