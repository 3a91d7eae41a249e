// tests/provisioning/race_world.h — worlds (world.h) whose policy lets requests race; the test
// plays the cloud.
//
// Threads: one. Errors: none.
#pragma once

#include <string>

#include "tests/provisioning/world.h"

namespace berth::provisioning::testing {

inline constexpr char kRaceStem[] = "job-sample-job-e80e2-dws-prov-";
inline std::string Asked(int attempt) { return kRaceStem + std::to_string(attempt); }

// A world with one step in three zones, of which `width` are asked at once.
inline World ZoneRace(std::int32_t width = 2) {
  World world;
  api::ProvisioningStep step{.name = "gpu", .flavor = "gpu"};
  step.zones = {"a", "b", "c"};
  step.price_per_hour = *api::Quantity::Parse("3.6");
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {step}};
  world.policy->race.emplace().width = width;
  return world;
}

// A world whose steps race: first is dear, second is cheap.
inline World StepRace() {
  World world;
  api::ProvisioningStep dear{.name = "dear", .provisioning_class_name = "dear.example.com"};
  dear.price_per_hour = *api::Quantity::Parse("9");
  api::ProvisioningStep cheap{.name = "cheap", .provisioning_class_name = "cheap.example.com"};
  cheap.price_per_hour = *api::Quantity::Parse("1");
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {dear, cheap}};
  world.policy->race.emplace().width = 2;
  world.policy->race->over = api::ProvisioningRace::Over::kSteps;
  return world;
}

inline void Grant(World& world, std::size_t at) {
  world.AnswerTo(world.requests.at(at), "Provisioned", kTrue, "Provisioned", "There.");
}
inline void Lose(World& world, std::size_t at) {
  world.AnswerTo(world.requests.at(at), "Failed", kTrue, "ResourcePoolExhausted", "None.");
}
inline std::string Mark(const api::ProvisioningRequest& request, const char* annotation) {
  const std::string* value = api::FindValue(request.meta.annotations, annotation);
  return value == nullptr ? "none" : *value;
}

}  // namespace berth::provisioning::testing
