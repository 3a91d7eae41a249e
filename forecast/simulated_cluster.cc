#include "forecast/simulated_cluster.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "webhook/version_conversion.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr char kKueueGroup[] = "kueue.x-k8s.io/";
constexpr char kStoredVersion[] = "kueue.x-k8s.io/v1beta2";

std::string WordAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string MetaNameOf(const Json& object) {
  const auto metadata = object.find("metadata");
  return metadata != object.end() && metadata->is_object() ? WordAt(*metadata, "name") : "";
}

class ClusterReader {
 public:
  Status Read(const Json& document) {
    if (!document.is_object()) return OkStatus();
    const auto items = document.find("items");
    if (items != document.end() && items->is_array()) {
      for (const Json& item : *items) {
        if (item.is_object()) BERTH_CHECK_OK(ReadObject(item));
      }
      return OkStatus();
    }
    return ReadObject(document);
  }

  simulation::Cluster Take() { return std::move(cluster_); }

 private:
  Status ReadObject(const Json& object) {
    const Status read = Decode(object);
    if (read) return OkStatus();
    return Annotate(read.error(), WordAt(object, "kind") + " " + MetaNameOf(object));
  }

  Status Decode(const Json& object) {
    const std::string kind = WordAt(object, "kind");
    const std::string version = WordAt(object, "apiVersion");
    if (version == "v1" && kind == "Namespace") return Add(object, cluster_.namespaces);
    if (version.rfind(kKueueGroup, 0) != 0) return OkStatus();
    if (kind == "WorkloadPriorityClass") {
      BERTH_TRY(const api::WorkloadPriorityClass made,
                api::Decode<api::WorkloadPriorityClass>(object));
      cluster_.priority_classes.push_back(made);
      return Once(object, made.meta);
    }
    if (kind == "ResourceFlavor") return Add(object, cluster_.flavors);
    if (kind != "ClusterQueue" && kind != "Cohort" && kind != "LocalQueue") return OkStatus();
    Json converted = object;
    if (version != kStoredVersion) {
      BERTH_TRY(converted, webhook::Convert(object, kStoredVersion));
    }
    if (kind == "ClusterQueue") return Add(converted, cluster_.cluster_queues);
    if (kind == "Cohort") return Add(converted, cluster_.cohorts);
    Json& space = converted["metadata"]["namespace"];
    if (!space.is_string() || space.get<std::string>().empty()) space = "default";
    return Add(converted, cluster_.local_queues);
  }

  template <typename T>
  Status Add(const Json& object, std::vector<T>& list) {
    BERTH_TRY(T decoded, api::Decode<T>(object));
    if (decoded.meta.name.empty()) {
      return Error{ErrorCode::kInvalid, "metadata.name: the object has no name"};
    }
    list.push_back(std::move(decoded));
    return Once(object, list.back().meta);
  }

  Status Once(const Json& object, const api::ObjectMeta& meta) {
    if (seen_.insert({WordAt(object, "kind"), meta.key()}).second) return OkStatus();
    return Error{ErrorCode::kInvalid, "the object is defined twice in the manifests: remove one"};
  }

  simulation::Cluster cluster_;
  std::set<std::pair<std::string, api::ObjectKey>> seen_;
};

void CountKinds(const Json& document, std::map<std::string, std::int64_t>& counts) {
  if (!document.is_object()) return;
  const auto items = document.find("items");
  if (items == document.end() || !items->is_array()) {
    ++counts[WordAt(document, "kind")];
    return;
  }
  for (const Json& item : *items) {
    if (item.is_object()) ++counts[WordAt(item, "kind")];
  }
}

}  // namespace

std::vector<std::string> NotSimulatedIn(const std::vector<Json>& documents, bool has_pools) {
  struct OtherReader {
    const char* kind;
    const char* one;   // where the object counts
    const char* many;  // the same of several
  };
  // AdmissionChecks and topologies are named by simulation::Prepare where queues refer to them.
  constexpr OtherReader kReaders[] = {
      {"Job", "--workload has the jobs", "--workload has the jobs"},
      {"Node", "give it to --pools, or use --full", "give them to --pools, or use --full"},
      {"NodePool", "give it to --pools, or use --full", "give them to --pools, or use --full"},
      {"ProvisioningPolicy", "only --full plays it", "only --full plays them"},
      {"ProvisioningRequestConfig", "only --full plays it", "only --full plays them"},
      {"Workload", "--workload has the jobs", "--workload has the jobs"}};
  std::map<std::string, std::int64_t> counts;
  for (const Json& document : documents) CountKinds(document, counts);
  std::vector<std::string> notes;
  for (const OtherReader& each : kReaders) {
    const auto found = counts.find(each.kind);
    const std::string_view kind = each.kind;
    if (found == counts.end() || (has_pools && kind.starts_with("Node"))) continue;
    const bool is_one = found->second == 1;
    const std::string plural =
        kind == "ProvisioningPolicy" ? "ProvisioningPolicies" : std::string(kind) + "s";
    notes.push_back(std::to_string(found->second) + " " + (is_one ? std::string(kind) : plural) +
                    " of the manifests: " + (is_one ? each.one : each.many));
  }
  return notes;
}

Result<simulation::Cluster> ReadSimulatedCluster(const std::vector<Json>& documents) {
  ClusterReader reader;
  for (const Json& document : documents) BERTH_CHECK_OK(reader.Read(document));
  return reader.Take();
}

}  // namespace berth::forecast
