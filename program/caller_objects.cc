#include "program/caller_objects.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "kube/client/api_client.h"
#include "program/caller_story.h"
#include "view/screens/json_at.h"
#include "view/screens/pods_of_job.h"
#include "view/view_reader.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;
using view::TextAt;

constexpr char kDefaultContainer[] = "kubectl.kubernetes.io/default-container";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/";
constexpr int kFewLogLines = 20;                    // where lines are long
constexpr int kMostReadLogBytes = 4 * 1024 * 1024;  // the API server's answer is cut there

std::string NamespacePath(const std::string& namespace_name) {
  return "/api/v1/namespaces/" + kube::EscapeQuery(namespace_name);
}

// What a person reads: without the fields' managers.
std::string YamlOf(Json object) {
  if (object.contains("metadata")) object["metadata"].erase("managedFields");
  return api::FormatYaml(object);
}

void Hide(Json& answer, const std::string& what) {
  Json& hidden = answer["hidden"];
  if (std::find(hidden.begin(), hidden.end(), what) == hidden.end()) hidden.push_back(what);
}

// The path of the job; empty: the Workload has no owner, or one of an unknown kind.
std::string JobPathOf(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  if (owner == nullptr) return "";
  const auto job = view::JobReferenceOf(*owner);
  if (!job) return "";
  return job->ListPath(workload.meta.namespace_name) + "/" + kube::EscapeQuery(owner->name);
}

std::string TimeOf(const Json& event) {
  std::string last;
  for (const char* path : view::kEventTimes) {
    last = std::max(last, TextAt(event, path));
  }
  return last;
}

Json EventOf(const Json& event) {
  const std::string time = TimeOf(event);
  return {{"time", time.empty() ? Json() : Json(time)},
          {"kind", TextAt(event, "/involvedObject/kind")},
          {"name", TextAt(event, "/involvedObject/name")},
          {"type", TextAt(event, "/type")},
          {"reason", TextAt(event, "/reason")},
          {"message", TextAt(event, "/message")},
          {"count", view::WholeAt(event, "/count", 1)}};
}

struct EventSubject {
  std::string kind;
  std::string name;
  std::string uid;  // empty: unknown
};

// The objects whose events are told.
std::vector<EventSubject> SubjectsOf(const api::Workload& workload,
                                     const std::vector<view::PodView>& pods) {
  std::vector<EventSubject> subjects{{"Workload", workload.meta.name, workload.meta.uid}};
  if (const api::OwnerReference* owner = api::ControllerOf(workload.meta)) {
    subjects.push_back({owner->kind, owner->name, owner->uid});
  }
  for (std::size_t i = 0; i < std::min(pods.size(), kMostPodsWithEvents); ++i) {
    subjects.push_back({"Pod", pods[i].name, ""});
  }
  return subjects;
}

// Objects of other kinds, and earlier objects, may have the same name.
bool IsAbout(const Json& event, const EventSubject& subject) {
  const std::string uid = TextAt(event, "/involvedObject/uid");
  return TextAt(event, "/involvedObject/kind") == subject.kind &&
         (uid.empty() || subject.uid.empty() || uid == subject.uid);
}

// Adds {events, eventsLeftOut} to the answer.
Status AddEvents(view::Session& session, const api::Workload& workload,
                 const std::vector<view::PodView>& pods, Json& answer) {
  const std::vector<EventSubject> subjects = SubjectsOf(workload, pods);
  std::vector<std::string> paths;
  for (const EventSubject& subject : subjects) {
    paths.push_back(NamespacePath(workload.meta.namespace_name) + "/events?fieldSelector=" +
                    kube::EscapeQuery("involvedObject.name=" + subject.name));
  }
  std::vector<Json> events;
  const std::vector<Result<Json>> lists = session.GetAll(paths);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const Result<Json>& list = lists[i];
    if (!list && list.error().code == ErrorCode::kForbidden) {
      Hide(answer, "events");
      break;
    }
    if (!list) return list.error();
    for (const Json& event : view::ArrayAt(*list, "/items")) {
      if (IsAbout(event, subjects[i])) events.push_back(EventOf(event));
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Json& a, const Json& b) { return b["time"] < a["time"]; });
  const std::size_t told = std::min(events.size(), kMostToldEvents);
  answer["eventsLeftOut"] = events.size() - told;
  events.resize(told);
  answer["events"] = events;
  return OkStatus();
}

std::vector<std::string> ContainersOf(const Json& pod) {
  std::vector<std::string> names;
  for (const char* list : {"/spec/containers", "/spec/initContainers"}) {
    for (const Json& container : view::ArrayAt(pod, list)) {
      names.push_back(TextAt(container, "/name"));
    }
  }
  return names;
}

// The last `kMostLogBytes` of the text, from the beginning of a line.
std::string EndOf(const std::string& text) {
  if (text.size() <= kMostLogBytes) return text;
  const std::size_t begin = text.find('\n', text.size() - kMostLogBytes);
  return begin == std::string::npos ? text.substr(text.size() - kMostLogBytes)
                                    : text.substr(begin + 1);
}

}  // namespace

Result<Json> CallerWorkloadObjects(view::Session& session, const readapi::CallerRequest& request,
                                   const MirrorObjects& objects) {
  const api::ObjectKey key{request.namespace_name, request.name};
  const auto own = std::find_if(objects.workloads.begin(), objects.workloads.end(),
                                [&key](const auto& each) { return each->meta.key() == key; });
  if (own == objects.workloads.end()) return Error{ErrorCode::kNotFound, "no such Workload"};
  std::vector<std::string> paths{kWorkloads + kube::EscapeQuery(key.namespace_name) +
                                 "/workloads/" + kube::EscapeQuery(key.name)};
  if (std::string job = JobPathOf(**own); !job.empty()) paths.push_back(std::move(job));
  Json answer{{"objects", Json::array()}, {"hidden", Json::array()}};
  for (const Result<Json>& object : session.GetAll(paths)) {
    const bool is_gone = !object && object.error().code == ErrorCode::kNotFound;
    if (is_gone) continue;
    if (!object && object.error().code == ErrorCode::kForbidden) {
      Hide(answer, "manifests");
      continue;
    }
    if (!object) return object.error();
    answer["objects"].push_back({{"kind", TextAt(*object, "/kind")},
                                 {"name", TextAt(*object, "/metadata/name")},
                                 {"yaml", YamlOf(*object)}});
  }
  view::ClusterView view;
  BERTH_CHECK_OK(view::ReadPodsOf(session, **own, kMostPodsWithEvents, view));
  for (const std::string& kind : view.hidden) Hide(answer, kind);
  BERTH_CHECK_OK(AddEvents(session, **own, view.pods, answer));
  return answer;
}

Result<Json> CallerLog(view::Session& session, const readapi::CallerRequest& request) {
  const std::string path =
      NamespacePath(request.namespace_name) + "/pods/" + kube::EscapeQuery(request.pod);
  const Result<Json> pod = session.GetAll({path}).front();
  if (!pod) return pod.error();
  const std::vector<std::string> containers = ContainersOf(*pod);
  std::string container = request.container;
  if (container.empty()) {
    container = TextAt(*pod, Json::json_pointer("/metadata/annotations") / kDefaultContainer);
  }
  if (container.empty() && !containers.empty()) container = containers.front();
  if (std::find(containers.begin(), containers.end(), container) == containers.end()) {
    return Error{ErrorCode::kNotFound, "pod " + request.pod + " has no container \"" + container +
                                           "\"; it has " + Join(containers, ", ")};
  }
  const auto read = [&](int lines) {
    return session.GetText(path + "/log?container=" + kube::EscapeQuery(container) +
                           "&tailLines=" + std::to_string(lines) +
                           "&limitBytes=" + std::to_string(kMostReadLogBytes));
  };
  BERTH_TRY(std::string text, read(kMostLogLines));
  // The API server gives the first bytes of the lines: fewer lines have their end in the answer.
  const bool is_long = text.size() >= static_cast<std::size_t>(kMostReadLogBytes);
  if (is_long) {
    BERTH_TRY(text, read(kFewLogLines));
  }
  const std::string end = EndOf(text);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return Json{{"pod", request.pod},
              {"container", container},
              {"containers", containers},
              {"text", ReplaceInvalidUtf8(end)},
              {"cut", is_long || lines >= kMostLogLines || end.size() < text.size()}};
}

}  // namespace berth::program
