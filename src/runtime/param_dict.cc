// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file param_dict.cc
/// Files of named tensors: u64 magic, u64 0, names, u64 count, tensors, and nothing after.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/tensor.h>
#include <tvm/support/byte_io.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/file_util.h"

namespace tvm {
namespace runtime {

namespace {

using ParamMap = ffi::Map<ffi::String, ffi::Tensor>;

std::string SaveParams(const ParamMap& params) {
  std::vector<std::pair<std::string, ffi::Tensor>> items;
  for (const auto& [name, tensor] : params) {
    items.emplace_back(std::string(name.data(), name.size()), tensor);
  }
  // The order of a map's keys must not change the file.
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  support::ByteWriter w(&out);
  w.Write<uint64_t>(kTVMTensorListMagic);
  w.Write<uint64_t>(0);
  w.Write<uint64_t>(items.size());
  for (const auto& [name, tensor] : items) w.WriteString(name);
  w.Write<uint64_t>(items.size());
  for (const auto& [name, tensor] : items) SaveDLTensor(&out, tensor.GetDLTensorPtr());
  return out;
}

ParamMap LoadParams(std::string_view bytes) {
  constexpr const char* kBad = "Invalid parameters file format";
  support::ByteReader reader(bytes);
  uint64_t magic = 0, reserved = 0, count = 0;
  std::vector<std::string> names;
  TVM_REQUIRE(reader.Read(&magic) && magic == kTVMTensorListMagic, InternalError)
      << kBad << ": expected the magic number of a parameter list at byte 0";
  TVM_REQUIRE(reader.Read(&reserved) && reader.ReadStrings(&names), InternalError)
      << kBad << ": the names are cut short at byte " << reader.offset();
  TVM_REQUIRE(reader.Read(&count) && count == names.size(), InternalError)
      << kBad << ": expected " << names.size() << " tensors, one a name, found a count of "
      << count;
  ParamMap out;
  for (const std::string& name : names) {
    TVM_REQUIRE(out.count(name) == 0, InternalError)
        << kBad << ": parameter \"" << name << "\" appears twice";
    out.Set(name, Tensor::Load(&reader));
  }
  TVM_REQUIRE(reader.AtEnd(), InternalError)
      << kBad << ": " << reader.remaining() << " bytes after the last tensor";
  return out;
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("runtime.SaveParams",
           [](const ParamMap& params) { return ffi::Bytes(SaveParams(params)); })
      .def("runtime.SaveParamsToFile",
           [](const ParamMap& params, const ffi::String& path) {
             WriteFile(std::string(path.data(), path.size()), SaveParams(params));
           })
      .def("runtime.LoadParams",
           [](const ffi::Bytes& bytes) {
             return LoadParams(std::string_view(bytes.data(), bytes.size()));
           })
      .def("runtime.LoadParamsFromFile", [](const ffi::String& path) {
        return LoadParams(ReadFile(std::string(path.data(), path.size())));
      });
}

}  // namespace runtime
}  // namespace tvm
