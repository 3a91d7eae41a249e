#include "local/apiserver/auth/authenticator.h"

#include "base/strings.h"

namespace berth::local {
namespace {

// Takes the same time for every position of the first difference.
bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i])) ^
                  static_cast<unsigned>(static_cast<unsigned char>(other));
  }
  return difference == 0;
}

}  // namespace

std::optional<UserInfo> Authenticator::UserOf(std::string_view token) const {
  if (token_.empty() || !SameSecret(token, token_)) return std::nullopt;
  UserInfo user;
  user.name = "kubernetes-admin";
  user.groups = {kMastersGroup, kAuthenticatedGroup};
  return user;
}

Authenticator::Answer Authenticator::Authenticate(const net::Request& request) const {
  Answer answer;
  const std::string_view header = request.headers.Find("Authorization");
  if (!header.empty()) {
    constexpr std::string_view kScheme = "bearer ";
    const bool bearer = header.size() > kScheme.size() &&
                        EqualsIgnoreCase(header.substr(0, kScheme.size()), kScheme);
    const auto user = bearer ? UserOf(TrimSpace(header.substr(kScheme.size()))) : std::nullopt;
    answer.outcome = user ? Outcome::kUser : Outcome::kRefused;
    if (user) answer.user = *user;
    return answer;
  }
  if (!request.client_certificate_common_name.empty()) {
    answer.outcome = Outcome::kUser;
    answer.user.name = request.client_certificate_common_name;
    answer.user.groups = request.client_certificate_organizations;
    answer.user.groups.emplace_back(kAuthenticatedGroup);
    return answer;
  }
  answer.user.name = kAnonymousUser;
  answer.user.groups = {kUnauthenticatedGroup};
  return answer;
}

}  // namespace berth::local
