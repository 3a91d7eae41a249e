#include "local/apiserver/http/tables.h"

#include <map>

#include "local/apiserver/http/table_cells.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/printer_columns.h"

namespace berth::local {
namespace {

struct Column {
  const char* name;
  const char* type = "string";
  const char* format = "";
  int priority = 0;
};

struct Printer {
  std::vector<Column> columns;
  Json (*cells)(const Json& object, WallTime now);
};

constexpr Column kName{"Name", "string", "name"};
constexpr Column kAge{"Age"};

std::vector<Column> EventColumns() {
  return {{"Last Seen"},
          {"Type"},
          {"Reason"},
          {"Object"},
          {"Subobject", "string", "", 1},
          {"Source", "string", "", 1},
          {"Message"},
          {"First Seen", "string", "", 1},
          {"Count", "string", "", 1},
          {"Name", "string", "name", 1}};
}

// Those of `kubectl get -o wide` for kinds with a pod template.
std::vector<Column> WithTemplateColumns(std::vector<Column> columns) {
  for (const char* name : {"Containers", "Images", "Selector"}) {
    columns.push_back({name, "string", "", 1});
  }
  return columns;
}

std::vector<Column> DeploymentColumns() {
  return WithTemplateColumns(
      {kName, {"Ready"}, {"Up-to-date", "integer"}, {"Available", "integer"}, kAge});
}

std::vector<Column> ReplicaSetColumns() {
  return WithTemplateColumns(
      {kName, {"Desired", "integer"}, {"Current", "integer"}, {"Ready", "integer"}, kAge});
}

std::vector<Column> DaemonSetColumns() {
  return WithTemplateColumns({kName,
                              {"Desired", "integer"},
                              {"Current", "integer"},
                              {"Ready", "integer"},
                              {"Up-to-date", "integer"},
                              {"Available", "integer"},
                              {"Node Selector"},
                              kAge});
}

std::vector<Column> CronJobColumns() {
  return WithTemplateColumns({kName,
                              {"Schedule"},
                              {"Timezone"},
                              {"Suspend", "boolean"},
                              {"Active", "integer"},
                              {"Last Schedule"},
                              kAge});
}

std::vector<Column> ClaimColumns() {
  return {kName,
          {"Status"},
          {"Volume"},
          {"Capacity"},
          {"Access Modes"},
          {"StorageClass"},
          {"VolumeAttributesClass"},
          kAge,
          {"VolumeMode", "string", "", 1}};
}

using PrinterMap = std::map<std::string, Printer, std::less<>>;

// The printers of apps/v1, batch/v1 and what they use.
PrinterMap WorkloadPrinters() {
  return {
      {"deployments.apps", {DeploymentColumns(), DeploymentCells}},
      {"replicasets.apps", {ReplicaSetColumns(), ReplicaSetCells}},
      {"replicationcontrollers", {ReplicaSetColumns(), ReplicationControllerCells}},
      {"statefulsets.apps",
       {{kName, {"Ready"}, kAge, {"Containers", "string", "", 1}, {"Images", "string", "", 1}},
        StatefulSetCells}},
      {"daemonsets.apps", {DaemonSetColumns(), DaemonSetCells}},
      {"controllerrevisions.apps",
       {{kName, {"Controller"}, {"Revision", "integer"}, kAge}, ControllerRevisionCells}},
      {"cronjobs.batch", {CronJobColumns(), CronJobCells}},
      {"poddisruptionbudgets.policy",
       {{kName, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", "integer"}, kAge},
        DisruptionBudgetCells}},
      {"resourcequotas", {{kName, {"Request"}, {"Limit"}, kAge}, ResourceQuotaCells}},
      {"persistentvolumeclaims", {ClaimColumns(), ClaimCells}},
  };
}

PrinterMap CorePrinters() {
  return {
      {"pods",
       {{kName,
         {"Ready"},
         {"Status"},
         {"Restarts"},
         kAge,
         {"IP", "string", "", 1},
         {"Node", "string", "", 1},
         {"Nominated Node", "string", "", 1},
         {"Readiness Gates", "string", "", 1}},
        PodCells}},
      {"jobs.batch",
       {{kName,
         {"Status"},
         {"Completions"},
         {"Duration"},
         kAge,
         {"Containers", "string", "", 1},
         {"Images", "string", "", 1},
         {"Selector", "string", "", 1}},
        JobCells}},
      {"nodes",
       {{kName,
         {"Status"},
         {"Roles"},
         kAge,
         {"Version"},
         {"Internal-IP", "string", "", 1},
         {"External-IP", "string", "", 1},
         {"OS-Image", "string", "", 1},
         {"Kernel-Version", "string", "", 1},
         {"Container-Runtime", "string", "", 1}},
        NodeCells}},
      {"namespaces", {{kName, {"Status"}, kAge}, NamespaceCells}},
      {"events", {EventColumns(), EventCells}},
      {"configmaps", {{kName, {"Data", "integer"}, kAge}, ConfigMapCells}},
      {"secrets", {{kName, {"Type"}, {"Data", "integer"}, kAge}, SecretCells}},
      {"serviceaccounts", {{kName, {"Secrets", "integer"}, kAge}, ServiceAccountCells}},
      {"services",
       {{kName,
         {"Type"},
         {"Cluster-IP"},
         {"External-IP"},
         {"Port(s)"},
         kAge,
         {"Selector", "string", "", 1}},
        ServiceCells}},
      {"podtemplates", {{kName, {"Containers"}, {"Images"}, {"Pod Labels"}}, PodTemplateCells}},
      {"leases.coordination.k8s.io", {{kName, {"Holder"}, kAge}, LeaseCells}},
      {"priorityclasses.scheduling.k8s.io",
       {{kName, {"Value", "integer"}, {"Global-Default", "boolean"}, kAge, {"PreemptionPolicy"}},
        PriorityClassCells}},
      {"customresourcedefinitions.apiextensions.k8s.io",
       {{kName, {"Created At", "date"}}, CrdCells}},
      {"mutatingwebhookconfigurations.admissionregistration.k8s.io",
       {{kName, {"Webhooks", "integer"}, kAge}, WebhookCells}},
      {"validatingwebhookconfigurations.admissionregistration.k8s.io",
       {{kName, {"Webhooks", "integer"}, kAge}, WebhookCells}},
  };
}

std::vector<Column> VolumeColumns() {
  return {kName,
          {"Capacity"},
          {"Access Modes"},
          {"Reclaim Policy"},
          {"Status"},
          {"Claim"},
          {"StorageClass"},
          {"VolumeAttributesClass"},
          {"Reason"},
          kAge,
          {"VolumeMode", "string", "", 1}};
}

std::vector<Column> CsiDriverColumns() {
  return {kName,
          {"AttachRequired", "boolean"},
          {"PodInfoOnMount", "boolean"},
          {"StorageCapacity", "boolean"},
          {"TokenRequests"},
          {"RequiresRepublish", "boolean"},
          {"Modes"},
          kAge};
}

// The printers of storage, networking and autoscaling.
PrinterMap StoredPrinters() {
  return {
      {"persistentvolumes", {VolumeColumns(), VolumeCells}},
      {"horizontalpodautoscalers.autoscaling",
       {{kName, {"Reference"}, {"Targets"}, {"MinPods"}, {"MaxPods"}, {"Replicas"}, kAge},
        AutoscalerCells}},
      {"ingresses.networking.k8s.io",
       {{kName, {"Class"}, {"Hosts"}, {"Address"}, {"Ports"}, kAge}, IngressCells}},
      {"ingressclasses.networking.k8s.io",
       {{kName, {"Controller"}, {"Parameters"}, kAge}, IngressClassCells}},
      {"networkpolicies.networking.k8s.io", {{kName, {"Pod-Selector"}, kAge}, NetworkPolicyCells}},
      {"storageclasses.storage.k8s.io",
       {{kName,
         {"Provisioner"},
         {"ReclaimPolicy"},
         {"VolumeBindingMode"},
         {"AllowVolumeExpansion"},
         kAge},
        StorageClassCells}},
      {"volumeattributesclasses.storage.k8s.io",
       {{kName, {"DriverName"}, kAge}, VolumeAttributesClassCells}},
      {"csidrivers.storage.k8s.io", {CsiDriverColumns(), CsiDriverCells}},
      {"csinodes.storage.k8s.io", {{kName, {"Drivers", "integer"}, kAge}, CsiNodeCells}},
      {"csistoragecapacities.storage.k8s.io",
       {{kName, {"StorageClassName"}, {"Capacity"}}, CsiCapacityCells}},
      {"volumeattachments.storage.k8s.io",
       {{kName, {"Attacher", "string", "name"}, {"PV"}, {"Node"}, {"Attached", "boolean"}, kAge},
        VolumeAttachmentCells}},
      {"apiservices.apiregistration.k8s.io",
       {{kName, {"Service"}, {"Available"}, kAge}, ApiServiceCells}},
      {"certificatesigningrequests.certificates.k8s.io",
       {{kName, kAge, {"SignerName"}, {"Requestor"}, {"RequestedDuration"}, {"Condition"}},
        CertificateRequestCells}},
      {"runtimeclasses.node.k8s.io", {{kName, {"Handler"}, kAge}, RuntimeClassCells}},
  };
}

const PrinterMap& Printers() {
  static const PrinterMap kPrinters = [] {
    PrinterMap printers = CorePrinters();
    printers.merge(WorkloadPrinters());
    printers.merge(StoredPrinters());
    return printers;
  }();
  return kPrinters;
}

Json DefinitionOf(const Column& column) {
  return {{"name", column.name},
          {"type", column.type},
          {"format", column.format},
          {"description", std::string(column.name) + " of the object"},
          {"priority", column.priority}};
}

const Printer* FindPrinter(const ResourceInfo& resource) {
  const auto it = Printers().find(resource.storage);
  return it == Printers().end() ? nullptr : &it->second;
}

}  // namespace

Json TableColumns(const ResourceInfo& resource) {
  if (resource.crd_version != nullptr) return ColumnDefinitions(resource.crd_version->columns);
  Json definitions = Json::array();
  if (const Printer* printer = FindPrinter(resource)) {
    for (const Column& column : printer->columns) definitions.push_back(DefinitionOf(column));
    return definitions;
  }
  definitions.push_back(DefinitionOf(kName));
  definitions.push_back(DefinitionOf({"Created At", "date"}));
  return definitions;
}

Json TableCells(const ResourceInfo& resource, const Json& object, WallTime now) {
  if (resource.crd_version != nullptr) return Cells(resource.crd_version->columns, object, now);
  if (const Printer* printer = FindPrinter(resource)) return printer->cells(object, now);
  return Json::array({NameOf(object), TextAt(object, {"metadata", "creationTimestamp"})});
}

Json RowConditions(const ResourceInfo& resource, const Json& object) {
  Json conditions = Json::array();
  if (resource.storage != "pods") return conditions;
  const std::string phase = TextAt(object, {"status", "phase"});
  if (phase != "Succeeded" && phase != "Failed") return conditions;
  conditions.push_back({{"type", "Completed"},
                        {"status", "True"},
                        {"reason", phase},
                        {"message", phase == "Succeeded" ? "The pod has completed successfully."
                                                         : "The pod failed."}});
  return conditions;
}

}  // namespace berth::local
