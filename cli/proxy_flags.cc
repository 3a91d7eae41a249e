#include "cli/proxy_flags.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"
#include "view/manifest_files.h"

namespace berth::cli {
namespace {

// Headers of every browser and client name nobody.
constexpr std::string_view kNoNames[] = {"authorization", "cookie", "host", "origin"};

Status CheckProxyHeader(const char* flag, const std::string& header) {
  const bool is_name = !header.empty() && std::all_of(header.begin(), header.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
  const std::string plain = ToLower(header);
  if (!is_name ||
      std::find(std::begin(kNoNames), std::end(kNoNames), plain) != std::end(kNoNames)) {
    return Error{ErrorCode::kInvalid, std::string(flag) + " \"" + header +
                                          "\": write the name of a header that only the proxy "
                                          "sends, such as X-Forwarded-User"};
  }
  return OkStatus();
}

}  // namespace

Result<kube::FrontProxyTrust> ProxyTrustOf(const PageProxyFlags& flags) {
  kube::FrontProxyTrust trust;
  if (flags.client_ca.empty()) return trust;
  const bool has_names =
      !flags.names.empty() && std::none_of(flags.names.begin(), flags.names.end(),
                                           [](const std::string& name) { return name.empty(); });
  if (!has_names) {
    return Error{ErrorCode::kInvalid,
                 "--read-api-proxy-ca: name the proxy's certificate as well, with "
                 "--read-api-proxy-name: other clients may have certificates of this authority"};
  }
  BERTH_CHECK_OK(CheckProxyHeader("--read-api-proxy-user-header", flags.user_header));
  BERTH_CHECK_OK(CheckProxyHeader("--read-api-proxy-groups-header", flags.groups_header));
  BERTH_TRY(trust.client_ca_pem, view::ReadTextFile(flags.client_ca));
  if (trust.client_ca_pem.empty()) {
    return Error{ErrorCode::kInvalid, "--read-api-proxy-ca: " + flags.client_ca + " is empty"};
  }
  trust.allowed_names = flags.names;
  trust.username_headers = {flags.user_header};
  trust.group_headers = {flags.groups_header};
  return trust;
}

}  // namespace berth::cli
