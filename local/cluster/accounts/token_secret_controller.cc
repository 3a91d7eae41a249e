#include "local/cluster/accounts/token_secret_controller.h"

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/cluster/objects/cluster_limits.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"

namespace berth::local::cluster {
namespace {

constexpr char kType[] = "kubernetes.io/service-account-token";
constexpr char kAccountName[] = "kubernetes.io/service-account.name";
constexpr char kAccountUid[] = "kubernetes.io/service-account.uid";
constexpr char kRenewAt[] = "berth.dev/renew-token-at";
constexpr Duration kUse = std::chrono::seconds(kMostTokenSeconds / 2);

bool IsTokenSecret(const Json& secret) { return StringAt(secret, {"type"}) == kType; }

}  // namespace

TokenSecretController::TokenSecretController(Api& api, ObjectCache& cache, Executor& executor,
                                             const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      secrets_(
          executor, "token-secret", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kSecrets, [this](const ObjectChange& change) {
    if (IsTokenSecret(change.any())) secrets_.Add(KeyOf(change.any()));
  });
  cache_.Listen(kServiceAccounts, [this](const ObjectChange& change) {
    if (change.current != nullptr && change.previous != nullptr) return;
    for (const Object& secret : cache_.All(kSecrets)) {
      if (IsTokenSecret(*secret) && NamespaceOf(*secret) == NamespaceOf(change.any())) {
        secrets_.Add(KeyOf(*secret));
      }
    }
  });
}

void TokenSecretController::Start() {
  for (const Object& secret : cache_.All(kSecrets)) {
    if (IsTokenSecret(*secret)) secrets_.Add(KeyOf(*secret));
  }
  secrets_.Start();
}

Result<NextLook> TokenSecretController::Look(const ObjectKey& key) {
  const Object secret = cache_.Get(kSecrets, key);
  if (secret == nullptr || !IsTokenSecret(*secret) || IsDeleting(*secret)) return NextLook{};
  const std::string name = AnnotationOf(*secret, kAccountName);
  const auto account = writer_.api().Get(kServiceAccounts, key.namespace_name, name);
  const std::string uid = AnnotationOf(*secret, kAccountUid);
  const bool is_gone =
      account ? !uid.empty() && uid != UidOf(**account) : account.error().reason == "NotFound";
  if (!account && !is_gone) return ToError(account.error());
  if (is_gone) {
    BERTH_CHECK_OK(writer_.Delete(kSecrets, *secret));
    return NextLook{};
  }
  const auto renew_at = ParseTime(AnnotationOf(*secret, kRenewAt));
  const bool has_token = Find(*secret, {"data", "token"}) != nullptr;
  if (has_token && renew_at && clock_.Now() < *renew_at) return LookAt(*renew_at, clock_.Now());
  return Fill(*secret, **account);
}

Result<NextLook> TokenSecretController::Fill(const Json& secret, const Json& account) {
  const ObjectKey key = KeyOf(secret);
  const Json bound{
      {"apiVersion", "v1"}, {"kind", "Secret"}, {"name", key.name}, {"uid", UidOf(secret)}};
  WriteOptions options;
  options.subresource = "token";
  const auto answer = writer_.api().Create(
      kServiceAccounts, key.namespace_name,
      {{"metadata", {{"name", NameOf(account)}}},
       {"spec", {{"expirationSeconds", kMostTokenSeconds}, {"boundObjectRef", bound}}}},
      options);
  if (!answer) return ToError(answer.error());
  const auto root = writer_.api().Get(kConfigMaps, key.namespace_name, "kube-root-ca.crt");
  const WallTime renew_at = clock_.Now() + kUse;
  const auto written = writer_.Edit(kSecrets, key, UidOf(secret), "", [&](Json& one) {
    Json& annotations = one["metadata"]["annotations"];
    annotations[kAccountUid] = UidOf(account);
    annotations[kRenewAt] = FormatTime(renew_at);
    Json& data = one["data"];
    data["token"] = Base64Encode(StringAt(**answer, {"status", "token"}));
    data["namespace"] = Base64Encode(key.namespace_name);
    if (root) data["ca.crt"] = Base64Encode(StringAt(**root, {"data", "ca.crt"}));
    return true;
  });
  BERTH_CHECK_OK(Settled(written));
  return LookAt(renew_at, clock_.Now());
}

}  // namespace berth::local::cluster
