// admission/catalogue/cohort_table.h — the cohorts by name and by node of the quota tree.
//
// A cohort exists as soon as an object names it; its own object may be missing.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admission/quota/quota_tree.h"
#include "api/queues.h"

namespace berth::admission {

class CohortTable {
 public:
  void Add(const std::string& name, NodeId node);
  void Remove(NodeId node);
  // Sets the spec of the cohort's object; nullopt: there is no object. Returns whether the spec
  // changed. The cohort exists.
  bool SetSpec(NodeId node, std::optional<api::CohortSpec> spec);
  // Whether the node is a cohort that objects name while its own object is missing.
  bool IsNamedAlone(NodeId node) const;

  std::optional<NodeId> Find(const std::string& name) const;
  // Empty: the node is no cohort. Valid until the next change.
  const std::string& NameOf(NodeId node) const;
  std::vector<std::string> Names() const;  // sorted

 private:
  struct Cohort {
    NodeId node = kNoQuotaNode;
    std::optional<api::CohortSpec> spec;
  };

  std::map<std::string, Cohort> cohorts_;
  std::vector<std::string> name_of_node_;
};

}  // namespace berth::admission
