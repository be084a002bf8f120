// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file run_model.cc
/// Runs an exported model with nothing but libtvm_runtime and libtvm_ffi.
///
///     run_model model.so [--function main] [--repeat n] [--profile] input...
///
/// Each input is a .npy file, or `zeros:<dtype>:<extent>,<extent>,...`. Exit code 2 and a message
/// for whatever cannot be used.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/runtime/device_api.h>
#include <tvm/runtime/tensor.h>
#include <tvm/support/str_util.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "npy.h"

namespace ffi = tvm::ffi;
using tvm::runtime::Tensor;

namespace {

Tensor Zeros(const std::string& spec) {
  auto parts = tvm::support::Split(spec, ':');
  TVM_FFI_CHECK(parts.size() == 2 || parts.size() == 3, ValueError)
      << "expected zeros:<dtype>:<extents>, got " << spec;
  std::vector<int64_t> shape;
  if (parts.size() == 3) {
    for (const std::string& d : tvm::support::Split(parts[2], ',')) {
      auto value = tvm::support::ParseInt(d);
      TVM_FFI_CHECK(value.has_value() && *value >= 0, ValueError)
          << "expected extents of at least 0, got `" << d << "` in " << spec;
      shape.push_back(*value);
    }
  }
  Tensor out = Tensor::Empty(ffi::Shape(shape.begin(), shape.end()), tvm::DataType(parts[1]),
                             tvm::Device{kDLCPU, 0});
  std::memset(out->data, 0, ffi::GetDataSize(*out.GetDLTensorPtr()));
  return out;
}

void PrintTensor(const Tensor& t, const std::string& name) {
  std::string shape;
  for (int i = 0; i < t->ndim; ++i) shape += (i != 0 ? ", " : "") + std::to_string(t->shape[i]);
  std::printf("%s: %s[%s]", name.c_str(), t.DataType().ToString().c_str(), shape.c_str());
  auto n = static_cast<int64_t>(ffi::GetDataSize(*t.GetDLTensorPtr())) / t.DataType().bytes();
  for (int64_t i = 0; i < n && i < 8; ++i) {
    if (t.DataType() == tvm::DataType::Float(32)) {
      std::printf(" %g", static_cast<double>(static_cast<float*>(t->data)[i]));
    } else if (t.DataType() == tvm::DataType::Int(64)) {
      std::printf(" %lld", static_cast<long long>(static_cast<int64_t*>(t->data)[i]));  // NOLINT
    }
  }
  std::printf("%s\n", n > 8 ? " ..." : "");
}

void PrintValue(const ffi::Any& value, const std::string& name) {
  if (auto tensor = value.as<ffi::Tensor>(); tensor.has_value() && tensor->defined()) {
    PrintTensor(*tensor, name);
  } else if (auto tuple = value.as<ffi::Array<ffi::Any>>()) {
    for (size_t i = 0; i < tuple->size(); ++i) {
      PrintValue((*tuple)[static_cast<int64_t>(i)], name + "." + std::to_string(i));
    }
  } else {
    std::printf("%s: %s\n", name.c_str(), std::string(value.GetTypeKey()).c_str());
  }
}

int Run(int argc, char** argv) {
  std::string library, function = "main";
  int repeat = 0;
  bool profile = false;
  std::vector<ffi::Any> inputs;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--function" && i + 1 < argc) {
      function = argv[++i];
    } else if (arg == "--repeat" && i + 1 < argc) {
      auto value = tvm::support::ParseInt(argv[++i]);
      TVM_FFI_CHECK(value.has_value() && *value >= 0 && *value <= 1000000000, ValueError)
          << "expected a number from 0 to 1000000000 after --repeat, got " << argv[i];
      repeat = static_cast<int>(*value);
    } else if (arg == "--profile") {
      profile = true;
    } else if (library.empty()) {
      library = arg;
    } else if (tvm::support::StartsWith(arg, "zeros:")) {
      inputs.emplace_back(static_cast<ffi::Tensor>(Zeros(arg)));
    } else {
      inputs.emplace_back(static_cast<ffi::Tensor>(LoadNpy(arg)));
    }
  }
  if (library.empty()) {
    std::fprintf(stderr,
                 "usage: %s model.so [--function main] [--repeat n] [--profile] "
                 "input.npy|zeros:float32:1,3,224,224 ...\n",
                 argv[0]);
    return 2;
  }

  ffi::Module executable = ffi::Module::LoadFromFile(ffi::String(library));
  auto load = executable->GetFunction("vm_load_executable", true);
  TVM_FFI_CHECK(load.has_value(), ValueError) << library << " contains no VM executable";
  auto machine = (*load)().cast<ffi::Module>();
  // One triple a device: type, id, allocator (2 is pooled).
  (*machine->GetFunction("vm_initialization", false))(static_cast<int>(kDLCPU), 0, 2);
  auto entry = machine->GetFunction(ffi::String(function), false);
  TVM_FFI_CHECK(entry.has_value(), ValueError) << library << " has no function " << function;

  std::vector<ffi::AnyView> args(inputs.begin(), inputs.end());
  ffi::Any result;
  entry->CallPacked(args.data(), static_cast<int32_t>(args.size()), &result);
  PrintValue(result, "output");
  if (repeat > 0) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeat; ++i) {
      entry->CallPacked(args.data(), static_cast<int32_t>(args.size()), &result);
    }
    std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    std::printf("%g ms per call\n", ms.count() / repeat);
  }
  if (profile) {
    ffi::String name(function);
    args.insert(args.begin(), ffi::AnyView(name));
    ffi::Any report;
    machine->GetFunction("profile", false)
        ->CallPacked(args.data(), static_cast<int32_t>(args.size()), &report);
    std::printf("%s\n", report.cast<ffi::String>().c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const ffi::Error& e) {
    const std::string kind(e.kind().data(), e.kind().size());
    const std::string message(e.message());
    std::fprintf(stderr, "%s: %s\n", kind.c_str(), message.c_str());
  } catch (const std::exception& e) {  // e.g. no memory for an input
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 2;
}
