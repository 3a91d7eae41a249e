#include "scenarios/job_form.h"

#include "scenarios/short_forms.h"
#include "scenarios/world/sim_runner.h"

namespace berth::scenarios {
namespace {

void SetLabel(Json& metadata, const char* field, const std::string& text) {
  const std::size_t equals = text.find('=');
  metadata[field][text.substr(0, equals)] =
      equals == std::string::npos ? "" : text.substr(equals + 1);
}

Json Requests(const Step& step) {
  Json requests = Json::object();
  for (const char* resource : {"cpu", "memory"}) {
    if (const auto amount = step.Find(resource)) requests[resource] = *amount;
  }
  if (const auto amount = step.Find("gpu")) requests["nvidia.com/gpu"] = *amount;
  for (const Word& word : step.words) {
    constexpr std::string_view kPrefix = "request:";
    if (!word.option || word.option->first.substr(0, kPrefix.size()) != kPrefix) continue;
    requests[word.option->first.substr(kPrefix.size())] = word.option->second;
  }
  return requests;
}

Json MakeContainer(const Step& step) {
  Json args = Json::array({step.Get("runs", "30s")});
  if (const auto exit = step.Find("exit")) args.push_back("exit=" + *exit);
  if (const auto stops = step.Find("stops")) args.push_back("stops=" + *stops);
  Json container{{"name", "main"}, {"image", step.Get("image", sim::kSimImage)}, {"args", args}};
  Json requests = Requests(step);
  // Extended resources must be in both.
  if (requests.contains("nvidia.com/gpu")) {
    container["resources"]["limits"]["nvidia.com/gpu"] = requests["nvidia.com/gpu"];
  }
  if (!requests.empty()) container["resources"]["requests"] = std::move(requests);
  return container;
}

Json MakeTemplate(const Step& step) {
  Json spec{{"restartPolicy", step.Get("restart", "Never")},
            {"containers", Json::array({MakeContainer(step)})}};
  if (const auto pool = step.Find("pool")) {
    spec["nodeSelector"]["cloud.google.com/gke-nodepool"] = *pool;
  }
  for (const std::string& text : step.GetAll("selector")) SetLabel(spec, "nodeSelector", text);
  if (step.Find("gpu")) spec["tolerations"].push_back(TolerationOf("nvidia.com/gpu:NoSchedule"));
  for (const std::string& text : step.GetAll("tolerate")) {
    spec["tolerations"].push_back(TolerationOf(text));
  }
  Json pod_template{{"spec", std::move(spec)}};
  for (const std::string& text : step.GetAll("pod-annotation")) {
    SetLabel(pod_template["metadata"], "annotations", text);
  }
  return pod_template;
}

void CopyNumber(const Step& step, std::string_view option, Json& into, const char* field) {
  if (const auto value = step.Find(option)) into[field] = ValueOf(*value);
}

}  // namespace

Json TolerationOf(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string head = text.substr(0, colon);
  const std::size_t equals = head.find('=');
  Json toleration{{"key", head.substr(0, equals)}};
  toleration["operator"] = equals == std::string::npos ? "Exists" : "Equal";
  if (equals != std::string::npos) toleration["value"] = head.substr(equals + 1);
  if (colon != std::string::npos) toleration["effect"] = text.substr(colon + 1);
  return toleration;
}

Result<std::vector<Json>> MakeJob(const Step& step) {
  const ObjectName named = ObjectNameOf(step.plain(1));
  Json metadata{{"name", named.name}, {"namespace", named.namespace_name}};
  std::vector<Json> objects;
  if (const auto queue = step.Find("queue")) {
    metadata["labels"]["kueue.x-k8s.io/queue-name"] = *queue;
  }
  if (const auto name = step.Find("priority-class")) {
    metadata["labels"]["kueue.x-k8s.io/priority-class"] = *name;
  }
  if (const auto value = step.Find("priority")) {
    const std::string name = "priority-" + *value;
    metadata["labels"]["kueue.x-k8s.io/priority-class"] = name;
    objects.push_back({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                       {"kind", "WorkloadPriorityClass"},
                       {"metadata", {{"name", name}}},
                       {"value", ValueOf(*value)}});
  }
  for (const std::string& text : step.GetAll("label")) SetLabel(metadata, "labels", text);
  for (const std::string& text : step.GetAll("annotate")) SetLabel(metadata, "annotations", text);
  Json spec{{"suspend", ValueOf(step.Get("suspend", "true"))}, {"template", MakeTemplate(step)}};
  CopyNumber(step, "parallelism", spec, "parallelism");
  spec["completions"] = ValueOf(step.Get("completions", step.Get("parallelism", "1")));
  CopyNumber(step, "backoff-limit", spec, "backoffLimit");
  CopyNumber(step, "deadline", spec, "activeDeadlineSeconds");
  CopyNumber(step, "ttl", spec, "ttlSecondsAfterFinished");
  for (const std::string& word : step.plains()) {
    if (word == "indexed") spec["completionMode"] = "Indexed";
  }
  objects.push_back({{"apiVersion", "batch/v1"},
                     {"kind", "Job"},
                     {"metadata", std::move(metadata)},
                     {"spec", std::move(spec)}});
  return objects;
}

}  // namespace berth::scenarios
