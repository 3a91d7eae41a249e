#include "cli/open_id_flags.h"

#include <string_view>

#include "base/strings.h"
#include "view/manifest_files.h"

namespace berth::cli {
namespace {

Error Refuse(const std::string& what) { return {ErrorCode::kInvalid, what}; }

Result<std::string> TextIn(const char* flag, const std::string& file) {
  BERTH_TRY(const std::string text, view::ReadTextFile(file));
  std::string trimmed(TrimSpace(text));
  if (trimmed.empty()) return Refuse(std::string(flag) + ": " + file + " is empty");
  return trimmed;
}

bool HasScope(const std::string& scopes, std::string_view wanted) {
  for (const std::string_view scope : Split(scopes, ' ')) {
    if (scope == wanted) return true;
  }
  return false;
}

}  // namespace

Result<program::OpenIdOptions> OpenIdOptionsOf(const OpenIdFlags& flags) {
  program::OpenIdOptions options;
  if (flags.issuer.empty()) return options;
  if (!flags.issuer.starts_with("https://")) {
    return Refuse("--read-api-openid-issuer: \"" + flags.issuer +
                  "\" is not an https URL such as https://accounts.example.com");
  }
  if (flags.client_id.empty()) {
    return Refuse(
        "--read-api-openid-issuer: name the page's client at the provider as well, with "
        "--read-api-openid-client");
  }
  if (!HasScope(flags.scopes, "openid")) {
    return Refuse("--read-api-openid-scopes: \"" + flags.scopes +
                  "\" has no \"openid\": without it the provider sends no ID token");
  }
  options.issuer = flags.issuer;
  options.client_id = flags.client_id;
  options.scopes = flags.scopes;
  if (!flags.secret_file.empty()) {
    BERTH_TRY(options.client_secret, TextIn("--read-api-openid-secret-file", flags.secret_file));
  }
  if (!flags.ca_file.empty()) {
    BERTH_TRY(options.ca_pem, TextIn("--read-api-openid-ca", flags.ca_file));
  }
  return options;
}

}  // namespace berth::cli
