// cli/view_reader.h — from the API into a ClusterView, kind by kind. Internal to read_*.cc.
//
// Threads, errors: as Session.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"

namespace berth::cli {

enum class ViewKind {
  kClusterQueues,
  kCohorts,
  kFlavors,
  kAdmissionChecks,
  kLocalQueues,
  kWorkloads,
  kJobs,
  kProvisioningRequests,
  kNodePools,
  kNodes,
  kPods,
};

// "workloads": what a person calls them, and the API.
const char* PluralOf(ViewKind kind);
bool IsNamespaced(ViewKind kind);

// One request: a list, or with a name one object.
struct Want {
  ViewKind kind = ViewKind::kWorkloads;
  std::string namespace_name;  // of a namespaced kind; empty: all namespaces
  std::string name;            // empty: a list
  std::string query;           // "labelSelector=…" of a list
};

enum class Got { kRead, kForbidden, kNotFound };

// Adds to `view` what is there, all at once. One answer a want; any other failure is the result.
Result<std::vector<Got>> ReadInto(Session& session, const std::vector<Want>& wants,
                                  ClusterView& view);

// ReadInto for lists: what the caller may not list in all namespaces is read of `own_namespace`
// (empty: not tried), and noted in `view` as narrowed; what may not be listed there either as
// hidden, and kinds that the cluster lacks as missing. kForbidden where nothing may be read.
Status ReadLists(Session& session, const std::vector<Want>& wants, const std::string& own_namespace,
                 ClusterView& view);

// Nodes that have joined each pool, from the view's nodes.
void CountNodes(ClusterView& view);

}  // namespace berth::cli
