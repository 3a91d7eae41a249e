#include "admission/controller/configuration/configuration_parts.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/device_claims.h"
#include "api/codec/parts.h"
#include "base/dns_names.h"
#include "base/go_duration.h"
#include "base/strings.h"

namespace berth::admission {

using api::Reader;

bool IsUnset(const nlohmann::json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

bool IsLabelKey(std::string_view key) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return !key.empty() && key.front() != '/' && key.back() != '/' &&
         std::count(key.begin(), key.end(), '/') <= 1 && std::all_of(key.begin(), key.end(), plain);
}

namespace {

void CheckRequirement(const Reader& in, const api::LabelSelectorRequirement& requirement) {
  if (!IsLabelKey(requirement.key)) {
    return in.Field("key").Fail("\"" + requirement.key + "\" is not a label's key");
  }
  const bool with_values = requirement.op == "In" || requirement.op == "NotIn";
  if (!with_values && requirement.op != "Exists" && requirement.op != "DoesNotExist") {
    return in.Field("operator")
        .Fail("\"" + requirement.op + "\" is not one of In, NotIn, Exists, DoesNotExist");
  }
  if (with_values != requirement.values.empty()) return;
  in.Field("values").Fail(
      (with_values ? "must be specified with " : "must not be specified with ") + requirement.op);
}

}  // namespace

void ReadDuration(const Reader& in, Duration& out) {
  std::string text;
  in.Get(text);
  if (text.empty()) return;
  if (text.front() == '-') return in.Fail("must not be negative");
  const std::optional<Duration> duration = ParseGoDuration(text);
  if (!duration) return in.Fail("\"" + text + "\" is not a duration such as 30s or 5m");
  out = *duration;
}

void ReadDuration(const Reader& in, std::optional<Duration>& out) {
  if (in.present()) ReadDuration(in, out.emplace());
}

void ReadUnlessZero(const Reader& in, std::string& out) {
  std::string text;
  in.Get(text);
  if (!text.empty()) out = std::move(text);
}

void ReadUnlessZero(const Reader& in, Duration& out) {
  Duration read = Duration::zero();
  ReadDuration(in, read);
  if (read != Duration::zero()) out = read;
}

void ReadCount(const Reader& in, std::int32_t& out) {
  in.Get(out);
  if (in.present() && out < 0) in.Fail("must not be negative");
}

void ReadSelector(const Reader& in, api::LabelSelector& out) {
  static const std::array<std::string_view, 2> kFields{"matchLabels", "matchExpressions"};
  static const std::array<std::string_view, 3> kRequirementFields{"key", "operator", "values"};
  const auto only = [](const Reader& object, const auto& fields) {
    object.EachMember("an object", [&](const std::string& key, const Reader& value) {
      if (std::find(fields.begin(), fields.end(), key) == fields.end()) value.Fail("unknown field");
    });
  };
  only(in, kFields);
  api::Read(in, out);
  for (const auto& [key, value] : out.match_labels) {
    const Reader labels = in.Field("matchLabels");
    if (!IsLabelKey(key)) labels.Fail("\"" + key + "\" is not a label's key");
  }
  std::size_t index = 0;
  in.Field("matchExpressions").Each([&](const Reader& item) {
    only(item, kRequirementFields);
    CheckRequirement(item, out.match_expressions[index++]);
  });
}

void CheckFields(const Reader& in, const std::string& path,
                 std::initializer_list<std::string_view> known,
                 std::initializer_list<std::string_view> others, Configuration& out) {
  if (!in.present()) return;
  if (!in.json().is_object()) return in.Fail("expected an object");
  for (const auto& [key, value] : in.json().items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(others.begin(), others.end(), key) == others.end()) {
      return in.Field(key.c_str()).Fail("unknown field");
    }
    if (IsUnset(value)) continue;
    out.ignored.push_back({path + "." + key, "Berth does not have it"});
  }
}

namespace {

// Kueue counts one source of a mapping.
std::optional<DeviceCounter> ReadCounter(const api::Reader& in, const std::string& resource,
                                         Configuration& out) {
  std::optional<DeviceCounter> counter;
  std::size_t count = 0;
  in.Each([&](const api::Reader& item) {
    if (++count > 1) in.Fail("must have at most one item");
    if (item.Field("capacity").present()) {
      return item.Field("capacity")
          .Fail(
              "needs the gate KueueDRAIntegrationConsumableCapacity, which Berth does not have: "
              "leave "
              "`sources` out to count devices, or name a counter");
    }
    CheckFields(item, "resources.deviceClassMappings.sources", {"counter"}, {}, out);
    const api::Reader source = item.Field("counter");
    if (!source.present()) return item.Fail("must have a counter");
    CheckFields(source, "resources.deviceClassMappings.sources.counter",
                {"name", "driver", "deviceSelector"}, {}, out);
    DeviceCounter read{.resource = resource, .name = "", .driver = "", .selector = ""};
    source.Field("name").Get(read.name);
    source.Field("driver").Get(read.driver);
    const api::Reader selector = source.Field("deviceSelector");
    const api::Reader cel = selector.Field("cel");
    cel.Field("expression").Get(read.selector);
    if (!IsLabelKey(read.name)) source.Field("name").Fail("must be the name of a counter");
    if (!IsDnsSubdomain(read.driver) || read.driver.size() > 63) {
      source.Field("driver").Fail("must be the name of a driver, of at most 63 characters");
    }
    if (read.selector.empty()) {
      selector.Fail("must have cel.expression, which is true of the devices that count");
    } else if (const auto compiled = DeviceSelectors::Compile({read.selector}); !compiled) {
      selector.Fail(compiled.error().message);
    }
    counter = std::move(read);
  });
  if (in.present() && count == 0) in.Fail("must have one item");
  return counter;
}

// A class is counted once, or by several counters with names of their own.
void AddDeviceClass(const api::Reader& names, const std::string& name, const std::string& resource,
                    const std::optional<DeviceCounter>& counter, SchedulerConfig& scheduler) {
  const bool is_new = scheduler.device_classes.emplace(name, resource).second;
  const bool was_counter = scheduler.device_counters.contains(name);
  if (!is_new && (!counter || !was_counter)) {
    return names.Fail("\"" + name + "\" is mapped twice");
  }
  if (!counter) return;
  std::vector<DeviceCounter>& counters = scheduler.device_counters[name];
  for (const DeviceCounter& other : counters) {
    if (other.name == counter->name) {
      names.Fail("\"" + name + "\" is mapped twice to the counter \"" + other.name + "\"");
    }
  }
  counters.push_back(*counter);
}

}  // namespace

void ReadDeviceClasses(const api::Reader& in, Configuration& out) {
  constexpr std::size_t kMaxMappings = 16;
  constexpr std::size_t kMaxClasses = 8;
  SchedulerConfig& scheduler = out.admission.driver.scheduler;
  std::set<std::string> resources;
  in.Each([&](const api::Reader& item) {
    CheckFields(item, "resources.deviceClassMappings", {"name", "deviceClassNames", "sources"}, {},
                out);
    std::string resource;
    item.Field("name").Get(resource);
    if (!IsLabelKey(resource)) {
      item.Field("name").Fail("must be the name of a resource, such as example.com/gpus");
    }
    if (!resources.insert(resource).second) {
      item.Field("name").Fail("\"" + resource + "\" comes twice");
    }
    if (resources.size() > kMaxMappings) in.Fail("must have at most 16 items");
    const api::Reader names = item.Field("deviceClassNames");
    std::vector<std::string> classes;
    names.Get(classes);
    if (classes.empty()) names.Fail("must have at least one item");
    if (classes.size() > kMaxClasses) names.Fail("must have at most 8 items");
    const std::optional<DeviceCounter> counter = ReadCounter(item.Field("sources"), resource, out);
    for (const std::string& name : classes) {
      if (!IsDnsSubdomain(name)) names.Fail("\"" + name + "\" is no name of a DeviceClass");
      AddDeviceClass(names, name, resource, counter, scheduler);
    }
  });
}

}  // namespace berth::admission
