#include "local/cloud/machine_size.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace berth::local::cloud {
namespace {

constexpr std::int64_t kMilli = 1000;

// The whitespace-separated words of the file's first line; none where it cannot be read.
std::vector<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  std::vector<std::string> found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

std::optional<std::int64_t> ParsePositive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> NumberOf(const std::string& path) {
  const std::vector<std::string> words = FirstLine(path);
  return words.empty() ? std::nullopt : ParsePositive(words[0]);
}

class Limits {
 public:
  Limits(std::string root, MachineSize size) : root_(std::move(root)), size_(size) {}

  MachineSize Read() {
    std::ifstream groups(root_ + "/proc/self/cgroup");
    // A line: NUMBER:CONTROLLERS:PATH; version 2 has no controllers.
    for (std::string line; std::getline(groups, line);) {
      const std::size_t first = line.find(':');
      const std::size_t second = line.find(':', first + 1);
      if (first == std::string::npos || second == std::string::npos) continue;
      const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
      const std::string path = line.substr(second + 1);
      if (controllers == ",,") {
        Climb("/sys/fs/cgroup", path, &Limits::TakeVersion2);
      } else if (controllers.find(",cpu,") != std::string::npos) {
        Climb("/sys/fs/cgroup/cpu", path, &Limits::TakeCpuQuota);
      } else if (controllers.find(",memory,") != std::string::npos) {
        Climb("/sys/fs/cgroup/memory", path, &Limits::TakeMemoryLimit);
      }
    }
    return size_;
  }

 private:
  // Takes the limits of the group at `path` and of all groups above. In a container the path may
  // be that of the host: the mount's own top is the container's group then.
  void Climb(const std::string& mount, std::string path,
             void (Limits::*take)(const std::string& folder)) {
    while (path.size() > 1) {
      (this->*take)(root_ + mount + path);
      path.erase(path.rfind('/'));
    }
    (this->*take)(root_ + mount);
  }

  void TakeVersion2(const std::string& folder) {
    const std::vector<std::string> cpu = FirstLine(folder + "/cpu.max");
    if (cpu.size() == 2) TakeQuota(ParsePositive(cpu[0]), ParsePositive(cpu[1]));
    TakeMemory(NumberOf(folder + "/memory.max"));
  }
  void TakeCpuQuota(const std::string& folder) {
    TakeQuota(NumberOf(folder + "/cpu.cfs_quota_us"), NumberOf(folder + "/cpu.cfs_period_us"));
  }
  void TakeMemoryLimit(const std::string& folder) {
    TakeMemory(NumberOf(folder + "/memory.limit_in_bytes"));
  }

  void TakeQuota(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
    if (!quota || !period || *quota > INT64_MAX / kMilli) return;
    size_.cpu_milli = std::clamp<std::int64_t>(*quota * kMilli / *period, 1, size_.cpu_milli);
  }
  void TakeMemory(std::optional<std::int64_t> bytes) {
    if (bytes) size_.memory_bytes = std::min(size_.memory_bytes, *bytes);
  }

  const std::string root_;
  MachineSize size_;
};

std::int64_t CountCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN), 1);  // more than 1,024 CPUs
}

}  // namespace

MachineSize ReadMachineSize(const std::string& root) {
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return Limits(root, {CountCpus() * kMilli, memory}).Read();
}

}  // namespace berth::local::cloud
