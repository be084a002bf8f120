// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// Rows of A that are windows of an image with rows, columns and channels.
///
///   A[(y, x), (ky, kx, c)] = inside ? X[y * s + ky - p, x * t + kx - q, c] : border
///
/// Along (kx, c) a window is one run of memory, whatever y and x are, if the image has its border.
#ifndef TVM_KERNELS_CONTRACTION_IMAGE_H_
#define TVM_KERNELS_CONTRACTION_IMAGE_H_

#include <optional>

#include "kernels/contraction_form.h"
#include "kernels/group.h"

namespace tvm {
namespace kernels {

/// The image with its border: rows and columns count from the first window's corner. A column is an
/// element here, not a pixel.
struct WindowedImage {
  tirx::Buffer source;
  PrimExpr origin;         ///< flat offset in `source` of row 0, column 0, which need not exist
  PrimExpr border;         ///< what lies around the source; undefined where windows stay inside
  int64_t height, width;   ///< windows down and across
  int64_t pitch;           ///< elements of the source from one row to the next
  int64_t step_y, step_x;  ///< rows and columns from one window to the next
  int64_t runs, run;       ///< rows of a window, and consecutive columns of each
  int64_t top, bottom;     ///< rows [top, bottom) are in the source
  int64_t left, right;     ///< so are columns [left, right)

  int64_t rows() const { return (height - 1) * step_y + runs; }
  int64_t columns() const { return (width - 1) * step_x + run; }
  /// Whether a register tile of so many windows has them at fixed distances.
  bool Fits(int64_t windows) const { return width % windows == 0 || windows % width == 0; }
};

/// Reads A so, the iterations of `c` being bound in `access`; nullopt when it is of another form.
/// All of `rows` but the last two are to become part of the batch.
std::optional<WindowedImage> ReadImage(const Contraction& c, FlatAccess* access);

/// The same of a whole function of blocks.
TVM_DLL std::optional<WindowedImage> ReadImage(const tirx::PrimFunc& func, const Target& target);

}  // namespace kernels
}  // namespace tvm

#endif  // TVM_KERNELS_CONTRACTION_IMAGE_H_
