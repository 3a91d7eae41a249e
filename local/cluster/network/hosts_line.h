// local/cluster/network/hosts_line.h — a line of a hosts file.
#pragma once

#include <string>
#include <vector>

namespace berth::local::cluster {

struct HostsLine {
  std::string address;
  std::vector<std::string> names;        // for every namespace
  std::vector<std::string> short_names;  // for programs of the owner's namespace
  friend bool operator==(const HostsLine&, const HostsLine&) = default;
};

}  // namespace berth::local::cluster
