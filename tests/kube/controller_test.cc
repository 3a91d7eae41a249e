// Goal: each key is reconciled once at a time, again when it changed meanwhile, later after errors.
// Method: a reconciler whose results the test gives, in virtual time.

#include "kube/runtime/controller.h"

#include <cctype>
#include <set>

#include "kube/runtime/function_controller.h"
#include "kube/runtime/manager.h"
#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ManualReconciler final : public Reconciler {
 public:
  std::string_view name() const override { return "manual"; }
  void Reconcile(const api::ObjectKey& key, Done done) override {
    started.push_back(key.name);
    open[key.name] = std::move(done);
  }
  void Answer(const std::string& name, const Result<NextLook>& result = NextLook{}) {
    const Done done = std::exchange(open[name], nullptr);
    done(result);
  }
  std::vector<std::string> started;
  std::map<std::string, Done> open;
};

class ControllerTest : public KubeTest {
 protected:
  std::vector<std::string> Started() {
    executor_.RunReady();
    return std::exchange(reconciler_.started, {});
  }
  static api::ObjectKey Key(const std::string& name) { return {"", name}; }

  ManualReconciler reconciler_;
  Controller controller_{executor_, reconciler_, {.max_concurrent = 2}};
};

TEST_F(ControllerTest, ReconcilesNothingBeforeStart) {
  controller_.Add(Key("a"));
  EXPECT_THAT(Started(), IsEmpty());
  controller_.Start();
  EXPECT_THAT(Started(), ElementsAre("a"));
}

TEST_F(ControllerTest, ReconcilesAreBoundedAndNeverTwiceOfOneKey) {
  controller_.Start();
  for (const char* name : {"a", "b", "c", "a", "a"}) controller_.Add(Key(name));
  EXPECT_THAT(Started(), ElementsAre("a", "b"));
  controller_.Add(Key("a"));  // changed during its reconcile
  reconciler_.Answer("a");
  EXPECT_THAT(Started(), ElementsAre("c"));
  reconciler_.Answer("b");
  EXPECT_THAT(Started(), ElementsAre("a"));
  reconciler_.Answer("a");
  reconciler_.Answer("c");
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_TRUE(controller_.idle());
}

TEST_F(ControllerTest, RetriesBackOffUntilASuccess) {
  controller_.Start();
  controller_.Add(Key("a"));
  for (const Duration delay : {5ms, 10ms, 20ms}) {
    EXPECT_THAT(Started(), ElementsAre("a"));
    reconciler_.Answer("a", Error{ErrorCode::kUnavailable, "down"});
    executor_.RunFor(delay - 1us);
    EXPECT_THAT(Started(), IsEmpty());
    executor_.RunFor(1us);
  }
  EXPECT_THAT(Started(), ElementsAre("a"));
  reconciler_.Answer("a");
  controller_.Add(Key("a"));
  EXPECT_THAT(Started(), ElementsAre("a"));
  reconciler_.Answer("a", Error{ErrorCode::kConflict, ""});
  executor_.RunFor(5ms);
  EXPECT_THAT(Started(), ElementsAre("a"));
}

// The cause of a failure may end without an event.
TEST_F(ControllerTest, FailuresBackOffFromMillisecondsToAMinute) {
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kForbidden, ErrorCode::kConflict,
                               ErrorCode::kUnavailable}) {
    ManualReconciler reconciler;
    Controller controller(executor_, reconciler, {});
    controller.Start();
    controller.Add(Key("a"));
    executor_.RunReady();
    Duration expected = 5ms;
    for (int refusals = 1; refusals <= 20; ++refusals) {
      ASSERT_EQ(reconciler.started.size(), static_cast<std::size_t>(refusals));
      reconciler.Answer("a", Error{code, "no"});
      executor_.RunFor(expected - 1us);
      ASSERT_EQ(reconciler.started.size(), static_cast<std::size_t>(refusals)) << refusals;
      executor_.RunFor(1us);
      expected = std::min<Duration>(2 * expected, 1min);
    }
    EXPECT_EQ(expected, 1min);
  }
}

TEST_F(ControllerTest, EarliestOfSeveralDueTimesCounts) {
  controller_.Start();
  controller_.AddAfter(Key("a"), 600s);
  executor_.RunFor(599s);
  controller_.AddAfter(Key("a"), 300s);  // due later in spite of the shorter delay
  EXPECT_THAT(Started(), IsEmpty());
  executor_.RunFor(1s);
  EXPECT_THAT(Started(), ElementsAre("a"));
  reconciler_.Answer("a");
  executor_.RunFor(300s);
  EXPECT_THAT(Started(), IsEmpty()) << "one look serves both";

  controller_.AddAfter(Key("a"), 600s);
  executor_.RunFor(100s);
  controller_.AddAfter(Key("a"), 300s);
  executor_.RunFor(299s);
  EXPECT_THAT(Started(), IsEmpty());
  executor_.RunFor(1s);
  EXPECT_THAT(Started(), ElementsAre("a"));
}

TEST_F(ControllerTest, LongDelaysAreSplitIntoSteps) {
  controller_.Start();
  controller_.Add(Key("a"));
  Started();
  reconciler_.Answer("a", NextLook{30 * 24h});
  executor_.RunFor(11min);
  EXPECT_THAT(Started(), ElementsAre("a")) << "no timer is left that lasts for weeks";
}

TEST_F(ControllerTest, EarlierChangeReplacesADelayedReconcile) {
  controller_.Start();
  controller_.Add(Key("a"));
  Started();
  reconciler_.Answer("a", NextLook{10s});
  executor_.RunFor(9s);
  controller_.Add(Key("a"));
  EXPECT_THAT(Started(), ElementsAre("a"));
  reconciler_.Answer("a");
  executor_.RunFor(5s);
  EXPECT_THAT(Started(), IsEmpty()) << "the change made the delayed look needless";
}

// A sweep over names; a name in capitals has no key to reconcile.
class Elsewhere {
 public:
  explicit Elsewhere(std::set<std::string> names) : names_(std::move(names)) {}
  Sweep Get() {
    return {.covers = [this](const api::ObjectKey& key) { return names_.contains(key.name); },
            .next = [this](const api::ObjectKey& place) -> std::optional<Sweep::Step> {
              const auto found = names_.upper_bound(place.name);
              if (found == names_.end()) return std::nullopt;
              const api::ObjectKey key{"", *found};
              if (std::isupper(found->front()) != 0) return Sweep::Step{key, std::nullopt};
              return Sweep::Step{key, key};
            }};
  }
  std::set<std::string>& names() { return names_; }

 private:
  std::set<std::string> names_;
};

TEST_F(ControllerTest, SweepsAreReconciledAfterStart) {
  Elsewhere first({"B", "a", "c"});
  Elsewhere second({"d"});
  controller_.AddSweep(first.Get());
  controller_.AddSweep(second.Get());
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_FALSE(controller_.idle());
  controller_.Start();
  EXPECT_THAT(Started(), ElementsAre("a", "c"));
  reconciler_.Answer("a");
  EXPECT_THAT(Started(), ElementsAre("d"));
  reconciler_.Answer("c");
  reconciler_.Answer("d");
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_TRUE(controller_.idle());
}

TEST_F(ControllerTest, KeysOutsideASweepTakeTheirOwnTurn) {
  Elsewhere there({"a", "b"});
  controller_.AddSweep(there.Get());
  controller_.Add(Key("b"));     // the sweep reaches it
  controller_.Add(Key("x"));     // not in the sweep: takes its own turn
  controller_.Add(Key("gone"));  // deleted; its handler adds the key
  there.names().erase("b");
  controller_.Add(Key("b"));
  controller_.Start();
  EXPECT_THAT(Started(), ElementsAre("x", "gone"));
  reconciler_.Answer("x");
  reconciler_.Answer("gone");
  EXPECT_THAT(Started(), ElementsAre("b", "a"));
}

TEST_F(ControllerTest, SweepContinuesWhileObjectsChange) {
  Elsewhere there({"a", "b", "c", "e"});
  controller_.AddSweep(there.Get());
  controller_.Start();
  EXPECT_THAT(Started(), ElementsAre("a", "b"));
  there.names() = {"a", "d", "e"};  // the sweep's position is gone
  controller_.Add(Key("a"));        // changed during its reconcile
  reconciler_.Answer("a");
  reconciler_.Answer("b");
  EXPECT_THAT(Started(), ElementsAre("a", "d"));
  reconciler_.Answer("a");
  EXPECT_THAT(Started(), ElementsAre("e"));
}

TEST_F(ControllerTest, SweepDoesNotReconcileOneKeyTwiceAtOnce) {
  Elsewhere there({"b", "c"});
  controller_.Start();
  controller_.Add(Key("b"));
  EXPECT_THAT(Started(), ElementsAre("b"));
  controller_.AddSweep(there.Get());
  EXPECT_THAT(Started(), ElementsAre("c"));
  reconciler_.Answer("b");
  EXPECT_THAT(Started(), ElementsAre("b")) << "again, since the sweep came to it meanwhile";
}

// Completes inside the call.
class PromptReconciler final : public Reconciler {
 public:
  std::string_view name() const override { return "prompt"; }
  void Reconcile(const api::ObjectKey&, Done done) override {
    ++count;
    done(NextLook{});
  }
  int count = 0;
};

TEST_F(ControllerTest, OtherTasksRunBetweenManyReconciles) {
  std::set<std::string> names;
  for (int i = 0; i < 2000; ++i) names.insert("k" + std::to_string(i));
  Elsewhere there(names);
  PromptReconciler prompt;
  Controller controller(executor_, prompt, {});
  controller.AddSweep(there.Get());
  controller.Start();
  int before = -1;
  executor_.Post([&] { executor_.Post([&] { before = prompt.count; }); });
  executor_.RunReady();
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 1000);
  EXPECT_EQ(prompt.count, 2000);
  EXPECT_TRUE(controller.idle());
}

TEST_F(ControllerTest, OtherTasksRunAfterEachBlockingReconcile) {
  PromptReconciler prompt;
  Controller controller(executor_, prompt, {.looks_in_a_row = 1});
  controller.Start();
  for (int i = 0; i < 10; ++i) controller.Add(Key("k" + std::to_string(i)));
  for (int turn = 1; turn <= 10; ++turn) {
    int before = -1;
    executor_.Post([&] { before = prompt.count; });
    while (before < 0) executor_.RunOne();
    EXPECT_EQ(before, turn);
  }
}

TEST_F(ControllerTest, LongReconcileIsFollowedByAnEqualPause) {
  std::vector<SteadyTime> begun;
  Duration takes = 300ms;
  FunctionController controller(executor_, "slow",
                                [&](const api::ObjectKey&) -> Result<NextLook> {
                                  begun.push_back(clock_.SteadyNow());
                                  clock_.Advance(takes);
                                  return NextLook{};
                                },
                                {.rest_clock = &clock_});
  controller.Start();
  controller.Add(Key("a"));
  executor_.RunReady();
  ASSERT_EQ(begun.size(), 1U);
  for (int i = 0; i < 10; ++i) {
    executor_.RunFor(10ms);
    controller.Add(Key("a"));
  }
  EXPECT_EQ(begun.size(), 1U) << "it rests";
  executor_.RunFor(1s);
  ASSERT_EQ(begun.size(), 2U) << "one look for all that changed meanwhile";
  EXPECT_EQ(begun[1] - begun[0], 600ms);

  takes = 10s;
  controller.Add(Key("a"));
  executor_.RunReady();
  controller.Add(Key("a"));
  executor_.RunFor(999ms);
  ASSERT_EQ(begun.size(), 3U);
  executor_.RunFor(1ms);
  EXPECT_EQ(begun.size(), 4U) << "no rest is longer than a second";
}

TEST_F(ControllerTest, LookAtConvertsAWallTimeToADelay) {
  const WallTime now = clock_.Now();
  EXPECT_EQ(LookAt(std::nullopt, now).after, std::nullopt);
  EXPECT_EQ(LookAt(now + 5s, now).after, Duration(5s));
}

TEST_F(ControllerTest, DroppedCallbackIsRetriedAsAnError) {
  controller_.Start();
  controller_.Add(Key("a"));
  Started();
  reconciler_.open.clear();
  executor_.RunFor(5ms);
  EXPECT_THAT(Started(), ElementsAre("a"));
}

TEST_F(ControllerTest, ManagerStartsControllersWhenInformersHaveSynced) {
  api_.Put(kFlavors, Named("a"));
  Manager manager(client_, executor_);
  auto& flavors = manager.InformerFor<api::ResourceFlavor>();
  EXPECT_EQ(&flavors, &manager.InformerFor<api::ResourceFlavor>());
  Controller& controller = manager.AddController(reconciler_, {});
  flavors.AddHandler({.on_add = [&](const auto& o) { controller.Add(o->meta.key()); }});
  std::vector<std::string> order;
  manager.OnLeaderStart([&] { order.emplace_back("start"); });
  manager.OnLeaderStop([&] { order.emplace_back("stop"); });
  api_.FailNext("GET", 503);
  manager.StartInformers();
  manager.StartControllers();
  executor_.RunFor(100ms);
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_THAT(manager.NotSynced(), ElementsAre("resourceflavors"));
  executor_.RunFor(5s);
  EXPECT_THAT(Started(), ElementsAre("a"));
  manager.Stop();
  controller.Add(Key("b"));
  EXPECT_THAT(Started(), IsEmpty());
  EXPECT_THAT(order, ElementsAre("start", "stop"));
}

}  // namespace
}  // namespace berth::kube
