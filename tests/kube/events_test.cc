// Goal: events are written, joined, bounded; they give way to other writes, and no rank of them
// starves. Method: the requests to a server of events.k8s.io, and the objects of the real API in
// memory.

#include "kube/runtime/events.h"

#include <algorithm>
#include <vector>

#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

class EventsTest : public ScriptedTest {
 protected:
  void Record(const std::string& note, const std::string& name = "w") {
    recorder_.Record({"kueue.x-k8s.io/v1beta2", "Workload", {"team", name}, "uid-" + name, "5"},
                     EventType::kNormal, "Admitted", "", note);
    executor_.RunFor(10ms);
  }
  EventRecorder recorder_{
      client_, clock_, {.controller = "kueue-admission", .instance = "host", .max_queued = 10}};
};

TEST_F(EventsTest, EventIsWrittenWithAllFields) {
  Record("Admitted by ClusterQueue cq");
  ASSERT_EQ(api_.requests().size(), 1U);
  const auto& request = api_.requests()[0];
  EXPECT_EQ(request.path, "/apis/events.k8s.io/v1/namespaces/team/events");
  EXPECT_EQ(request.body["reason"], "Admitted");
  EXPECT_EQ(request.body["note"], "Admitted by ClusterQueue cq");
  EXPECT_EQ(request.body["regarding"]["uid"], "uid-w");
  EXPECT_EQ(request.body["eventTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(request.body["reportingController"], "kueue-admission");
}

TEST_F(EventsTest, RepeatsBecomeASeriesWrittenOnceAMinute) {
  for (int i = 0; i < 5; ++i) Record("same");
  EXPECT_EQ(api_.requests().size(), 1U);
  executor_.RunFor(1min);
  Record("same");
  ASSERT_EQ(api_.requests().size(), 2U);
  EXPECT_EQ(api_.requests()[1].method, "PATCH");
  EXPECT_EQ(api_.requests()[1].body["series"]["count"], 6);
}

TEST_F(EventsTest, AWarningWithOtherAmountsIsARepetition) {
  const auto warn = [this](const std::string& note) {
    recorder_.Record({"kueue.x-k8s.io/v1beta2", "Workload", {"team", "w"}, "uid-w", "1"},
                     EventType::kWarning, "WaitingForQuota", "", note);
    executor_.RunFor(61s);
  };
  warn("2 more needed");
  warn("13 more needed");
  ASSERT_EQ(api_.requests().size(), 2U);
  EXPECT_EQ(api_.requests()[1].method, "PATCH");
  EXPECT_EQ(api_.requests()[1].body["series"]["count"], 2);
  warn("none needed");
  EXPECT_EQ(api_.requests()[2].method, "POST");
}

TEST_F(EventsTest, EventsOfOneObjectAreLimited) {
  for (int i = 0; i < 40; ++i) Record("note " + std::to_string(i));
  EXPECT_EQ(api_.requests().size(), 25U);
  EXPECT_EQ(recorder_.dropped(), 15U);
  Record("another object", "x");
  EXPECT_EQ(api_.requests().size(), 26U);
  executor_.RunFor(20s);
  Record("later");
  EXPECT_EQ(api_.requests().size(), 27U);
}

TEST_F(EventsTest, QueueIsBoundedWhileTheApiIsSlow) {
  api_.set_latency(5s);
  for (int i = 0; i < 30; ++i) Record("n", "w" + std::to_string(i));
  EXPECT_EQ(recorder_.queued(), 10U);
  EXPECT_EQ(recorder_.dropped(), 16U);
  executor_.RunFor(1min);
  EXPECT_EQ(api_.requests().size(), 14U);
}

TEST_F(EventsTest, ServerWithoutEventsGroupReceivesCoreEvents) {
  api_.FailNext("events.k8s.io", 404);
  Record("one");
  ASSERT_EQ(api_.requests().size(), 1U);
  EXPECT_EQ(api_.requests()[0].path, "/api/v1/namespaces/team/events");
  EXPECT_EQ(api_.requests()[0].body["message"], "one");
  EXPECT_EQ(api_.requests()[0].body["involvedObject"]["uid"], "uid-w");
  executor_.RunFor(1min);
  Record("one");
  EXPECT_EQ(api_.requests()[1].body,
            (Json{{"count", 2}, {"lastTimestamp", "2026-01-01T00:01:00Z"}}));
}

TEST_F(EventsTest, WhileTheApiIsSlowTheOldestDecisionsAreDropped) {
  api_.set_latency(5s);
  for (int i = 0; i < 30; ++i) Record("n", "w" + std::to_string(i));
  executor_.RunFor(1min);
  ASSERT_EQ(api_.requests().size(), 14U);
  EXPECT_EQ(api_.requests()[3].body["regarding"]["name"], "w3") << "on its way already";
  EXPECT_EQ(api_.requests()[4].body["regarding"]["name"], "w20");
  EXPECT_EQ(api_.requests()[13].body["regarding"]["name"], "w29");
}

class RankedEventsTest : public EventsTest {
 protected:
  void Say(EventRank rank, const std::string& name, const std::string& note) {
    const bool is_decision = rank == EventRank::kDecision;
    recorder_.Record({"kueue.x-k8s.io/v1beta2", "Workload", {"team", name}, "uid-" + name, "5"},
                     is_decision ? EventType::kNormal : EventType::kWarning,
                     is_decision ? "Admitted" : "WaitingForQuota", "", note, rank);
  }
  // The notes of the requests from the given one on.
  std::vector<std::string> NotesFrom(std::size_t first) const {
    std::vector<std::string> notes;
    for (std::size_t i = first; i < api_.requests().size(); ++i) {
      notes.push_back(api_.requests()[i].body.value("note", "series"));
    }
    return notes;
  }
  // Takes the four requests that may be under way.
  void Occupy() {
    for (int i = 0; i < 4; ++i) Say(EventRank::kDecision, "busy" + std::to_string(i), "busy");
    executor_.RunFor(1ms);
  }
  // Answers that show a fast server, then a slow one.
  void SlowDown() {
    for (int i = 0; i < 100; ++i) {
      Say(EventRank::kDecision, "fast" + std::to_string(i), "n");
      executor_.RunFor(20ms);
    }
    api_.set_latency(300ms);
    for (int i = 0; i < 100; ++i) {
      Say(EventRank::kDecision, "slow" + std::to_string(i), "n");
      executor_.RunFor(100ms);
    }
    executor_.RunFor(1min);
    api_.ClearRequests();
  }
};

TEST_F(RankedEventsTest, DecisionsAreWrittenBeforeCommentary) {
  api_.set_latency(20ms);
  Occupy();
  Say(EventRank::kCommentary, "a", "a waits");
  Say(EventRank::kDecision, "b", "b admitted");
  executor_.RunFor(1s);
  EXPECT_EQ(NotesFrom(4), (std::vector<std::string>{"b admitted", "a waits"}));
}

TEST_F(RankedEventsTest, LaterCommentaryReplacesQueuedCommentary) {
  api_.set_latency(20ms);
  Occupy();
  Say(EventRank::kCommentary, "a", "needs cpu");
  Say(EventRank::kCommentary, "b", "needs cpu");
  Say(EventRank::kCommentary, "a", "needs memory");
  EXPECT_EQ(recorder_.queued(), 2U);
  executor_.RunFor(1s);
  EXPECT_EQ(NotesFrom(4), (std::vector<std::string>{"needs memory", "needs cpu"}));
  Say(EventRank::kCommentary, "a", "needs cpu");
  executor_.RunFor(1s);
  EXPECT_EQ(NotesFrom(6), (std::vector<std::string>{"needs cpu"}))
      << "the replaced one was never an Event: this is the first of its series";
}

TEST_F(RankedEventsTest, RepetitionsInTheQueueBecomeOneWriteWithACount) {
  api_.set_latency(20ms);
  Occupy();
  for (int i = 0; i < 3; ++i) Say(EventRank::kDecision, "a", "again");
  executor_.RunFor(1s);
  ASSERT_EQ(api_.requests().size(), 5U);
  EXPECT_EQ(api_.requests()[4].body["series"]["count"], 3);
}

TEST_F(RankedEventsTest, SupersededEventsThatWaitAreNotWritten) {
  const ObjectReference job{"batch/v1", "Job", {"team", "j"}, "uid-j", "5"};
  const auto record = [&](const std::string& reason) {
    recorder_.Record(job, EventType::kNormal, reason, "", reason);
  };
  api_.set_latency(20ms);
  Occupy();
  record("CreatedWorkload");
  record("Created");
  Say(EventRank::kDecision, "a", "a admitted");
  recorder_.Supersede(job, EventType::kNormal, "CreatedWorkload");
  record("Started");
  executor_.RunFor(1s);
  EXPECT_EQ(NotesFrom(4), (std::vector<std::string>{"Created", "a admitted", "Started"}));
  EXPECT_EQ(recorder_.dropped(), 0U);
  // An event that was written keeps its series.
  recorder_.Supersede(job, EventType::kNormal, "Started");
  executor_.RunFor(2min);
  record("Started");
  executor_.RunFor(1s);
  EXPECT_EQ(api_.requests().back().body["series"]["count"], 2);
}

TEST_F(RankedEventsTest, SlowServerReceivesTheLowestRate) {
  SlowDown();
  for (int i = 0; i < 1200; ++i) {
    Say(EventRank::kDecision, "w" + std::to_string(i), "n");
    executor_.RunFor(50ms);
  }
  // 4 under way at 300 ms would be 13 in a second.
  EXPECT_LT(api_.requests().size(), 60U * 11U);
  EXPECT_GT(api_.requests().size(), 60U * 9U) << "the slowest pace";
}

TEST_F(RankedEventsTest, CommentaryLeavesAFifthOfTheBudget) {
  for (int i = 0; i < 40; ++i) {
    Say(EventRank::kCommentary, "a", std::string(1, static_cast<char>('A' + i)));
    executor_.RunFor(10ms);
  }
  EXPECT_EQ(api_.requests().size(), 20U);
  Say(EventRank::kDecision, "a", "admitted");
  executor_.RunFor(10ms);
  EXPECT_EQ(api_.requests().size(), 21U);
}

// Both ranks come faster than they can be written, for ten minutes.
TEST_F(RankedEventsTest, EveryRankIsWrittenUnderLoad) {
  SlowDown();
  for (int second = 0; second < 600; ++second) {
    for (int i = 0; i < 30; ++i) {
      const std::string name = std::to_string(second) + "-" + std::to_string(i);
      Say(EventRank::kDecision, name, "decision");
      Say(EventRank::kCommentary, name, "commentary");
    }
    executor_.RunFor(1s);
    if (second % 10 != 9) continue;
    const std::vector<std::string> notes = NotesFrom(0);
    const auto commentary = std::count(notes.begin(), notes.end(), "commentary");
    EXPECT_GE(commentary, 5) << "in the ten seconds to " << second;
    EXPECT_GE(static_cast<std::int64_t>(notes.size()) - commentary, 50) << "in those to " << second;
    api_.ClearRequests();
  }
  EXPECT_LE(recorder_.queued(), 12U);
}

class EventsInAnOutageTest : public RankedEventsTest {
 protected:
  // The next `count` requests meet an API server that is down.
  void Fail(int count) {
    for (int i = 0; i < count; ++i) api_.FailNext("events", 503);
  }
};

TEST_F(EventsInAnOutageTest, DecisionIsWrittenAfterAnOutage) {
  Fail(5);
  Record("admitted");
  executor_.RunFor(20s);
  EXPECT_EQ(api_.requests().size(), 0U);
  EXPECT_EQ(recorder_.queued(), 1U);
  executor_.RunFor(20s);  // the fifth pause ends after 31 s
  ASSERT_EQ(api_.requests().size(), 1U);
  EXPECT_EQ(api_.requests()[0].body["note"], "admitted");
  EXPECT_EQ(api_.requests()[0].body["eventTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(recorder_.dropped(), 0U);
  EXPECT_EQ(recorder_.queued(), 0U);
}

TEST_F(EventsInAnOutageTest, QueuedEventsWaitForOneRetryAtATime) {
  Fail(4);
  for (int i = 0; i < 9; ++i) Say(EventRank::kDecision, "w" + std::to_string(i), "admitted");
  executor_.RunFor(900ms);
  EXPECT_EQ(recorder_.queued(), 9U) << "the first four met the outage, the rest waits for them";
  executor_.RunFor(10s);
  EXPECT_EQ(api_.requests().size(), 9U);
}

TEST_F(EventsInAnOutageTest, CommentaryIsNotRetried) {
  Fail(1);
  Say(EventRank::kCommentary, "a", "a waits");
  executor_.RunFor(1min);
  EXPECT_EQ(api_.requests().size(), 0U);
  EXPECT_EQ(recorder_.dropped(), 1U);
}

TEST_F(EventsInAnOutageTest, EventWithALostAnswerIsWrittenOnce) {
  api_.FailNext("events", 0, ErrorCode::kDeadlineExceeded);
  api_.FailNext("events", 0, ErrorCode::kAlreadyExists);
  Record("admitted");
  executor_.RunFor(1min);
  EXPECT_EQ(api_.requests().size(), 2U) << "the second create shows that the first one counted";
  EXPECT_EQ(recorder_.dropped(), 0U);
  EXPECT_EQ(recorder_.queued(), 0U);
}

TEST_F(EventsInAnOutageTest, DecisionIsDroppedAfterAnHour) {
  std::vector<EventRecorder::Dropped> reasons;
  recorder_.OnDrop([&](EventRecorder::Dropped why) { reasons.push_back(why); });
  Fail(1000);
  Record("admitted");
  executor_.RunFor(50min);
  Record("later", "x");  // looks for what is old
  EXPECT_EQ(recorder_.queued(), 2U);
  EXPECT_EQ(recorder_.dropped(), 0U);
  executor_.RunFor(11min);
  EXPECT_EQ(recorder_.queued(), 1U);
  EXPECT_EQ(reasons.size(), 1U);
}

TEST_F(EventsInAnOutageTest, ARefusedEventIsDropped) {
  std::vector<EventRecorder::Dropped> reasons;
  recorder_.OnDrop([&](EventRecorder::Dropped why) { reasons.push_back(why); });
  api_.FailNext("events", 403);
  Record("admitted");
  executor_.RunFor(1min);
  EXPECT_EQ(recorder_.queued(), 0U);
  EXPECT_EQ(reasons, std::vector{EventRecorder::Dropped::kRefused});
  for (int i = 0; i < 40; ++i) Record("note " + std::to_string(i));
  EXPECT_EQ(reasons.back(), EventRecorder::Dropped::kBudget);
}

TEST_F(RankedEventsTest, FlushWritesAllEventsWithoutAPace) {
  SlowDown();
  api_.set_latency(20ms);
  for (int i = 0; i < 9; ++i) Say(EventRank::kDecision, "w" + std::to_string(i), "admitted");
  Say(EventRank::kCommentary, "c", "waits");
  bool flushed = false;
  recorder_.Flush([&] { flushed = true; });
  executor_.RunFor(1s);
  EXPECT_TRUE(flushed);
  EXPECT_EQ(api_.requests().size(), 10U);
}

TEST_F(RankedEventsTest, FlushOfAnEmptyQueueEndsAtOnce) {
  bool flushed = false;
  recorder_.Flush([&] { flushed = true; });
  EXPECT_TRUE(flushed);
}

class EventsOnTheRealApiTest : public KubeTest {};

TEST_F(EventsOnTheRealApiTest, ApiServerStoresTheWholeEvent) {
  api_.Put("/api/v1/namespaces", Named("team"));
  EventRecorder recorder(client_, clock_, {.controller = "kueue-admission", .instance = "host"});
  recorder.Record({"kueue.x-k8s.io/v1beta2", "Workload", {"team", "w"}, "uid-w", "5"},
                  EventType::kNormal, "Admitted", "", "Admitted by ClusterQueue cq");
  executor_.RunFor(100ms);
  ASSERT_EQ(api_.requests().back().method, "POST");
  const std::string name = api_.requests().back().body["metadata"]["name"];
  const Json* event = api_.Find("/api/v1/namespaces/team/events/" + name);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ((*event)["message"], "Admitted by ClusterQueue cq");
  EXPECT_EQ((*event)["involvedObject"]["kind"], "Workload");
}

TEST_F(EventsTest, RememberedSeriesAreBounded) {
  EventRecorder recorder(client_, clock_,
                         {.controller = "c", .instance = "i", .max_remembered = 3});
  const auto record = [&](const std::string& name) {
    recorder.Record({"v1", "Pod", {"team", name}, "uid-" + name, "5"}, EventType::kNormal,
                    "Started", "", "note");
    executor_.RunFor(10ms);
  };
  for (const char* name : {"a", "b", "c", "a", "d"}) record(name);
  EXPECT_EQ(api_.requests().size(), 4U) << "the second of a is a repeat";
  record("a");
  EXPECT_EQ(api_.requests().size(), 4U) << "a was seen later than b";
  record("b");
  EXPECT_EQ(api_.requests().size(), 5U) << "b was forgotten, so it is new";
}

TEST_F(EventsTest, LongNotesAreCut) {
  Record(std::string(5000, 'x'));
  EXPECT_EQ(api_.requests()[0].body["note"].get<std::string>().size(), 1024U);
}

}  // namespace
}  // namespace berth::kube
