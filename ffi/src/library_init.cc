// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
#include "library_init.h"

#include <tvm/ffi/c_api.h>

#include <cstdio>

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#endif

namespace tvm {
namespace ffi {

bool IsSecondCopy() {
#if defined(__unix__) || defined(__APPLE__)
  static const bool second = [] {
    static const char own = 0;  // unlike exported symbols, never another copy's
    void* serving = dlsym(RTLD_DEFAULT, "TVMFFIGetVersion");
    Dl_info first, here;
    if (serving == nullptr || dladdr(serving, &first) == 0 || dladdr(&own, &here) == 0 ||
        first.dli_fbase == here.dli_fbase) {
      return false;
    }
    std::fprintf(stderr,
                 "tvm_ffi: %s is a second copy of libtvm_ffi in this process and stays unused; %s "
                 "was loaded first. Remove one of them.\n",
                 here.dli_fname, first.dli_fname);
    return true;
  }();
  return second;
#else
  return false;  // libraries of other systems bind to one copy by name
#endif
}

}  // namespace ffi
}  // namespace tvm
