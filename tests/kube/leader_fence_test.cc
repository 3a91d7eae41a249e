// Goal: no write of a controller is sent, or waited for, outside its lease. Method: a client behind
// the fence, in virtual time, on the real API in memory.

#include "kube/runtime/leader_fence.h"

#include "kube/runtime/leader_election.h"
#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr api::ResourceKind kFlavorKind{"kueue.x-k8s.io", "v1beta2", "ResourceFlavor",
                                        "resourceflavors", false};

class LeaderFenceTest : public KubeTest {
 protected:
  Result<JsonPtr> CreateFlavor(const std::string& name) {
    Json flavor = Named(name);
    flavor["apiVersion"] = "kueue.x-k8s.io/v1beta2";
    flavor["kind"] = "ResourceFlavor";
    return Await<JsonPtr>(
        [&](auto done) { fenced_.Create(kFlavorKind, "", flavor, {}, std::move(done)); });
  }
  bool Exists(const std::string& name) {
    return api_.Find(std::string(kFlavors) + "/" + name) != nullptr;
  }

  WriteWindow window_{.begin_before = clock_.SteadyNow() + 10s,
                      .end_before = clock_.SteadyNow() + 15s};
  LeaderFence fence_{api_, executor_, clock_, [this] { return window_; }};
  ApiClient fenced_{fence_, executor_};
};

TEST_F(LeaderFenceTest, AWriteInsideTheLeaseIsSent) {
  EXPECT_TRUE(CreateFlavor("a"));
  EXPECT_TRUE(Exists("a"));
}

TEST_F(LeaderFenceTest, FrozenProcessWritesNothingAfterItsLease) {
  clock_.Advance(10s);  // nothing ran meanwhile: the elector has not heard of the loss
  const Result<JsonPtr> created = CreateFlavor("a");
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(created.error().message, HasSubstr("no longer holds the lease"));
  EXPECT_FALSE(Exists("a"));
}

TEST_F(LeaderFenceTest, WriteIsAbandonedAtTheEndOfTheLease) {
  api_.set_latency(40s);
  const SteadyTime start = clock_.SteadyNow();
  const Result<JsonPtr> created = CreateFlavor("a");
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_LE(clock_.SteadyNow() - start, 15s);
}

TEST_F(LeaderFenceTest, ARepeatedWriteIsCheckedAgain) {
  api_.FailNext("resourceflavors", 429);
  bool repeated = false;
  fenced_.Create(kFlavorKind, "",
                 {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                  {"kind", "ResourceFlavor"},
                  {"metadata", {{"name", "a"}}}},
                 {}, [&](const Result<JsonPtr>& answer) {
                   repeated = true;
                   EXPECT_FALSE(answer);
                 });
  executor_.RunFor(500ms);  // the client repeats after a second
  window_ = {};             // another replica leads
  executor_.RunUntil([&] { return repeated; });
  EXPECT_FALSE(Exists("a"));
}

TEST_F(LeaderFenceTest, ReadsAndReviewsNeedNoLease) {
  window_ = {};
  EXPECT_TRUE(
      Await<ObjectList>([&](auto done) { fenced_.List(kFlavorKind, "", {}, std::move(done)); }));
  const api::ResourceKind reviews{"authentication.k8s.io", "v1", "TokenReview", "tokenreviews",
                                  false};
  const Result<JsonPtr> review = Await<JsonPtr>([&](auto done) {
    fenced_.Create(reviews, "",
                   {{"apiVersion", "authentication.k8s.io/v1"},
                    {"kind", "TokenReview"},
                    {"spec", {{"token", "t"}}}},
                   {}, std::move(done));
  });
  EXPECT_TRUE(review) << review.error().message;
}

TEST_F(LeaderFenceTest, ClosingWaitsForOpenWrites) {
  api_.set_latency(1s);
  bool written = false;
  bool idle = false;
  fenced_.Create(kFlavorKind, "",
                 {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                  {"kind", "ResourceFlavor"},
                  {"metadata", {{"name", "a"}}}},
                 {}, [&](const Result<JsonPtr>& answer) { written = answer.has_value(); });
  executor_.RunFor(100ms);
  fence_.Close([&] {
    idle = true;
    EXPECT_TRUE(written);
  });
  EXPECT_FALSE(idle);
  EXPECT_FALSE(CreateFlavor("b"));
  executor_.RunFor(5s);
  EXPECT_TRUE(idle);
  EXPECT_FALSE(Exists("b"));
}

TEST_F(LeaderFenceTest, ElectorProvidesTheWriteWindow) {
  LeaderElector elector(
      client_, clock_, {.identity = "a"}, [] {}, [] {});
  EXPECT_EQ(elector.write_window().begin_before, SteadyTime{});
  elector.Start();
  executor_.RunFor(3s);
  ASSERT_TRUE(elector.is_leader());
  const WriteWindow window = elector.write_window();
  EXPECT_GT(window.begin_before, clock_.SteadyNow());
  EXPECT_LE(window.begin_before, clock_.SteadyNow() + 10s);
  EXPECT_EQ(window.end_before - window.begin_before, 5s);
}

}  // namespace
}  // namespace berth::kube
