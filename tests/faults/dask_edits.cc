#include "tests/faults/dask_edits.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/world/sim_runner.h"
#include "tests/faults/dask_play.h"
#include "tests/faults/jobs_maker.h"

namespace berth::sim {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class DaskMaker : private JobsMaker {
 public:
  DaskMaker(Story& story, Random& random) : JobsMaker(story, random) {}

  void Make() {
    if (queues_.empty()) return;
    AddFramework(story_, kDaskFramework);
    story_.setup.emplace_back("priority-class pressing 300");
    const std::uint64_t clusters = 1 + random_.Below(2);
    for (std::uint64_t i = 0; i < clusters; ++i) MakeCluster("dask" + std::to_string(i));
  }

 private:
  Json Part(const char* name) {
    return {{"spec",
             {{"terminationGracePeriodSeconds", random_.Below(15)},
              {"containers", Json::array({{{"name", name},
                                           {"image", kSimImage},
                                           {"args", Json::array({"9h"})},
                                           {"resources", {{"requests", {{"cpu", "1"}}}}}}})}}}};
  }

  static Json ObjectOf(const char* kind, const QueuePlace& place, const std::string& name) {
    return {{"apiVersion", std::string(kDaskGroup) + "/" + kDaskVersion},
            {"kind", kind},
            {"metadata", {{"name", name}, {"namespace", place.space}}}};
  }

  void MakeCluster(const std::string& name) {
    const QueuePlace place = queues_[random_.Below(queues_.size())];
    const Duration at = Moment();
    Json cluster = ObjectOf("DaskCluster", place, name);
    Json& labels = cluster["metadata"]["labels"];
    labels["kueue.x-k8s.io/queue-name"] = place.queue;
    if (OneIn(4)) labels["kueue.x-k8s.io/priority-class"] = "pressing";
    Json worker = Part("worker");
    worker["replicas"] = random_.Below(4);
    cluster["spec"] = {{"idleTimeout", 20 + random_.Below(100)},
                       {"scheduler", Part("scheduler")},
                       {"worker", worker}};
    Apply(at, cluster);
    const std::uint64_t sizes = random_.Below(5);
    for (std::uint64_t i = 0; i < sizes; ++i) Resize(place, name, at);
    if (OneIn(4)) AddGroup(place, name, at);
    Meddle(place, name, at);
  }

  void Resize(const QueuePlace& place, const std::string& name, Duration at) {
    const std::string path = place.space + "/" + name;
    At(at + milliseconds(random_.Below(80'000)),
       (OneIn(2) ? "set daskcluster " + path : "set daskworkergroup " + path + "-default") +
           " spec.worker.replicas=" + std::to_string(random_.Below(6)));
  }

  // A group made by hand.
  void AddGroup(const QueuePlace& place, const std::string& name, Duration at) {
    Json group = ObjectOf("DaskWorkerGroup", place, name + "-more");
    Json worker = Part("worker");
    worker["replicas"] = 1 + random_.Below(2);
    group["spec"] = {{"cluster", name}, {"worker", worker}};
    const Duration later = at + milliseconds(random_.Below(60'000));
    Apply(later, group);
    if (OneIn(3)) {
      At(later + seconds(1 + random_.Below(40)),
         "delete daskworkergroup " + place.space + "/" + name + "-more");
    }
  }

  // What users do to it.
  void Meddle(const QueuePlace& place, const std::string& name, Duration at) {
    const std::string path = place.space + "/" + name;
    const Duration later = at + milliseconds(random_.Below(60'000));
    switch (random_.Below(8)) {
      case 0: return At(later, "delete daskcluster " + path);
      case 1: return At(later, "delete workload of " + path);
      case 2: {
        At(later, "set workload of " + path + " active=false");
        return At(later + milliseconds(500 + random_.Below(40'000)),
                  "set workload of " + path + " active=true");
      }
      case 3: {
        const QueuePlace& other = queues_[random_.Below(queues_.size())];
        if (other.space != place.space) return;
        return At(later, "patch daskcluster " + path +
                             " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/queue-name: " +
                             other.queue + "}}\nEOF");
      }
      default: return;
    }
  }
};

}  // namespace

void AddDask(Story& story, Random& random) { DaskMaker(story, random).Make(); }

}  // namespace berth::sim
