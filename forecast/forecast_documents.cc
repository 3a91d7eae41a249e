// Reads the objects of files into a view.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "forecast/forecast_cluster.h"
#include "view/view_reader.h"
#include "webhook/conversion.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr char kKueuePrefix[] = "kueue.x-k8s.io/";
constexpr char kServedVersion[] = "kueue.x-k8s.io/v1beta2";

Status AddDocument(const Json& document, view::ClusterView& view) {
  if (!document.is_object()) return OkStatus();
  const auto items = document.find("items");
  if (items != document.end() && items->is_array()) {
    for (const Json& item : *items) {
      if (item.is_object()) BERTH_CHECK_OK(AddDocument(item, view));
    }
    return OkStatus();
  }
  const auto version = document.find("apiVersion");
  if (version != document.end() && version->is_string() && *version != kServedVersion &&
      version->get<std::string>().rfind(kKueuePrefix, 0) == 0) {
    auto converted = webhook::Convert(document, kServedVersion);
    if (converted) return view::AddObject(*converted, view);
    const Json::json_pointer kind("/kind");
    const Json::json_pointer name("/metadata/name");
    const auto word = [&document](const Json::json_pointer& path) {
      const bool found = document.contains(path) && document.at(path).is_string();
      return found ? document.at(path).get<std::string>() : std::string();
    };
    return Annotate(converted.error(), word(kind) + " " + word(name));
  }
  return view::AddObject(document, view);
}

WallTime LastTimeOf(const view::ClusterView& view) {
  WallTime last{};
  for (const api::Workload& workload : view.workloads) {
    last = std::max(last, workload.meta.creation_timestamp);
    for (const api::Condition& each : workload.status.conditions) {
      last = std::max(last, each.last_transition_time);
    }
  }
  return last;
}

}  // namespace

Status AddDocuments(const std::vector<Json>& documents, view::ClusterView& view) {
  for (const Json& document : documents) BERTH_CHECK_OK(AddDocument(document, view));
  return OkStatus();
}

Result<view::ClusterView> ReadDump(const std::vector<Json>& documents) {
  view::ClusterView view;
  BERTH_CHECK_OK(AddDocuments(documents, view));
  if (view.cluster_queues.empty()) {
    return Error{ErrorCode::kInvalid,
                 "the files have no ClusterQueue: kubectl get "
                 "clusterqueues,cohorts,localqueues,resourceflavors,workloads -A -o json > FILE"};
  }
  view.now = LastTimeOf(view);
  view.cluster_name = "files";
  return view;
}

}  // namespace berth::forecast
