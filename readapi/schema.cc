#include "readapi/schema.h"

namespace berth::readapi {
namespace {

constexpr char kKueueGroup[] = "kueue.x-k8s.io";
constexpr char kFlavorsForm[] =
    "list of {flavor, resource, unit, nominal, used, borrowingLimit, lendingLimit}: its own quota; "
    "null: no limit; used is that of a ClusterQueue";
constexpr char kResourcesForm[] =
    "list of {resource, unit, used, nominal, borrowed, lent}, summed over flavors";

Resource Workloads() {
  using enum FieldType;
  return {
      .name = "workloads",
      .description = "the Workloads: state, place, reasons; `berth list -o json` has the same form",
      .everywhere = {kKueueGroup, "workloads"},
      .in_namespace = {kKueueGroup, "workloads"},
      .fields = {
          {"namespace", kText, Use::kFilter, "namespace of the Workload"},
          {"workload", kText, Use::kPlain, "name of the Workload"},
          {"name", kText, Use::kPrefix, "name of the job; of the Workload if it has no owner"},
          {"kind", kText, Use::kFilter, "kind of the job"},
          {"localQueue", kText, Use::kFilter, "LocalQueue in the namespace"},
          {"clusterQueue", kText, Use::kFilter, "ClusterQueue; empty: the LocalQueue is missing"},
          {"priority", kNumber, Use::kBoth, "priority; greater goes first", Readers::kAll, "whole"},
          {"state", kText, Use::kFilter,
           "waiting, reserved, running, stopping, deactivated, succeeded, failed"},
          {"cause", kText, Use::kFilter,
           "kind of the reason for the wait; empty: it does not wait"},
          {"createdAt", kTime, Use::kSort, "creation of the Workload", Readers::kAll, "time"},
          {"waitingSince", kTime, Use::kSort, "start of the present wait; null: it does not wait"},
          {"turn", kNumber, Use::kSort,
           "place of a waiting Workload among those of its ClusterQueue: smaller goes first "
           "(priority, then creation, or the eviction that moved it behind others); null: it does "
           "not wait, or has its quota"},
          {"eta", kObject, Use::kPlain,
           "forecast of the start: {at, p10, p50, p90}, instants, null: never; null: no forecast",
           Readers::kAll, "Forecast|null"},
          {"requests", kList, Use::kShared,
           "list of {resource, unit, amount} of all pods: as admitted, else as asked",
           Readers::kAll, "Amount[]"},
          {"remark", kText, Use::kPlain, "place, result, or reason, in words"},
          {"reason", kObject, Use::kPlain,
           "reason for the wait: {kind, message, tried, mayPreempt, history, stops}; null: it does "
           "not "
           "wait",
           Readers::kAll, "Reason|null"},
          {"notPreempted", kList, Use::kPlain,
           "list of {workload, because}: candidates that preemption left, of any namespace",
           Readers::kCluster, "Spared[]|null"}}};
}

Resource Queues() {
  using enum FieldType;
  return {.name = "queues",
          .description =
              "the ClusterQueues: quota, usage, counts; a caller with rights in namespaces sees "
              "those that the LocalQueues there feed",
          .everywhere = {kKueueGroup, "clusterqueues"},
          .in_namespace = {kKueueGroup, "localqueues"},
          .fields = {{"name", kText, Use::kPlain, "name of the ClusterQueue"},
                     {"cohort", kText, Use::kFilter, "its Cohort; empty: none"},
                     {"parents", kList, Use::kShared, "the Cohorts above its Cohort, nearest first",
                      Readers::kAll, "text[]"},
                     {"waiting", kNumber, Use::kSort, "waiting Workloads", Readers::kAll, "whole"},
                     {"running", kNumber, Use::kSort, "admitted Workloads", Readers::kAll, "whole"},
                     {"strategy", kText, Use::kShared, "StrictFIFO or BestEffortFIFO"},
                     {"stopPolicy", kText, Use::kFilter, "None, Hold or HoldAndDrain"},
                     {"inactive", kText, Use::kPlain,
                      "why it admits nothing, by its condition Active; empty: it is active"},
                     {"fairWeightBillionths", kNumber, Use::kPlain, "weight of fair sharing"},
                     {"weightedShare", kNumber, Use::kSort,
                      "its share above the nominal quota; null: without fair sharing"},
                     {"resources", kList, Use::kPlain, kResourcesForm, Readers::kAll, "Use[]"},
                     {"flavors", kList, Use::kPlain, kFlavorsForm, Readers::kAll, "Quota[]"}}};
}

Resource Cohorts() {
  using enum FieldType;
  return {.name = "cohorts",
          .description =
              "the Cohorts: own quota, and the quota and use of all queues below; who sees a queue "
              "sees the Cohorts above it",
          .everywhere = {kKueueGroup, "clusterqueues"},
          .in_namespace = {kKueueGroup, "localqueues"},
          .fields = {{"name", kText, Use::kPlain, "name of the Cohort, which need not exist"},
                     {"parents", kList, Use::kShared, "the Cohorts above it, nearest first",
                      Readers::kAll, "text[]"},
                     {"fairWeightBillionths", kNumber, Use::kPlain, "weight of fair sharing"},
                     {"weightedShare", kNumber, Use::kSort,
                      "its share above the nominal quota; null: without fair sharing"},
                     {"resources", kList, Use::kPlain,
                      "list of {resource, unit, used, nominal, borrowed, lent}: nominal is its own "
                      "quota and that of all queues and Cohorts below; borrowed is what these use "
                      "beyond that; lent is 0",
                      Readers::kAll, "Use[]"},
                     {"flavors", kList, Use::kPlain, kFlavorsForm, Readers::kAll, "Quota[]"}}};
}

Resource LocalQueues() {
  using enum FieldType;
  return {.name = "localqueues",
          .description = "the LocalQueues",
          .everywhere = {kKueueGroup, "localqueues"},
          .in_namespace = {kKueueGroup, "localqueues"},
          .fields = {{"namespace", kText, Use::kFilter, "namespace of the LocalQueue"},
                     {"name", kText, Use::kPlain, "name of the LocalQueue"},
                     {"clusterQueue", kText, Use::kFilter, "the ClusterQueue that it feeds"},
                     {"waiting", kNumber, Use::kSort, "waiting Workloads", Readers::kAll, "whole"},
                     {"running", kNumber, Use::kSort, "admitted Workloads", Readers::kAll, "whole"},
                     {"stopPolicy", kText, Use::kFilter, "None, Hold or HoldAndDrain"}}};
}

Resource CapacityRequests() {
  using enum FieldType;
  return {
      .name = "capacityrequests",
      .description = "the ProvisioningRequests: what was asked of the cloud",
      .everywhere = {"autoscaling.x-k8s.io", "provisioningrequests"},
      .in_namespace = {"autoscaling.x-k8s.io", "provisioningrequests"},
      .fields = {
          {"namespace", kText, Use::kFilter, "namespace of the ProvisioningRequest"},
          {"name", kText, Use::kPlain, "name of the ProvisioningRequest"},
          {"class", kText, Use::kFilter, "provisioning class"},
          {"state", kText, Use::kFilter, "Pending, or the latest condition that is true"},
          {"stateSince", kTime, Use::kPlain, "since when that condition is true; null: Pending"},
          {"createdAt", kTime, Use::kSort, "when it was asked", Readers::kAll, "time"},
          {"workload", kText, Use::kPlain, "name of the Workload; empty: none"},
          {"message", kText, Use::kPlain, "message of that condition"}}};
}

const char* TypeName(FieldType type) {
  switch (type) {
    case FieldType::kText: return "text";
    case FieldType::kNumber: return "number";
    case FieldType::kTime: return "time";
    case FieldType::kObject: return "object";
    case FieldType::kList: return "list";
  }
  return "";
}

std::string Abilities(const Field& field) {
  std::string text = field.is_filter()   ? "filter"
                     : field.is_prefix() ? "filter: its beginning"
                                         : "";
  if (field.is_sort()) text += text.empty() ? "sort" : ", sort";
  return text;
}

}  // namespace

std::optional<std::size_t> Resource::Find(std::string_view field) const {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (field == fields[i].name) return i;
  }
  return std::nullopt;
}

const std::vector<Resource>& Resources() {
  static const std::vector<Resource> kResources = {Workloads(), Queues(), LocalQueues(),
                                                   CapacityRequests(), Cohorts()};
  return kResources;
}

std::optional<std::size_t> FindResource(std::string_view name) {
  for (std::size_t i = 0; i < Resources().size(); ++i) {
    if (name == Resources()[i].name) return i;
  }
  return std::nullopt;
}

std::string FieldTables() {
  std::string text;
  for (const Resource& resource : Resources()) {
    text += std::string("### ") + resource.name + "\n\n" + resource.description + ".\n\n";
    text += "| field | type | may | content |\n|---|---|---|---|\n";
    for (const Field& field : resource.fields) {
      text += std::string("| `") + field.name + "` | " + TypeName(field.type) + " | " +
              Abilities(field) + " | " + field.description;
      if (field.readers == Readers::kCluster) text += " (only with the right in all namespaces)";
      text += " |\n";
    }
    text += "\n";
  }
  return text;
}

}  // namespace berth::readapi
