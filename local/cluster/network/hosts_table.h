// local/cluster/network/hosts_table.h — the names of Services and pods, as files in the form of
// /etc/hosts, one for each pod.
//
// Programs see the file of their pod at /etc/hosts while it changes: a line never moves, and a
// reader sees each line whole, in its old or its new state. An outdated line becomes blanks, whose
// place another line may use.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/cluster/network/hosts_line.h"

namespace berth::local::cluster {

class HostsTable {
 public:
  // Files are made in `folder`, which is made on first use; they begin with `machine_hosts`, the
  // content of the machine's own file.
  HostsTable(std::string folder, std::string machine_hosts);
  ~HostsTable();
  HostsTable(const HostsTable&) = delete;
  HostsTable& operator=(const HostsTable&) = delete;

  // The path of the file of a pod, made at the first call with `own_lines` and the present lines.
  // `pod`: a file name, such as the uid. kUnavailable: the file cannot be made.
  Result<std::string> FileOf(const std::string& namespace_name, const std::string& pod,
                             const std::string& own_lines);
  void RemoveFile(const std::string& pod);

  // Sets the lines of one owner ("namespace/service"); an empty list removes them. Errors of single
  // files are logged; programs with these files keep the earlier names.
  void Set(const std::string& namespace_name, const std::string& owner,
           std::vector<HostsLine> lines);

 private:
  struct Slot {
    std::int64_t offset = 0;
    std::size_t bytes = 0;
    std::string text;  // without padding and line end; empty: blank
  };
  struct File {
    std::string namespace_name;
    int descriptor = -1;
    std::int64_t end = 0;
    std::map<std::string, std::vector<Slot>> slots_by_owner;
    std::vector<Slot> blanks;
  };
  struct Owned {
    std::string namespace_name;
    std::vector<HostsLine> lines;
  };

  static void Write(File& file, const std::string& owner, const std::vector<std::string>& texts);
  static Slot Place(File& file, const std::string& text);
  static std::vector<std::string> TextsFor(const std::string& namespace_name, const Owned& owned);

  const std::string folder_;
  const std::string machine_hosts_;
  std::map<std::string, Owned> lines_by_owner_;
  std::map<std::string, File> file_by_pod_;
};

}  // namespace berth::local::cluster
