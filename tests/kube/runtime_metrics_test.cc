// Goal: the metrics that boards of every controller-runtime program read, with their values.
// Method: a controller in virtual time, whose reconciles the test ends; the text of /metrics.
#include "kube/runtime/runtime_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/counting_transport.h"
#include "kube/runtime/manager.h"
#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenReconciler final : public Reconciler {
 public:
  std::string_view name() const override { return "job"; }
  void Reconcile(const api::ObjectKey&, Done done) override { open.push_back(std::move(done)); }
  std::vector<Done> open;
};

class RuntimeMetricsTest : public ScriptedTest {
 protected:
  std::string Text(bool is_leader = false) const {
    return RuntimeMetricsText(stats_, {"10.0.0.1:443", "kueue"}, is_leader);
  }

  RuntimeStats stats_{clock_};
};

TEST_F(RuntimeMetricsTest, MetricsOfControllersAndTheirQueuesAreExposed) {
  OpenReconciler reconciler;
  Manager manager(client_, executor_, &stats_);
  Controller& controller = manager.AddController(reconciler, {.max_concurrent = 1});
  manager.StartInformers();
  manager.StartControllers();
  executor_.RunReady();
  for (const char* name : {"a", "b", "c"}) controller.Add({"", name});
  executor_.RunReady();
  ASSERT_EQ(reconciler.open.size(), 1U);
  clock_.Advance(2s);
  std::string text = Text();
  EXPECT_THAT(text, HasSubstr("workqueue_depth{controller=\"job\",name=\"job\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_adds_total{controller=\"job\",name=\"job\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_active_workers{controller=\"job\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_unfinished_work_seconds{controller=\"job\","
                              "name=\"job\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("controller_runtime_max_concurrent_reconciles{controller=\"job\"} 1\n"));
  const auto answer = [&](const Result<NextLook>& result) {
    const Reconciler::Done done = reconciler.open.back();
    reconciler.open.pop_back();
    done(result);
    executor_.RunReady();
  };
  answer(NextLook{});
  answer(NextLook{1h});
  answer(Error{ErrorCode::kUnavailable, "no answer"});
  text = Text();
  for (const char* result : {"success", "requeue_after", "error"}) {
    EXPECT_THAT(text, HasSubstr(std::string("controller_runtime_reconcile_total{controller=\"job\","
                                            "result=\"") +
                                result + "\"} 1\n"));
  }
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_errors_total{controller=\"job\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_retries_total{controller=\"job\",name=\"job\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_time_seconds_bucket{"
                              "controller=\"job\",le=\"1.75\"} 2\n"))
      << "one look took two seconds";
  EXPECT_THAT(text, HasSubstr("controller_runtime_reconcile_time_seconds_bucket{"
                              "controller=\"job\",le=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_queue_duration_seconds_sum{controller=\"job\","
                              "name=\"job\"} 4\n"))
      << "two keys waited for the first";
  EXPECT_THAT(text, HasSubstr("controller_runtime_active_workers{controller=\"job\"} 0\n"));
}

TEST_F(RuntimeMetricsTest, RequestsAreCountedByCodeAndMethod) {
  api_.Put("/api/v1/namespaces", Named("a"));
  const auto counting = CountAnswers(
      api_, [this](const auto& method, const auto& code) { stats_.OnRequest(method, code); });
  const auto send = [&](const char* method, const char* path) {
    counting->Send({.method = method, .path = path}, 1s, [](const Result<ApiResponse>&) {});
    executor_.RunFor(2s);
  };
  send("GET", "/api/v1/namespaces/a");
  api_.FailNext("GET /api/v1/namespaces/b", 404);
  send("GET", "/api/v1/namespaces/b");
  api_.FailNext("GET /api/v1/namespaces/a", 0);
  send("GET", "/api/v1/namespaces/a");
  const auto watch = counting->Watch({.method = "GET", .path = "/api/v1/namespaces?watch=true"}, 1h,
                                     {[](const WatchEvent&) {}, [](const Status&) {}});
  api_.Put("/api/v1/namespaces", Named("c"));
  api_.Put("/api/v1/namespaces", Named("d"));
  executor_.RunFor(1s);
  const std::string text = Text();
  const auto count = [](const std::string& code) {
    return "rest_client_requests_total{code=\"" + code +
           "\",host=\"10.0.0.1:443\",method=\"GET\"} ";
  };
  EXPECT_THAT(text, HasSubstr(count("200") + "2\n")) << "a watch is one request";
  EXPECT_THAT(text, HasSubstr(count("404") + "1\n"));
  EXPECT_THAT(text, HasSubstr(count("<error>") + "1\n"));
}

TEST_F(RuntimeMetricsTest, MetricsOfTheProcessAndItsLeaseAreExposed) {
  const std::string text = Text(true);
  EXPECT_THAT(text, HasSubstr("leader_election_master_status{name=\"kueue\"} 1\n"));
  EXPECT_THAT(Text(false), HasSubstr("leader_election_master_status{name=\"kueue\"} 0\n"));
  EXPECT_THAT(RuntimeMetricsText(stats_, {"a", ""}, true), Not(HasSubstr("leader_election")));
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                           "process_virtual_memory_bytes", "process_start_time_seconds",
                           "process_open_fds", "process_max_fds"}) {
    EXPECT_THAT(text, ::testing::ContainsRegex(std::string("\n") + name + " [0-9]")) << name;
  }
}

}  // namespace
}  // namespace berth::kube
