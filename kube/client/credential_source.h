// kube/client/credential_source.h — the present credentials of a kubeconfig: reads files again when
// they change, and runs a plugin again before its credential expires and after a 401.
//
// Threads: one Executor; destroy it there, or after that Executor has stopped.
// Errors of Get: those of the plugin (exec_plugin.h); kUnavailable if too many callers wait for the
// plugin.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/client/exec_plugin.h"
#include "kube/client/kubeconfig.h"

namespace berth::kube {

struct Credential {
  std::string token;  // empty: none
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;

  friend bool operator==(const Credential&, const Credential&) = default;
};
using CredentialPtr = std::shared_ptr<const Credential>;

class CredentialSource {
 public:
  using Done = std::function<void(const Result<CredentialPtr>&)>;
  // Runs the plugin on another thread, one run at a time; calls back once, on any thread.
  using RunPlugin = std::function<void(const ExecPlugin&, const KubeConfig&,
                                       std::function<void(Result<PluginCredential>)>)>;

  CredentialSource(Executor& executor, const Clock& clock, KubeConfig config, RunPlugin run);
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;

  // Calls `done` inside this call if a credential is known, else when the plugin has returned.
  void Get(Done done);
  // Call it when the server has answered 401 to a request with `used`. Returns true if Get gives
  // another credential.
  bool Refused(const CredentialPtr& used);

 private:
  bool IsGood() const;
  void ReadFilesIfDue();
  void Run();
  void TakeResult(Result<PluginCredential> result);
  void Publish();

  Executor& executor_;
  const Clock& clock_;
  KubeConfig config_;
  RunPlugin run_;
  CredentialPtr current_;
  SteadyTime files_read_at_;
  // The plugin's credential.
  std::optional<PluginCredential> given_;
  bool refused_ = false;
  bool running_ = false;
  std::optional<Error> failure_;        // how the plugin's last run failed
  std::optional<SteadyTime> ended_at_;  // when the plugin's last run ended
  std::vector<Done> waiting_;
  std::shared_ptr<CredentialSource*> self_;
};

}  // namespace berth::kube
