// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file executable.h
/// VMExecutable: functions, constants and instructions of a compiled Relax module.
#ifndef TVM_RUNTIME_VM_EXECUTABLE_H_
#define TVM_RUNTIME_VM_EXECUTABLE_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/tensor.h>
#include <tvm/runtime/vm/bytecode.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tvm {
namespace runtime {
namespace vm {

/// One entry of the function table.
struct VMFuncInfo {
  enum class FuncKind : int {
    /// A packed function found by name in the imports or among the globals.
    kPackedFunc = 0,
    /// Bytecode of this executable.
    kVMFunc = 1,
    /// Native code `__vmtir__<name>(vm, registers, constants, functions)`, each list an array of
    /// TVMFFIAny. It reads its arguments from registers 0..num_args-1 and leaves the result in
    /// register num_args.
    kVMTIRFunc = 2,
  };
  FuncKind kind;
  std::string name;
  /// First word index into instr_offset, and one past the last; bytecode only.
  Index start_instr = 0;
  Index end_instr = 0;
  Index num_args = 0;
  Index register_file_size = 0;
  std::vector<std::string> param_names;
};

/// A serializable module; its function `vm_load_executable` makes a VirtualMachine.
class TVM_RUNTIME_DLL VMExecutable : public ffi::ModuleObj {
 public:
  const char* kind() const final { return "relax.VMExecutable"; }
  int GetPropertyMask() const final { return ffi::Module::kBinarySerializable; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final;
  ffi::Bytes SaveToBytes() const final;
  void WriteToFile(const ffi::String& file_name, const ffi::String& format) const final;
  /// Raises RuntimeError `Invalid VM file format in the <section> section.` for damaged bytes.
  static ffi::Module LoadFromBytes(const ffi::Bytes& bytes);
  static ffi::Module LoadFromFile(const ffi::String& file_name);

  Instruction GetInstruction(Index i) const;
  void SetInstructionData(Index i, Index j, ExecWord value);
  /// Counts of functions, constants and instructions, as text.
  ffi::String Stats() const;
  ffi::String AsText() const;
  ffi::String AsPython() const;
  bool HasFunction(const ffi::String& name) const;
  ffi::Module VMLoadExecutable() const;
  /// Rebuilds func_map and checks that every index, register and jump lies in its range.
  void Validate();

  /// Tensor constants that an exporter puts into the constants blob instead of this module's
  /// bytes: chooses every CPU tensor of at least min_bytes, assigns 64-byte aligned offsets
  /// and returns (offset, tensor) pairs with the blob's size in total_bytes. From then on
  /// SaveToBytes refers to the blob. The executable itself keeps its tensors.
  std::vector<std::pair<uint64_t, ffi::Tensor>> PlaceConstantsInBlob(int64_t min_bytes,
                                                                     uint64_t* total_bytes);
  /// Undoes PlaceConstantsInBlob.
  void ClearBlobPlacement();

  /// Constant that lies in the library's constants blob and is bound when the machine loads.
  struct BlobConstant {
    uint64_t offset;
    uint64_t nbytes;
    DLDataType dtype;
    std::vector<int64_t> shape;
  };

  std::vector<VMFuncInfo> func_table;
  std::unordered_map<std::string, Index> func_map;
  /// An entry named in blob_constants is None here until a machine binds it.
  std::vector<ffi::Any> constants;
  std::unordered_map<Index, BlobConstant> blob_constants;
  /// Constant index -> memory scope, for those not in global memory.
  std::unordered_map<Index, std::string> memory_scopes;
  std::vector<Index> instr_offset;
  std::vector<ExecWord> instr_data;

 private:
  std::unordered_map<Index, uint64_t> blob_placement_;
};

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_EXECUTABLE_H_
