// tests/view/view_builder.h — small clusters for the screens to draw.
#pragma once

#include <string>

#include "view/screens/cluster_view.h"

namespace berth::view {

inline constexpr int kDay = 86400;  // seconds
inline constexpr char kGpu[] = "nvidia.com/gpu";

// 2026-11-20T08:12:00Z, the moment at which every view is taken.
WallTime ViewTime();
WallTime SecondsAgo(std::int64_t seconds);

api::Condition TrueCondition(const std::string& type, const std::string& reason,
                             const std::string& message, WallTime since);
api::Condition FalseCondition(const std::string& type, const std::string& reason,
                              const std::string& message, WallTime since);

// One flavor, quotas in items (cpu in milli).
api::ClusterQueue MakeQueue(const std::string& name, const std::string& cohort,
                            const api::ResourceAmounts& nominal, const api::ResourceAmounts& used);
api::LocalQueue MakeLocalQueue(const std::string& key_namespace, const std::string& name,
                               const std::string& cluster_queue);
// A Workload of Job `name`, created `age_seconds` ago; no conditions yet.
api::Workload MakeWorkload(const std::string& key_namespace, const std::string& name,
                           const std::string& queue, std::int64_t age_seconds);
// Admitted a minute ago, from flavor t4.
api::Workload MakeRunning(const std::string& key_namespace, const std::string& name,
                          const std::string& cluster_queue, const api::ResourceAmounts& usage);
api::Job MakeJob(const api::Workload& workload);

// The H100 job of the DWS story: quota reserved, capacity asked for three days ago, none in stock.
ClusterView DwsView();

}  // namespace berth::view
