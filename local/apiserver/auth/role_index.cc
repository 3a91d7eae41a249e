#include "local/apiserver/auth/role_index.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kKinds[] = {kRoles, kClusterRoles, kRoleBindings, kClusterRoleBindings};
constexpr std::size_t kMostEvents = 1024;  // read at a time

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <typename Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

// A role that exists or that a binding names.
struct RoleSlot {
  std::string key;
  bool exists = false;
  std::vector<PolicyRule> rules;
};
using RolePtr = std::shared_ptr<RoleSlot>;

struct Grant {
  std::string binding;  // key of the binding
  std::string text;     // for reasons
  RolePtr role;
};

struct GrantedRule {
  const PolicyRule* rule = nullptr;
  const Grant* grant = nullptr;
};

// The rules of one verb for one resource.
struct Bucket {
  std::vector<GrantedRule> of_all_names;
  ByText<std::vector<GrantedRule>> by_name;
};

std::string BucketKey(std::string_view verb, std::string_view resource) {
  std::string key;
  key.reserve(verb.size() + 1 + resource.size());
  key.append(verb).append(1, ' ').append(resource);
  return key;
}

// What one subject may do in one namespace, or everywhere.
struct Rights {
  std::vector<Grant> grants;
  // Built from the grants when a question comes; void once `built` is not the present generation.
  std::uint64_t built = 0;
  ByText<Bucket> buckets;         // by verb and resource
  std::vector<GrantedRule> wild;  // rules for "*" and "*/sub", and those of IsLarge
  std::vector<GrantedRule> paths;

  void Build(std::uint64_t generation);
  void AddTo(const GrantedRule& granted, const std::string& resource);
  const Grant* Find(const AccessAttributes& attributes, std::string_view resource) const;
};

void Rights::AddTo(const GrantedRule& granted, const std::string& resource) {
  for (const std::string& verb : granted.rule->verbs) {
    Bucket& bucket = buckets[BucketKey(verb, resource)];
    if (granted.rule->names.empty()) bucket.of_all_names.push_back(granted);
    for (const std::string& name : granted.rule->names) bucket.by_name[name].push_back(granted);
  }
}

// Whether the buckets of the rule, one for each verb, resource and name, would be many more than
// its words: a short role can ask for millions. Such a rule is compared word by word.
bool IsLarge(const PolicyRule& rule) {
  constexpr std::size_t kMostBucketsOfAWord = 8;
  const std::size_t names = std::max<std::size_t>(rule.names.size(), 1);
  const std::size_t words = rule.verbs.size() + rule.resources.size() + names;
  return rule.verbs.size() * rule.resources.size() * names > words * kMostBucketsOfAWord;
}

void Rights::Build(std::uint64_t generation) {
  buckets.clear();
  wild.clear();
  paths.clear();
  for (const Grant& grant : grants) {
    for (const PolicyRule& rule : grant.role->rules) {
      const GrantedRule granted{&rule, &grant};
      if (!rule.paths.empty()) paths.push_back(granted);
      bool is_wild = IsLarge(rule);
      const bool has_buckets = !is_wild;
      for (const std::string& resource : rule.resources) {
        if (resource.starts_with('*')) {
          is_wild = true;
        } else if (has_buckets) {
          AddTo(granted, resource);
        }
      }
      if (is_wild) wild.push_back(granted);
    }
  }
  built = generation;
}

const Grant* FindIn(const std::vector<GrantedRule>& rules, const AccessAttributes& attributes,
                    std::string_view resource) {
  for (const GrantedRule& granted : rules) {
    if (Allows(*granted.rule, attributes, resource)) return granted.grant;
  }
  return nullptr;
}

const Grant* Rights::Find(const AccessAttributes& attributes, std::string_view resource) const {
  if (attributes.resource.empty()) return FindIn(paths, attributes, resource);
  if (const Grant* found = FindIn(wild, attributes, resource)) return found;
  for (const std::string_view verb : {std::string_view(attributes.verb), std::string_view("*")}) {
    const auto bucket = buckets.find(BucketKey(verb, resource));
    if (bucket == buckets.end()) continue;
    if (const Grant* found = FindIn(bucket->second.of_all_names, attributes, resource)) {
      return found;
    }
    const auto named = bucket->second.by_name.find(attributes.name);
    if (named == bucket->second.by_name.end()) continue;
    if (const Grant* found = FindIn(named->second, attributes, resource)) return found;
  }
  return nullptr;
}

struct SubjectRights {
  Rights everywhere;
  ByText<Rights> in_namespace;
};

// A user or a group, with a prefix that tells them apart.
std::string UserKey(std::string_view name) { return "u" + std::string(name); }
std::string GroupKey(std::string_view name) { return "g" + std::string(name); }

struct NamedSubject {
  std::string key;
  std::string text;  // `Group "system:authenticated"`
};

std::optional<NamedSubject> ReadSubject(const Json& subject, const std::string& namespace_name) {
  const std::string kind = TextAt(subject, {"kind"});
  const std::string name = TextAt(subject, {"name"});
  if (kind == "User") return NamedSubject{UserKey(name), "User \"" + name + "\""};
  if (kind == "Group") return NamedSubject{GroupKey(name), "Group \"" + name + "\""};
  if (kind != "ServiceAccount") return std::nullopt;
  std::string home = TextAt(subject, {"namespace"});
  if (home.empty()) home = namespace_name;
  if (home.empty()) return std::nullopt;
  return NamedSubject{UserKey("system:serviceaccount:" + home + ":" + name),
                      "ServiceAccount \"" + name + "/" + home + "\""};
}

std::string RoleKey(const std::string& namespace_name, const std::string& name) {
  return namespace_name + "/" + name;
}

}  // namespace

struct RoleIndex::State {
  explicit State(const WatchCache& the_cache) : cache(the_cache) {}

  void Follow();
  void Reload();
  void FollowOne(const char* kind, std::int64_t& seen_kind, bool& expired);
  void Take(const StoredObject& stored, bool deleted);
  void TakeRole(const ObjectKey& key, const Json* role);
  void TakeBinding(const ObjectKey& key, const Json* binding);
  void DropBinding(const std::string& binding);
  const RolePtr& SlotOf(const std::string& key);
  // Forgets the role if it does not exist and no binding names it.
  void ForgetUnused(RolePtr slot);
  // Calls `visit` with the rights of the user and the user's groups until it returns false.
  template <typename Visit>
  void ForEachRights(const UserInfo& user, const std::string& namespace_name, Visit visit);

  const WatchCache& cache;
  std::mutex follow_mutex;             // held by Follow
  std::atomic<std::int64_t> seen{-1};  // the index has every change up to this revision
  std::int64_t seen_kinds[std::size(kKinds)] = {};  // guarded by follow_mutex

  std::shared_mutex mutex;  // guards what follows
  std::uint64_t generation = 1;
  ByText<RolePtr> roles;
  ByText<SubjectRights> subjects;
  ByText<std::vector<std::string>> subjects_of_binding;
};

void RoleIndex::State::Follow() {
  const std::int64_t newest = cache.revision();
  if (seen.load(std::memory_order_acquire) >= newest) return;
  const std::lock_guard lock(follow_mutex);
  if (seen.load(std::memory_order_acquire) >= newest) return;
  bool expired = seen.load() < 0;
  for (std::size_t i = 0; i < std::size(kKinds) && !expired; ++i) {
    FollowOne(kKinds[i], seen_kinds[i], expired);
  }
  if (expired) Reload();
  seen.store(newest, std::memory_order_release);
}

void RoleIndex::State::FollowOne(const char* kind, std::int64_t& seen_kind, bool& expired) {
  while (true) {
    const WatchCache::Changes changes = cache.EventsAfter(kind, seen_kind, kMostEvents);
    expired = changes.state == WatchCache::Changes::State::kExpired;
    if (expired) return;
    if (!changes.events.empty()) {
      const std::unique_lock lock(mutex);
      for (const EventPtr& event : changes.events) {
        Take(*event->object, event->type == WatchEvent::Type::kDeleted);
      }
    }
    seen_kind = changes.through;
    if (changes.events.size() < kMostEvents) return;
  }
}

void RoleIndex::State::Reload() {
  const std::unique_lock lock(mutex);
  roles.clear();
  subjects.clear();
  subjects_of_binding.clear();
  ++generation;
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    const WatchCache::Snapshot snapshot = cache.List(kKinds[i], "");
    for (const StoredPtr& stored : snapshot.objects) Take(*stored, false);
    seen_kinds[i] = snapshot.revision;
  }
}

void RoleIndex::State::Take(const StoredObject& stored, bool deleted) {
  const ObjectKey& key = stored.key();
  const Object object = deleted ? nullptr : stored.json();
  ++generation;
  if (key.resource == kRoles || key.resource == kClusterRoles) return TakeRole(key, object.get());
  TakeBinding(key, object.get());
}

const RolePtr& RoleIndex::State::SlotOf(const std::string& key) {
  RolePtr& slot = roles[key];
  if (slot == nullptr) {
    slot = std::make_shared<RoleSlot>();
    slot->key = key;
  }
  return slot;
}

void RoleIndex::State::TakeRole(const ObjectKey& key, const Json* role) {
  const std::string name = RoleKey(key.namespace_name, key.name);
  if (role != nullptr) {
    const RolePtr& slot = SlotOf(name);
    slot->exists = true;
    slot->rules = RulesOf(*role);
    return;
  }
  const auto it = roles.find(name);
  if (it == roles.end()) return;
  it->second->exists = false;
  it->second->rules.clear();
  ForgetUnused(it->second);
}

void RoleIndex::State::ForgetUnused(RolePtr slot) {
  constexpr int kMapAndArgument = 2;
  if (!slot->exists && slot.use_count() == kMapAndArgument) roles.erase(slot->key);
}

void RoleIndex::State::DropBinding(const std::string& binding) {
  const auto known = subjects_of_binding.find(binding);
  if (known == subjects_of_binding.end()) return;
  const std::string namespace_name = binding.substr(0, binding.find('/'));
  RolePtr role;
  const auto drop = [&](Rights& rights) {
    std::erase_if(rights.grants, [&](const Grant& grant) {
      if (grant.binding != binding) return false;
      role = grant.role;
      return true;
    });
    return rights.grants.empty();
  };
  for (const std::string& key : known->second) {
    const auto subject = subjects.find(key);
    if (subject == subjects.end()) continue;
    if (namespace_name.empty()) {
      drop(subject->second.everywhere);
    } else if (const auto rights = subject->second.in_namespace.find(namespace_name);
               rights != subject->second.in_namespace.end() && drop(rights->second)) {
      subject->second.in_namespace.erase(rights);
    }
    if (subject->second.everywhere.grants.empty() && subject->second.in_namespace.empty()) {
      subjects.erase(subject);
    }
  }
  subjects_of_binding.erase(known);
  if (role != nullptr) ForgetUnused(std::move(role));
}

void RoleIndex::State::TakeBinding(const ObjectKey& key, const Json* binding) {
  const std::string id = RoleKey(key.namespace_name, key.name);
  DropBinding(id);
  if (binding == nullptr) return;
  const std::string kind = TextAt(*binding, {"roleRef", "kind"});
  const std::string role = TextAt(*binding, {"roleRef", "name"});
  const bool is_cluster_role = kind == "ClusterRole";
  // A ClusterRoleBinding of a Role grants nothing.
  if (!is_cluster_role && (kind != "Role" || key.namespace_name.empty())) return;
  const RolePtr slot = SlotOf(RoleKey(is_cluster_role ? "" : key.namespace_name, role));
  const std::string text =
      (key.namespace_name.empty() ? "ClusterRoleBinding \"" + key.name
                                  : "RoleBinding \"" + key.name + "/" + key.namespace_name) +
      "\" of " + kind + " \"" + role + "\" to ";
  std::vector<std::string>& keys = subjects_of_binding[id];
  for (const Json& one : ArrayAt(*binding, {"subjects"})) {
    const auto named = ReadSubject(one, key.namespace_name);
    if (!named) continue;
    SubjectRights& subject = subjects[named->key];
    Rights& rights =
        key.namespace_name.empty() ? subject.everywhere : subject.in_namespace[key.namespace_name];
    rights.grants.push_back({id, text + named->text, slot});
    keys.push_back(named->key);
  }
}

template <typename Visit>
void RoleIndex::State::ForEachRights(const UserInfo& user, const std::string& namespace_name,
                                     Visit visit) {
  std::string key;
  const auto one = [&](char kind, const std::string& name) {
    key.assign(1, kind);
    key += name;
    const auto subject = subjects.find(key);
    if (subject == subjects.end()) return true;
    if (!visit(subject->second.everywhere)) return false;
    if (namespace_name.empty()) return true;
    const auto rights = subject->second.in_namespace.find(namespace_name);
    return rights == subject->second.in_namespace.end() || visit(rights->second);
  };
  if (!one('u', user.name)) return;
  for (const std::string& group : user.groups) {
    if (!one('g', group)) return;
  }
}

RoleIndex::RoleIndex(const WatchCache& cache) : state_(std::make_unique<State>(cache)) {}
RoleIndex::~RoleIndex() = default;

std::optional<std::string> RoleIndex::Allows(const UserInfo& user,
                                             const AccessAttributes& attributes) {
  State& state = *state_;
  state.Follow();
  const std::string resource = attributes.FullResource();
  const Grant* found = nullptr;
  bool is_built = true;
  {
    const std::shared_lock lock(state.mutex);
    state.ForEachRights(user, attributes.namespace_name, [&](const Rights& rights) {
      is_built = rights.built == state.generation;
      if (is_built) found = rights.Find(attributes, resource);
      return is_built && found == nullptr;
    });
    if (found != nullptr) return found->text;
    if (is_built) return std::nullopt;
  }
  const std::unique_lock lock(state.mutex);
  state.ForEachRights(user, attributes.namespace_name, [&](Rights& rights) {
    if (rights.built != state.generation) rights.Build(state.generation);
    found = rights.Find(attributes, resource);
    return found == nullptr;
  });
  if (found == nullptr) return std::nullopt;
  return found->text;
}

std::vector<PolicyRule> RoleIndex::RulesFor(const UserInfo& user,
                                            const std::string& namespace_name) {
  state_->Follow();
  std::vector<PolicyRule> rules;
  const std::shared_lock lock(state_->mutex);
  state_->ForEachRights(user, namespace_name, [&](const Rights& rights) {
    for (const Grant& grant : rights.grants) {
      rules.insert(rules.end(), grant.role->rules.begin(), grant.role->rules.end());
    }
    return true;
  });
  return rules;
}

std::optional<std::vector<PolicyRule>> RoleIndex::RulesOfRole(const std::string& namespace_name,
                                                              const std::string& name) {
  state_->Follow();
  const std::shared_lock lock(state_->mutex);
  const auto it = state_->roles.find(RoleKey(namespace_name, name));
  if (it == state_->roles.end() || !it->second->exists) return std::nullopt;
  return it->second->rules;
}

}  // namespace berth::local
