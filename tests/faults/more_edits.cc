#include "tests/faults/more_edits.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/job_form.h"
#include "scenarios/script.h"

namespace berth::sim {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kZoneNodes = 4;  // two to a zone
constexpr int kZoneNodeCpu = 4;

std::uint64_t Milliseconds(Duration span) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(span).count());
}

Duration MomentWithin(const Story& story, Random& random) {
  return milliseconds(random.Below(Milliseconds(story.length)));
}

std::vector<std::size_t> JobsOf(const Story& story) {
  std::vector<std::size_t> jobs;
  for (std::size_t i = 0; i < story.events.size(); ++i) {
    if (story.events[i].line.rfind("job ", 0) == 0) jobs.push_back(i);
  }
  return jobs;
}

// "job NS/NAME …" → "NS/NAME"
std::string NameOf(const std::string& line) { return line.substr(4, line.find(' ', 4) - 4); }

// A Workload that matches the Job.
Json WorkloadFor(const Json& job, const std::string& name) {
  const Json& spec = job.at("spec");
  const std::int64_t parallelism = spec.value("parallelism", std::int64_t{1});
  Json pod_set{{"name", "main"},
               {"count", std::min(parallelism, spec.value("completions", parallelism))},
               {"template", spec.at("template")}};
  const Json& metadata = job.at("metadata");
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "Workload"},
          {"metadata", {{"name", name}, {"namespace", metadata.at("namespace")}}},
          {"spec",
           {{"queueName", metadata.at("labels").at("kueue.x-k8s.io/queue-name")},
            {"podSets", Json::array({std::move(pod_set)})}}}};
}

}  // namespace

void EditTemplates(Story& story, Random& random) {
  constexpr std::array kEdits{
      "{metadata: {labels: {team: b}}}",
      "{metadata: {annotations: {team: b}}}",
      "{metadata: {annotations: {team: null}}}",
      "{spec: {nodeSelector: {pool: f0}}}",
      "{spec: {nodeSelector: null}}",
      "{spec: {tolerations: [{key: spot, operator: Exists, effect: NoSchedule}]}}"};
  const std::vector<std::size_t> jobs = JobsOf(story);
  if (jobs.empty()) return;
  const std::uint64_t count = 1 + random.Below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const StoryEvent& made = story.events[jobs[random.Below(jobs.size())]];
    // Soon after its creation the job waits, or is just being started.
    const Duration at = random.Below(2) == 0 ? made.at + milliseconds(random.Below(2'000))
                                             : MomentWithin(story, random);
    const std::string job = "job " + NameOf(made.line);
    const std::string edit = kEdits[random.Below(kEdits.size())];
    const std::string patch = "patch " + job + " <<EOF\nspec: {template: " + edit + "}\nEOF";
    if (random.Below(3) == 0) {
      story.events.push_back({at, "set " + job + " suspend=true"});
      story.events.push_back({at + milliseconds(random.Below(3'000)), patch});
    } else {
      story.events.push_back({at, patch});
    }
  }
}

void AddPrebuilt(Story& story, Random& random) {
  const std::uint64_t count = 1 + random.Below(2);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::vector<std::size_t> jobs = JobsOf(story);
    if (jobs.empty()) return;
    StoryEvent& made = story.events[jobs[random.Below(jobs.size())]];
    // Partial admission would need another Workload.
    if (made.line.find("prebuilt") != std::string::npos ||
        made.line.find("job-min-parallelism") != std::string::npos) {
      continue;
    }
    const auto script = scenarios::ParseScript("# name: x\n" + made.line + "\n");
    if (!script) continue;
    const auto objects = scenarios::MakeJob(script->steps.front());
    if (!objects) continue;
    const std::string name = "ready-" + std::to_string(i);
    const std::string workload = WorkloadFor(objects->back(), name).dump();
    made.line += " label=kueue.x-k8s.io/prebuilt-workload-name=" + name;
    const Duration span = milliseconds(random.Below(5'000));
    const Duration at = random.Below(2) == 0 ? made.at + span : made.at - std::min(made.at, span);
    story.events.push_back({at, "apply <<EOF\n" + workload + "\nEOF"});
  }
}

void AddZones(Story& story, Random& random) {
  const bool has_racks =
      std::any_of(story.setup.begin(), story.setup.end(),
                  [](const std::string& line) { return line.rfind("flavor racks ", 0) == 0; });
  std::vector<std::string> zones{"topology dz zone kubernetes.io/hostname"};
  for (int i = 0; i < kZoneNodes; ++i) {
    zones.push_back("node z" + std::to_string(i) + " cpu=" + std::to_string(kZoneNodeCpu) +
                    " label=zone=zone" + std::to_string(i / 2) + " label=tier=zones");
  }
  zones.emplace_back("flavor zones label=tier=zones topology=dz");
  const bool both = has_racks && random.Below(2) == 0;
  const std::string own = std::to_string(4 + random.Below(9));
  const std::string racks = " racks/cpu=" + std::to_string(random.Below(9));
  zones.push_back("cluster-queue cqz zones/cpu=" + own + (both ? racks : ""));
  zones.emplace_back("local-queue qz -> cqz");
  story.setup.insert(story.setup.end(), zones.begin(), zones.end());
  constexpr std::array kWishes{
      " pod-annotation=kueue.x-k8s.io/podset-required-topology=zone",
      " pod-annotation=kueue.x-k8s.io/podset-required-topology=kubernetes.io/hostname",
      " pod-annotation=kueue.x-k8s.io/podset-preferred-topology=zone",
      " pod-annotation=kueue.x-k8s.io/podset-unconstrained-topology=true", ""};
  const std::uint64_t count = 2 + random.Below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string wish = kWishes[random.Below(kWishes.size())];
    story.events.push_back(
        {MomentWithin(story, random),
         "job z" + std::to_string(i) + " queue=qz cpu=" + std::to_string(1 + random.Below(2)) +
             " parallelism=" + std::to_string(1 + random.Below(2)) + " backoff-limit=1000" + wish +
             " runs=" + std::to_string(2 + random.Below(40)) + "s"});
  }
  if (random.Below(2) == 0) return;
  const std::string node = "z" + std::to_string(random.Below(kZoneNodes));
  const Duration at = MomentWithin(story, random);
  story.events.push_back({at, "delete node " + node});
  const auto line = std::find_if(zones.begin(), zones.end(), [&](const std::string& each) {
    return each.rfind("node " + node + " ", 0) == 0;
  });
  story.events.push_back({at + seconds(2 + random.Below(38)), *line});
}

}  // namespace berth::sim
