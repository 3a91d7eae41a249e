#include "local/apiserver/policies/authorizer_value.h"

#include <memory>
#include <utility>

#include "base/strings.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

using cel::Value;
using Arguments = std::span<const Value>;

std::string TextOf(const Value& value) { return std::string(value.AsText()); }

// The types of the values have one equality and text: values of these types are not compared.
class AuthorizerPart : public cel::MethodObject {
 public:
  explicit AuthorizerPart(std::string_view type) : type_(type) {}
  std::string_view type_name() const override { return type_; }
  bool Equals(const cel::Object& other) const override { return this == &other; }
  std::string ToText() const override { return std::string(type_); }

 private:
  const std::string_view type_;
};

class Decision final : public AuthorizerPart {
 public:
  explicit Decision(Access access)
      : AuthorizerPart("kubernetes.authorization.Decision"), access_(std::move(access)) {}

  std::optional<Value> CallMethod(std::string_view method, Arguments /*none*/) const override {
    if (method == "allowed") return Value(access_.allowed);
    if (method == "reason") return Value::String(access_.reason);
    if (method == "errored") return Value(false);
    if (method == "error") return Value::String("");
    return std::nullopt;
  }

 private:
  const Access access_;
};

// The user whose rights are asked for.
struct Subject {
  RoleIndex* roles = nullptr;
  UserInfo user;
};
using SubjectPtr = std::shared_ptr<const Subject>;

Value Decide(const Subject& subject, const AccessAttributes& attributes) {
  return Value(std::make_shared<Decision>(Authorize(*subject.roles, subject.user, attributes)));
}

class PathCheck final : public AuthorizerPart {
 public:
  PathCheck(SubjectPtr subject, std::string path)
      : AuthorizerPart("kubernetes.authorization.PathCheck"), subject_(std::move(subject)) {
    attributes_.path = std::move(path);
  }

  std::optional<Value> CallMethod(std::string_view method, Arguments arguments) const override {
    if (method != "check") return std::nullopt;
    AccessAttributes asked = attributes_;
    asked.verb = TextOf(arguments[0]);
    return Decide(*subject_, asked);
  }

 private:
  const SubjectPtr subject_;
  AccessAttributes attributes_;
};

class ResourceCheck final : public AuthorizerPart {
 public:
  ResourceCheck(SubjectPtr subject, AccessAttributes attributes)
      : AuthorizerPart("kubernetes.authorization.ResourceCheck"),
        subject_(std::move(subject)),
        attributes_(std::move(attributes)) {}

  std::optional<Value> CallMethod(std::string_view method, Arguments arguments) const override {
    if (arguments.size() != 1) return std::nullopt;
    AccessAttributes next = attributes_;
    const std::string text = TextOf(arguments[0]);
    if (method == "check") {
      next.verb = text;
      return Decide(*subject_, next);
    }
    if (method == "subresource") {
      next.subresource = text;
    } else if (method == "namespace") {
      next.namespace_name = text;
    } else if (method == "name") {
      next.name = text;
    } else if (method != "fieldSelector" && method != "labelSelector") {
      return std::nullopt;
    }
    return Value(std::make_shared<ResourceCheck>(subject_, std::move(next)));
  }

 private:
  const SubjectPtr subject_;
  const AccessAttributes attributes_;
};

class GroupCheck final : public AuthorizerPart {
 public:
  GroupCheck(SubjectPtr subject, std::string group)
      : AuthorizerPart("kubernetes.authorization.GroupCheck"),
        subject_(std::move(subject)),
        group_(std::move(group)) {}

  std::optional<Value> CallMethod(std::string_view method, Arguments arguments) const override {
    if (method != "resource") return std::nullopt;
    if (TrimSpace(arguments[0].AsText()).empty()) {
      return Value::Failure("resource must not be empty");
    }
    AccessAttributes attributes;
    attributes.group = group_;
    attributes.version = "*";
    attributes.resource = TextOf(arguments[0]);
    return Value(std::make_shared<ResourceCheck>(subject_, std::move(attributes)));
  }

 private:
  const SubjectPtr subject_;
  const std::string group_;
};

class AuthorizerObject final : public AuthorizerPart {
 public:
  explicit AuthorizerObject(SubjectPtr subject)
      : AuthorizerPart("kubernetes.authorization.Authorizer"), subject_(std::move(subject)) {}

  std::optional<Value> CallMethod(std::string_view method, Arguments arguments) const override {
    if (method == "path") {
      if (TrimSpace(arguments[0].AsText()).empty()) {
        return Value::Failure("path must not be empty");
      }
      return Value(std::make_shared<PathCheck>(subject_, TextOf(arguments[0])));
    }
    if (method == "group") {
      return Value(std::make_shared<GroupCheck>(subject_, TextOf(arguments[0])));
    }
    if (method != "serviceAccount") return std::nullopt;
    const std::string namespace_name = TextOf(arguments[0]);
    const std::string name = TextOf(arguments[1]);
    if (!Dns1123SubdomainErrors(name).empty()) {
      return Value::Failure("Invalid service account name");
    }
    if (!Dns1123LabelErrors(namespace_name).empty()) {
      return Value::Failure("Invalid service account namespace");
    }
    auto account = std::make_shared<Subject>();
    account->roles = subject_->roles;
    account->user = {
        .name = "system:serviceaccount:" + namespace_name + ":" + name,
        .uid = "",
        .groups = {"system:serviceaccounts", "system:serviceaccounts:" + namespace_name},
        .extra = {}};
    return Value(std::make_shared<AuthorizerObject>(std::move(account)));
  }

 private:
  const SubjectPtr subject_;
};

SubjectPtr SubjectOf(RoleIndex& roles, const UserInfo& user) {
  auto subject = std::make_shared<Subject>();
  subject->roles = &roles;
  subject->user = user;
  return subject;
}

}  // namespace

cel::Value AuthorizerValue(RoleIndex& roles, const UserInfo& user) {
  return Value(std::make_shared<AuthorizerObject>(SubjectOf(roles, user)));
}

cel::Value RequestResourceValue(RoleIndex& roles, const UserInfo& user, AccessAttributes resource) {
  return Value(std::make_shared<ResourceCheck>(SubjectOf(roles, user), std::move(resource)));
}

}  // namespace berth::local
