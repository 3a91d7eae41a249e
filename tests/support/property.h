// tests/support/property.h — a RapidCheck property inside a GoogleTest, with its own number of
// cases and a fixed seed.
//
// RC_PARAMS (RapidCheck's own variable) changes the cases of a run:
//
//     RC_PARAMS="max_success=1000" build/release/…/test_admission_properties   ten times the cases
//     RC_PARAMS="seed=42 max_success=500" …   other cases, five times as many
//     RC_PARAMS="reproduce=…" …               the case that a failure printed
//
// max_success is a percentage of each property's default. A failure prints its seed, the shrunk
// case, and the reproduce line.
//
// Threads: one. Errors: GoogleTest failures.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::support {

// FNV-1a of the test's name: the seed unless RC_PARAMS names one.
inline std::uint64_t SeedOf(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// `property` takes arguments that RapidCheck can generate, or draws with *gen; it fails with
// RC_ASSERT, RC_FAIL or an exception.
template <typename Property>
void CheckProperty(int cases, Property&& property) {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "." + test->name();
  metadata.description = metadata.id;
  const rc::detail::Configuration& configured = rc::detail::configuration();
  rc::detail::TestParams params = configured.testParams;
  params.maxSuccess = cases * params.maxSuccess / 100;
  const char* given = std::getenv("RC_PARAMS");
  if (given == nullptr || std::string_view(given).find("seed=") == std::string_view::npos) {
    params.seed = SeedOf(metadata.id);
  }
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  if (!result.template is<rc::detail::SuccessResult>()) {
    FAIL() << "RC_PARAMS=\"seed=" << params.seed << "\", " << params.maxSuccess << " cases\n"
           << text.str();
  }
}

// A number from 0 to below `bound`, all equally likely at every RapidCheck size; shrinks to 0.
inline rc::Gen<int> Below(int bound) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

}  // namespace berth::support
