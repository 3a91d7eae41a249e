#include "local/cluster/processes/pod_processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <unistd.h>

#include "base/strings.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListening = "0A";
constexpr std::size_t kMostStatBytes = 4096;
// The limit of a number of a stat line: more than any machine counts; times and bytes made of such
// numbers fit 64 bits.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 40;

std::vector<std::string_view> StatWords(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : Split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

Duration OfTicks(std::int64_t ticks) {
  static const std::int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
  return std::chrono::microseconds(ticks * 1'000'000 / ticks_per_second);
}

// The kernel's form of an address: each word of 32 bits in the machine's order, in hex.
std::string KernelHex(const std::string& address) {
  in_addr parsed{};
  if (inet_pton(AF_INET, address.c_str(), &parsed) != 1) return {};
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08X", parsed.s_addr);
  return text.data();
}

}  // namespace

ProcessEntry ParseProcessEntry(std::string_view stat) {
  // The program's name in field 2 may have blanks and brackets.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  const auto words = StatWords(stat.substr(name_end + 1));
  if (words.size() < 22) return {};
  const auto number = [&](std::size_t field) {  // proc(5) counts from 1
    return std::clamp(ParseInt64(words[field - 3]).value_or(0), std::int64_t{0}, kMostNumber);
  };
  ProcessEntry entry;
  entry.id = static_cast<pid_t>(ParseInt64(stat.substr(0, stat.find(' '))).value_or(0));
  entry.parent = static_cast<pid_t>(number(4));
  entry.session = static_cast<pid_t>(number(6));
  entry.processor_time = OfTicks(number(14) + number(15));
  static const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  entry.resident_bytes = number(24) * page_bytes;
  return entry;
}

std::vector<ProcessEntry> AllProcesses() {
  std::vector<ProcessEntry> all;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator("/proc", error)) {
    const std::string name = folder.path().filename();
    if (name.empty() || name[0] < '1' || name[0] > '9') continue;
    std::ifstream file(folder.path() / "stat");
    std::string stat(kMostStatBytes, '\0');
    file.read(stat.data(), static_cast<std::streamsize>(stat.size()));
    stat.resize(static_cast<std::size_t>(file.gcount()));
    const ProcessEntry entry = ParseProcessEntry(stat);
    if (entry.id > 0) all.push_back(entry);
  }
  return all;
}

std::map<pid_t, std::vector<ProcessEntry>> ProcessesOf(const std::set<pid_t>& leaders,
                                                       const std::vector<ProcessEntry>& all) {
  std::map<pid_t, std::vector<ProcessEntry>> found;
  std::map<pid_t, pid_t> leader_by_process;
  bool has_grown = true;
  while (has_grown) {  // once for each level of descent that the order of `all` does not show
    has_grown = false;
    for (const ProcessEntry& entry : all) {
      if (leader_by_process.contains(entry.id)) continue;
      pid_t leader = 0;
      if (leaders.contains(entry.id)) {
        leader = entry.id;
      } else if (leaders.contains(entry.session)) {
        leader = entry.session;
      } else if (const auto parent = leader_by_process.find(entry.parent);
                 parent != leader_by_process.end()) {
        leader = parent->second;
      }
      if (leader == 0) continue;
      leader_by_process[entry.id] = leader;
      found[leader].push_back(entry);
      has_grown = true;
    }
  }
  return found;
}

std::set<std::string> ListeningSockets(std::string_view table, const std::string& address,
                                       std::uint16_t port) {
  const std::string own = KernelHex(address);
  std::array<char, 6> port_text{};
  std::snprintf(port_text.data(), port_text.size(), ":%04X", port);
  const std::set<std::string> wanted{own, "00000000", std::string(32, '0'),
                                     "0000000000000000FFFF0000" + own,
                                     "0000000000000000FFFF000000000000"};
  std::set<std::string> inodes;
  for (const std::string_view line : Split(table, '\n')) {
    const auto words = StatWords(line);
    if (words.size() < 10 || words[3] != kListening) continue;
    const std::size_t colon = words[1].find(':');
    if (colon == std::string_view::npos || words[1].substr(colon) != port_text.data()) continue;
    if (wanted.contains(std::string(words[1].substr(0, colon)))) inodes.emplace(words[9]);
  }
  return inodes;
}

bool HasSocket(const std::vector<ProcessEntry>& processes, const std::set<std::string>& inodes) {
  if (inodes.empty()) return false;
  for (const ProcessEntry& process : processes) {
    std::error_code error;
    fs::directory_iterator files("/proc/" + std::to_string(process.id) + "/fd", error);
    for (; !error && files != fs::directory_iterator(); files.increment(error)) {
      std::error_code gone;
      const std::string link = fs::read_symlink(files->path(), gone);
      constexpr std::string_view kSocket = "socket:[";
      if (gone || !link.starts_with(kSocket) || link.back() != ']') continue;
      if (inodes.contains(link.substr(kSocket.size(), link.size() - kSocket.size() - 1))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace berth::local::cluster
