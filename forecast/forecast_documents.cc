// Reads the objects of files into a view.
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "forecast/forecast_cluster.h"
#include "view/view_reader.h"
#include "webhook/version_conversion.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr char kKueuePrefix[] = "kueue.x-k8s.io/";
constexpr char kServedVersion[] = "kueue.x-k8s.io/v1beta2";

// The objects of a document that may be a list, lists in lists included.
void CollectObjects(const Json& document, std::vector<const Json*>& objects) {
  if (!document.is_object()) return;
  const auto items = document.find("items");
  if (items == document.end() || !items->is_array()) {
    objects.push_back(&document);
    return;
  }
  for (const Json& item : *items) CollectObjects(item, objects);
}

std::vector<const Json*> ObjectsOf(const std::vector<Json>& documents) {
  std::vector<const Json*> objects;
  for (const Json& document : documents) CollectObjects(document, objects);
  return objects;
}

// "": the field is missing, or no text. The view is valid as long as the object.
std::string_view TextAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return "";
  return found->get_ref<const std::string&>();
}

// Null: no such field.
const Json* FindIn(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() ? nullptr : &*found;
}

// What tells the objects of a cluster apart; one kind has one group here, in any version.
struct ObjectPlace {
  std::string_view kind;
  std::string_view group;
  std::string_view namespace_name;
  std::string_view name;
  friend auto operator<=>(const ObjectPlace&, const ObjectPlace&) = default;
};

ObjectPlace PlaceOf(const Json& object) {
  const std::string_view version = TextAt(object, "apiVersion");
  ObjectPlace place{.kind = TextAt(object, "kind"), .group = version.substr(0, version.find('/'))};
  if (const Json* meta = FindIn(object, "metadata"); meta != nullptr && meta->is_object()) {
    place.namespace_name = TextAt(*meta, "namespace");
    place.name = TextAt(*meta, "name");
  }
  return place;
}

// Sorts the objects as an API server lists them, whatever files they come from. Objects that are
// listed twice are there once.
Status PutInOrder(std::vector<const Json*>& objects) {
  std::stable_sort(objects.begin(), objects.end(),
                   [](const Json* a, const Json* b) { return PlaceOf(*a) < PlaceOf(*b); });
  const auto is_same = [](const Json* a, const Json* b) { return *a == *b; };
  objects.erase(std::unique(objects.begin(), objects.end(), is_same), objects.end());
  for (std::size_t i = 1; i < objects.size(); ++i) {
    const ObjectPlace place = PlaceOf(*objects[i]);
    if (place.kind.empty() || place.name.empty() || place != PlaceOf(*objects[i - 1])) continue;
    const std::string key =
        api::ObjectKey{std::string(place.namespace_name), std::string(place.name)}.ToString();
    return Error{ErrorCode::kInvalid, std::string(place.kind) + " " + key +
                                          ": the object is twice in the files, with different "
                                          "contents: leave out the older list"};
  }
  return OkStatus();
}

// The latest of `last` and the times of the fields.
WallTime LatestOf(const Json& object, std::initializer_list<const char*> fields, WallTime last) {
  if (!object.is_object()) return last;
  for (const char* field : fields) {
    if (const auto time = ParseTime(TextAt(object, field))) last = std::max(last, *time);
  }
  return last;
}

WallTime LatestOfEach(const Json& object, const char* list,
                      std::initializer_list<const char*> fields, WallTime last) {
  const Json* each = object.is_object() ? FindIn(object, list) : nullptr;
  if (each == nullptr || !each->is_array()) return last;
  for (const Json& one : *each) last = LatestOf(one, fields, last);
  return last;
}

// The last time that the metadata and conditions of the objects name. A time of deletion is left
// out: it lies ahead.
WallTime LastTimeOf(const std::vector<const Json*>& objects) {
  WallTime last{};
  for (const Json* object : objects) {
    if (const Json* meta = FindIn(*object, "metadata")) {
      last = LatestOf(*meta, {"creationTimestamp"}, last);
      last = LatestOfEach(*meta, "managedFields", {"time"}, last);
    }
    if (const Json* status = FindIn(*object, "status")) {
      last = LatestOfEach(*status, "conditions",
                          {"lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"}, last);
    }
  }
  return last;
}

Status AddOne(const Json& document, view::ClusterView& view) {
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

}  // namespace

Status AddDocuments(const std::vector<Json>& documents, view::ClusterView& view) {
  for (const Json* object : ObjectsOf(documents)) BERTH_CHECK_OK(AddOne(*object, view));
  return OkStatus();
}

Result<view::ClusterView> ReadDump(const std::vector<Json>& documents,
                                   std::optional<WallTime> now) {
  std::vector<const Json*> objects = ObjectsOf(documents);
  BERTH_CHECK_OK(PutInOrder(objects));
  view::ClusterView view;
  for (const Json* object : objects) BERTH_CHECK_OK(AddOne(*object, view));
  if (view.cluster_queues.empty()) {
    return Error{ErrorCode::kInvalid,
                 "the files have no ClusterQueue: kubectl get "
                 "clusterqueues,cohorts,localqueues,resourceflavors,workloads -A -o json > FILE"};
  }
  view.now = now ? *now : LastTimeOf(objects);
  view.cluster_name = "files";
  return view;
}

}  // namespace berth::forecast
