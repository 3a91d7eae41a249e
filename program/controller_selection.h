// program/controller_selection.h — the controllers that `berth controller --controllers=LIST` runs.
//
//     core         status, conditions, finalizers of queues, flavors, checks; the life of Workloads
//     scheduler    decisions
//     tas          pods that wait for their topology, nodes that fail, finalizers of Topologies
//     CHECK        the admission checks of a folder of checks/check_kinds.h: provisioning
//     elasticjobs  removes the gates of pods of elastic jobs
//     jobs/NAME    jobs of a framework as integrations.frameworks names it: jobs/batch/job
//     *            all of them; -NAME after it leaves one out
//
// An empty list selects no controller: only webhooks are served. Webhooks and metrics do not depend
// on the list.
//
// Threads: pure function. Errors: kInvalid with the wrong word and the known words.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace berth::program {

// "batch/job" and the built-in described kinds.
std::set<std::string> AllFrameworks();
// The folders of the table of admission checks.
std::set<std::string> AllCheckFolders();
// "core, scheduler, …, elasticjobs": the words of the list that name no framework.
std::string ControllerWords();

struct ControllerSelection {
  bool core = true;
  bool scheduler = true;
  bool tas = true;
  bool elasticjobs = true;
  std::set<std::string> checks = AllCheckFolders();
  std::set<std::string> jobs = AllFrameworks();
  bool cloud_pools = false;  // reviews read the NodePools of the emulated cloud

  bool any() const {
    return core || scheduler || tas || !checks.empty() || elasticjobs || !jobs.empty();
  }
  friend bool operator==(const ControllerSelection&, const ControllerSelection&) = default;
};

Result<ControllerSelection> ParseControllers(const std::string& list);

}  // namespace berth::program
