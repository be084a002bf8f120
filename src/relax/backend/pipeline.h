// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_RELAX_BACKEND_PIPELINE_H_
#define TVM_SRC_RELAX_BACKEND_PIPELINE_H_

#include <tvm/relax/build.h>

namespace tvm {
namespace relax {

/// Names of the pipelines that GetPipeline knows.
Array<String> ListPipelines();

}  // namespace relax
}  // namespace tvm

#endif  // TVM_SRC_RELAX_BACKEND_PIPELINE_H_
