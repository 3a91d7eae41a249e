// local/apiserver/types/type_table.h — the built-in kinds: fields, list keys, patch keys, protobuf
// numbers, from one text table that is generated from k8s.io/api and compiled in.
//
// Loading takes a few milliseconds and about 1 MB; one per server, at start.
//
// Threads: immutable after Load; any thread.
// Source: k8s.io/api v0.36 struct tags and markers, by tools/typetable.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

class TypeTable {
 public:
  // The compiled-in table. Aborts if it is damaged, which means a broken build.
  static TypeTable Builtin();
  static Result<TypeTable> Load(std::string_view text);

  // "" is the core group. Options and reviews that every group has (DeleteOptions, PatchOptions,
  // WatchEvent, …) are found under any group. Null: the kind is not built in.
  const TypeNode* Find(std::string_view group, std::string_view version,
                       std::string_view kind) const;

  // A Go type by "package.Name" ("v1.ObjectMeta" is "meta/v1.ObjectMeta"); for tests and for
  // schemas of parts ("core/v1.PodSpec"). Null if absent.
  const TypeNode* FindType(std::string_view name) const;

  struct Kind {
    std::string group;
    std::string version;
    std::string kind;
  };
  std::vector<Kind> Kinds() const;  // sorted

 private:
  TypeArena arena_;
  std::map<std::string, const TypeNode*, std::less<>> kinds_;  // "group/version/Kind"
  std::map<std::string, const TypeNode*, std::less<>> types_;
};

}  // namespace berth::local
