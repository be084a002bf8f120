// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// The target kinds, one declaration each. A backend adds its hooks by registering the kind again.
#include <tvm/target/target_kind.h>

#include "target/canonicalize.h"

namespace tvm {

namespace {

using Type = TargetOptionType;

constexpr Type kBool = Type::kBool;
constexpr Type kInt = Type::kInt;
constexpr Type kStr = Type::kString;
constexpr Type kStrs = Type::kStringArray;

TargetOption Int(const char* name, int64_t value) { return {name, kInt, ffi::Any(value)}; }
TargetOption Flag(const char* name, bool value) { return {name, kBool, ffi::Any(value)}; }

const TargetKindRegistration kLLVM{{
    .name = "llvm",
    .device_type = kDLCPU,
    .keys = {"cpu"},
    .options = {{"mattr", kStrs},
                {"mcpu", kStr},
                {"mtriple", kStr},
                {"mfloat-abi", kStr},
                {"mabi", kStr},
                {"num-cores", kInt},
                {"fast-math", kBool},
                {"fast-math-nnan", kBool},
                {"fast-math-ninf", kBool},
                {"fast-math-nsz", kBool},
                {"fast-math-arcp", kBool},
                {"fast-math-contract", kBool},
                {"fast-math-reassoc", kBool},
                {"opt-level", kInt},
                {"cl-opt", kStrs},
                {"jit", kStr},
                {"vector-width", kInt}},
    .canonicalize = CanonicalizeLLVM,
}};

const TargetKindRegistration kC{{
    .name = "c",
    .device_type = kDLCPU,
    .keys = {"cpu"},
    .options = {{"mcpu", kStr},
                {"march", kStr},
                {"workspace-byte-alignment", kInt},
                {"constants-byte-alignment", kInt}},
    .canonicalize = CanonicalizeC,
}};

const TargetKindRegistration kExtDev{{.name = "ext_dev", .device_type = kDLExtDev}};

const TargetKindRegistration kComposite{{
    .name = "composite",
    .device_type = kDLCPU,
    .options = {{"devices", Type::kTargetArray}},
}};

const TargetKindRegistration kTest{{
    .name = "test",
    .device_type = kDLCPU,
    .canonicalize = CanonicalizeTest,
}};

const TargetKindRegistration kCUDA{{
    .name = "cuda",
    .device_type = kDLCUDA,
    .keys = {"cuda", "gpu"},
    .options = {{"mcpu", kStr},
                {"arch", kStr},
                {"max_shared_memory_per_block", kInt},
                {"max_threads_per_block", kInt},
                Int("thread_warp_size", 32),
                {"registers_per_block", kInt},
                {"l2_cache_size_bytes", kInt},
                Int("max_num_threads", 1024)},
    .canonicalize = CanonicalizeCUDA,
}};

const TargetKindRegistration kNVPTX{{
    .name = "nvptx",
    .device_type = kDLCUDA,
    .keys = {"cuda", "gpu"},
    .options = {{"mcpu", kStr},
                {"mtriple", kStr},
                Int("max_num_threads", 1024),
                Int("thread_warp_size", 32)},
    .canonicalize = CanonicalizeNVPTX,
}};

const TargetKindRegistration kROCm{{
    .name = "rocm",
    .device_type = kDLROCM,
    .keys = {"rocm", "gpu"},
    .options = {{"mcpu", kStr},
                {"mtriple", kStr},
                {"mattr", kStrs},
                Int("max_num_threads", 256),
                Int("max_threads_per_block", 256),
                Int("max_shared_memory_per_block", 65536),
                Int("thread_warp_size", 64)},
    .canonicalize = CanonicalizeROCm,
}};

const TargetKindRegistration kOpenCL{{
    .name = "opencl",
    .device_type = kDLOpenCL,
    .keys = {"opencl", "gpu"},
    .options = {Int("max_threads_per_block", 256), Int("max_shared_memory_per_block", 16384),
                Int("max_num_threads", 256), Int("thread_warp_size", 1),
                Int("texture_spatial_limit", 16384), Int("texture_depth_limit", 2048),
                Int("max_function_args", 128), Int("image_base_address_alignment", 64)},
}};

const TargetKindRegistration kMetal{{
    .name = "metal",
    .device_type = kDLMetal,
    .keys = {"metal", "gpu"},
    .options = {Int("max_num_threads", 256), Int("max_threads_per_block", 256),
                Int("max_shared_memory_per_block", 32768), Int("thread_warp_size", 16),
                Int("max_function_args", 31)},
}};

const TargetKindRegistration kVulkan{{
    .name = "vulkan",
    .device_type = kDLVulkan,
    .keys = {"vulkan", "gpu"},
    .options = {{"mattr", kStrs},
                {"supports_float16", kBool},
                Flag("supports_float32", true),
                {"supports_float64", kBool},
                {"supports_int8", kBool},
                {"supports_int16", kBool},
                Flag("supports_int32", true),
                {"supports_int64", kBool},
                {"supports_8bit_buffer", kBool},
                {"supports_16bit_buffer", kBool},
                {"supports_storage_buffer_storage_class", kBool},
                {"supports_push_descriptor", kBool},
                {"supports_dedicated_allocation", kBool},
                {"supports_integer_dot_product", kBool},
                {"supports_cooperative_matrix", kBool},
                {"supported_subgroup_operations", kInt},
                Int("max_num_threads", 256),
                Int("max_threads_per_block", 256),
                Int("thread_warp_size", 1),
                {"max_block_size_x", kInt},
                {"max_block_size_y", kInt},
                {"max_block_size_z", kInt},
                {"max_push_constants_size", kInt},
                {"max_uniform_buffer_range", kInt},
                {"max_storage_buffer_range", kInt},
                {"max_per_stage_descriptor_storage_buffer", kInt},
                {"max_shared_memory_per_block", kInt},
                {"device_type", kStr},
                {"device_name", kStr},
                {"driver_name", kStr},
                {"driver_version", kInt},
                {"vulkan_api_version", kInt},
                {"max_spirv_version", kInt}},
}};

const TargetKindRegistration kWebGPU{{
    .name = "webgpu",
    .device_type = kDLWebGPU,
    .keys = {"webgpu", "gpu"},
    .options = {Int("max_num_threads", 256), Int("max_shared_memory_per_block", 32768),
                Flag("supports_subgroups", false), Int("thread_warp_size", 1)},
    .canonicalize = CanonicalizeWebGPU,
}};

const TargetKindRegistration kHexagon{{
    .name = "hexagon",
    .device_type = kDLHexagon,
    .keys = {"hexagon", "cpu"},
    .options = {{"mattr", kStrs},
                {"mcpu", kStr},
                {"mtriple", kStr},
                {"llvm-options", kStrs},
                {"num-cores", kInt},
                {"vtcm-capacity", kInt}},
}};

const TargetKindRegistration kTrn{{
    .name = "trn",
    .device_type = kDLTrn,
    .options = {{"partition_size", kInt},
                {"max_sbuf_size_per_partition", kInt},
                {"max_psum_size_per_partition", kInt},
                {"num-cores", kInt}},
}};

}  // namespace
}  // namespace tvm
