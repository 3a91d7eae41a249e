// Goal: relevant changes of LimitRanges and RuntimeClasses reach the workloads that they concern;
// other changes reach no workload. Method: a feed on the real API, the workloads that it reports,
// and the scheduler's requests for their pods.

#include "admission/controller/feeds/pod_defaults_feed.h"

#include "api/pod.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PodDefaultsFeedTest : public AdmissionFixture {
 protected:
  void SetUp() override {
    feed_.Connect();
    PutWorkload("plain", 1);
    PutWorkload("boxed", 1);
    Edit("boxed", [](Json& object) {
      object["spec"]["podSets"][0]["template"]["spec"]["runtimeClassName"] = "vm";
    });
    executor_.RunFor(1s);
    for (const auto& workload : manager_->InformerFor<api::Workload>().objects()) {
      scheduler_.ApplyWorkload(workload, clock_.Now());
    }
  }
  void PutRange(const std::string& memory, const std::string& note) {
    const Json item = {{"type", "Container"}, {"defaultRequest", {{"memory", memory}}}};
    api_.Put("/api/v1/namespaces/team/limitranges",
             {{"metadata", {{"name", "defaults"}, {"annotations", {{"note", note}}}}},
              {"spec", {{"limits", {item}}}}});
  }
  void PutClass(const std::string& memory, const std::string& note) {
    api_.Put("/apis/node.k8s.io/v1/runtimeclasses",
             {{"metadata", {{"name", "vm"}, {"annotations", {{"note", note}}}}},
              {"handler", "vm"},
              {"overhead", {{"podFixed", {{"memory", memory}}}}}});
  }
  // The workloads reported since the last call.
  std::vector<std::string> Told() {
    executor_.RunFor(1s);
    EXPECT_EQ(std::exchange(scheduler_told_, 0), told_.empty() ? 0 : 1);
    return std::exchange(told_, {});
  }
  api::Amount MemoryOf(const std::string& name) const {
    const api::Workload& known =
        *scheduler_.workloads().object(*scheduler_.workloads().Find({"team", name}));
    return api::PodRequests(known.spec.pod_sets[0].pod_template.spec)["memory"];
  }

  Scheduler scheduler_{SchedulerConfig{}};
  std::vector<std::string> told_;
  int scheduler_told_ = 0;
  PodDefaultsFeed feed_{*manager_,
                        scheduler_,
                        clock_,
                        {[this](const api::ObjectKey& key) { told_.push_back(key.name); },
                         [this] { ++scheduler_told_; }}};
};

TEST_F(PodDefaultsFeedTest, ChangedLimitRangeReachesTheWorkloadsOfItsNamespace) {
  PutRange("64", "new");
  EXPECT_THAT(Told(), ElementsAre("boxed", "plain"));
  EXPECT_EQ(MemoryOf("plain"), 64);
  PutRange("64", "another word");
  EXPECT_THAT(Told(), IsEmpty());
  PutRange("128", "another word");
  EXPECT_THAT(Told(), ElementsAre("boxed", "plain"));
  EXPECT_EQ(MemoryOf("plain"), 128);
  api_.Remove("/api/v1/namespaces/team/limitranges/defaults");
  EXPECT_THAT(Told(), ElementsAre("boxed", "plain"));
  EXPECT_EQ(MemoryOf("plain"), 0);
}

TEST_F(PodDefaultsFeedTest, ChangedRuntimeClassReachesTheWorkloadsThatNameIt) {
  PutClass("64", "new");
  EXPECT_THAT(Told(), ElementsAre("boxed"));
  EXPECT_EQ(MemoryOf("boxed"), 64);
  PutClass("64", "another word");
  EXPECT_THAT(Told(), IsEmpty());
  PutClass("128", "another word");
  EXPECT_THAT(Told(), ElementsAre("boxed"));
  EXPECT_EQ(MemoryOf("boxed"), 128);
  EXPECT_EQ(MemoryOf("plain"), 0);
  api_.Remove("/apis/node.k8s.io/v1/runtimeclasses/vm");
  EXPECT_THAT(Told(), ElementsAre("boxed"));
  EXPECT_EQ(MemoryOf("boxed"), 0);
}

}  // namespace
}  // namespace berth::admission
