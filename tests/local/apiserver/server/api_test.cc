// Goal: the in-process Api sees the same objects as HTTP, and its watches have no gap.
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

const ResourceId kMapResource{"", "v1", "configmaps"};
const ResourceId kPodResource{"", "v1", "pods"};

class ApiTest : public ServerTest {};

class Collector {
 public:
  void Add(const WatchEvent& event) {
    const std::lock_guard lock(mutex_);
    const char* types[] = {"added ", "modified ", "deleted "};
    seen_.push_back(types[static_cast<int>(event.type)] +
                    (*event.object)["metadata"]["name"].get<std::string>());
    changed_.notify_all();
  }
  std::vector<std::string> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return seen_.size() >= count; });
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> seen_;
};

TEST_F(ApiTest, ApiAndHttpShowTheSameObjects) {
  Api& api = server_->api();
  auto created = api.Create(kMapResource, "default", ConfigMapJson("a", {{"k", "v"}}), {});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(Get("/api/v1/namespaces/default/configmaps/a").json, **created);
  auto patched =
      api.Patch(kMapResource, "default", "a", PatchType::kMerge, {{"data", {{"k", "w"}}}}, {});
  ASSERT_TRUE(patched);
  EXPECT_EQ((**api.Get(kMapResource, "default", "a"))["data"]["k"], "w");
  EXPECT_EQ(api.List(kMapResource, "default", {})->items.size(), 2U);
  EXPECT_EQ(api.Get(kMapResource, "default", "none").error().reason, "NotFound");
  ASSERT_TRUE(api.Delete(kMapResource, "default", "a", {}));
  EXPECT_EQ(api.Get({"x.io", "v1", "xs"}, "", "a").error().code, 404);
}

TEST_F(ApiTest, PodsAreBoundThroughTheirSubresource) {
  Api& api = server_->api();
  ASSERT_TRUE(api.Create(kPodResource, "default", PodJson("p"), {}));
  WriteOptions options;
  options.subresource = "binding";
  const Json binding{{"metadata", {{"name", "p"}}}, {"target", {{"kind", "Node"}, {"name", "n"}}}};
  ASSERT_TRUE(api.Create(kPodResource, "default", binding, options));
  const Json pod = **api.Get(kPodResource, "default", "p");
  EXPECT_EQ(pod["spec"]["nodeName"], "n");
  EXPECT_EQ(pod["status"]["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(pod["status"]["conditions"][0]["status"], "True");
}

TEST_F(ApiTest, WatchReportsTheStateThenEveryChange) {
  WholeApi& api = server_->api();
  ASSERT_TRUE(api.Create(kMapResource, "default", ConfigMapJson("a"), {}));
  Collector pods;
  const auto none =
      api.Watch(kPodResource, WatchFrom::kState, [&](const WatchEvent& event) { pods.Add(event); });
  Collector everything;
  const auto all =
      api.WatchAll(WatchFrom::kState, [&](const ResourceId& id, const WatchEvent& event) {
        if (id == kMapResource && (*event.object)["metadata"]["namespace"] == "default")
          everything.Add(event);
      });
  ASSERT_TRUE(
      api.Patch(kMapResource, "default", "a", PatchType::kMerge, {{"data", {{"x", "y"}}}}, {}));
  ASSERT_TRUE(api.Delete(kMapResource, "default", "a", {}));
  EXPECT_THAT(everything.Wait(4), ::testing::ElementsAre("added a", "added kube-root-ca.crt",
                                                         "modified a", "deleted a"));
  EXPECT_TRUE(pods.Wait(0).empty());
}

TEST_F(ApiTest, KindsIncludeCustomKindsAndNoReviews) {
  WholeApi& api = server_->api();
  ASSERT_TRUE(
      api.Create({"apiextensions.k8s.io", "v1", "customresourcedefinitions"}, "", WidgetCrd(), {}));
  bool widgets = false;
  for (const WholeApi::KindInfo& kind : api.Kinds()) {
    widgets = widgets || (kind.kind == "Widget" && kind.namespaced);
    EXPECT_NE(kind.id.resource, "selfsubjectreviews");
  }
  EXPECT_TRUE(widgets);
}

}  // namespace
}  // namespace berth::local
