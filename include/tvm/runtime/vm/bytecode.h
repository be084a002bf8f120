// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file bytecode.h
/// Encoding of the virtual machine's instructions into 64-bit words.
#ifndef TVM_RUNTIME_VM_BYTECODE_H_
#define TVM_RUNTIME_VM_BYTECODE_H_

#include <tvm/runtime/base.h>

#include <vector>

namespace tvm {
namespace runtime {
namespace vm {

using ExecWord = int64_t;
using RegName = ExecWord;
using Index = ExecWord;

enum class Opcode : ExecWord {
  /// [op, dst, func_idx, num_args, args...]
  Call = 1U,
  /// [op, reg]
  Ret = 2U,
  /// [op, offset], relative to the instruction's own index
  Goto = 3U,
  /// [op, cond_reg, false_offset]
  If = 4U,
};

/// One instruction in decoded form. A Call's args point into the word stream.
struct Instruction {
  static constexpr ExecWord kKindBit = 8;
  static constexpr ExecWord kValueBit = sizeof(ExecWord) * 8 - kKindBit;
  static constexpr ExecWord kValueMask = (static_cast<ExecWord>(1) << kValueBit) - 1;
  static constexpr ExecWord kValueMaxLimit = (static_cast<ExecWord>(1) << (kValueBit - 1)) - 1;
  static constexpr ExecWord kValueMinLimit = -kValueMaxLimit;
  static constexpr RegName kBeginSpecialReg = static_cast<ExecWord>(1) << 54;
  /// Destination that drops the value.
  static constexpr RegName kVoidRegister = kBeginSpecialReg + 0;
  /// Operand that stands for the virtual machine itself.
  static constexpr RegName kVMRegister = kBeginSpecialReg + 1;

  enum class ArgKind : int { kRegister = 0, kImmediate = 1, kConstIdx = 2, kFuncIdx = 3 };

  /// kind << 56 | 56-bit signed value.
  class Arg {
   public:
    Arg() : data_(Instruction::kVoidRegister) {}
    static Arg FromData(ExecWord data) {
      Arg a;
      a.data_ = data;
      return a;
    }
    static Arg Register(RegName reg) { return Arg(ArgKind::kRegister, reg); }
    static Arg Immediate(ExecWord value) { return Arg(ArgKind::kImmediate, value); }
    static Arg ConstIdx(Index index) { return Arg(ArgKind::kConstIdx, index); }
    static Arg FuncIdx(Index index) { return Arg(ArgKind::kFuncIdx, index); }
    /// True if an immediate can hold the value.
    static bool FitsImmediate(ExecWord value) {
      return value >= kValueMinLimit && value <= kValueMaxLimit;
    }
    ArgKind kind() const {
      return static_cast<ArgKind>((static_cast<uint64_t>(data_) >> kValueBit) & 0xFF);
    }
    ExecWord value() const {
      return static_cast<ExecWord>(static_cast<uint64_t>(data_) << kKindBit) >> kKindBit;
    }
    ExecWord data() const { return data_; }

   private:
    Arg(ArgKind kind, ExecWord value)
        : data_(static_cast<ExecWord>(static_cast<uint64_t>(kind) << kValueBit) |
                (value & kValueMask)) {}
    ExecWord data_;
  };

  Opcode op;
  union {
    struct {
      RegName dst;
      Index func_idx;
      Index num_args;
      /// Read with Arg::FromData.
      const ExecWord* args;
    };
    struct {
      RegName result;
    };
    struct {
      Index pc_offset;
    };
    struct {
      RegName cond;
      Index false_offset;
    };
  };
};

}  // namespace vm
}  // namespace runtime
}  // namespace tvm

#endif  // TVM_RUNTIME_VM_BYTECODE_H_
