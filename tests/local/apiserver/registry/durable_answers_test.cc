// Goal: no answer contains a state that a crash could lose, also where the request writes nothing.
// Method: a listener blocks the store's writer after its first batch; later writes stay pending
// until the test releases the writer.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system_clock.h"
#include "local/apiserver/registry/registry.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local {
namespace {

class DurableAnswersTest : public ::testing::Test {
 protected:
  DurableAnswersTest() {
    StoreOptions options;
    options.path = folder_.File("state.db");
    auto store = Store::Open(options);
    store_ = std::move(*store);
    RegistryOptions registry;
    registry.clock = &clock_;
    registry_ = std::make_unique<Registry>(*store_, registry);
    EXPECT_TRUE(registry_->Bootstrap());
    RequestContext create = At("");
    EXPECT_TRUE(registry_->Create(create, {Map("one"), {}}));
  }
  ~DurableAnswersTest() override { LetGo(); }

  static Json Map(const std::string& text) {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", "m"}, {"namespace", "default"}}},
            {"data", {{"text", text}}}};
  }
  RequestContext At(const std::string& name) const {
    RequestContext context;
    context.table = registry_->table();
    context.resource = context.table->Find({"", "v1", "configmaps"});
    context.namespace_name = "default";
    context.name = name;
    return context;
  }

  // From here on no submitted write reaches the disk.
  void HoldWriter() {
    std::promise<void> stopped;
    listener_ = store_->AddListener([this, &stopped, first = true](const auto& /*events*/) mutable {
      if (!std::exchange(first, false)) return;
      stopped.set_value();
      let_go_.get_future().wait();
    });
    RequestContext context = At("");
    Json other = Map("x");
    other["metadata"]["name"] = "other";
    context.wait_for = WaitFor::kSubmitted;
    ASSERT_TRUE(registry_->Create(context, {std::move(other), {}}));
    stopped.get_future().wait();
  }
  void LetGo() {
    if (listener_ == 0 || std::exchange(gone_on_, true)) return;
    let_go_.set_value();
    store_->RemoveListener(listener_);
  }
  ApiResult<WriteResult> Submit(const std::string& text) {
    RequestContext context = At("m");
    context.wait_for = WaitFor::kSubmitted;
    return registry_->Update(context, {Map(text), {}});
  }
  // Whether `ask` waits for the writer, and its result.
  template <typename T>
  void ExpectWaits(const std::function<ApiResult<T>()>& ask,
                   const std::function<void(const ApiResult<T>&)>& check) {
    auto answer = std::async(std::launch::async, ask);
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
    LetGo();
    check(answer.get());
  }

  const TempFolder folder_;
  const SystemClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Registry> registry_;
  std::promise<void> let_go_;
  int listener_ = 0;
  bool gone_on_ = false;
};

TEST_F(DurableAnswersTest, UnchangedUpdateWaitsForThePendingWrite) {
  HoldWriter();
  const auto written = Submit("two");
  ASSERT_TRUE(written);
  const auto nothing = Submit("two");
  ASSERT_TRUE(nothing);
  EXPECT_EQ(*nothing->object, *written->object);
  ASSERT_NE(nothing->pending, nullptr) << "it would be answered before the state is on the disk";
  std::promise<bool> told[2];
  std::future<bool> heard[2] = {told[0].get_future(), told[1].get_future()};
  written->pending->OnDone([&](const Status& done) { told[0].set_value(done.has_value()); });
  nothing->pending->OnDone([&](const Status& done) { told[1].set_value(done.has_value()); });
  for (const auto& each : heard) {
    EXPECT_EQ(each.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  LetGo();
  EXPECT_TRUE(nothing->pending->Wait());
  for (auto& each : heard) EXPECT_TRUE(each.get());
  const auto settled = Submit("two");
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->pending, nullptr);
}

TEST_F(DurableAnswersTest, UnchangedUpdateIsAnsweredAfterTheDisk) {
  HoldWriter();
  ASSERT_TRUE(Submit("two"));
  ExpectWaits<WriteResult>(
      [this] {
        RequestContext context = At("m");
        return registry_->Update(context, {Map("two"), {}});
      },
      [](const auto& answer) { EXPECT_TRUE(answer); });
}

TEST_F(DurableAnswersTest, DeleteOfAPendingDeletionIsAnsweredAfterTheDisk) {
  HoldWriter();
  const StoredPtr stored = store_->GetLatest(At("m").key());
  ASSERT_TRUE(
      store_->Submit({{Write::Kind::kDelete, At("m").key(), *stored->json(), stored->revision()}}));
  ExpectWaits<DeleteResult>(
      [this] {
        RequestContext context = At("m");
        return registry_->Delete(context, {});
      },
      [](const auto& answer) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, 404);
      });
}

}  // namespace
}  // namespace berth::local
