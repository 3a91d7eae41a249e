// simulation/queueing_objects.h — the stored objects that configure queueing: Namespaces,
// ResourceFlavors, AdmissionChecks, Cohorts, ClusterQueues and LocalQueues.
//
// References to tables are valid as long as this object lives, references to objects until the
// object is set or removed.
//
// Threads: one. Errors: none.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>

#include "admission/driver.h"
#include "api/queues.h"
#include "api/workload.h"

namespace berth::simulation {

class QueueingObjects : public admission::QueueObjects {
 public:
  // LocalQueues by namespace and name, the other kinds by name.
  template <typename Object>
  using Table = std::map<
      std::conditional_t<std::same_as<Object, api::LocalQueue>, api::ObjectKey, std::string>,
      Object>;

  void Set(const api::LocalQueue& object) {
    TableOf<api::LocalQueue>()[object.meta.key()] = object;
  }
  template <typename Object>
  void Set(const Object& object) {
    TableOf<Object>()[object.meta.name] = object;
  }
  template <typename Object>
  void Remove(const typename Table<Object>::key_type& key) {
    TableOf<Object>().erase(key);
  }

  template <typename Object>
  const Table<Object>& all() const {
    return std::get<Table<Object>>(tables_);
  }
  const api::LocalQueue* FindLocalQueue(const api::ObjectKey& key) const override;
  const api::ClusterQueue* FindClusterQueue(const std::string& name) const override;
  // The ClusterQueue in which `workload` waits or holds quota; empty: none.
  std::string ClusterQueueOf(const api::Workload& workload) const;

  // Applies all objects to a new scheduler, in the order of their names.
  void Replay(admission::Scheduler& scheduler) const;

 private:
  template <typename Object>
  Table<Object>& TableOf() {
    return std::get<Table<Object>>(tables_);
  }

  std::tuple<Table<api::Namespace>, Table<api::ResourceFlavor>, Table<api::AdmissionCheck>,
             Table<api::Cohort>, Table<api::ClusterQueue>, Table<api::LocalQueue>>
      tables_;  // in the order of Replay
};

}  // namespace berth::simulation
