// tests/kube/kube_test_support.h — a client in virtual time: on the real API in memory, or on lists
// and watches that the test scripts.
#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kube/client/api_client.h"
#include "scenarios/world/sim_executor.h"
#include "tests/kube/scripted_transport.h"
#include "tests/support/registry_transport.h"

namespace berth::kube {

inline constexpr char kFlavors[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";

inline Json Named(const std::string& name) { return {{"metadata", {{"name", name}}}}; }

template <typename Api>
class ClientTest : public ::testing::Test {
 protected:
  // The result that `start` passes to its callback.
  template <typename T, typename Fn>
  Result<T> Await(Fn start) {
    std::optional<Result<T>> result;
    start([&](Result<T> got) { result.emplace(std::move(got)); });
    executor_.RunUntil([&] { return result.has_value(); });
    if (!result) return Error{ErrorCode::kInternal, "the test waited in vain"};
    return *std::move(result);
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  Api api_{executor_, clock_};
  ApiClient client_{api_, executor_};
};
using KubeTest = ClientTest<RegistryTransport>;
using ScriptedTest = ClientTest<ScriptedTransport>;

}  // namespace berth::kube
