#include "local/apiserver/registry/pod_limits.h"

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/pod_amounts.h"

namespace berth::local {
namespace {

// The requests and limits of one container, or of a whole pod.
struct Asked {
  api::ResourceAmounts requests;
  api::ResourceAmounts limits;
};

Asked AskedBy(const Json& container) {
  return {AmountsIn(At(container, {"resources", "requests"})),
          AmountsIn(At(container, {"resources", "limits"}))};
}

std::string Show(const std::string& resource, api::Amount amount) {
  return api::FormatAmount(resource, amount);
}

const api::Amount* AmountOf(const api::ResourceAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? nullptr : &found->second;
}

void CheckLeast(const Json& item, const Asked& asked, const std::string& type,
                std::vector<std::string>& out) {
  for (const auto& [resource, least] : AmountsIn(Member(item, "min"))) {
    const std::string start =
        fmt::format("minimum {} usage per {} is {}", resource, type, Show(resource, least));
    const api::Amount* request = AmountOf(asked.requests, resource);
    const api::Amount* limit = AmountOf(asked.limits, resource);
    if (request == nullptr) {
      out.push_back(start + ".  No request is specified");
    } else if (*request < least) {
      out.push_back(start + ", but request is " + Show(resource, *request));
    } else if (limit != nullptr && *limit < least) {
      out.push_back(start + ", but limit is " + Show(resource, *limit));
    }
  }
}

void CheckMost(const Json& item, const Asked& asked, const std::string& type,
               std::vector<std::string>& out) {
  for (const auto& [resource, most] : AmountsIn(Member(item, "max"))) {
    const std::string start =
        fmt::format("maximum {} usage per {} is {}", resource, type, Show(resource, most));
    const api::Amount* request = AmountOf(asked.requests, resource);
    const api::Amount* limit = AmountOf(asked.limits, resource);
    if (limit == nullptr) {
      out.push_back(start + ".  No limit is specified");
    } else if (*limit > most) {
      out.push_back(start + ", but limit is " + Show(resource, *limit));
    } else if (request != nullptr && *request > most) {
      out.push_back(start + ", but request is " + Show(resource, *request));
    }
  }
}

void CheckRatio(const Json& item, const Asked& asked, const std::string& type,
                std::vector<std::string>& out) {
  const Json* ratios = Member(item, "maxLimitRequestRatio");
  if (ratios == nullptr || !ratios->is_object()) return;
  for (const auto& [resource, value] : ratios->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : api::FormatJson(value);
    const auto ratio = api::Quantity::Parse(text);
    if (!ratio) continue;
    const std::string start =
        fmt::format("{} max limit to request ratio per {} is {}", resource, type, text);
    const api::Amount* request = AmountOf(asked.requests, resource);
    const api::Amount* limit = AmountOf(asked.limits, resource);
    if (request == nullptr || limit == nullptr || *request <= 0) {
      out.push_back(start + ", but no request is specified or request is 0");
      continue;
    }
    const double has = static_cast<double>(*limit) / static_cast<double>(*request);
    if (has * 1000 > static_cast<double>(ratio->MilliValue())) {
      out.push_back(start + fmt::format(", but provided ratio is {:.6f}", has));
    }
  }
}

void Check(const Json& item, const Asked& asked, const std::string& type,
           std::vector<std::string>& out) {
  CheckLeast(item, asked, type, out);
  CheckMost(item, asked, type, out);
  CheckRatio(item, asked, type, out);
}

// Calls `visit` with each limit of `type`.
template <typename Visit>
void ForEachLimit(const std::vector<Object>& ranges, std::string_view type, const Visit& visit) {
  for (const Object& range : ranges) {
    for (const Json& item : ArrayAt(*range, {"spec", "limits"})) {
      if (TextAt(item, {"type"}) == type) visit(item);
    }
  }
}

// The names that were filled in.
std::string FillIn(Json& container, const char* field, const Json* defaults) {
  std::string names;
  if (defaults == nullptr || !defaults->is_object()) return names;
  for (const auto& [name, quantity] : defaults->items()) {
    if (At(container, {"resources", field, name}) != nullptr) continue;
    container["resources"][field][name] = quantity;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace

void ApplyLimitDefaults(const std::vector<Object>& ranges, Json& pod) {
  if (!pod.contains("spec") || !pod["spec"].is_object()) return;
  std::string told;
  for (const char* list : {"containers", "initContainers"}) {
    if (ArrayAt(pod, {"spec", list}).empty()) continue;
    for (Json& container : pod["spec"][list]) {
      ForEachLimit(ranges, "Container", [&](const Json& item) {
        const char* what = std::string_view(list) == "containers" ? "container" : "init container";
        for (const auto& [field, from, word] :
             {std::tuple("limits", "default", "limit"),
              std::tuple("requests", "defaultRequest", "request")}) {
          const std::string names = FillIn(container, field, Member(item, from));
          if (names.empty()) continue;
          told += (told.empty() ? "" : "; ") +
                  fmt::format("{} {} for {} {}", names, word, what, TextAt(container, {"name"}));
        }
      });
    }
  }
  if (told.empty()) return;
  pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + told;
}

std::vector<std::string> LimitViolations(const std::vector<Object>& ranges, const Json& pod) {
  std::vector<std::string> out;
  const Json* spec = Member(pod, "spec");
  if (spec == nullptr) return out;
  ForEachLimit(ranges, "Container", [&](const Json& item) {
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : ArrayAt(*spec, {list})) {
        Check(item, AskedBy(container), "Container", out);
      }
    }
  });
  ForEachLimit(ranges, "Pod", [&](const Json& item) {
    Check(item, {PodAmounts(*spec, "requests"), PodAmounts(*spec, "limits")}, "Pod", out);
  });
  return out;
}

std::vector<std::string> ClaimViolations(const std::vector<Object>& ranges, const Json& claim) {
  std::vector<std::string> out;
  Asked asked;
  asked.requests = AmountsIn(At(claim, {"spec", "resources", "requests"}));
  asked.limits = asked.requests;  // a claim has its request alone
  ForEachLimit(ranges, "PersistentVolumeClaim",
               [&](const Json& item) { Check(item, asked, "PersistentVolumeClaim", out); });
  return out;
}

std::optional<std::string> ApplyRuntimeClass(const Json& runtime_class, Json& pod) {
  Json& spec = pod["spec"];
  const Json* overhead = At(runtime_class, {"overhead", "podFixed"});
  const Json* given = Member(spec, "overhead");
  const bool given_some = given != nullptr && !given->empty();
  if (given_some && (overhead == nullptr || AmountsIn(given) != AmountsIn(overhead))) {
    return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  }
  if (overhead != nullptr) spec["overhead"] = *overhead;
  if (const Json* selector = At(runtime_class, {"scheduling", "nodeSelector"})) {
    for (const auto& [key, value] : selector->items()) {
      const Json* known = At(spec, {"nodeSelector", key});
      if (known != nullptr && *known != value) {
        return fmt::format(
            "conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; "
            "pod.spec.nodeSelector = {}",
            key, api::FormatJson(value), api::FormatJson(*known));
      }
      spec["nodeSelector"][key] = value;
    }
  }
  for (const Json& toleration : ArrayAt(runtime_class, {"scheduling", "tolerations"})) {
    bool known = false;
    for (const Json& one : ArrayAt(spec, {"tolerations"})) known = known || one == toleration;
    if (!known) spec["tolerations"].push_back(toleration);
  }
  return std::nullopt;
}

}  // namespace berth::local
