#include "local/cluster/kubelet/pod_account.h"

#include <algorithm>

#include "local/cluster/objects/cluster_limits.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostUsedPercent = 80;
constexpr Duration kLongestUse = std::chrono::hours(24);

// nullptr: the object says nothing.
const Json* Automount(const Json& object) { return Find(object, {"automountServiceAccountToken"}); }

bool IsFalse(const Json* value) { return value != nullptr && *value == false; }

Error ApiFailed(const std::string& account, const ApiError& error) {
  return {ErrorCode::kUnavailable, "no token of serviceaccount " + account + ": " + error.message};
}

std::string AccountOf(const Json& pod) {
  return StringAt(pod, {"spec", "serviceAccountName"}, "default");
}

}  // namespace

Result<std::string> TokenOfPod(Api& api, const Json& pod, const std::string& audience,
                               std::int64_t seconds) {
  const std::string account = AccountOf(pod);
  const Json bound{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", NameOf(pod)}, {"uid", UidOf(pod)}};
  Json spec{{"expirationSeconds", std::clamp(seconds, kLeastSeconds, kMostTokenSeconds)},
            {"boundObjectRef", bound}};
  if (!audience.empty()) spec["audiences"].push_back(audience);
  WriteOptions options;
  options.subresource = "token";
  const auto answer =
      api.Create(kServiceAccounts, NamespaceOf(pod),
                 {{"metadata", {{"name", account}}}, {"spec", std::move(spec)}}, options);
  if (!answer) return ApiFailed(account, answer.error());
  return StringAt(**answer, {"status", "token"});
}

Duration TokenRenewalDelay(std::int64_t seconds) {
  const std::int64_t life = std::clamp(seconds, kLeastSeconds, kMostTokenSeconds);
  return std::min<Duration>(std::chrono::seconds(life * kMostUsedPercent / 100), kLongestUse);
}

Result<std::string> KubeconfigOfPod(Api& api, const Json& pod, const MakeAccountKubeconfig& make) {
  const Json* wish = Automount(pod.at("spec"));
  if (IsFalse(wish)) return std::string();
  if (wish == nullptr) {
    const auto stored = api.Get(kServiceAccounts, NamespaceOf(pod), AccountOf(pod));
    if (!stored) return ApiFailed(AccountOf(pod), stored.error());
    if (IsFalse(Automount(**stored))) return std::string();
  }
  BERTH_TRY(const std::string token, TokenOfPod(api, pod, "", kMostTokenSeconds));
  return make(token, NamespaceOf(pod));
}

}  // namespace berth::local::cluster
