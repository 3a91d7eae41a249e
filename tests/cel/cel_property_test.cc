// Goal: the laws of CEL hold for any expression. Method: random trees over a document; each law
// compares two evaluations.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cel/internal/syntax.h"
#include "cel/property_names.h"
#include "tests/cel/support.h"
#include "tests/support/property.h"

namespace berth::cel {
namespace {

using support::Below;
using support::CheckProperty;

const nlohmann::json& Document() {
  static const nlohmann::json document = nlohmann::json::parse(
      R"({"self": {"a": 1, "b": "text", "c": [1, "x", null, 2.5], "d": {"e": true}, "f": null}})");
  return document;
}

std::string OneOf(const std::vector<std::string>& choices) {
  return choices[static_cast<std::size_t>(*Below(static_cast<int>(choices.size())))];
}

// A leaf, errors among them.
std::string Leaf() {
  return OneOf({"1",
                "0",
                "-3",
                "2u",
                "1.5",
                "'x'",
                "''",
                "b'x'",
                "true",
                "false",
                "null",
                "self.a",
                "self.b",
                "self.c",
                "self.d",
                "self.d.e",
                "self.f",
                "self.missing",
                "self.c[0]",
                "self.c[9]",
                "[]",
                "{}",
                "optional.none()",
                "optional.of(1)",
                "duration('1m')",
                "1/0",
                "int"});
}

// An expression of at most `depth` levels. One draw in four is a leaf.
std::string Any(int depth) {
  if (depth == 0 || *Below(4) == 0) return Leaf();
  switch (*Below(10)) {
    case 0:
      return "(" + Any(depth - 1) +
             OneOf({" + ", " - ", " * ", " / ", " % ", " < ", " >= ", " == ", " != ", " in "}) +
             Any(depth - 1) + ")";
    case 1: return "(" + Any(depth - 1) + OneOf({" && ", " || "}) + Any(depth - 1) + ")";
    case 2: return OneOf({"!", "-"}) + ("(" + Any(depth - 1) + ")");
    case 3: return "(" + Any(depth - 1) + " ? " + Any(depth - 1) + " : " + Any(depth - 1) + ")";
    case 4: return "[" + Any(depth - 1) + ", " + Any(depth - 1) + "]";
    case 5: return "{'k': " + Any(depth - 1) + ", 2: " + Any(depth - 1) + "}";
    case 6:
      return "(" + Any(depth - 1) + ")." + OneOf({"all", "exists", "map", "filter", "exists_one"}) +
             "(v, " + OneOf({"v", "v == 1", "v > 1", "true"}) + ")";
    case 7:
      return OneOf({"size", "string", "int", "double", "type", "optional.of"}) + "(" +
             Any(depth - 1) + ")";
    case 8:
      return "(" + Any(depth - 1) + ")" + OneOf({"[0]", "['k']", ".k", ".?k", "[?0]", ".size()"});
    default: return "cel.bind(w, " + Any(depth - 1) + ", [w, w])";
  }
}

std::string Evaluated(const std::string& expression) { return Answer(expression, Document()); }

// A failure, whatever its words: which of two failures is reported depends on the order.
std::string Outcome(const std::string& expression) {
  const std::string answer = Evaluated(expression);
  return answer.starts_with("error") ? "error" : answer;
}

TEST(CelProperties, AndAndOrCommute) {
  CheckProperty(2000, [] {
    const std::string a = Any(3);
    const std::string b = Any(3);
    RC_ASSERT(Outcome(a + " && " + b) == Outcome(b + " && " + a));
    RC_ASSERT(Outcome(a + " || " + b) == Outcome(b + " || " + a));
    RC_ASSERT(Outcome("!(" + a + " && " + b + ")") == Outcome("!(" + a + ") || !(" + b + ")"));
  });
}

TEST(CelProperties, AllIsTheAndOfTheElements) {
  CheckProperty(1000, [] {
    const std::string a = Any(2);
    const std::string b = Any(2);
    const std::string list = "[" + a + ", " + b + "]";
    if (Outcome(list) == "error") return;
    RC_ASSERT(Outcome(list + ".all(v, v)") == Outcome(a + " && " + b));
    RC_ASSERT(Outcome(list + ".exists(v, v)") == Outcome(a + " || " + b));
    RC_ASSERT(Outcome(list + ".map(v, v) == " + list) == Outcome(list + " == " + list));
    RC_ASSERT(Outcome(list + ".filter(v, true)") == Outcome(list));
  });
}

TEST(CelProperties, EqualityIsSymmetricAndExcludesInequality) {
  CheckProperty(2000, [] {
    const std::string a = "[" + Any(2) + "]";
    const std::string b = "[" + Any(2) + "]";
    RC_ASSERT(Outcome(a + " == " + b) == Outcome(b + " == " + a));
    RC_ASSERT(Outcome(a + " != " + b) == Outcome("!(" + a + " == " + b + ")"));
  });
}

TEST(CelProperties, PrintedTreeParsesToTheSameTree) {
  CheckProperty(2000, [] {
    const std::string text = Any(5);
    const auto tree = Parse(text, 250);
    RC_ASSERT(tree.has_value());
    const std::string printed = Print(**tree);
    const auto again = Parse(printed, 250);
    RC_ASSERT(again.has_value());
    RC_ASSERT(Print(**again) == printed);
    RC_ASSERT(Evaluated(printed) == Evaluated(text));
  });
}

TEST(CelProperties, SmallBudgetFailsOrKeepsTheAnswer) {
  CheckProperty(1000, [] {
    const std::string text = Any(4);
    const std::string whole = Evaluated(text);
    const auto cost = static_cast<std::uint64_t>(*Below(60) + 1);
    const std::string cut = Answer(text, Document(), Limits{.cost = cost});
    RC_ASSERT(cut == whole || cut == "error: operation cancelled: actual cost limit exceeded");
  });
}

TEST(CelProperties, PropertyNamesSurviveEscaping) {
  CheckProperty(3000, [] {
    std::string name;
    const int size = *Below(8) + 1;
    for (int i = 0; i < size; ++i) {
      name += OneOf({"_", "__", ".", "-", "/", "a", "Z", "dot", "in", "namespace", "7"});
    }
    const auto escaped = EscapeProperty(name);
    RC_ASSERT(escaped.has_value() == (name[0] != '7'));
    if (!escaped) return;
    RC_ASSERT(IsIdentifier(*escaped) && !IsReservedWord(*escaped));
    RC_ASSERT(UnescapeProperty(*escaped) == name);
    const nlohmann::json variables{{"self", {{name, 42}}}};
    RC_ASSERT(Answer("has(self." + *escaped + ") && self." + *escaped + " == 42", variables) ==
              "bool true");
  });
}

}  // namespace
}  // namespace berth::cel
