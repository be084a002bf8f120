// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_TIRX_FWD_H_
#define TVM_TIRX_FWD_H_

namespace tvm {
namespace tirx {

class StmtNode;
class Stmt;
class BindNode;
class AttrStmtNode;
class AssertStmtNode;
class BufferStoreNode;
class AllocBufferNode;
class DeclBufferNode;
class SeqStmtNode;
class EvaluateNode;
class IfThenElseNode;
class ForNode;
class WhileNode;
class ReturnNode;
class BreakNode;
class ContinueNode;
class ExecScopeNode;
class ScopeIdDefNode;
class ScopeIdDefStmtNode;
class TilePrimitiveCallNode;
class MatchBufferRegionNode;
class SBlockNode;
class SBlockRealizeNode;
class PrimFuncNode;
class PrimFunc;
class IndexMapNode;
class IndexMap;

}  // namespace tirx
}  // namespace tvm

#endif  // TVM_TIRX_FWD_H_
