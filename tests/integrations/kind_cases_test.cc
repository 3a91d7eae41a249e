// Goal: each built-in job kind is read and written as Kueue's package of the kind does: pod sets,
// state, start and stop. Method: kinds/*.yaml beside this file; each case changes a sample object
// by a merge patch and names the expected parts of its view, the object that a start and a stop
// leave, the errors of its review, or the object that the review of its creation makes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/yaml/yaml.h"
#include "integrations/described_job.h"
#include "integrations/described_review.h"
#include "integrations/kind_catalogue.h"
#include "integrations/workload_name.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

struct KindCase {
  std::string name;
  KindPtr kind;
  Json object;
  ReadObjects reads;
  Json expected;
};

// A misspelled key would be a case that tests nothing.
void RequireKnown(const Json& object, const std::set<std::string>& known, const std::string& at) {
  for (const auto& [key, value] : object.items()) {
    if (known.count(key) == 0) throw std::runtime_error(at + ": unknown key " + key);
  }
}

// The files' names without their ending.
std::vector<std::string> CaseFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_KIND_CASES)) {
    files.push_back(entry.path().stem().string());
  }
  return files;
}

KindCase CaseOf(const Json& sample, const Json& one, const std::string& file) {
  RequireKnown(one,
               {"name", "change", "reads", "view", "start", "stop", "created", "errors", "elastic"},
               file + ": " + one.value("name", ""));
  if (const auto start = one.find("start"); start != one.end()) {
    RequireKnown(*start, {"changes", "object", "error", "states"}, file + ": start");
  }
  Json object = sample.at("object");
  object.merge_patch(one.value("change", Json::object()));
  ReadObjects reads;
  for (const Json& read : one.value("reads", sample.value("reads", Json::array()))) {
    reads.push_back(read.is_null() ? nullptr : std::make_shared<const Json>(read));
  }
  return {one.at("name").get<std::string>(),
          FindBuiltInKind(sample.at("framework").get<std::string>()), object, reads, one};
}

std::vector<KindCase> CasesOf(const std::string& file) {
  const std::string path = std::string(BERTH_KIND_CASES) + "/" + file + ".yaml";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const auto documents = api::ParseYamlStream(text.str());
  if (!documents) throw std::runtime_error(path + documents.error().message);
  std::vector<KindCase> cases;
  for (const api::YamlDocument& document : *documents) {
    const Json& sample = document.value;
    RequireKnown(sample, {"framework", "object", "reads", "cases"}, file);
    for (const Json& one : sample.at("cases")) cases.push_back(CaseOf(sample, one, file));
  }
  return cases;
}

Json ViewAsJson(const JobView& view) {
  Json pod_sets = Json::array();
  Json requests = Json::object();
  Json templates = Json::object();
  for (const api::JobPodSet& pods : view.pod_sets) {
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      requests[pods.name][resource] = amount;
    }
    templates[pods.name] = api::Encode(api::PodTemplate{pods.pod_template, pods.json});
    Json each = {{"name", pods.name}, {"count", pods.count}};
    if (const auto& request = pods.topology_request) {
      if (request->pod_index_label) each["podIndexLabel"] = *request->pod_index_label;
      if (request->sub_group_index_label)
        each["subGroupIndexLabel"] = *request->sub_group_index_label;
      if (request->sub_group_count) each["subGroupCount"] = *request->sub_group_count;
    }
    pod_sets.push_back(std::move(each));
  }
  Json reclaimable = Json::array();
  for (const api::ReclaimablePod& each : view.reclaimable_pods) {
    reclaimable.push_back({{"name", each.pod_set}, {"count", each.count}});
  }
  Json finished;
  if (view.finished) {
    finished = {{"succeeded", view.finished->succeeded}, {"message", view.finished->message}};
  }
  Json parent;
  if (view.pod_parent) {
    const bool any = !view.pod_sets.empty();
    parent = {{"groups", view.pod_parent->groups},
              {"oldRevision", view.pod_parent->old_revision},
              {"labels", any ? view.pod_sets[0].pod_template.labels : api::StringMap{}},
              {"annotations", any ? view.pod_sets[0].pod_template.annotations : api::StringMap{}}};
  }
  return {{"podSets", pod_sets},          {"parent", parent},
          {"requests", requests},         {"templates", templates},
          {"onHold", view.on_hold},       {"additions", view.has_additions},
          {"reclaimable", reclaimable},   {"finished", finished},
          {"suspended", view.suspended},  {"active", view.active},
          {"ready", view.pods_ready},     {"skipped", view.skipped},
          {"problem", view.problem},      {"priorityClass", view.priority_class},
          {"lacking", view.lacks_object}, {"variant", view.slice_variant}};
}

std::vector<PodSetChange> ChangesOf(const Json& changes) {
  std::vector<PodSetChange> result;
  for (const Json& each : changes) {
    PodSetChange change;
    change.name = each.value("name", "");
    change.count = each.value("count", 1);
    change.labels = each.value("labels", api::StringMap{});
    change.annotations = each.value("annotations", api::StringMap{});
    change.node_selector = each.value("nodeSelector", api::StringMap{});
    change.scheduling_gates = each.value("schedulingGates", std::vector<std::string>{});
    for (const Json& toleration : each.value("tolerations", Json::array())) {
      change.tolerations.push_back({.key = toleration.value("key", ""),
                                    .op = toleration.value("operator", ""),
                                    .value = toleration.value("value", ""),
                                    .effect = toleration.value("effect", "")});
    }
    result.push_back(std::move(change));
  }
  return result;
}

void ExpectSeen(const KindCase& one) {
  ASSERT_NE(one.kind, nullptr) << "no such framework";
  const Result<JobView> view = ViewOf(one.kind, one.object, one.reads);
  ASSERT_TRUE(view) << view.error().message;
  const Json seen = ViewAsJson(*view);
  const Json wanted = one.expected.value("view", Json::object());
  for (const auto& [key, expected] : wanted.items()) {
    EXPECT_EQ(seen.at(key), expected) << key << "; problem: " << view->problem;
  }
}

std::vector<PodSetChange> OriginalsOf(const JobView& view) {
  std::vector<PodSetChange> originals;
  for (const api::PodSet& pods : view.pod_sets) {
    originals.push_back({.name = pods.name,
                         .count = pods.count,
                         .labels = pods.pod_template.labels,
                         .annotations = pods.pod_template.annotations,
                         .node_selector = pods.pod_template.spec.node_selector,
                         .tolerations = pods.pod_template.spec.tolerations,
                         .scheduling_gates = pods.pod_template.spec.scheduling_gates});
  }
  return originals;
}

void ExpectStartAndStop(const KindCase& one) {
  const auto start = one.expected.find("start");
  if (start == one.expected.end()) return;
  const Result<JobView> view = ViewOf(one.kind, one.object, one.reads);
  const auto states = Started(*one.kind, one.object, ChangesOf(start->at("changes")), one.reads);
  if (start->contains("error")) {
    ASSERT_FALSE(states);
    EXPECT_EQ(states.error().message, start->at("error"));
    return;
  }
  ASSERT_TRUE(states) << states.error().message;
  EXPECT_EQ(states->size(), start->value("states", 1U));
  for (std::size_t i = 0; i + 1 < states->size(); ++i) {
    EXPECT_TRUE(IsSuspended(*one.kind, (*states)[i]));
  }
  const Json& started = states->back();
  Json expected = one.object;
  expected.merge_patch(start->at("object"));
  EXPECT_EQ(started, expected) << Json::diff(expected, started).dump(1);
  // A stop gives the object back, but for what the case names.
  const std::vector<Json> stopped = Stopped(*one.kind, started, OriginalsOf(*view), false);
  Json restored = one.object;
  SetSuspended(*one.kind, true, restored);
  restored.merge_patch(one.expected.value("stop", Json::object()));
  EXPECT_EQ(stopped.back(), restored) << Json::diff(restored, stopped.back()).dump(1);
  const Result<JobView> again = ViewOf(one.kind, stopped.back(), one.reads);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->suspended);
  ASSERT_EQ(again->pod_sets.size(), view->pod_sets.size());
  for (std::size_t i = 0; i < view->pod_sets.size(); ++i) {
    EXPECT_EQ(again->pod_sets[i].pod_template.spec, view->pod_sets[i].pod_template.spec);
    EXPECT_EQ(again->pod_sets[i].pod_template.labels, view->pod_sets[i].pod_template.labels);
  }
}

std::string TextOfError(const ReviewError& error) {
  const char* types[] = {"Invalid", "Forbidden", "Required", "TooMany"};
  return std::string(types[static_cast<int>(error.type)]) + " " + error.field + " " + error.value +
         ": " + error.message;
}

void ExpectReview(const KindCase& one) {
  if (const auto created = one.expected.find("created"); created != one.expected.end()) {
    Json object = one.object;
    AddDefaults(*one.kind, true, object);
    Json expected = one.object;
    expected.merge_patch(*created);
    EXPECT_EQ(object, expected) << Json::diff(expected, object).dump(1);
  }
  const auto errors = one.expected.find("errors");
  if (errors == one.expected.end()) return;
  std::vector<std::string> seen;
  for (const ReviewError& error :
       ReviewErrors(*one.kind, one.object, nullptr, one.expected.value("elastic", false))) {
    seen.push_back(TextOfError(error));
  }
  EXPECT_EQ(seen, errors->get<std::vector<std::string>>());
}

// One test for each file: a process for each case would spend its time on reading the file.
class KindCasesTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void ForEachCase(void (*expect)(const KindCase&)) {
    const std::vector<KindCase> cases = CasesOf(GetParam());
    EXPECT_FALSE(cases.empty());
    for (const KindCase& one : cases) {
      SCOPED_TRACE(one.name);
      expect(one);
    }
  }
};

TEST_P(KindCasesTest, ObjectsAreReadAsTheirFileSays) { ForEachCase(ExpectSeen); }

TEST_P(KindCasesTest, ObjectsStartAndStopAsTheirFileSays) { ForEachCase(ExpectStartAndStop); }

TEST_P(KindCasesTest, ObjectsAreReviewedAsTheirFileSays) { ForEachCase(ExpectReview); }

std::string FileName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindCasesTest, ::testing::ValuesIn(CaseFiles()), FileName);

// `printf 'JobSet\njobset.x-k8s.io\ntrain\n0001' | sha1sum`: Kueue's formula. A Workload that Kueue
// has made is found by its name after a change-over.
TEST(BuiltInKindsTest, WorkloadsHaveKueuesNames) {
  const std::map<std::string, std::string> names{
      {"AppWrapper", "appwrapper-train-08876"},
      {"JAXJob", "jaxjob-train-b09e9"},
      {"JobSet", "jobset-train-5e172"},
      {"LeaderWorkerSet", "leaderworkerset-train-0cc7c"},
      {"MPIJob", "mpijob-train-e5737"},
      {"PaddleJob", "paddlejob-train-57ff8"},
      {"PyTorchJob", "pytorchjob-train-dfc9b"},
      {"RayCluster", "raycluster-train-ace85"},
      {"RayJob", "rayjob-train-35efa"},
      {"RayService", "rayservice-train-355d6"},
      {"SparkApplication", "sparkapplication-train-009fb"},
      {"StatefulSet", "statefulset-train-94e37"},
      {"TFJob", "tfjob-train-5cb78"},
      {"TrainJob", "trainjob-train-7b3b6"},
      {"XGBoostJob", "xgboostjob-train-8cef1"}};
  std::size_t compared = 0;
  for (const KindPtr& kind : BuiltInKinds()) {
    const auto name = names.find(std::string(kind->kind.kind));
    if (name == names.end()) continue;
    EXPECT_EQ(
        WorkloadName(
            {.kind = kind->kind.kind, .group = kind->kind.group, .name = "train", .uid = "0001"}),
        name->second);
    ++compared;
  }
  EXPECT_EQ(compared, names.size());
}

TEST(BuiltInKindsTest, EveryKindHasCases) {
  std::set<std::string> tested;
  for (const std::string& file : CaseFiles()) {
    for (const KindCase& one : CasesOf(file)) {
      tested.insert(std::string(one.kind->kind.framework));
    }
  }
  for (const KindPtr& kind : BuiltInKinds()) {
    EXPECT_EQ(tested.count(std::string(kind->kind.framework)), 1U) << kind->kind.framework;
  }
}

}  // namespace
}  // namespace berth::integrations
