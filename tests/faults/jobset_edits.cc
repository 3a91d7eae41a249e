#include "tests/faults/jobset_edits.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/world/sim_runner.h"
#include "tests/faults/jobs_maker.h"
#include "tests/faults/jobset_play.h"

namespace berth::sim {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

class JobSetMaker : private JobsMaker {
 public:
  JobSetMaker(Story& story, Random& random) : JobsMaker(story, random) {}

  void Make() {
    if (queues_.empty()) return;
    AddFramework(story_, kJobSetFramework);
    story_.setup.emplace_back("priority-class pressing 300");
    const std::uint64_t sets = 1 + random_.Below(3);
    for (std::uint64_t i = 0; i < sets; ++i) MakeSet("set" + std::to_string(i));
  }

 private:
  // A set of Jobs with one template.
  Json PartOf(const std::string& name, bool fails) {
    const std::uint64_t pods = OneIn(3) ? 2 : 1;
    Json args = Json::array({std::to_string(3 + random_.Below(40)) + "s"});
    if (fails) args.push_back("exit=1");
    if (OneIn(5)) args.push_back("stops=" + std::to_string(1 + random_.Below(20)) + "s");
    const Json pod = {
        {"restartPolicy", "Never"},
        {"containers",
         Json::array(
             {{{"name", "main"},
               {"image", kSimImage},
               {"args", args},
               {"resources", {{"requests", {{"cpu", std::to_string(1 + random_.Below(2))}}}}}}})}};
    return {{"name", name},
            {"replicas", 1 + random_.Below(2)},
            {"template",
             {{"spec",
               {{"parallelism", pods},
                {"completions", pods},
                {"backoffLimit", fails ? 0 : 1000},
                {"template", {{"spec", pod}}}}}}}};
  }

  void MakeSet(const std::string& name) {
    const QueuePlace place = queues_[random_.Below(queues_.size())];
    const Duration at = Moment();
    Json parts = Json::array({PartOf("workers", OneIn(10))});
    if (OneIn(2)) parts.push_back(PartOf("driver", false));
    Json labels = {{"kueue.x-k8s.io/queue-name", place.queue}};
    if (OneIn(4)) labels["kueue.x-k8s.io/priority-class"] = "pressing";
    const Json set = {
        {"apiVersion", std::string(kJobSetGroup) + "/" + kJobSetVersion},
        {"kind", "JobSet"},
        {"metadata", {{"name", name}, {"namespace", place.space}, {"labels", labels}}},
        {"spec", {{"suspend", !OneIn(4)}, {"replicatedJobs", parts}}}};
    At(at, "apply <<EOF\n" + set.dump() + "\nEOF");
    Meddle(place, name, at);
  }

  // What users do to it.
  void Meddle(const QueuePlace& place, const std::string& name, Duration at) {
    const std::string path = place.space + "/" + name;
    const Duration later = at + milliseconds(random_.Below(60'000));
    switch (random_.Below(9)) {
      case 0: return At(later, "delete jobset " + path);
      case 1: return At(later, "delete workload of " + path);
      case 2: return At(later, "set jobset " + path + " suspend=true");
      case 3: return At(later, "set jobset " + path + " suspend=false");
      case 4: {
        At(later, "set workload of " + path + " active=false");
        return At(later + milliseconds(500 + random_.Below(40'000)),
                  "set workload of " + path + " active=true");
      }
      case 5: {
        const QueuePlace& other = queues_[random_.Below(queues_.size())];
        if (other.space != place.space) return;
        return At(later, "patch jobset " + path +
                             " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/queue-name: " +
                             other.queue + "}}\nEOF");
      }
      case 6:
        return At(later,
                  "patch jobset " + path +
                      " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/priority-class: pressing}}\nEOF");
      default: return;
    }
  }
};

}  // namespace

void AddJobSets(Story& story, Random& random) { JobSetMaker(story, random).Make(); }

}  // namespace berth::sim
