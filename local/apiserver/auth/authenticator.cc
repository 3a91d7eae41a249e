#include "local/apiserver/auth/authenticator.h"

#include <algorithm>

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

Authenticator::TokenAnswer Authenticator::Review(std::string_view token,
                                                 const std::vector<std::string>& audiences) const {
  TokenAnswer answer;
  std::vector<std::string> known = {kAudience};
  if (!token_.empty() && SameSecret(token, token_)) {
    answer.user = UserInfo{.name = "kubernetes-admin",
                           .uid = "",
                           .groups = {kMastersGroup, kAuthenticatedGroup},
                           .extra = {}};
  } else if (accounts_ != nullptr && AccountTokens::IsToken(token)) {
    auto account = accounts_->Check(token, clock_->Now());
    if (!account) {
      answer.error = account.error().message;
      return answer;
    }
    answer.user = std::move(account->user);
    known = std::move(account->audiences);
  } else {
    answer.error = "invalid bearer token";
    return answer;
  }
  const std::vector<std::string> here = {kAudience};
  for (const std::string& audience : audiences.empty() ? here : audiences) {
    if (std::find(known.begin(), known.end(), audience) != known.end()) {
      answer.audiences.push_back(audience);
    }
  }
  if (!answer.audiences.empty()) return answer;
  answer.user.reset();
  answer.error = "the token is for other audiences:";
  for (const std::string& audience : known) answer.error += " \"" + audience + "\"";
  return answer;
}

Authenticator::Answer Authenticator::Authenticate(const net::Request& request) const {
  Answer answer;
  const std::string_view header = request.headers.Find("Authorization");
  if (!header.empty()) {
    constexpr std::string_view kScheme = "bearer ";
    const bool bearer = header.size() > kScheme.size() &&
                        EqualsIgnoreCase(header.substr(0, kScheme.size()), kScheme);
    TokenAnswer token;
    if (bearer) token = Review(TrimSpace(header.substr(kScheme.size())), {});
    answer.outcome = token.user ? Outcome::kUser : Outcome::kRefused;
    if (token.user) answer.user = *std::move(token.user);
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
