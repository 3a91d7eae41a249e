// Goal: each built-in job kind is read and written as Kueue's package of the kind does: pod sets,
// state, start and stop. Method: kinds/*.yaml beside this file; each case changes a sample object
// by a merge patch and names the expected parts of its view, or of the object that a start leaves.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/yaml/yaml.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

struct KindCase {
  std::string file;
  std::string name;
  KindPtr kind;
  Json object;
  Json expected;
};

std::ostream& operator<<(std::ostream& out, const KindCase& each) { return out << each.name; }

std::vector<KindCase> AllCases() {
  std::vector<KindCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_KIND_CASES)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto documents = api::ParseYamlStream(text.str());
    if (!documents) throw std::runtime_error(entry.path().string() + documents.error().message);
    for (const api::YamlDocument& document : *documents) {
      const Json& sample = document.value;
      for (const Json& one : sample.at("cases")) {
        Json object = sample.at("object");
        object.merge_patch(one.value("change", Json::object()));
        cases.push_back({entry.path().stem().string(), one.at("name").get<std::string>(),
                         FindBuiltInKind(sample.at("framework").get<std::string>()), object, one});
      }
    }
  }
  return cases;
}

Json ViewAsJson(const JobView& view) {
  Json pod_sets = Json::array();
  for (const api::PodSet& pods : view.pod_sets) {
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
  return {{"podSets", pod_sets},
          {"reclaimable", reclaimable},
          {"finished", finished},
          {"suspended", view.suspended},
          {"active", view.active},
          {"ready", view.pods_ready},
          {"skipped", view.skipped},
          {"problem", view.problem},
          {"priorityClass", view.priority_class}};
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

class KindCaseTest : public ::testing::TestWithParam<KindCase> {};

TEST_P(KindCaseTest, Agrees) {
  const KindCase& one = GetParam();
  ASSERT_NE(one.kind, nullptr) << "no such framework";
  const Result<JobView> view = ViewOf(one.kind, one.object);
  ASSERT_TRUE(view) << view.error().message;
  const Json seen = ViewAsJson(*view);
  const Json wanted = one.expected.value("view", Json::object());
  for (const auto& [key, expected] : wanted.items()) {
    EXPECT_EQ(seen.at(key), expected) << key << "; problem: " << view->problem;
  }
  if (const auto start = one.expected.find("start"); start != one.expected.end()) {
    const Result<Json> started = Started(*one.kind, one.object, ChangesOf(start->at("changes")));
    if (start->contains("error")) {
      ASSERT_FALSE(started);
      EXPECT_EQ(started.error().message, start->at("error"));
      return;
    }
    ASSERT_TRUE(started) << started.error().message;
    Json expected = one.object;
    expected.merge_patch(start->at("object"));
    EXPECT_EQ(*started, expected) << Json::diff(expected, *started).dump(1);
    // A stop gives the object back.
    std::vector<PodSetChange> originals;
    for (const api::PodSet& pods : view->pod_sets) {
      originals.push_back({.name = pods.name,
                           .count = pods.count,
                           .labels = pods.pod_template.labels,
                           .annotations = pods.pod_template.annotations,
                           .node_selector = pods.pod_template.spec.node_selector,
                           .tolerations = pods.pod_template.spec.tolerations,
                           .scheduling_gates = pods.pod_template.spec.scheduling_gates});
    }
    const Result<JobView> stopped = ViewOf(one.kind, Stopped(*one.kind, *started, originals));
    ASSERT_TRUE(stopped);
    EXPECT_TRUE(stopped->suspended);
    ASSERT_EQ(stopped->pod_sets.size(), view->pod_sets.size());
    for (std::size_t i = 0; i < view->pod_sets.size(); ++i) {
      EXPECT_EQ(stopped->pod_sets[i].pod_template.spec, view->pod_sets[i].pod_template.spec);
      EXPECT_EQ(stopped->pod_sets[i].pod_template.labels, view->pod_sets[i].pod_template.labels);
    }
  }
}

std::string CaseName(const ::testing::TestParamInfo<KindCase>& info) {
  std::string name = info.param.file + "_" + info.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindCaseTest, ::testing::ValuesIn(AllCases()), CaseName);

TEST(BuiltInKindsTest, EachHasCases) {
  std::set<std::string> tested;
  for (const KindCase& one : AllCases()) tested.insert(std::string(one.kind->kind.framework));
  for (const KindPtr& kind : BuiltInKinds()) {
    EXPECT_EQ(tested.count(std::string(kind->kind.framework)), 1U) << kind->kind.framework;
  }
}

}  // namespace
}  // namespace berth::integrations
