#include "tests/faults/pod_edits.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/world/sim_runner.h"
#include "tests/faults/jobs_maker.h"
#include "tests/faults/pod_play.h"

namespace berth::sim {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

Json PodOf(const QueuePlace& place, const std::string& name, const std::string& set,
           Random& random) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"namespace", place.space},
            {"labels", {{"kueue.x-k8s.io/queue-name", place.queue}, {kSetLabel, set}}},
            {"annotations", Json::object()}}},
          {"spec",
           {{"restartPolicy", "Never"},
            {"terminationGracePeriodSeconds", random.Below(15)},
            {"containers",
             Json::array({{{"name", "main"},
                           {"image", kSimImage},
                           {"args", Json::array({std::to_string(3 + random.Below(40)) + "s"})},
                           {"resources",
                            {{"requests", {{"cpu", std::to_string(1 + random.Below(2))}}}}}}})}}}};
}

class PodMaker : private JobsMaker {
 public:
  PodMaker(Story& story, Random& random)
      : JobsMaker(story, random),
        has_defaults_(std::any_of(story.events.begin(), story.events.end(), [](const auto& event) {
          return event.line.find("kind: LimitRange") != std::string::npos;
        })) {}

  void Make() {
    if (queues_.empty()) return;
    AddFramework(story_, kPodFramework);
    story_.setup.emplace_back("priority-class pressing 300");
    const std::uint64_t sets = 1 + random_.Below(4);
    for (std::uint64_t i = 0; i < sets; ++i) {
      const QueuePlace& place = queues_[random_.Below(queues_.size())];
      const std::string name = "s" + std::to_string(i);
      if (random_.Below(3) == 0 || (has_defaults_ && place.space == "default")) {
        MakeLonePod(place, name);
      } else {
        MakeGroup(place, name);
      }
    }
  }

 private:
  void Prioritise(Json& pod) {
    if (OneIn(4)) pod["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "pressing";
  }

  void MakeLonePod(const QueuePlace& place, const std::string& set) {
    const Duration at = Moment();
    Json pod = PodOf(place, set + "-0", set, random_);
    Prioritise(pod);
    Apply(at, pod);
    Meddle(place, pod, at);
  }

  // Pods of one or two roles, which come together or one after the other.
  void MakeGroup(const QueuePlace& place, const std::string& set) {
    const std::uint64_t total = 1 + random_.Below(4);
    const Duration at = Moment();
    Json first = PodOf(place, "", set, random_);
    Prioritise(first);
    Json& metadata = first["metadata"];
    metadata["labels"]["kueue.x-k8s.io/pod-group-name"] = set;
    metadata["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = std::to_string(total);
    if (OneIn(5)) metadata["annotations"]["kueue.x-k8s.io/pod-group-fast-admission"] = "true";
    const bool fast = metadata["annotations"].size() > 1;
    if (!fast && OneIn(8)) {
      metadata["annotations"]["kueue.x-k8s.io/retriable-in-group"] = "false";
    }
    const std::uint64_t leaders = !fast && OneIn(3) ? 1 : 0;
    // If there are two roles, a surplus pod of one takes the place of a pod of the other, which is
    // never made again.
    const std::uint64_t surplus = !fast && OneIn(5) && leaders == 0 ? 1 : 0;
    for (std::uint64_t i = 0; i < total + surplus; ++i) {
      Json pod = first;
      pod["metadata"]["name"] = set + "-" + std::to_string(i);
      pod["metadata"]["annotations"][kSetSizeAnnotation] =
          std::to_string(i < leaders ? leaders : total - leaders);
      if (i < leaders) {
        // Another role is a set of its own.
        pod["spec"]["tolerations"] = Json::array({{{"key", "leader"}, {"operator", "Exists"}}});
        pod["metadata"]["labels"][kSetLabel] = set + "-l";
      }
      Apply(at + milliseconds(random_.Below(OneIn(3) ? 20'000 : 300)), pod);
    }
    first["metadata"]["name"] = set + "-0";
    Meddle(place, first, at);
  }

  // What users do to it.
  void Meddle(const QueuePlace& place, const Json& pod, Duration at) {
    const std::string name = place.space + "/" + pod["metadata"]["name"].get<std::string>();
    const Duration later = at + milliseconds(random_.Below(60'000));
    switch (random_.Below(6)) {
      case 0: story_.events.push_back({later, "delete pod " + name}); break;
      case 1: {
        const std::string group =
            pod["metadata"]["labels"].value("kueue.x-k8s.io/pod-group-name", "");
        if (group.empty()) break;
        story_.events.push_back({later, "delete workload " + place.space + "/" + group});
        break;
      }
      case 2: {
        const QueuePlace& other = queues_[random_.Below(queues_.size())];
        if (other.space != place.space) break;
        story_.events.push_back(
            {later, "patch pod " + name +
                        " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/queue-name: " + other.queue +
                        "}}\nEOF"});
        break;
      }
      default: break;
    }
  }

  // A LimitRange of namespace default. The API server gives pods its default requests before their
  // review: a replacement that is made under another LimitRange has another role, of which the
  // group's Workload has no pod set. It waits for ever, as in Kueue.
  const bool has_defaults_;
};

}  // namespace

void AddPods(Story& story, Random& random) { PodMaker(story, random).Make(); }

}  // namespace berth::sim
