// The cells of kinds of storage, networking and autoscaling. Source: kubectl's tables, restated.
#include <set>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/http/table_cells.h"
#include "local/apiserver/http/table_texts.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxHosts = 3;
constexpr std::size_t kMaxMetrics = 2;
constexpr std::size_t kMaxAddressText = 16;

std::string AccessModes(const Json& modes) {
  std::string joined;
  for (const Json& mode : modes) {
    const std::string text = mode.is_string() ? mode.get<std::string>() : "";
    const std::string form = text == "ReadWriteOnce"      ? "RWO"
                             : text == "ReadOnlyMany"     ? "ROX"
                             : text == "ReadWriteMany"    ? "RWX"
                             : text == "ReadWriteOncePod" ? "RWOP"
                                                          : text;
    joined += (joined.empty() ? "" : ",") + form;
  }
  return joined;
}

std::string OrUnset(const std::string& text) { return text.empty() ? "<unset>" : text; }

// "(default)" behind the name of a class that says so in an annotation.
std::string ClassName(const Json& object, std::string_view annotation) {
  const bool is_default = TextAt(object, {"metadata", "annotations", annotation}) == "true";
  return NameOf(object) + (is_default ? " (default)" : "");
}

std::string AmountText(const Json* value) {
  if (value == nullptr) return "<unknown>";
  return value->is_string() ? value->get<std::string>() : api::FormatJson(*value);
}

std::string ShareText(const Json* share, const char* otherwise) {
  return share == nullptr ? otherwise : AmountText(share) + "%";
}

// "cpu: 12%/80%", "<unknown>/10 (avg)", …. `current` is the same metric in the status.
std::string MetricText(const Json& metric, const Json& current) {
  const std::string type = TextAt(metric, {"type"});
  const std::string field = type.empty() ? "" : ToLower(type.substr(0, 1)) + type.substr(1);
  const auto wanted = [&](const char* name) { return At(metric, {field, "target", name}); };
  const auto seen = [&](const char* name) { return At(current, {field, "current", name}); };
  if (type == "Resource" || type == "ContainerResource") {
    const std::string start = TextAt(metric, {field, "name"}) + ": ";
    if (const Json* average = wanted("averageValue")) {
      return start + AmountText(seen("averageValue")) + "/" + AmountText(average);
    }
    return start + ShareText(seen("averageUtilization"), "<unknown>") + "/" +
           ShareText(wanted("averageUtilization"), "<auto>");
  }
  if (type != "Pods" && type != "Object" && type != "External") return "<unknown type>";
  if (const Json* average = wanted("averageValue")) {
    return AmountText(seen("averageValue")) + "/" + AmountText(average) +
           (type == "Pods" ? "" : " (avg)");
  }
  return AmountText(seen("value")) + "/" + AmountText(wanted("value"));
}

std::string MetricsText(const Json& autoscaler) {
  const Json& metrics = ArrayAt(autoscaler, {"spec", "metrics"});
  const Json& current = ArrayAt(autoscaler, {"status", "currentMetrics"});
  std::string text;
  for (std::size_t i = 0; i < metrics.size() && i < kMaxMetrics; ++i) {
    const Json seen = i < current.size() ? current[i] : Json::object();
    text += (text.empty() ? "" : ", ") + MetricText(metrics[i], seen);
  }
  if (metrics.size() <= kMaxMetrics) return OrNone(text);
  return text + " + " + std::to_string(metrics.size() - kMaxMetrics) + " more...";
}

std::string HostsText(const Json& rules) {
  std::string text;
  std::size_t count = 0;
  bool has_more = false;
  for (const Json& rule : rules) {
    if (count == kMaxHosts) has_more = true;
    const std::string host = TextAt(rule, {"host"});
    if (has_more || host.empty()) continue;
    text += (text.empty() ? "" : ",") + host;
    ++count;
  }
  if (text.empty()) return "*";
  return has_more ? text + " + " + std::to_string(rules.size() - kMaxHosts) + " more..." : text;
}

std::string IngressAddress(const Json& ingress) {
  std::set<std::string> addresses;
  for (const Json& point : ArrayAt(ingress, {"status", "loadBalancer", "ingress"})) {
    const std::string ip = TextAt(point, {"ip"});
    const std::string host = TextAt(point, {"hostname"});
    if (!ip.empty() || !host.empty()) addresses.insert(ip.empty() ? host : ip);
  }
  std::string text = Join({addresses.begin(), addresses.end()}, ",");
  if (text.size() > kMaxAddressText) text = text.substr(0, kMaxAddressText - 3) + "...";
  return text;
}

}  // namespace

Json ClaimCells(const Json& claim, WallTime now) {
  const std::string attributes = TextAt(claim, {"spec", "volumeAttributesClassName"});
  return Json::array(
      {NameOf(claim), IsBeingDeleted(claim) ? "Terminating" : TextAt(claim, {"status", "phase"}),
       TextAt(claim, {"spec", "volumeName"}), TextAt(claim, {"status", "capacity", "storage"}),
       AccessModes(ArrayAt(claim, {"status", "accessModes"})),
       TextAt(claim, {"spec", "storageClassName"}), attributes.empty() ? "<unset>" : attributes,
       Age(claim, now), TextAt(claim, {"spec", "volumeMode"})});
}

Json VolumeCells(const Json& volume, WallTime now) {
  const Json* claim = At(volume, {"spec", "claimRef"});
  const std::string claim_text =
      claim == nullptr ? "" : TextAt(*claim, {"namespace"}) + "/" + TextAt(*claim, {"name"});
  return Json::array({NameOf(volume), TextAt(volume, {"spec", "capacity", "storage"}),
                      AccessModes(ArrayAt(volume, {"spec", "accessModes"})),
                      TextAt(volume, {"spec", "persistentVolumeReclaimPolicy"}),
                      IsBeingDeleted(volume) ? "Terminating" : TextAt(volume, {"status", "phase"}),
                      claim_text, TextAt(volume, {"spec", "storageClassName"}),
                      OrUnset(TextAt(volume, {"spec", "volumeAttributesClassName"})),
                      TextAt(volume, {"status", "reason"}), Age(volume, now),
                      OrUnset(TextAt(volume, {"spec", "volumeMode"}))});
}

Json AutoscalerCells(const Json& autoscaler, WallTime now) {
  const Json* least = At(autoscaler, {"spec", "minReplicas"});
  return Json::array({NameOf(autoscaler),
                      TextAt(autoscaler, {"spec", "scaleTargetRef", "kind"}) + "/" +
                          TextAt(autoscaler, {"spec", "scaleTargetRef", "name"}),
                      MetricsText(autoscaler),
                      least == nullptr ? std::string("<unset>") : api::FormatJson(*least),
                      IntAt(autoscaler, {"spec", "maxReplicas"}, 0),
                      IntAt(autoscaler, {"status", "currentReplicas"}, 0), Age(autoscaler, now)});
}

Json IngressCells(const Json& ingress, WallTime now) {
  return Json::array({NameOf(ingress), OrNone(TextAt(ingress, {"spec", "ingressClassName"})),
                      HostsText(ArrayAt(ingress, {"spec", "rules"})), IngressAddress(ingress),
                      ArrayAt(ingress, {"spec", "tls"}).empty() ? "80" : "80, 443",
                      Age(ingress, now)});
}

Json IngressClassCells(const Json& object, WallTime now) {
  std::string parameters = "<none>";
  if (const Json* given = At(object, {"spec", "parameters"})) {
    const std::string group = TextAt(*given, {"apiGroup"});
    parameters = TextAt(*given, {"kind"}) + (group.empty() ? "" : "." + group) + "/" +
                 TextAt(*given, {"name"});
  }
  return Json::array({ClassName(object, "ingressclass.kubernetes.io/is-default-class"),
                      TextAt(object, {"spec", "controller"}), parameters, Age(object, now)});
}

Json NetworkPolicyCells(const Json& policy, WallTime now) {
  return Json::array(
      {NameOf(policy), SelectorText(At(policy, {"spec", "podSelector"})), Age(policy, now)});
}

Json StorageClassCells(const Json& object, WallTime now) {
  return Json::array({ClassName(object, "storageclass.kubernetes.io/is-default-class"),
                      TextAt(object, {"provisioner"}), TextAt(object, {"reclaimPolicy"}),
                      TextAt(object, {"volumeBindingMode"}),
                      BoolAt(object, {"allowVolumeExpansion"}, false), Age(object, now)});
}

Json VolumeAttributesClassCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), TextAt(object, {"driverName"}), Age(object, now)});
}

Json CsiDriverCells(const Json& driver, WallTime now) {
  std::string modes;
  for (const Json& mode : ArrayAt(driver, {"spec", "volumeLifecycleModes"})) {
    modes += (modes.empty() ? "" : ",") + (mode.is_string() ? mode.get<std::string>() : "");
  }
  std::string audiences;
  for (const Json& request : ArrayAt(driver, {"spec", "tokenRequests"})) {
    audiences += (audiences.empty() ? "" : ",") + TextAt(request, {"audience"});
  }
  const bool has_requests = At(driver, {"spec", "tokenRequests"}) != nullptr;
  return Json::array(
      {NameOf(driver), BoolAt(driver, {"spec", "attachRequired"}, true),
       BoolAt(driver, {"spec", "podInfoOnMount"}, false),
       BoolAt(driver, {"spec", "storageCapacity"}, false), has_requests ? audiences : "<unset>",
       BoolAt(driver, {"spec", "requiresRepublish"}, false), OrNone(modes), Age(driver, now)});
}

Json CsiNodeCells(const Json& node, WallTime now) {
  return Json::array({NameOf(node), ArrayAt(node, {"spec", "drivers"}).size(), Age(node, now)});
}

Json CsiCapacityCells(const Json& capacity, WallTime /*now*/) {
  return Json::array({NameOf(capacity), TextAt(capacity, {"storageClassName"}),
                      OrUnset(TextAt(capacity, {"capacity"}))});
}

Json VolumeAttachmentCells(const Json& attachment, WallTime now) {
  return Json::array({NameOf(attachment), TextAt(attachment, {"spec", "attacher"}),
                      TextAt(attachment, {"spec", "source", "persistentVolumeName"}),
                      TextAt(attachment, {"spec", "nodeName"}),
                      BoolAt(attachment, {"status", "attached"}, false), Age(attachment, now)});
}

// "False (MissingEndpoints)" where an APIService does not answer.
Json ApiServiceCells(const Json& service, WallTime now) {
  const Json* available = FindCondition(service, "Available");
  std::string text = available == nullptr ? "Unknown" : TextAt(*available, {"status"});
  if (available != nullptr && text != "True") text += " (" + TextAt(*available, {"reason"}) + ")";
  const std::string name = TextAt(service, {"spec", "service", "name"});
  return Json::array(
      {NameOf(service),
       name.empty() ? "Local" : TextAt(service, {"spec", "service", "namespace"}) + "/" + name,
       text, Age(service, now)});
}

Json CertificateRequestCells(const Json& request, WallTime now) {
  const bool is_denied = FindCondition(request, "Denied") != nullptr;
  std::string state = is_denied                                       ? "Denied"
                      : FindCondition(request, "Approved") != nullptr ? "Approved"
                                                                      : "Pending";
  if (FindCondition(request, "Failed") != nullptr) state += ",Failed";
  if (!TextAt(request, {"status", "certificate"}).empty()) state += ",Issued";
  const std::chrono::seconds asked{IntAt(request, {"spec", "expirationSeconds"}, 0)};
  return Json::array({NameOf(request), Age(request, now), TextAt(request, {"spec", "signerName"}),
                      TextAt(request, {"spec", "username"}),
                      asked.count() > 0 ? AgeText(FormatTime(now - asked), now) : "<none>", state});
}

Json RuntimeClassCells(const Json& object, WallTime now) {
  return Json::array({NameOf(object), TextAt(object, {"handler"}), Age(object, now)});
}

}  // namespace berth::local
