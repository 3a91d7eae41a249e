// Goal: an elastic job gets as many ungated pods of each pod set as its slice has. Method: a table
// of pods in short form: "a" is gated, "b!" runs, "c." has ended, "d!x" runs and is being deleted,
// "ex" is gated and being deleted; "p2/a" is of the pod set p2, "-/a" of none.
#include "integrations/slice_ungating.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

std::shared_ptr<const api::Pod> PodOf(std::string word) {
  auto pod = std::make_shared<api::Pod>();
  std::string pod_set = "p1";
  if (const std::size_t slash = word.find('/'); slash != std::string::npos) {
    pod_set = word.substr(0, slash);
    word.erase(0, slash + 1);
  }
  pod->meta = {.namespace_name = "ns", .name = word.substr(0, 1)};
  if (pod_set != "-") pod->meta.labels[api::kPodSetLabel] = pod_set;
  pod->phase = word.find('.') != std::string::npos ? "Failed" : "Pending";
  if (word.find('x') != std::string::npos) pod->meta.deletion_timestamp = testing::At(1);
  pod->spec.scheduling_gates = {api::kTopologyGate};
  if (word.find_first_of("!.") == std::string::npos) {
    pod->spec.scheduling_gates.emplace_back(api::kElasticJobGate);
  }
  return pod;
}

api::Workload SliceOf(const std::vector<std::int32_t>& counts) {
  api::Workload slice;
  for (const std::int32_t count : counts) {
    api::PodSet pods;
    pods.name = "p" + std::to_string(slice.spec.pod_sets.size() + 1);
    pods.count = count;
    slice.spec.pod_sets.push_back(std::move(pods));
  }
  return slice;
}

std::string Ungated(const api::Workload& slice, const std::string& pods) {
  std::vector<std::shared_ptr<const api::Pod>> list;
  for (const std::string_view word : Split(pods, ' ')) list.push_back(PodOf(std::string(word)));
  std::string told;
  for (const SliceUngating& one : PlanSliceUngating(slice, list)) {
    told += (told.empty() ? "" : " ") + one.pod->meta.name;
  }
  return told;
}

TEST(SliceUngatingTest, UngatesAsManyPodsAsTheSliceAdmits) {
  struct UngatingRow {
    const char* name;
    std::vector<std::int32_t> counts;
    const char* pods;
    const char* ungated;
  };
  const UngatingRow rows[] = {
      {"the lowest names", {2}, "c a b", "a b"},
      {"pods that run take room", {3}, "a! b! c d", "c"},
      {"no room", {2}, "a! b! c", ""},
      {"fewer than run", {1}, "a! b! c", ""},
      {"ended pods free room", {2}, "a! b. c", "c"},
      {"a pod that is being deleted runs until it has ended", {2}, "a! b!x c", ""},
      {"a gated pod that is being deleted is not ungated", {1}, "ax b", "b"},
      {"each pod set has its own room", {1, 1}, "a b p2/c p2/d", "a c"},
      {"a pod without pod set gets none", {2}, "-/a b", "b"},
      {"a pod of an unknown pod set gets none", {2}, "p9/a", ""},
  };
  for (const UngatingRow& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Ungated(SliceOf(row.counts), row.pods), row.ungated);
  }
}

TEST(SliceUngatingTest, PodSetUpdatesOfChecksAreAddedToThePod) {
  api::Workload slice = SliceOf({2});
  api::AdmissionCheckState check;
  check.state = api::CheckState::kReady;
  check.pod_set_updates = {
      {.name = "p1",
       .annotations = {{api::kConsumeProvisioningRequestAnnotation, "r1"}, {"other", "x"}},
       .node_selector = {{"pool", "p"}}}};
  slice.status.admission_checks = {check};
  const auto plan = PlanSliceUngating(slice, {PodOf("a")});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].node_selector, (api::StringMap{{"pool", "p"}}));
  EXPECT_EQ(plan[0].annotations,
            (api::StringMap{{api::kConsumeProvisioningRequestAnnotation, "r1"}}));
  // A pod of an earlier request stays gated, and leaves its room to the next one.
  auto other = std::make_shared<api::Pod>(*PodOf("a"));
  other->meta.annotations[api::kConsumeProvisioningRequestAnnotation] = "r0";
  const auto again = PlanSliceUngating(slice, {other, PodOf("b")});
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].pod->meta.name, "b");
}

TEST(SliceUngatingTest, OnlyAnAdmittedSliceCounts) {
  const auto slice = [](const char* name, int second) {
    auto made = std::make_shared<api::Workload>();
    made->meta = {.namespace_name = "ns", .name = name};
    made->meta.uid = name;
    made->meta.creation_timestamp = testing::At(second);
    testing::SetTrue(*made, api::kQuotaReserved);
    return made;
  };
  const auto old = slice("old", 1);
  const auto next = slice("next", 2);
  next->meta.annotations[api::kSliceReplacementForAnnotation] = "ns/old";
  EXPECT_EQ(AdmittedSlice({old}), nullptr);  // its checks are pending
  testing::SetTrue(*old, api::kAdmitted);
  EXPECT_EQ(AdmittedSlice({old}), old.get());
  EXPECT_EQ(AdmittedSlice({old, next}), nullptr);  // the next one counts, and its checks do
  testing::SetTrue(*next, api::kAdmitted);
  EXPECT_EQ(AdmittedSlice({old, next}), next.get());
  testing::SetTrue(*old, api::kFinished);
  EXPECT_EQ(AdmittedSlice({old, next}), next.get());
  testing::SetTrue(*next, api::kEvicted);
  EXPECT_EQ(AdmittedSlice({old, next}), nullptr);
}

}  // namespace
}  // namespace berth::integrations
