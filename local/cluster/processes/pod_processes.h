// local/cluster/processes/pod_processes.h — the processes of pods as /proc shows them.
//
// A pod's processes are the leaders of its containers, the processes of their sessions, and all
// descendants of these. A descendant whose parents have ended and that left the session is not
// found.
//
// Threads: any. Linux only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"

namespace berth::local::cluster {

struct ProcessEntry {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
  Duration processor_time{};  // user and system
  std::int64_t resident_bytes = 0;
};

// A line of /proc/PID/stat; an entry with the id 0 where it cannot be read.
ProcessEntry ParseProcessEntry(std::string_view stat);

std::vector<ProcessEntry> AllProcesses();

// The processes of each leader, itself included; those that have ended are left out.
std::map<pid_t, std::vector<ProcessEntry>> ProcessesOf(const std::set<pid_t>& leaders,
                                                       const std::vector<ProcessEntry>& all);

// Inodes of the sockets that listen on the TCP port for `address` (of IPv4) or for all addresses.
// `table`: the text of /proc/net/tcp or tcp6.
std::set<std::string> ListeningSockets(std::string_view table, const std::string& address,
                                       std::uint16_t port);

// Whether one of the processes has one of the sockets open.
bool HasSocket(const std::vector<ProcessEntry>& processes, const std::set<std::string>& inodes);

}  // namespace berth::local::cluster
