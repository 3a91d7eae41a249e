#include "local/apiserver/http/impersonation.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/schema/field_error.h"
#include "net/escapes.h"

namespace berth::local {
namespace {

constexpr std::string_view kPrefix = "Impersonate-";
constexpr std::string_view kExtra = "Extra-";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
constexpr const char* kAuthenticationGroup = "authentication.k8s.io";

bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix) {
  return EqualsIgnoreCase(text.substr(0, prefix.size()), prefix);
}

// What the headers ask for.
struct Wanted {
  bool any = false;
  UserInfo user;
};

ApiResult<Wanted> ReadHeaders(const net::Headers& headers) {
  Wanted wanted;
  wanted.user = {.name = "", .uid = "", .groups = {}, .extra = {}};
  for (const net::Header& header : headers) {
    if (!StartsWithIgnoringCase(header.name, kPrefix)) continue;
    wanted.any = true;
    if (!IsValidUtf8(header.value)) {
      return BadRequest("the header " + header.name + " is not UTF-8");
    }
    const std::string_view what = std::string_view(header.name).substr(kPrefix.size());
    if (EqualsIgnoreCase(what, "User")) {
      wanted.user.name = header.value;
    } else if (EqualsIgnoreCase(what, "Group")) {
      wanted.user.groups.push_back(header.value);
    } else if (EqualsIgnoreCase(what, "Uid")) {
      wanted.user.uid = header.value;
    } else if (StartsWithIgnoringCase(what, kExtra)) {
      const auto key = net::Unescape(ToLower(what.substr(kExtra.size())), net::Plus::kLiteral);
      if (!key || !IsValidUtf8(*key)) {
        return BadRequest("the header " + header.name + " has a bad escape");
      }
      wanted.user.extra[*key].push_back(header.value);
    } else {
      return BadRequest("the header " + header.name +
                        " is unknown: Impersonate-User, Impersonate-Group, Impersonate-Uid and "
                        "Impersonate-Extra-KEY are known");
    }
  }
  if (wanted.any && wanted.user.name.empty()) {
    return BadRequest("requested " + wanted.user.uid + "[" +
                      (wanted.user.groups.empty() ? "" : wanted.user.groups.front()) +
                      "] without impersonating a user: Impersonate-User is missing");
  }
  return wanted;
}

// NAMESPACE and NAME of system:serviceaccount:NAMESPACE:NAME.
std::optional<std::pair<std::string, std::string>> AccountOf(std::string_view name) {
  if (!name.starts_with(kAccountPrefix)) return std::nullopt;
  name.remove_prefix(kAccountPrefix.size());
  const std::size_t colon = name.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == name.size()) {
    return std::nullopt;
  }
  if (name.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
  return std::pair(std::string(name.substr(0, colon)), std::string(name.substr(colon + 1)));
}

AccessAttributes Impersonate(const char* group, const char* resource, std::string name) {
  AccessAttributes attributes;
  attributes.verb = "impersonate";
  attributes.group = group;
  attributes.version = "v1";
  attributes.resource = resource;
  attributes.name = std::move(name);
  return attributes;
}

std::vector<AccessAttributes> NeededRights(const UserInfo& wanted) {
  std::vector<AccessAttributes> needed;
  if (const auto account = AccountOf(wanted.name)) {
    needed.push_back(Impersonate("", "serviceaccounts", account->second));
    needed.back().namespace_name = account->first;
  } else {
    needed.push_back(Impersonate("", "users", wanted.name));
  }
  for (const std::string& group : wanted.groups) {
    needed.push_back(Impersonate("", "groups", group));
  }
  if (!wanted.uid.empty()) {
    needed.push_back(Impersonate(kAuthenticationGroup, "uids", wanted.uid));
  }
  for (const auto& [key, values] : wanted.extra) {
    for (const std::string& value : values) {
      needed.push_back(Impersonate(kAuthenticationGroup, "userextras", value));
      needed.back().subresource = key;
    }
  }
  return needed;
}

bool IsIn(const UserInfo& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

void AddImpliedGroups(UserInfo& user) {
  if (const auto account = AccountOf(user.name); account && user.groups.empty()) {
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->first};
  }
  if (IsIn(user, kUnauthenticatedGroup)) return;
  const char* implied = user.name == kAnonymousUser ? kUnauthenticatedGroup : kAuthenticatedGroup;
  if (!IsIn(user, implied)) user.groups.emplace_back(implied);
}

}  // namespace

ApiResult<UserInfo> ActingUser(const net::Headers& headers, RoleIndex& roles,
                               const UserInfo& user) {
  auto wanted = ReadHeaders(headers);
  if (!wanted) return wanted.error();
  if (!wanted->any) return user;
  for (const AccessAttributes& needed : NeededRights(wanted->user)) {
    if (auto error = CheckAccess(roles, user, needed)) return *error;
  }
  AddImpliedGroups(wanted->user);
  return std::move(wanted->user);
}

}  // namespace berth::local
