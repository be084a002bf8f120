// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ir/instrument.h>
#include <tvm/ir/transform.h>
#include <tvm/runtime/logging.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/pass_trace.h"

namespace tvm::instrument {

using transform::PassInfo;
using transform::PassProfile;

void PassInstrumentNode::RegisterReflection() {
  namespace refl = ffi::reflection;
  refl::ObjectDef<PassInstrumentNode>()
      .def_ro("name", &PassInstrumentNode::name)
      .def_ro("enter_pass_ctx", &PassInstrumentNode::enter_pass_ctx)
      .def_ro("exit_pass_ctx", &PassInstrumentNode::exit_pass_ctx)
      .def_ro("should_run", &PassInstrumentNode::should_run)
      .def_ro("run_before_pass", &PassInstrumentNode::run_before_pass)
      .def_ro("run_after_pass", &PassInstrumentNode::run_after_pass);
}

PassInstrument::PassInstrument(ffi::String name, ffi::Optional<ffi::Function> enter_pass_ctx,
                               ffi::Optional<ffi::Function> exit_pass_ctx,
                               ffi::Optional<ffi::Function> should_run,
                               ffi::Optional<ffi::Function> run_before_pass,
                               ffi::Optional<ffi::Function> run_after_pass) {
  auto node = ffi::make_object<PassInstrumentNode>();
  node->name = std::move(name);
  node->enter_pass_ctx = std::move(enter_pass_ctx);
  node->exit_pass_ctx = std::move(exit_pass_ctx);
  node->should_run = std::move(should_run);
  node->run_before_pass = std::move(run_before_pass);
  node->run_after_pass = std::move(run_after_pass);
  data_ = std::move(node);
}

// ---------------------------------------------------------------------------------------------
// Timing

namespace {

/// Profiles of this thread, between enter and exit of the context.
struct TimingState {
  std::vector<std::unique_ptr<PassProfile>> roots;
  std::vector<PassProfile*> open;

  static TimingState& Local() {
    static thread_local TimingState state;
    return state;
  }
  void Clear() {
    open.clear();
    roots.clear();
  }
};

ffi::Function Callback(std::function<void(IRModule, PassInfo)> callback) {
  return ffi::Function::FromTyped(
      [callback = std::move(callback)](IRModule mod, PassInfo info) { callback(mod, info); });
}

}  // namespace

PassInstrument PassTimingInstrument() {
  ffi::Function clear = ffi::Function::FromTyped([]() { TimingState::Local().Clear(); });
  ffi::Function before = Callback([](IRModule, PassInfo info) {
    TimingState& state = TimingState::Local();
    auto profile = std::make_unique<PassProfile>();
    profile->name = std::string(info->name);
    PassProfile* raw = profile.get();
    auto& siblings = state.open.empty() ? state.roots : state.open.back()->children;
    siblings.push_back(std::move(profile));
    state.open.push_back(raw);
  });
  ffi::Function after = Callback([](IRModule, PassInfo info) {
    TimingState& state = TimingState::Local();
    // A pass that threw never reported its end; close it with its parent.
    while (!state.open.empty()) {
      PassProfile* profile = state.open.back();
      profile->end = PassProfile::Clock::now();
      state.open.pop_back();
      if (profile->name == std::string(info->name)) break;
    }
  });
  return PassInstrument("PassTimingInstrument", clear, clear, std::nullopt, before, after);
}

ffi::String RenderTimePassProfiles() {
  return transform::RenderProfiles(TimingState::Local().roots);
}

// ---------------------------------------------------------------------------------------------
// Printing and dumping

PassInstrument PrintBeforeAll() {
  return PassInstrument("PrintBeforeAll", std::nullopt, std::nullopt, std::nullopt,
                        Callback([](IRModule mod, PassInfo info) {
                          LOG(INFO) << "Before Running Pass: " << info->name << "\n"
                                    << DebugText(mod);
                        }),
                        std::nullopt);
}

PassInstrument PrintAfterAll() {
  return PassInstrument("PrintAfterAll", std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                        Callback([](IRModule mod, PassInfo info) {
                          LOG(INFO) << "After Running Pass: " << info->name << "\n"
                                    << DebugText(mod);
                        }));
}

namespace {

/// 000_name.py and so on: what an earlier run of DumpIR left.
bool IsDumpFile(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  return name.size() > 7 && std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::isdigit(static_cast<unsigned char>(name[1])) &&
         std::isdigit(static_cast<unsigned char>(name[2])) && name[3] == '_' &&
         path.extension() == ".py";
}

}  // namespace

PassInstrument DumpIR(const ffi::String& dump_dir, bool refresh) {
  auto counter = std::make_shared<int>(0);
  std::string dir(dump_dir);
  ffi::Function enter = ffi::Function::FromTyped([dir, refresh, counter]() {
    *counter = 0;
    std::error_code error;
    std::filesystem::create_directories(dir, error);
    TVM_FFI_CHECK(!error, RuntimeError) << "DumpIR cannot make " << dir << ": " << error.message();
    if (!refresh) return;
    for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
      if (entry.is_regular_file() && IsDumpFile(entry.path())) {
        std::filesystem::remove(entry.path(), error);
      }
    }
  });
  ffi::Function after = Callback([dir, counter](IRModule mod, PassInfo info) {
    char number[16];
    std::snprintf(number, sizeof(number), "%03d_", (*counter)++);
    std::string name(info->name);
    for (char& c : name) {
      if (c == '/') c = '_';
    }
    std::filesystem::path path = std::filesystem::path(dir) / (number + name + ".py");
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << DebugText(mod) << "\n";
    TVM_FFI_CHECK(file.good(), RuntimeError) << "DumpIR cannot write " << path.string();
  });
  return PassInstrument("DumpIR", enter, std::nullopt, std::nullopt, std::nullopt, after);
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = ffi::reflection;
  PassInstrumentNode::RegisterReflection();
  refl::GlobalDef()
      .def("instrument.PassInstrument",
           [](ffi::String name, ffi::Optional<ffi::Function> enter,
              ffi::Optional<ffi::Function> exit, ffi::Optional<ffi::Function> should_run,
              ffi::Optional<ffi::Function> before, ffi::Optional<ffi::Function> after) {
             return PassInstrument(name, enter, exit, should_run, before, after);
           })
      .def("instrument.MakePassTimingInstrument", PassTimingInstrument)
      .def("instrument.RenderTimePassProfiles", RenderTimePassProfiles)
      .def("instrument.PrintBeforeAll", PrintBeforeAll)
      .def("instrument.PrintAfterAll", PrintAfterAll)
      .def("instrument.DumpIR", [](ffi::String dir, bool refresh) { return DumpIR(dir, refresh); });
}

}  // namespace tvm::instrument
