// Goal: the program has a controller for every row of the table of admission checks.
// Method: all controllers of Berth on the real API in memory, in virtual time; an AdmissionCheck of
// each row gets the condition Active, and with --controllers without its folder gets none.
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "checks/check_kinds.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "program/controller_set.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::checks {
namespace {

using Json = nlohmann::json;

constexpr char kChecks[] = "/apis/kueue.x-k8s.io/v1beta2/admissionchecks";

// The conditions of a check of the row a while after its creation.
Json ConditionsOf(const CheckKind& row, const program::ControllerSelection& selection) {
  FakeClock clock;
  SimExecutor executor(clock);
  kube::RegistryTransport api(executor, clock);
  kube::ApiClient client(api, executor);
  kube::Manager manager(client, executor);
  kube::EventRecorder events(client, clock,
                             {.controller = "kueue", .first_api = kube::EventApi::kCore});
  kube::Metrics metrics;
  const admission::Configuration configuration;
  const program::ControllerSet controllers(manager, clock, events, metrics, configuration,
                                           selection);
  manager.StartInformers();
  manager.StartControllers();
  Json check{{"metadata", {{"name", "check"}}},
             {"spec", {{"controllerName", row.controller_name}}}};
  if (!row.parameters_kinds.empty()) {
    const ParametersKind& kind = row.parameters_kinds.front();
    check["spec"]["parameters"] = {
        {"apiGroup", kind.group}, {"kind", kind.kind}, {"name", "absent"}};
  }
  api.Put(kChecks, std::move(check));
  executor.RunFor(std::chrono::seconds(10));
  const Json stored = *api.Find(std::string(kChecks) + "/check");
  manager.Stop();
  return stored.value(Json::json_pointer("/status/conditions"), Json::array());
}

TEST(CheckServedTest, EveryRowHasAController) {
  for (const CheckKind& row : CheckKinds()) {
    const Json conditions = ConditionsOf(row, {});
    ASSERT_EQ(conditions.size(), 1U) << row.controller_name;
    EXPECT_EQ(conditions[0]["type"], "Active");
    EXPECT_EQ(conditions[0]["status"], row.parameters_kinds.empty() ? "True" : "False");
  }
}

TEST(CheckServedTest, FlagNamesACheckByItsFolder) {
  for (const CheckKind& row : CheckKinds()) {
    program::ControllerSelection selection;
    selection.checks.erase(row.folder);
    EXPECT_EQ(ConditionsOf(row, selection), Json::array()) << row.controller_name;
  }
}

}  // namespace
}  // namespace berth::checks
