// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file executable.cc
/// VMExecutable: validation, serialization and module functions. Its text is in executable_text.cc.
/// Above 500 lines: writer, reader and checks of one format stay side by side.
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/memory.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/library_note.h>
#include <tvm/runtime/logging.h>
#include <tvm/runtime/vm/executable.h>
#include <tvm/runtime/vm/vm.h>
#include <tvm/support/byte_io.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/file_util.h"

namespace tvm {
namespace runtime {
namespace vm {

namespace {

constexpr uint64_t kMagic = 0xD225DE2F4214151EULL;
/// Form without the section of memory scopes.
constexpr uint64_t kMagicWithoutScopes = 0xD225DE2F4214151DULL;
constexpr char kVersion[] = "0.14";
/// Constant that lies in the library's constants blob; this project's addition to the tags.
constexpr int32_t kBlobTensorTag = 1070;
/// Words that a Call takes before its arguments.
constexpr Index kCallHeader = 4;
constexpr Index kMaxRegisters = Index{1} << 24;
constexpr int kMaxConstantRank = 64;

[[noreturn]] void BadFormat(const char* section, const std::string& detail) {
  TVM_FFI_THROW(RuntimeError) << "Invalid VM file format in the " << section << " section."
                              << (detail.empty() ? "" : " ") << detail;
  __builtin_unreachable();
}

void Require(bool ok, const char* section, const std::string& detail = "") {
  if (!ok) BadFormat(section, detail);
}

ffi::Module SelfModule(const VMExecutable* self) {
  return ffi::Module(ffi::GetObjectPtr<ffi::ModuleObj>(const_cast<VMExecutable*>(self)));
}

}  // namespace

// ---- instructions ----------------------------------------------------------------------------

Instruction VMExecutable::GetInstruction(Index i) const {
  Index offset = instr_offset.at(static_cast<size_t>(i));
  const ExecWord* w = instr_data.data() + offset;
  Instruction instr;
  instr.op = static_cast<Opcode>(w[0]);
  switch (instr.op) {
    case Opcode::Call:
      instr.dst = w[1];
      instr.func_idx = w[2];
      instr.num_args = w[3];
      instr.args = w + kCallHeader;
      break;
    case Opcode::Ret:
      instr.result = w[1];
      break;
    case Opcode::Goto:
      instr.pc_offset = w[1];
      break;
    case Opcode::If:
      instr.cond = w[1];
      instr.false_offset = w[2];
      break;
    default:
      TVM_FFI_THROW(InternalError) << "unknown VM opcode " << w[0] << " at instruction " << i;
  }
  return instr;
}

void VMExecutable::SetInstructionData(Index i, Index j, ExecWord value) {
  Index at = instr_offset.at(static_cast<size_t>(i)) + j;
  TVM_FFI_ICHECK(at >= 0 && at < static_cast<Index>(instr_data.size()))
      << "instruction " << i << " has no word " << j;
  instr_data[static_cast<size_t>(at)] = value;
}

namespace {

/// Checks the instructions of one bytecode function; see VMExecutable::Validate.
class FunctionChecker {
 public:
  FunctionChecker(const VMExecutable& exec, const VMFuncInfo& func) : exec_(exec), func_(func) {}

  void Run() {
    auto num_instr = static_cast<Index>(exec_.instr_offset.size());
    Check(func_.start_instr >= 0 && func_.start_instr < func_.end_instr &&
              func_.end_instr <= num_instr,
          "has no instructions");
    for (Index pc = func_.start_instr; pc < func_.end_instr; ++pc) CheckInstruction(pc);
  }

 private:
  void Check(bool ok, const char* what) {
    if (!ok) BadFormat("code", "Function \"" + func_.name + "\" " + what + ".");
  }
  void CheckRegister(RegName reg) {
    Check(reg >= 0 && reg < func_.register_file_size, "names a register outside its frame");
  }
  void CheckTarget(Index pc) {
    Check(pc >= func_.start_instr && pc < func_.end_instr, "jumps outside its instructions");
  }
  void CheckInstruction(Index pc) {
    Index offset = exec_.instr_offset[static_cast<size_t>(pc)];
    auto size = static_cast<Index>(exec_.instr_data.size());
    Check(offset >= 0 && offset < size, "has an instruction outside the code");
    Index left = size - offset;
    const ExecWord* w = exec_.instr_data.data() + offset;
    switch (static_cast<Opcode>(w[0])) {
      case Opcode::Call:
        Check(left >= kCallHeader && w[3] >= 0 && w[3] <= left - kCallHeader,
              "has a call that is cut short");
        if (w[1] != Instruction::kVoidRegister) CheckRegister(w[1]);
        Check(w[2] >= 0 && w[2] < static_cast<Index>(exec_.func_table.size()),
              "calls a function outside the table");
        for (Index i = 0; i < w[3]; ++i) CheckArg(Instruction::Arg::FromData(w[kCallHeader + i]));
        Check(pc + 1 < func_.end_instr, "ends without a return");
        break;
      case Opcode::Ret:
        Check(left >= 2, "has a return that is cut short");
        if (w[1] != Instruction::kVoidRegister) CheckRegister(w[1]);
        break;
      case Opcode::Goto:
        Check(left >= 2, "has a goto that is cut short");
        CheckOffset(pc, w[1]);
        break;
      case Opcode::If:
        Check(left >= 3, "has an if that is cut short");
        CheckRegister(w[1]);
        CheckOffset(pc, w[2]);
        Check(pc + 1 < func_.end_instr, "ends without a return");
        break;
      default:
        Check(false, "has an unknown opcode");
    }
  }
  void CheckOffset(Index pc, Index offset) {
    auto limit = static_cast<Index>(exec_.instr_offset.size());
    Check(offset >= -limit && offset <= limit, "jumps outside its instructions");
    CheckTarget(pc + offset);
  }
  void CheckArg(Instruction::Arg arg) {
    switch (arg.kind()) {
      case Instruction::ArgKind::kRegister:
        if (arg.value() != Instruction::kVoidRegister && arg.value() != Instruction::kVMRegister) {
          CheckRegister(arg.value());
        }
        break;
      case Instruction::ArgKind::kImmediate:
        break;
      case Instruction::ArgKind::kConstIdx:
        Check(arg.value() >= 0 && arg.value() < static_cast<Index>(exec_.constants.size()),
              "names a constant outside the pool");
        break;
      case Instruction::ArgKind::kFuncIdx:
        Check(arg.value() >= 0 && arg.value() < static_cast<Index>(exec_.func_table.size()),
              "names a function outside the table");
        break;
      default:
        Check(false, "has an argument of unknown kind");
    }
  }

  const VMExecutable& exec_;
  const VMFuncInfo& func_;
};

}  // namespace

void VMExecutable::Validate() {
  func_map.clear();
  for (size_t i = 0; i < func_table.size(); ++i) {
    const VMFuncInfo& f = func_table[i];
    bool fresh = func_map.emplace(f.name, static_cast<Index>(i)).second;
    Require(fresh, "function table", "Function \"" + f.name + "\" appears twice.");
    if (f.kind == VMFuncInfo::FuncKind::kPackedFunc) continue;
    Require(f.num_args >= 0 && f.register_file_size >= 0 && f.register_file_size <= kMaxRegisters,
            "function table", "Function \"" + f.name + "\" has a bad number of registers.");
    if (f.kind == VMFuncInfo::FuncKind::kVMFunc) {
      Require(f.num_args <= f.register_file_size, "function table",
              "Function \"" + f.name + "\" has more arguments than registers.");
      FunctionChecker(*this, f).Run();
    } else {
      Require(f.num_args < f.register_file_size, "function table",
              "Function \"" + f.name + "\" has no register for its result.");
    }
  }
  for (const auto& [index, scope] : memory_scopes) {
    Require(index >= 0 && index < static_cast<Index>(constants.size()), "memory scopes");
  }
}

// ---- serialization ---------------------------------------------------------------------------

namespace {

class Saver {
 public:
  explicit Saver(std::string* out) : out_(out), w_(out) {}

  void FuncTable(const std::vector<VMFuncInfo>& table) {
    w_.Write<uint64_t>(table.size());
    for (const VMFuncInfo& f : table) {
      w_.Write<int32_t>(static_cast<int32_t>(f.kind));
      w_.WriteString(f.name);
      w_.Write<int64_t>(f.start_instr);
      w_.Write<int64_t>(f.end_instr);
      w_.Write<int64_t>(f.num_args);
      w_.Write<int64_t>(f.register_file_size);
      w_.WriteStrings(f.param_names);
    }
  }
  void Scopes(const std::unordered_map<Index, std::string>& scopes) {
    std::vector<std::pair<Index, std::string>> sorted(scopes.begin(), scopes.end());
    std::sort(sorted.begin(), sorted.end());
    w_.Write<uint64_t>(sorted.size());
    for (const auto& [index, scope] : sorted) {
      w_.Write<int64_t>(index);
      w_.WriteString(scope);
    }
  }
  void BlobConstant(uint64_t offset, uint64_t nbytes, DLDataType dtype, const int64_t* shape,
                    size_t ndim) {
    w_.Write<int32_t>(kBlobTensorTag);
    w_.Write<uint64_t>(offset);
    w_.Write<uint64_t>(nbytes);
    DType(dtype);
    w_.Write<uint64_t>(ndim);
    for (size_t i = 0; i < ndim; ++i) w_.Write<int64_t>(shape[i]);
  }
  void Constant(Index index, const ffi::Any& value) {
    int32_t tag = value.type_index();
    switch (tag) {
      case ffi::TypeIndex::kTVMFFINone:
        w_.Write<int32_t>(tag);
        return;
      case ffi::TypeIndex::kTVMFFIBool:
      case ffi::TypeIndex::kTVMFFIInt:
        w_.Write<int32_t>(ffi::TypeIndex::kTVMFFIInt);
        w_.Write<int64_t>(value.cast<int64_t>());
        return;
      case ffi::TypeIndex::kTVMFFIFloat:
        w_.Write<int32_t>(tag);
        w_.Write<double>(value.cast<double>());
        return;
      case ffi::TypeIndex::kTVMFFIDataType:
        w_.Write<int32_t>(tag);
        DType(value.cast<DLDataType>());
        return;
      case ffi::TypeIndex::kTVMFFISmallStr:
      case ffi::TypeIndex::kTVMFFIStr: {
        auto s = value.cast<ffi::String>();
        w_.Write<int32_t>(ffi::TypeIndex::kTVMFFIStr);
        w_.WriteString(std::string_view(s.data(), s.size()));
        return;
      }
      case ffi::TypeIndex::kTVMFFIShape: {
        auto shape = value.cast<ffi::Shape>();
        w_.Write<int32_t>(tag);
        w_.Write<uint64_t>(shape.size());
        for (int64_t d : shape) w_.Write<int64_t>(d);
        return;
      }
      case ffi::TypeIndex::kTVMFFITensor:
        w_.Write<int32_t>(tag);
        SaveDLTensor(out_, value.cast<ffi::Tensor>().GetDLTensorPtr());
        return;
      default:
        TVM_FFI_THROW(RuntimeError)
            << "cannot save VM constant " << index << " of type " << value.GetTypeKey();
    }
  }

 private:
  void DType(DLDataType dtype) {
    w_.Write<uint8_t>(dtype.code);
    w_.Write<uint8_t>(dtype.bits);
    w_.Write<uint16_t>(dtype.lanes);
  }
  std::string* out_;
  support::ByteWriter w_;
};

class Loader {
 public:
  Loader(std::string_view bytes, VMExecutable* exec) : r_(bytes), exec_(exec) {}

  void Run() {
    uint64_t magic = 0;
    Require(r_.Read(&magic) && (magic == kMagic || magic == kMagicWithoutScopes), "header",
            "Expected the magic number of a VM executable at byte 0.");
    std::string version;
    Require(r_.ReadString(&version), "header");
    Require(version == kVersion, "header",
            "Expected version \"" + std::string(kVersion) + "\", found \"" + version + "\".");
    FuncTable();
    if (magic == kMagic) Scopes();
    Constants();
    Require(r_.ReadVector(&exec_->instr_offset) && r_.ReadVector(&exec_->instr_data), "code");
    Require(r_.AtEnd(), "code", "Found bytes after it.");
    exec_->Validate();
  }

 private:
  void FuncTable() {
    constexpr const char* kSection = "function table";
    constexpr size_t kMinRecord = 4 + 8 + 4 * 8 + 8;
    uint64_t count = 0;
    Require(r_.ReadCount(&count, kMinRecord), kSection);
    exec_->func_table.resize(static_cast<size_t>(count));
    for (VMFuncInfo& f : exec_->func_table) {
      int32_t kind = 0;
      Require(r_.Read(&kind) && kind >= 0 && kind <= 2, kSection);
      f.kind = static_cast<VMFuncInfo::FuncKind>(kind);
      Require(r_.ReadString(&f.name) && r_.Read(&f.start_instr) && r_.Read(&f.end_instr) &&
                  r_.Read(&f.num_args) && r_.Read(&f.register_file_size) &&
                  r_.ReadStrings(&f.param_names),
              kSection);
    }
  }

  void Scopes() {
    constexpr const char* kSection = "memory scopes";
    uint64_t count = 0;
    Require(r_.ReadCount(&count, 16), kSection);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t index = 0;
      std::string scope;
      Require(r_.Read(&index) && r_.ReadString(&scope), kSection);
      exec_->memory_scopes[index] = scope;
    }
  }

  bool DType(DLDataType* dtype) {
    return r_.Read(&dtype->code) && r_.Read(&dtype->bits) && r_.Read(&dtype->lanes);
  }

  void Constants() {
    constexpr const char* kSection = "constant";
    uint64_t count = 0;
    Require(r_.ReadCount(&count, 4), kSection);
    exec_->constants.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      int32_t tag = 0;
      Require(r_.Read(&tag), kSection);
      exec_->constants.push_back(Constant(tag, static_cast<Index>(i)));
    }
  }

  ffi::Any Constant(int32_t tag, Index index) {
    constexpr const char* kSection = "constant";
    switch (tag) {
      case ffi::TypeIndex::kTVMFFINone:
        return nullptr;
      case ffi::TypeIndex::kTVMFFIInt: {
        int64_t v = 0;
        Require(r_.Read(&v), kSection);
        return v;
      }
      case ffi::TypeIndex::kTVMFFIFloat: {
        double v = 0;
        Require(r_.Read(&v), kSection);
        return v;
      }
      case ffi::TypeIndex::kTVMFFIDataType: {
        DLDataType v{};
        Require(DType(&v), kSection);
        return v;
      }
      case ffi::TypeIndex::kTVMFFIStr: {
        std::string v;
        Require(r_.ReadString(&v), kSection);
        return ffi::String(std::move(v));
      }
      case ffi::TypeIndex::kTVMFFIShape: {
        std::vector<int64_t> v;
        Require(r_.ReadVector(&v), kSection);
        return ffi::Shape(v.begin(), v.end());
      }
      case ffi::TypeIndex::kTVMFFITensor:
        return TensorConstant(index);
      case kBlobTensorTag: {
        VMExecutable::BlobConstant c;
        Require(r_.Read(&c.offset) && r_.Read(&c.nbytes) && DType(&c.dtype) &&
                    r_.ReadVector(&c.shape) && c.shape.size() <= kMaxConstantRank,
                kSection);
        exec_->blob_constants[index] = std::move(c);
        return nullptr;
      }
      default:
        BadFormat(kSection, "Constant " + std::to_string(index) + " has unknown tag " +
                                std::to_string(tag) + ".");
    }
  }

  ffi::Any TensorConstant(Index index) {
    try {
      return ffi::Any(static_cast<ffi::Tensor>(Tensor::Load(&r_)));
    } catch (const ffi::Error& e) {
      BadFormat("constant", "Constant " + std::to_string(index) + ": " +
                                std::string(e.message().data(), e.message().size()) + ".");
    }
  }

  support::ByteReader r_;
  VMExecutable* exec_;
};

}  // namespace

ffi::Bytes VMExecutable::SaveToBytes() const {
  std::string out;
  Saver saver(&out);
  support::ByteWriter w(&out);
  w.Write<uint64_t>(kMagic);
  w.WriteString(kVersion);
  saver.FuncTable(func_table);
  saver.Scopes(memory_scopes);
  w.Write<uint64_t>(constants.size());
  for (size_t i = 0; i < constants.size(); ++i) {
    auto index = static_cast<Index>(i);
    if (auto it = blob_constants.find(index); it != blob_constants.end()) {
      const BlobConstant& c = it->second;
      saver.BlobConstant(c.offset, c.nbytes, c.dtype, c.shape.data(), c.shape.size());
    } else if (auto placed = blob_placement_.find(index); placed != blob_placement_.end()) {
      auto tensor = constants[i].cast<ffi::Tensor>();
      const DLTensor* t = tensor.GetDLTensorPtr();
      saver.BlobConstant(placed->second, GetDataSize(*t), t->dtype, t->shape,
                         static_cast<size_t>(t->ndim));
    } else {
      saver.Constant(index, constants[i]);
    }
  }
  w.WriteVector(instr_offset);
  w.WriteVector(instr_data);
  return ffi::Bytes(std::move(out));
}

void VMExecutable::WriteToFile(const ffi::String& file_name, const ffi::String& format) const {
  ffi::Bytes bytes = SaveToBytes();
  WriteFile(std::string(file_name.data(), file_name.size()),
            std::string_view(bytes.data(), bytes.size()));
}

ffi::Module VMExecutable::LoadFromBytes(const ffi::Bytes& bytes) {
  auto exec = ffi::make_object<VMExecutable>();
  Loader(std::string_view(bytes.data(), bytes.size()), exec.get()).Run();
  return ffi::Module(exec);
}

ffi::Module VMExecutable::LoadFromFile(const ffi::String& file_name) {
  return LoadFromBytes(ffi::Bytes(ReadFile(std::string(file_name.data(), file_name.size()))));
}

std::vector<std::pair<uint64_t, ffi::Tensor>> VMExecutable::PlaceConstantsInBlob(
    int64_t min_bytes, uint64_t* total_bytes) {
  std::vector<std::pair<uint64_t, ffi::Tensor>> out;
  std::unordered_map<const void*, uint64_t> placed;
  blob_placement_.clear();
  uint64_t end = sizeof(ConstBlobHeader);
  for (size_t i = 0; i < constants.size(); ++i) {
    auto tensor = constants[i].as<ffi::Tensor>();
    if (!tensor.has_value() || !tensor->defined()) continue;
    const DLTensor* t = tensor->GetDLTensorPtr();
    size_t nbytes = GetDataSize(*t);
    auto scope = memory_scopes.find(static_cast<Index>(i));
    if (t->device.device_type != kDLCPU || static_cast<int64_t>(nbytes) < min_bytes ||
        nbytes == 0 || !IsContiguous(*t) ||
        (scope != memory_scopes.end() && scope->second != "global")) {
      continue;
    }
    // Constants that share a tensor object share its place.
    auto [it, fresh] = placed.emplace(t, end);
    if (fresh) {
      out.emplace_back(end, *tensor);
      end += (nbytes + kAllocAlignment - 1) / kAllocAlignment * kAllocAlignment;
    }
    blob_placement_[static_cast<Index>(i)] = it->second;
  }
  *total_bytes = end;
  return out;
}

void VMExecutable::ClearBlobPlacement() { blob_placement_.clear(); }

// ---- module ----------------------------------------------------------------------------------

bool VMExecutable::HasFunction(const ffi::String& name) const {
  return func_map.count(std::string(name.data(), name.size())) != 0;
}

ffi::Module VMExecutable::VMLoadExecutable() const {
  auto machine = VirtualMachine::Create();
  machine->LoadExecutable(ffi::GetObjectPtr<VMExecutable>(const_cast<VMExecutable*>(this)));
  return ffi::Module(machine);
}

ffi::Optional<ffi::Function> VMExecutable::GetFunction(const ffi::String& name) {
  // Each function keeps the executable alive.
  ffi::Module keep = SelfModule(this);
  if (name == "vm_load_executable") {
    return ffi::Function::FromTyped([this, keep]() { return VMLoadExecutable(); });
  }
  if (name == "stats") return ffi::Function::FromTyped([this, keep]() { return Stats(); });
  if (name == "as_text") return ffi::Function::FromTyped([this, keep]() { return AsText(); });
  if (name == "as_python") return ffi::Function::FromTyped([this, keep]() { return AsPython(); });
  if (name == "has_function") {
    return ffi::Function::FromTyped(
        [this, keep](const ffi::String& func) { return HasFunction(func); });
  }
  return std::nullopt;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("ffi.Module.load_from_bytes.relax.VMExecutable", VMExecutable::LoadFromBytes)
      .def("ffi.Module.load_from_file.relax.VMExecutable",
           [](const ffi::String& path, const ffi::String& format) {
             return VMExecutable::LoadFromFile(path);
           });
}

}  // namespace vm
}  // namespace runtime
}  // namespace tvm
