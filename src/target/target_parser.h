// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#ifndef TVM_SRC_TARGET_TARGET_PARSER_H_
#define TVM_SRC_TARGET_TARGET_PARSER_H_

#include <tvm/target/target.h>

#include <string>

namespace tvm {

/// Tag, JSON object, or kind name. Throws what it found wrong; the caller adds the text.
Target ParseTargetText(const ffi::String& text);
/// Configuration with "kind" (or "tag") and options.
Target ParseTargetConfig(const TargetConfig& config);
/// A target given as an object, text or configuration.
Target TargetFromAny(const ffi::Any& value);
/// Text of a configuration for messages.
std::string DescribeConfig(const TargetConfig& config);

const TargetHooks& GetTargetHooks();

}  // namespace tvm
#endif  // TVM_SRC_TARGET_TARGET_PARSER_H_
