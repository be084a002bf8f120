// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Blocks of the schedulable dialect: iteration variables, regions, attributes.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/scalar_op.h>
#include <tvm/tirx/ir_builder.h>

#include <string>

#include "script/ir_builder/api.h"

namespace tvm::tirx::ir_builder {

namespace {

/// Appended to the name of each block made in this thread while it is set.
std::string& BlockNameSuffix() {
  thread_local std::string suffix;
  return suffix;
}

SBlockFrame MakeSBlock(const ffi::String& name, bool no_realize) {
  auto node = ffi::make_object<SBlockFrameNode>();
  node->name = std::string(name) + BlockNameSuffix();
  node->no_realize = no_realize;
  return SBlockFrame(std::move(node));
}

void Where(PrimExpr predicate) {
  SBlockFrame frame = RequireSBlock("T.where");
  if (frame->predicate.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate block predicate declaration, previous one is "
                              << frame->predicate.value();
  }
  frame->predicate = std::move(predicate);
}

ffi::Array<BufferRegion> AsRegions(const ffi::Array<ffi::Any>& values, const char* who) {
  ffi::Array<BufferRegion> regions;
  for (const ffi::Any& value : values) {
    if (auto region = value.as<BufferRegion>()) {
      regions.push_back(*region);
    } else if (auto load = value.as<BufferLoad>()) {
      regions.push_back(BufferRegion::FromPoint((*load)->buffer, (*load)->indices));
    } else if (auto buffer = value.as<Buffer>()) {
      regions.push_back(BufferRegion::FullRegion(*buffer));
    } else {
      TVM_FFI_THROW(TypeError) << who << " expects regions of buffers, found "
                               << value.GetTypeKey();
    }
  }
  return regions;
}

void Reads(const ffi::Array<ffi::Any>& values) {
  SBlockFrame frame = RequireSBlock("T.reads");
  if (frame->reads.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate read region declaration in block " << frame->name;
  }
  frame->reads = AsRegions(values, "T.reads");
}

void Writes(const ffi::Array<ffi::Any>& values) {
  SBlockFrame frame = RequireSBlock("T.writes");
  if (frame->writes.has_value()) {
    TVM_FFI_THROW(ValueError) << "Duplicate write region declaration in block " << frame->name;
  }
  frame->writes = AsRegions(values, "T.writes");
}

/// Adds annotations; the nested dicts of software pipelines and the like are kept as they are.
void SBlockAttrs(const ffi::Map<ffi::String, ffi::Any>& attrs) {
  SBlockFrame frame = RequireSBlock("T.sblock_attr");
  ffi::Map<ffi::String, ffi::Any> all =
      frame->annotations.value_or(ffi::Map<ffi::String, ffi::Any>());
  for (const auto& [key, value] : attrs) {
    if (all.count(key) != 0) {
      TVM_FFI_THROW(ValueError) << "Duplicate block annotation " << key << " in block "
                                << frame->name;
    }
    all.Set(key, value);
  }
  frame->annotations = all;
}

Var PushIter(const SBlockFrame& frame, Range dom, ffi::Optional<PrimExpr> binding, IterVarType type,
             DataType dtype) {
  IterVar iter(Range::FromMinExtent(ConvertTo(dtype, dom->min, "domain of a block axis"),
                                    ConvertTo(dtype, dom->extent, "domain of a block axis")),
               Var("", dtype), type);
  frame->iter_vars.push_back(iter);
  if (binding.has_value()) {
    frame->iter_values.push_back(ConvertTo(dtype, binding.value(), "value of a block axis"));
  }
  return iter->var;
}

/// The wider of the types of the domain and of the value bound.
DataType AxisType(const Range& dom, const ffi::Optional<PrimExpr>& binding) {
  DataType dtype = dom->extent.dtype();
  bool is_literal = binding.has_value() && binding.value().as<IntImmNode>() != nullptr;
  if (dom->extent.as<IntImmNode>() != nullptr && binding.has_value() && !is_literal) {
    DataType value = binding.value().dtype();
    if (value.is_int() || value.is_uint()) return value;
  }
  return dtype;
}

template <int kType>
Var Axis(Range dom, ffi::Optional<PrimExpr> binding) {
  SBlockFrame frame = RequireSBlock("T.axis");
  DataType dtype = AxisType(dom, binding);
  return PushIter(frame, std::move(dom), std::move(binding), static_cast<IterVarType>(kType),
                  dtype);
}

IterVarType TypeOfLetter(char letter) {
  switch (letter) {
    case 'S':
      return kDataPar;
    case 'R':
      return kCommReduce;
    default:
      TVM_FFI_THROW(ValueError) << "Unknown axis kind '" << letter
                                << "' in T.axis.remap, expected S or R";
      TVM_FFI_UNREACHABLE();
  }
}

Range LoopDomain(const Var& var) {
  IRBuilder builder = IRBuilder::Current();
  for (size_t f = builder->frames.size(); f-- > 0;) {
    auto loop = builder->frames[f].as<ForFrame>();
    if (!loop.has_value()) continue;
    for (size_t i = 0; i < (*loop)->vars.size(); ++i) {
      if ((*loop)->vars[i].same_as(var)) return (*loop)->doms[i];
    }
  }
  TVM_FFI_THROW(ValueError) << "T.axis.remap: " << var->name << " is not a loop variable";
  TVM_FFI_UNREACHABLE();
}

ffi::Array<Var> Remap(const ffi::String& kinds, const ffi::Array<PrimExpr>& bindings) {
  SBlockFrame frame = RequireSBlock("T.axis.remap");
  if (kinds.size() != bindings.size()) {
    TVM_FFI_THROW(ValueError) << "T.axis.remap: " << kinds.size() << " kinds for "
                              << bindings.size() << " loop variables";
  }
  ffi::Array<Var> vars;
  for (size_t i = 0; i < bindings.size(); ++i) {
    auto var = bindings[i].as<Var>();
    if (!var.has_value()) {
      TVM_FFI_THROW(TypeError) << "T.axis.remap expects loop variables, found " << bindings[i];
    }
    vars.push_back(PushIter(frame, LoopDomain(*var), bindings[i], TypeOfLetter(kinds.data()[i]),
                            (*var)->dtype()));
  }
  return vars;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  script::ir_builder::BuilderApi()
      .def("script.ir_builder.tirx.SBlock", MakeSBlock)
      .def("script.ir_builder.tirx.SBlockInit",
           [] { return SBlockInitFrame(ffi::make_object<SBlockInitFrameNode>()); })
      .def("script.ir_builder.tirx.SetBlockNameSuffix",
           [](const ffi::String& suffix) {
             ffi::String previous = BlockNameSuffix();
             BlockNameSuffix() = suffix;
             return previous;
           })
      .def("script.ir_builder.tirx.Where", Where)
      .def("script.ir_builder.tirx.Reads", Reads)
      .def("script.ir_builder.tirx.Writes", Writes)
      .def("script.ir_builder.tirx.SBlockAttrs", SBlockAttrs)
      .def("script.ir_builder.tirx.AxisSpatial", Axis<kDataPar>)
      .def("script.ir_builder.tirx.AxisReduce", Axis<kCommReduce>)
      .def("script.ir_builder.tirx.AxisScan", Axis<kOrdered>)
      .def("script.ir_builder.tirx.AxisOpaque", Axis<kOpaque>)
      .def("script.ir_builder.tirx.AxisRemap", Remap);
}

}  // namespace tvm::tirx::ir_builder
