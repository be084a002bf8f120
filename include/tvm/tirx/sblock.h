// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Schedulable blocks: a unit of computation that names the iterations it depends on and the
/// regions it reads and writes. They exist only in functions with the attribute `s_tir`.
#ifndef TVM_TIRX_SBLOCK_H_
#define TVM_TIRX_SBLOCK_H_

#include <tvm/tirx/stmt.h>

namespace tvm {
namespace tirx {

/// `buffer` stands for the region `source` of another buffer inside one block.
class MatchBufferRegionNode : public ffi::Object {
 public:
  Buffer buffer;
  BufferRegion source;

  static void RegisterReflection();
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.MatchBufferRegion", MatchBufferRegionNode, ffi::Object);
};

class MatchBufferRegion : public ffi::ObjectRef {
 public:
  TVM_DLL MatchBufferRegion(Buffer buffer, BufferRegion source);
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(MatchBufferRegion, ffi::ObjectRef,
                                             MatchBufferRegionNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(MatchBufferRegionNode);
};

class SBlockNode : public StmtNode {
 public:
  ffi::Array<IterVar> iter_vars;
  ffi::Array<BufferRegion> reads;
  ffi::Array<BufferRegion> writes;
  ffi::String name_hint;
  ffi::Array<Buffer> alloc_buffers;
  ffi::Array<MatchBufferRegion> match_buffers;
  ffi::Map<ffi::String, ffi::Any> annotations;
  ffi::Optional<Stmt> init;
  Stmt body;

  ~SBlockNode() { ReleaseDeep(&body); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.SBlock", SBlockNode, StmtNode);
};

class SBlock : public Stmt {
 public:
  TVM_DLL SBlock(ffi::Array<IterVar> iter_vars, ffi::Array<BufferRegion> reads,
                 ffi::Array<BufferRegion> writes, ffi::String name_hint, Stmt body,
                 ffi::Optional<Stmt> init = std::nullopt, ffi::Array<Buffer> alloc_buffers = {},
                 ffi::Array<MatchBufferRegion> match_buffers = {},
                 ffi::Map<ffi::String, ffi::Any> annotations = {}, Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SBlock, Stmt, SBlockNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(SBlockNode);
};

/// Runs `block` with its iteration variables bound to `iter_values`, if `predicate` holds.
class SBlockRealizeNode : public StmtNode {
 public:
  ffi::Array<PrimExpr> iter_values;
  PrimExpr predicate;
  SBlock block;

  ~SBlockRealizeNode() { ReleaseDeep(&block); }
  static void RegisterReflection();
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("tirx.SBlockRealize", SBlockRealizeNode, StmtNode);
};

class SBlockRealize : public Stmt {
 public:
  TVM_DLL SBlockRealize(ffi::Array<PrimExpr> iter_values, PrimExpr predicate, SBlock block,
                        Span span = Span());
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SBlockRealize, Stmt, SBlockRealizeNode);
  TVM_DEFINE_OBJECT_REF_COW_METHOD(SBlockRealizeNode);
};

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_SBLOCK_H_
