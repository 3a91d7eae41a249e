#include "local/apiserver/registry/strategies/pod_spec.h"

#include <cstdlib>
#include <set>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/quantity_text.h"

namespace berth::local {
namespace {

// Approximates a quantity, for comparisons of two amounts of one resource; 15 digits
// suffice.
double QuantityValue(const std::string& text) {
  static const std::pair<std::string_view, double> kSuffixes[] = {
      {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
      {"Pi", 0x1p50}, {"Ei", 0x1p60},    {"n", 1e-9},          {"u", 1e-6},
      {"m", 1e-3},    {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
      {"T", 1e12},    {"P", 1e15},       {"E", 1e18}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string_view suffix(end);
  for (const auto& [name, factor] : kSuffixes) {
    if (suffix == name) return number * factor;
  }
  return number;
}

void CheckQuantities(const Json* quantities, const std::string& path, std::vector<Cause>& causes) {
  if (quantities == nullptr || !quantities->is_object()) return;
  for (const auto& [name, value] : quantities->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : api::FormatJson(value);
    if (!CanonicalQuantity(text)) continue;  // the type check refuses it
    if (QuantityValue(text) < 0) {
      causes.push_back(
          InvalidError(KeyPath(path, name), text, "must be greater than or equal to 0"));
    }
  }
}

void CheckResources(const Json& container, const std::string& path, std::vector<Cause>& causes) {
  const Json* limits = At(container, {"resources", "limits"});
  const Json* requests = At(container, {"resources", "requests"});
  CheckQuantities(limits, path + ".limits", causes);
  CheckQuantities(requests, path + ".requests", causes);
  if (limits == nullptr || requests == nullptr) return;
  for (const auto& [name, value] : requests->items()) {
    const std::string limit = TextAt(*limits, {name});
    if (limit.empty() || !value.is_string()) continue;
    if (QuantityValue(value.get<std::string>()) > QuantityValue(limit)) {
      causes.push_back(
          InvalidError(path + ".requests", value,
                       "must be less than or equal to " + name + " limit of " + limit));
    }
  }
}

void CheckMounts(const Json& container, const std::string& path,
                 const std::set<std::string>& volumes, std::vector<Cause>& causes) {
  const Json& mounts = ArrayAt(container, {"volumeMounts"});
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string mount = IndexPath(path + ".volumeMounts", i);
    const std::string name = TextAt(mounts[i], {"name"});
    if (name.empty()) {
      causes.push_back(RequiredError(mount + ".name"));
    } else if (!volumes.contains(name)) {
      causes.push_back(NotFoundError(mount + ".name", name));
    }
    if (TextAt(mounts[i], {"mountPath"}).empty()) {
      causes.push_back(RequiredError(mount + ".mountPath"));
    }
  }
}

void CheckContainers(const Json& spec, const std::string& path, const char* field,
                     const std::set<std::string>& volumes, std::set<std::string>& names,
                     std::vector<Cause>& causes) {
  const Json& containers = ArrayAt(spec, {field});
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Json& container = containers[i];
    const std::string here = IndexPath(ChildPath(path, field), i);
    const std::string name = TextAt(container, {"name"});
    if (name.empty()) {
      causes.push_back(RequiredError(here + ".name"));
    } else if (!names.insert(name).second) {
      causes.push_back(DuplicateError(here + ".name", name));
    } else {
      for (const std::string& why : Dns1123LabelErrors(name)) {
        causes.push_back(InvalidError(here + ".name", name, why));
      }
    }
    if (TextAt(container, {"image"}).empty()) causes.push_back(RequiredError(here + ".image"));
    const std::string pull = TextAt(container, {"imagePullPolicy"});
    if (!pull.empty() && pull != "Always" && pull != "Never" && pull != "IfNotPresent") {
      causes.push_back(
          NotSupportedError(here + ".imagePullPolicy", pull, {"Always", "IfNotPresent", "Never"}));
    }
    CheckResources(container, here + ".resources", causes);
    CheckMounts(container, here, volumes, causes);
    const Json& env = ArrayAt(container, {"env"});
    for (std::size_t k = 0; k < env.size(); ++k) {
      if (TextAt(env[k], {"name"}).empty()) {
        causes.push_back(RequiredError(IndexPath(here + ".env", k) + ".name"));
      }
    }
  }
}

void CheckTolerations(const Json& spec, const std::string& path, std::vector<Cause>& causes) {
  const Json& tolerations = ArrayAt(spec, {"tolerations"});
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const std::string here = IndexPath(path + ".tolerations", i);
    const std::string op = TextAt(tolerations[i], {"operator"});
    if (!op.empty() && op != "Exists" && op != "Equal") {
      causes.push_back(NotSupportedError(here + ".operator", op, {"Equal", "Exists"}));
    }
    if (op == "Exists" && !TextAt(tolerations[i], {"value"}).empty()) {
      causes.push_back(InvalidError(here + ".operator", tolerations[i]["value"],
                                    "value must be empty when `operator` is 'Exists'"));
    }
    const std::string effect = TextAt(tolerations[i], {"effect"});
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
        effect != "NoExecute") {
      causes.push_back(NotSupportedError(here + ".effect", effect,
                                         {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
    }
  }
}

}  // namespace

std::vector<Cause> ValidatePodSpec(const Json& spec, const std::string& path) {
  std::vector<Cause> causes;
  std::set<std::string> volumes;
  const Json& listed = ArrayAt(spec, {"volumes"});
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string here = IndexPath(path + ".volumes", i) + ".name";
    const std::string name = TextAt(listed[i], {"name"});
    if (name.empty()) {
      causes.push_back(RequiredError(here));
    } else if (!volumes.insert(name).second) {
      causes.push_back(DuplicateError(here, name));
    }
  }
  std::set<std::string> names;
  if (ArrayAt(spec, {"containers"}).empty()) causes.push_back(RequiredError(path + ".containers"));
  CheckContainers(spec, path, "containers", volumes, names, causes);
  CheckContainers(spec, path, "initContainers", volumes, names, causes);
  const std::string restart = TextAt(spec, {"restartPolicy"});
  if (!restart.empty() && restart != "Always" && restart != "OnFailure" && restart != "Never") {
    causes.push_back(
        NotSupportedError(path + ".restartPolicy", restart, {"Always", "OnFailure", "Never"}));
  }
  CheckResources(spec, path + ".resources", causes);  // the pod as a whole
  CheckQuantities(Member(spec, "overhead"), path + ".overhead", causes);
  if (const Json* deadline = Member(spec, "activeDeadlineSeconds");
      deadline != nullptr && (IntAt(spec, {"activeDeadlineSeconds"}, 0) < 1 ||
                              IntAt(spec, {"activeDeadlineSeconds"}, 0) > INT32_MAX)) {
    causes.push_back(InvalidError(path + ".activeDeadlineSeconds", *deadline,
                                  "must be between 1 and 2147483647, inclusive"));
  }
  CheckTolerations(spec, path, causes);
  if (const Json* selector = Member(spec, "nodeSelector")) {
    for (Cause& cause : ValidateLabels(*selector, path + ".nodeSelector")) {
      causes.push_back(std::move(cause));
    }
  }
  return causes;
}

std::string QosClass(const Json& spec) {
  bool any = false;
  bool guaranteed = true;
  for (const char* field : {"containers", "initContainers"}) {
    for (const Json& container : ArrayAt(spec, {field})) {
      for (const std::string_view resource : {"cpu", "memory"}) {
        const std::string limit = TextAt(container, {"resources", "limits", resource});
        const std::string request = TextAt(container, {"resources", "requests", resource});
        any = any || !limit.empty() || !request.empty();
        if (limit.empty() || (!request.empty() && request != limit)) guaranteed = false;
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace berth::local
