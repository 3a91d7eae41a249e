// Roles and bindings of rbac.authorization.k8s.io.
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

class RbacStrategy : public Strategy {
 public:
  NameRule name_rule() const override { return NameRule::kPathSegment; }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, Check(resource, object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    AppendCauses(causes, Check(resource, object));
    return causes;
  }

 protected:
  virtual std::vector<Cause> Check(const ResourceInfo& resource, const Json& object) const = 0;
};

void CheckRule(const Json& rule, bool namespaced, const std::string& path,
               std::vector<Cause>& causes) {
  if (ArrayAt(rule, {"verbs"}).empty()) {
    causes.push_back(RequiredError(path + ".verbs", "verbs must contain at least one value"));
  }
  const Json& urls = ArrayAt(rule, {"nonResourceURLs"});
  const bool has_groups = !ArrayAt(rule, {"apiGroups"}).empty();
  const bool has_resources = !ArrayAt(rule, {"resources"}).empty();
  if (!urls.empty()) {
    const std::string field = path + ".nonResourceURLs";
    if (namespaced) {
      causes.push_back(
          InvalidError(field, urls, "namespaced rules cannot apply to non-resource URLs"));
    }
    if (has_groups || has_resources || !ArrayAt(rule, {"resourceNames"}).empty()) {
      causes.push_back(InvalidError(
          field, urls, "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return;
  }
  if (!has_groups) {
    causes.push_back(
        RequiredError(path + ".apiGroups", "resource rules must supply at least one api group"));
  }
  if (!has_resources) {
    causes.push_back(
        RequiredError(path + ".resources", "resource rules must supply at least one resource"));
  }
}

class RoleStrategy final : public RbacStrategy {
 protected:
  std::vector<Cause> Check(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes;
    const Json& rules = ArrayAt(object, {"rules"});
    for (std::size_t i = 0; i < rules.size(); ++i) {
      CheckRule(rules[i], resource.namespaced, IndexPath("rules", i), causes);
    }
    const Json* aggregation = Member(object, "aggregationRule");
    if (aggregation == nullptr) return causes;
    const std::string path = "aggregationRule.clusterRoleSelectors";
    const Json& selectors = ArrayAt(*aggregation, {"clusterRoleSelectors"});
    if (selectors.empty()) {
      causes.push_back(RequiredError(
          path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    }
    for (std::size_t i = 0; i < selectors.size(); ++i) {
      const auto selector = LabelSelectorFromJson(selectors[i]);
      if (!selector) {
        causes.push_back(InvalidError(IndexPath(path, i), selectors[i], selector.error().message));
      }
    }
    return causes;
  }
};

void CheckSubject(const Json& subject, bool namespaced, const std::string& path,
                  std::vector<Cause>& causes) {
  const std::string name = TextAt(subject, {"name"});
  const std::string kind = TextAt(subject, {"kind"});
  const std::string group = TextAt(subject, {"apiGroup"});
  if (name.empty()) causes.push_back(RequiredError(path + ".name"));
  if (kind == "ServiceAccount") {
    if (!name.empty()) {
      for (const std::string& why : Dns1123SubdomainErrors(name)) {
        causes.push_back(InvalidError(path + ".name", name, why));
      }
    }
    if (!group.empty()) causes.push_back(NotSupportedError(path + ".apiGroup", group, {""}));
    if (!namespaced && TextAt(subject, {"namespace"}).empty()) {
      causes.push_back(RequiredError(path + ".namespace"));
    }
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbacGroup) {
      causes.push_back(NotSupportedError(path + ".apiGroup", group, {kRbacGroup}));
    }
  } else {
    causes.push_back(NotSupportedError(path + ".kind", kind, {"ServiceAccount", "User", "Group"}));
  }
}

class BindingStrategy final : public RbacStrategy {
 public:
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes =
        RbacStrategy::ValidateUpdate(resource, object, old_object, subresource);
    if (!SameAt(object, old_object, {"roleRef"})) {
      const Json* role = Member(object, "roleRef");
      causes.push_back(
          InvalidError("roleRef", role == nullptr ? Json() : *role, "cannot change roleRef"));
    }
    return causes;
  }

 protected:
  std::vector<Cause> Check(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes;
    const std::string group = TextAt(object, {"roleRef", "apiGroup"});
    const std::string kind = TextAt(object, {"roleRef", "kind"});
    const std::string name = TextAt(object, {"roleRef", "name"});
    if (group != kRbacGroup) {
      causes.push_back(NotSupportedError("roleRef.apiGroup", group, {kRbacGroup}));
    }
    if (kind != "ClusterRole" && (kind != "Role" || !resource.namespaced)) {
      causes.push_back(NotSupportedError("roleRef.kind", kind,
                                         resource.namespaced
                                             ? std::vector<std::string>{"Role", "ClusterRole"}
                                             : std::vector<std::string>{"ClusterRole"}));
    }
    if (name.empty()) causes.push_back(RequiredError("roleRef.name"));
    for (const std::string& why : PathSegmentNameErrors(name)) {
      if (!name.empty()) causes.push_back(InvalidError("roleRef.name", name, why));
    }
    const Json& subjects = ArrayAt(object, {"subjects"});
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      CheckSubject(subjects[i], resource.namespaced, IndexPath("subjects", i), causes);
    }
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeRoleStrategy() { return std::make_unique<RoleStrategy>(); }
std::unique_ptr<const Strategy> MakeRoleBindingStrategy() {
  return std::make_unique<BindingStrategy>();
}

}  // namespace berth::local
