// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors
/// \file cpu_topology.cc
/// Topology from the affinity mask, /sys and the control group.
#include "runtime/threading/cpu_topology.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif

namespace tvm {
namespace runtime {
namespace threading {

namespace {

/// First line of a small system file; empty if there is none.
std::string ReadLine(const std::string& path) {
  std::FILE* f = std::fopen(path.c_str(), "r");
  if (f == nullptr) return "";
  char line[256] = "";
  if (std::fgets(line, sizeof(line), f) == nullptr) line[0] = '\0';
  std::fclose(f);
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}

std::vector<unsigned> AllowedCpus() {
  std::vector<unsigned> cpus;
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpus.push_back(i);
    }
  }
#endif
  if (cpus.empty()) {
    unsigned n = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < n; ++i) cpus.push_back(i);
  }
  return cpus;
}

/// Whole CPUs that the control group grants, or 0 without a quota.
int QuotaCpus() {
  std::string line = ReadLine("/sys/fs/cgroup/cpu.max");
  long long quota = 0, period = 0;  // NOLINT(runtime/int)
  if (std::sscanf(line.c_str(), "%lld %lld", &quota, &period) != 2) {
    quota = std::atoll(ReadLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str());
    period = std::atoll(ReadLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str());
  }
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::max<long long>(1, (quota + period - 1) / period));
}

CpuTopology Detect() {
  CpuTopology topo;
  std::vector<std::pair<long long, unsigned>> by_speed;  // NOLINT(runtime/int)
  std::set<std::string> cores;
  for (unsigned cpu : AllowedCpus()) {
    std::string dir = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    by_speed.emplace_back(-std::atoll(ReadLine(dir + "/cpufreq/cpuinfo_max_freq").c_str()), cpu);
    std::string siblings = ReadLine(dir + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? "cpu" + std::to_string(cpu) : siblings);
  }
  std::sort(by_speed.begin(), by_speed.end());
  for (const auto& [speed, cpu] : by_speed) {
    topo.cpus.push_back(cpu);
    topo.num_big += speed == by_speed.front().first;
    topo.num_little += speed == by_speed.back().first;
  }
  topo.num_physical = std::max(1, static_cast<int>(cores.size()));
  if (int quota = QuotaCpus()) topo.num_physical = std::min(topo.num_physical, quota);
  return topo;
}

}  // namespace

const CpuTopology& CpuTopology::Get() {
  static const CpuTopology topo = Detect();
  return topo;
}

}  // namespace threading
}  // namespace runtime
}  // namespace tvm
