#include "kube/client/credential_source.h"

#include <utility>

#include "base/log/log.h"

namespace berth::kube {
namespace {

// Files are rotated long before their content expires.
constexpr std::chrono::seconds kFilesAreGoodFor{10};
constexpr std::chrono::seconds kRefreshBefore{60};
constexpr std::chrono::seconds kPauseAfterRun{1};
// A new credential that the server refuses at once would be refused after another run too.
constexpr std::chrono::seconds kTooYoungToBeRefused{10};
constexpr std::size_t kMaxWaiting = 4096;

}  // namespace

CredentialSource::CredentialSource(Executor& executor, const Clock& clock, KubeConfig config,
                                   RunPlugin run)
    : executor_(executor),
      clock_(clock),
      config_(std::move(config)),
      run_(std::move(run)),
      files_read_at_(clock.SteadyNow()),
      self_(std::make_shared<CredentialSource*>(this)) {
  Publish();
}

// A credential with equal content keeps its address: connections refer to it.
void CredentialSource::Publish() {
  Credential now{config_.bearer_token, config_.ca_pem, config_.client_certificate_pem,
                 config_.client_key_pem};
  if (given_) {
    if (!given_->token.empty()) now.token = given_->token;
    if (!given_->certificate_pem.empty()) {
      now.certificate_pem = given_->certificate_pem;
      now.key_pem = given_->key_pem;
    }
  }
  if (current_ == nullptr || *current_ != now) {
    current_ = std::make_shared<const Credential>(std::move(now));
  }
}

void CredentialSource::ReadFilesIfDue() {
  const SteadyTime now = clock_.SteadyNow();
  if (now - files_read_at_ < kFilesAreGoodFor) return;
  files_read_at_ = now;
  // A file that is being replaced is read next time.
  if (const Status read = ReadFilesAgain(config_); !read) {
    LogWarning("a file of the kubeconfig cannot be read", {{"error", read.error().message}});
    return;
  }
  Publish();
}

bool CredentialSource::IsGood() const {
  return given_ && !refused_ && (!given_->expires || clock_.Now() < *given_->expires);
}

void CredentialSource::Get(Done done) {
  ReadFilesIfDue();
  if (!config_.exec) return done(current_);
  const bool just_ran = !running_ && ended_at_ && clock_.SteadyNow() - *ended_at_ < kPauseAfterRun;
  if (IsGood()) {
    const bool ends_soon = given_->expires && clock_.Now() + kRefreshBefore >= *given_->expires;
    if (ends_soon && !just_ran) Run();
    return done(current_);
  }
  if (just_ran) return failure_ ? done(*failure_) : done(current_);
  if (waiting_.size() >= kMaxWaiting) {
    return done(Error{ErrorCode::kUnavailable, "too many requests wait for the exec plugin"});
  }
  waiting_.push_back(std::move(done));
  Run();
}

void CredentialSource::Run() {
  if (std::exchange(running_, true)) return;
  run_(*config_.exec, config_,
       [&executor = executor_, weak = std::weak_ptr(self_)](Result<PluginCredential> result) {
         executor.Post([weak, result = std::move(result)]() mutable {
           if (const auto self = weak.lock()) (*self)->TakeResult(std::move(result));
         });
       });
}

void CredentialSource::TakeResult(Result<PluginCredential> result) {
  running_ = false;
  ended_at_ = clock_.SteadyNow();
  failure_.reset();
  if (result) {
    given_ = *std::move(result);
    refused_ = false;
    Publish();
  } else {
    failure_ = result.error();
    LogWarning("the exec plugin of the kubeconfig failed", {{"error", failure_->message}});
  }
  for (const Done& done : std::exchange(waiting_, {})) {
    if (failure_) {
      done(*failure_);
    } else {
      done(current_);
    }
  }
}

bool CredentialSource::Refused(const CredentialPtr& used) {
  if (used != current_) return true;
  if (config_.exec) {
    if (ended_at_ && clock_.SteadyNow() - *ended_at_ < kTooYoungToBeRefused) return false;
    refused_ = true;
    return true;
  }
  files_read_at_ = clock_.SteadyNow() - kFilesAreGoodFor;
  ReadFilesIfDue();
  return used != current_;
}

}  // namespace berth::kube
