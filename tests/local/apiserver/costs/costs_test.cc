// Goal: a write costs time and memory in proportion to its body: every kind of patch, and every
// check of built-in and custom objects.
// Method: the operations for a body of n and of 2n items are counted; twice the body takes at most
// 2.6 times the operations, which leaves room for a logarithm and not for a square.
#include <gtest/gtest.h>

#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/patch/strategic_patch.h"
#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/types/type_table.h"
#include "tests/local/apiserver/costs/operation_count.h"

namespace berth::local {
namespace {

constexpr int kItems = 400;
constexpr double kMostGrowth = 2.6;

// A call to count, for a body of `n` items.
using Prepare = std::function<std::function<void()>(int n)>;

void ExpectLinear(const std::string& name, const Prepare& prepare) {
  prepare(kItems)();  // tables that are made once
  const auto once = static_cast<double>(CountOperations(prepare(kItems)));
  const auto twice = static_cast<double>(CountOperations(prepare(2 * kItems)));
  EXPECT_GT(once, kItems) << name << ": the work is not counted";
  EXPECT_LT(twice / once, kMostGrowth) << name << ": " << once << " and " << twice;
}

std::string Name(const std::string& prefix, int i) { return prefix + std::to_string(10000 + i); }

// n items that `item` makes of their numbers.
Json ListOf(int n, const std::function<Json(int)>& item) {
  Json list = Json::array();
  for (int i = 0; i < n; ++i) list.push_back(item(i));
  return list;
}

Json Reversed(const Json& list) { return Json(Json::array_t(list.rbegin(), list.rend())); }

const TypeTable& Types() {
  static const TypeTable types = TypeTable::Builtin();
  return types;
}
const TypeNode& TypeOf(const std::string& name) {
  const TypeNode* type = Types().FindType(name);
  EXPECT_NE(type, nullptr) << name;
  return *type;
}

const CrdSchema& Widget() {
  static const std::shared_ptr<const CrdSchema> schema = [] {
    const Json text = Json::parse(R"json({"type":"object","properties":{
      "apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"},
      "spec":{"type":"object","properties":{
        "maps":{"type":"object","additionalProperties":{"type":"object","properties":{
          "a":{"type":"string"}}}},
        "texts":{"type":"object","additionalProperties":{"type":"object",
          "additionalProperties":{"type":"string","maxLength":3}}},
        "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
        "objects":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,
          "x-kubernetes-preserve-unknown-fields":true}},
        "items":{"type":"array","maxItems":100000,"x-kubernetes-list-type":"map",
          "x-kubernetes-list-map-keys":["name"],
          "x-kubernetes-validations":[{"rule":"oldSelf.size() <= self.size()"}],
          "items":{"type":"object","required":["name"],"properties":{
            "name":{"type":"string","maxLength":20},
            "value":{"type":"string","maxLength":20,
              "x-kubernetes-validations":[{"rule":"self == oldSelf || self != 'x'"}]}}}}}}}})json");
    std::vector<Cause> causes;
    auto made = CrdSchema::Parse(text, "schema", causes);
    for (const Cause& cause : causes) ADD_FAILURE() << cause.field << ": " << cause.message;
    return made;
  }();
  return *schema;
}

Json WidgetWith(Json spec) {
  return {{"apiVersion", "x/v1"},
          {"kind", "Widget"},
          {"metadata", {{"name", "w"}}},
          {"spec", std::move(spec)}};
}
Json WidgetItems(int n, const std::string& value) {
  return WidgetWith({{"items", ListOf(n, [&](int i) -> Json {
                        return {{"name", Name("n", i)}, {"value", value}};
                      })}});
}

TEST(Costs, AJsonPatchTakesTimeLinearInItsBody) {
  ExpectLinear("add and replace", [](int n) {
    const Json object{{"list", Json::array()}, {"map", Json::object()}};
    Json patch = Json::array();
    for (int i = 0; i < n; ++i) {
      patch.push_back({{"op", "add"}, {"path", "/list/-"}, {"value", i}});
      patch.push_back({{"op", "add"}, {"path", "/map/" + Name("k", i)}, {"value", i}});
      patch.push_back({{"op", "replace"}, {"path", "/list/" + std::to_string(i)}, {"value", 1}});
    }
    return [=] { ASSERT_TRUE(ApplyJsonPatch(object, patch)); };
  });
}

TEST(Costs, AMergePatchTakesTimeLinearInItsBody) {
  ExpectLinear("members", [](int n) {
    Json object = Json::object();
    Json patch = Json::object();
    for (int i = 0; i < n; ++i) {
      object["data"][Name("a", i)] = "x";
      patch["data"][Name(i % 2 == 0 ? "a" : "b", i)] = i % 4 == 0 ? Json() : Json("y");
    }
    return [=] { ASSERT_TRUE(ApplyMergePatch(object, patch)); };
  });
}

// Half of the patch's items are new; `order` is that of the patch, reversed.
Prepare Strategic(const std::string& type, const Json::json_pointer& place,
                  const std::string& field, const std::string& key, bool deletes) {
  return [=](int n) {
    const auto item = [&](int i) -> Json {
      if (key == "containerPort") return {{key, 1000 + i}, {"protocol", "TCP"}};
      return {{key, Name("k", i)}};
    };
    Json object = Json::object();
    Json patch = Json::object();
    Json changes = Reversed(ListOf(n, [&](int i) { return item(n / 2 + i); }));
    object[place][field] = ListOf(n, item);
    patch[place]["$setElementOrder/" + field] = changes;
    if (deletes) {
      for (int i = 0; i < n / 4; ++i) {
        Json deletion = item(i);
        deletion["$patch"] = "delete";
        changes.push_back(std::move(deletion));
      }
    }
    patch[place][field] = std::move(changes);
    return [=] {
      const auto merged = ApplyStrategicMergePatch(TypeOf(type), object, patch);
      ASSERT_TRUE(merged) << merged.error().message;
    };
  };
}

TEST(Costs, StrategicMergePatchTakesLinearTime) {
  using Place = Json::json_pointer;
  for (const bool deletes : {false, true}) {
    ExpectLinear("ownerReferences",
                 Strategic("core/v1.Pod", Place("/metadata"), "ownerReferences", "uid", deletes));
    ExpectLinear("volumes", Strategic("core/v1.Pod", Place("/spec"), "volumes", "name", deletes));
    ExpectLinear("env", Strategic("core/v1.Container", Place(""), "env", "name", deletes));
    ExpectLinear("ports",
                 Strategic("core/v1.Container", Place(""), "ports", "containerPort", deletes));
  }
  ExpectLinear("finalizers", [](int n) {
    const Json all = ListOf(n, [](int i) { return Name("x/f", i); });
    const Json object{{"metadata", {{"finalizers", all}}}};
    const Json patch{
        {"metadata",
         {{"finalizers", Reversed(all)}, {"$setElementOrder/finalizers", Reversed(all)}}}};
    const Json removal{{"metadata", {{"$deleteFromPrimitiveList/finalizers", Reversed(all)}}}};
    return [=] {
      ASSERT_TRUE(ApplyStrategicMergePatch(TypeOf("core/v1.Pod"), object, patch));
      ASSERT_TRUE(ApplyStrategicMergePatch(TypeOf("core/v1.Pod"), object, removal));
    };
  });
}

ManagerContext WidgetContext(const std::string& manager) {
  ManagerContext context;
  context.type = &Widget().root();
  context.api_version = "x/v1";
  context.manager = manager;
  return context;
}

Json Applied(const Json* live, const Json& config, const std::string& manager) {
  auto applied = ApplyConfiguration(live, config, WidgetContext(manager), ConflictPolicy::kForce);
  EXPECT_TRUE(applied) << applied.error().message;
  return applied->object;
}

TEST(Costs, ServerSideApplyTakesLinearTime) {
  ExpectLinear("a list map", [](int n) {
    const Json live = Applied(nullptr, WidgetItems(n, "a"), "one");
    const Json config = WidgetItems(n / 2, "b");
    return [=] { Applied(&live, config, "one"); };
  });
  ExpectLinear("conflicts", [](int n) {
    const Json live = Applied(nullptr, WidgetItems(n, "a"), "one");
    const Json config = WidgetItems(n, "b");
    return [=] {
      ASSERT_FALSE(ApplyConfiguration(&live, config, WidgetContext("two"), ConflictPolicy::kFail));
    };
  });
  ExpectLinear("a set", [](int n) {
    const Json all = ListOf(n, [](int i) { return Name("s", i); });
    const Json live = Applied(nullptr, WidgetWith({{"set", all}}), "one");
    const Json config = WidgetWith({{"set", Reversed(all)}});
    return [=] { Applied(&live, config, "two"); };
  });
  ExpectLinear("a configuration with duplicates and wrong types", [](int n) {
    Json config = WidgetItems(n, "a");
    for (Json& item : config["spec"]["items"]) item["name"] = "same";
    config["spec"]["set"] = ListOf(n, [](int) { return "same"; });
    return [=] {
      ASSERT_FALSE(ApplyConfiguration(nullptr, config, WidgetContext("a"), ConflictPolicy::kFail));
    };
  });
}

TEST(Costs, ManagedFieldsAreTrackedInLinearTime) {
  ExpectLinear("an update of a list map", [](int n) {
    const Json live = Applied(nullptr, WidgetItems(n, "a"), "one");
    Json updated = WidgetItems(n, "b");
    updated["metadata"]["managedFields"] = live["metadata"]["managedFields"];
    return [=] {
      Json object = updated;
      TrackUpdate(&live, object, WidgetContext("two"));
    };
  });
  // n managers of one field each, of n versions that nobody serves; the update removes n fields.
  ExpectLinear("many managers", [](int n) {
    Json live = WidgetItems(n, "a");
    live["metadata"]["managedFields"] = ListOf(n, [](int i) -> Json {
      return {{"manager", Name("m", i)},
              {"operation", i % 2 == 0 ? "Apply" : "Update"},
              {"apiVersion", Name("x/v", i)},
              {"fieldsType", "FieldsV1"},
              {"fieldsV1", {{"f:spec", {{"f:set", Json::object()}}}}}};
    });
    Json updated = WidgetWith({{"set", {"a"}}});
    updated["metadata"]["managedFields"] = live["metadata"]["managedFields"];
    const Json config = WidgetItems(n, "b");
    return [=] {
      Json object = updated;
      TrackUpdate(&live, object, WidgetContext("two"));
      Applied(&live, config, "three");
    };
  });
}

// An object with a key of 50 n bytes above n fields.
Json BelowALongKey(int n, const std::function<Json(int)>& value) {
  Json fields = Json::object();
  for (int i = 0; i < n; ++i) fields[Name("f", i)] = value(i);
  return {{std::string(static_cast<std::size_t>(n) * 50, 'k'), std::move(fields)}};
}

TEST(Costs, UnknownFieldsAreFoundInLinearTime) {
  ExpectLinear("of a ConfigMap, with their places", [](int n) {
    const std::string text = BelowALongKey(n, [](int i) { return Json(i); }).dump();
    std::string body = R"({"kind":"ConfigMap","data":{},"x":)" + text;
    for (int i = 0; i < n; ++i) body += ",\"" + Name("u", i) + "\":1";
    body += "}";
    return [=] {
      auto decoded = ParseJson(body);
      ASSERT_TRUE(decoded);
      auto errors = UnknownFields(TypeOf("core/v1.ConfigMap"), decoded->value);
      ASSERT_GE(errors.size(), static_cast<std::size_t>(n));
      SortByPlace(body, errors);
      ASSERT_EQ(errors.front(), "unknown field \"x\"");
    };
  });
  ExpectLinear("below a long key of a built-in map", [](int n) {
    Json value;
    value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] =
        BelowALongKey(n, [](int i) -> Json {
          return {{"unknown", i}};
        });
    return [=] {
      const TypeNode& type = TypeOf("apiextensions/v1.CustomResourceDefinition");
      ASSERT_FALSE(UnknownFields(type, value).empty());
      ASSERT_EQ(TypeMismatch(type, "X", value), "");
      Json normal = value;
      NormalizeBuiltin(type, normal);
    };
  });
  ExpectLinear("of a custom object", [](int n) {
    const Json object = WidgetWith({{"maps", BelowALongKey(n, [](int i) { return Json(i); })}});
    return [=] {
      Json pruned = object;
      ASSERT_EQ(Widget().Prune(pruned).size(), static_cast<std::size_t>(n));
      Widget().Default(pruned);
    };
  });
}

TEST(Costs, CustomObjectsAreValidatedInLinearTime) {
  ExpectLinear("values and rules with their old items", [](int n) {
    const Json old_object = WidgetItems(n, "a");
    Json object = WidgetItems(n, "b");
    object["spec"]["items"] = Reversed(object["spec"]["items"]);
    return [=] { ASSERT_TRUE(Widget().Validate(object, &old_object).empty()); };
  });
  ExpectLinear("wrong values", [](int n) {
    const Json old_object = WidgetItems(n, "a");
    const Json object = WidgetItems(n, std::string(21, 'x'));
    return [=] { ASSERT_FALSE(Widget().Validate(object, &old_object).empty()); };
  });
  ExpectLinear("refused values", [](int n) {
    const Json old_object = WidgetItems(n, "a");
    const Json object = WidgetItems(n, "x");
    return [=] { ASSERT_FALSE(Widget().Validate(object, &old_object).empty()); };
  });
  ExpectLinear("wrong values below a long key", [](int n) {
    const Json object = WidgetWith({{"texts", BelowALongKey(n, [](int) { return Json("long"); })}});
    return [=] { ASSERT_FALSE(Widget().Validate(object, nullptr).empty()); };
  });
  ExpectLinear("right values below a long key", [](int n) {
    const Json object = WidgetWith({{"texts", BelowALongKey(n, [](int) { return Json("x"); })}});
    return [=] {
      ASSERT_TRUE(Widget().Validate(object, nullptr).empty());
      Applied(nullptr, object, "one");
    };
  });
  ExpectLinear("duplicates and embedded objects", [](int n) {
    const Json object =
        WidgetWith({{"set", ListOf(n, [](int i) { return Name("s", i / 2); })},
                    {"objects", ListOf(n, [](int i) -> Json {
                       return {{"kind", i % 2 == 0 ? "" : "K"}, {"apiVersion", "v1"}};
                     })}});
    return [=] { ASSERT_FALSE(Widget().Validate(object, nullptr).empty()); };
  });
}

TEST(Costs, MissingRightsOfRolesAreFoundInLinearTime) {
  const auto words = [](const std::string& prefix, int n) {
    std::vector<std::string> list;
    for (int i = 0; i < n; ++i) list.push_back(Name(prefix, i));
    return list;
  };
  const auto rule = [words](int n) {
    return PolicyRule{.verbs = words("v", n),
                      .groups = words("g", n),
                      .resources = words("r", n),
                      .names = words("n", n),
                      .paths = {}};
  };
  ExpectLinear("held by one rule", [rule](int n) {
    const std::vector<PolicyRule> rules{rule(n)};
    return [=] { ASSERT_TRUE(MissingRights(rules, rules).empty()); };
  });
  ExpectLinear("held by nobody", [rule](int n) {
    const std::vector<PolicyRule> rules{rule(n)};
    return [=] { ASSERT_FALSE(MissingRights({}, rules).empty()); };
  });
}

}  // namespace
}  // namespace berth::local
