#include "local/cluster/network/hosts_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"

namespace berth::local::cluster {
namespace {

// One system call, within which the kernel keeps a reader of a page out.
bool WriteAt(int file, const std::string& text, std::int64_t offset) {
  const ssize_t written = pwrite(file, text.data(), text.size(), offset);
  return written >= 0 && static_cast<std::size_t>(written) == text.size();
}

}  // namespace

HostsTable::HostsTable(std::string folder, std::string machine_hosts)
    : folder_(std::move(folder)), machine_hosts_(std::move(machine_hosts)) {}

HostsTable::~HostsTable() {
  for (const auto& [pod, file] : file_by_pod_) close(file.descriptor);
}

Result<std::string> HostsTable::FileOf(const std::string& namespace_name, const std::string& pod,
                                       const std::string& own_lines) {
  std::string path = folder_ + "/" + pod;
  if (file_by_pod_.count(pod) != 0) return path;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return Error{ErrorCode::kUnavailable, folder_ + ": " + error.message()};
  File file;
  file.namespace_name = namespace_name;
  file.descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.descriptor < 0 || fchmod(file.descriptor, 0644) != 0) {
    const int reason = errno;
    if (file.descriptor >= 0) close(file.descriptor);
    return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(reason)};
  }
  std::string start = machine_hosts_;
  if (!start.empty() && start.back() != '\n') start += '\n';
  start += own_lines + "# names of Services\n";
  if (!WriteAt(file.descriptor, start, 0)) {
    const int reason = errno;
    close(file.descriptor);
    return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(reason)};
  }
  file.end = static_cast<std::int64_t>(start.size());
  File& kept = file_by_pod_[pod] = std::move(file);
  for (const auto& [owner, owned] : lines_by_owner_) {
    Write(kept, owner, TextsFor(namespace_name, owned));
  }
  return path;
}

void HostsTable::RemoveFile(const std::string& pod) {
  const auto known = file_by_pod_.find(pod);
  if (known == file_by_pod_.end()) return;
  close(known->second.descriptor);
  file_by_pod_.erase(known);
  std::error_code error;
  std::filesystem::remove(folder_ + "/" + pod, error);
}

void HostsTable::Set(const std::string& namespace_name, const std::string& owner,
                     std::vector<HostsLine> lines) {
  const auto known = lines_by_owner_.find(owner);
  if (known == lines_by_owner_.end() ? lines.empty() : known->second.lines == lines) return;
  const Owned owned{namespace_name, std::move(lines)};
  for (auto& [pod, file] : file_by_pod_) {
    Write(file, owner, TextsFor(file.namespace_name, owned));
  }
  if (owned.lines.empty()) {
    lines_by_owner_.erase(owner);
  } else {
    lines_by_owner_[owner] = owned;
  }
}

std::vector<std::string> HostsTable::TextsFor(const std::string& namespace_name,
                                              const Owned& owned) {
  std::vector<std::string> texts;
  for (const HostsLine& line : owned.lines) {
    std::string text = line.address;
    for (const std::string& name : line.names) text += " " + name;
    if (owned.namespace_name == namespace_name) {
      for (const std::string& name : line.short_names) text += " " + name;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// New lines first: a name that changes its address is never without one.
void HostsTable::Write(File& file, const std::string& owner,
                       const std::vector<std::string>& texts) {
  std::vector<Slot> old = std::move(file.slots_by_owner[owner]);
  std::vector<Slot> kept;
  for (const std::string& text : texts) {
    const auto same =
        std::find_if(old.begin(), old.end(), [&](const Slot& slot) { return slot.text == text; });
    if (same != old.end()) {
      kept.push_back(std::move(*same));
      old.erase(same);
    } else {
      kept.push_back(Place(file, text));
    }
  }
  for (Slot& slot : old) {
    if (slot.bytes == 0) continue;
    if (!WriteAt(file.descriptor, "#" + std::string(slot.bytes - 2, ' ') + "\n", slot.offset)) {
      LogWarning("a name stays in a hosts file", {{"line", slot.text}});
      continue;
    }
    slot.text.clear();
    file.blanks.push_back(std::move(slot));
  }
  if (kept.empty()) {
    file.slots_by_owner.erase(owner);
  } else {
    file.slots_by_owner[owner] = std::move(kept);
  }
}

HostsTable::Slot HostsTable::Place(File& file, const std::string& text) {
  Slot slot;
  const std::size_t needed = text.size() + 1;
  const auto blank = std::find_if(file.blanks.begin(), file.blanks.end(),
                                  [&](const Slot& one) { return one.bytes >= needed; });
  if (blank != file.blanks.end()) {
    slot = std::move(*blank);
    file.blanks.erase(blank);
  } else {
    slot.offset = file.end;
    slot.bytes = needed;
  }
  const std::string padded = text + std::string(slot.bytes - needed, ' ') + "\n";
  if (!WriteAt(file.descriptor, padded, slot.offset)) {
    LogWarning("a name is missing in a hosts file",
               {{"line", text}, {"error", std::strerror(errno)}});
    if (slot.offset != file.end) file.blanks.push_back(slot);
    return Slot{};
  }
  file.end = std::max(file.end, slot.offset + static_cast<std::int64_t>(slot.bytes));
  slot.text = text;
  return slot;
}

}  // namespace berth::local::cluster
