// Goal: no expression and no value exceeds the limits: each gives an error, and quickly. Method:
// expressions made to be large, deep, slow or wasteful.
#include <gtest/gtest.h>

#include "cel/containers.h"
#include "cel/value_json.h"
#include "cel/value_text.h"
#include "tests/cel/support.h"

namespace berth::cel {
namespace {

std::string Repeat(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

constexpr const char* kCost = "error: operation cancelled: actual cost limit exceeded";
constexpr const char* kMemory =
    "error: operation cancelled: the values of the evaluation need more than 8388608 bytes";

TEST(Limits, BoundTheLengthAndEncodingOfTheText) {
  EXPECT_EQ(Answer("'" + Repeat("x", 100'000) + "'", Json::object()),
            "refused: ERROR: <input>:1:1: expression code point size exceeds limit: size: 100002, "
            "limit 100000");
  EXPECT_EQ(Answer("'\xff'", Json::object()),
            "refused: ERROR: <input>:1:1: the expression is not valid UTF-8");
}

TEST(Limits, BoundTheNesting) {
  for (const auto& [open, close] : {std::pair{"(", ")"},
                                    {"[", "]"},
                                    {"{1:", "}"},
                                    {"size(", ")"},
                                    {"true?1:", ""},
                                    {"[1].map(x,", ")"}}) {
    const std::string deep = Repeat(open, 5000) + "1" + Repeat(close, 5000);
    EXPECT_NE(Answer(deep, Json::object()).find("expression recursion limit exceeded: 250"),
              std::string::npos)
        << open;
    const std::string half = Repeat(open, 200) + "1" + Repeat(close, 200);
    EXPECT_EQ(Answer(half, Json::object()).find("recursion"), std::string::npos) << open;
  }
  for (const char* chain : {" + 1", "[1]", ".a", ".f()"}) {
    EXPECT_NE(Answer("1" + Repeat(chain, 5000), Json::object()).find("recursion limit"),
              std::string::npos)
        << chain;
  }
  // Chains of && and || are flat, and so are many signs.
  EXPECT_EQ(Answer("true" + Repeat(" && true", 5000), Json::object()), "bool true");
  EXPECT_EQ(Answer(Repeat("!", 50'000) + "true", Json::object()), "bool true");
  EXPECT_EQ(Answer(Repeat("-", 50'001) + "(1)", Json::object()), "int -1");
}

TEST(Limits, BoundTheCost) {
  Json list = Json::array();
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  const Json variables{{"list", list}};
  EXPECT_EQ(Answer("list.all(a, list.all(b, list.all(c, a + b + c >= 0)))", variables), kCost);
  EXPECT_EQ(Answer("list.all(a, list.exists(b, list.exists(c, false))) || true", variables), kCost);
  EXPECT_EQ(Answer("list.map(a, list.map(b, list.filter(c, c == -1)))", variables), kCost);
  EXPECT_EQ(Answer("sets.equivalent(list.map(x, list), list.map(x, list))", variables), kCost);
  EXPECT_EQ(Answer("list.transformMapEntry(i, v, list.transformMap(j, w, i))", variables),
            "error: insert failed: key 0 already exists");
  EXPECT_EQ(Answer("list.exists(a, list.map(b, [b, a]).distinct().size() == 1)", variables), kCost);
}

TEST(Limits, BoundTheMemory) {
  std::string doubled = "'0123456789'";
  for (int i = 0; i < 30; ++i) {
    doubled = "cel.bind(x" + std::to_string(i) + ", " + doubled + ", x" + std::to_string(i) +
              " + x" + std::to_string(i) + ")";
  }
  EXPECT_EQ(Answer("size(" + doubled + ")", Json::object()), kMemory);
  EXPECT_EQ(Answer("lists.range(1000000)", Json::object()), kMemory);
  EXPECT_EQ(Answer("'x'.replace('', '" + Repeat("y", 50'000) + "').replace('y', '" +
                       Repeat("z", 1000) + "')",
                   Json::object()),
            kMemory);
}

TEST(Limits, BoundValuesThatAreShared) {
  // Each level has the one below twice: 2^60 values in all.
  std::string tree = "x59";
  for (int i = 59; i > 0; --i) {
    const std::string below = "x" + std::to_string(i - 1);
    tree = "cel.bind(x" + std::to_string(i) + ", [" + below + ", " + below + "], " + tree + ")";
  }
  tree = "cel.bind(x0, [1], " + tree + ")";
  EXPECT_EQ(Answer(tree + " == " + tree, Json::object()), kCost);
  const auto program = Compile(tree, Environment{});
  ASSERT_TRUE(program.has_value());
  const auto value = program->Evaluate(Activation());
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(ToJson(*value).error().message, "the value has too many parts for a copy as JSON");
  EXPECT_LT(ToText(*value).size(), 2000U);
}

TEST(Limits, BoundRegularExpressions) {
  const Json variables{{"p", "((a{100}){100}){100}"}, {"t", Repeat("a", 100'000)}};
  EXPECT_EQ(Answer("'a'.matches(p)", variables).substr(0, 29), "error: error parsing regexp: ");
  EXPECT_EQ(Answer("t.matches('(a*)*b')", variables), "bool false");
  EXPECT_EQ(Answer("t.findAll('a').size()", variables).substr(0, 6), "error:");
  EXPECT_EQ(Answer("'a'.matches('" + Repeat("a", 10'001) + "')", variables),
            "refused: ERROR: <input>:1:13: invalid matches argument: the regular expression has "
            "more than 10000 bytes");
}

// Texts that nearly match everywhere: a search in time of the product would take minutes.
TEST(Limits, SearchesTakeLinearTimeOrHitTheCostLimit) {
  const Json variables{{"text", Repeat("a", 1'000'000)},
                       {"wanted", Repeat("a", 400'000) + "b"},
                       {"numbers", Json::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}};
  EXPECT_EQ(Answer("text.contains(wanted)", variables), "bool false");
  EXPECT_EQ(Answer("text.indexOf(wanted)", variables), "int -1");
  EXPECT_EQ(Answer("size(text.split(wanted))", variables), "int 1");
  EXPECT_EQ(Answer("size(text.replace(wanted, ''))", variables), "int 1000000");
  EXPECT_EQ(Answer("text.lastIndexOf(wanted)", variables), kCost);
  EXPECT_EQ(Answer("numbers.map(n, text.contains(wanted)).size()", variables), kCost);
}

TEST(Limits, BoundTheCompilationOfRegularExpressions) {
  Json list = Json::array();
  for (int i = 0; i < 10'000; ++i) list.push_back("(a|b|c){1000}" + std::to_string(i));
  const Json variables{{"list", list}, {"text", Repeat("ab", 100'000)}};
  EXPECT_EQ(Answer("list.exists(p, 'x'.matches(p))", variables), kCost);
  EXPECT_EQ(Answer("text.matches(list[0])", variables), kCost);
}

TEST(Limits, BoundSeveralEvaluationsByOneBudget) {
  const auto program = Compile("[1, 2, 3].all(x, x > 0)", Environment{});
  ASSERT_TRUE(program.has_value());
  std::uint64_t budget = 100;
  int count = 0;
  while (program->Evaluate(Activation(), budget)) ++count;
  EXPECT_EQ(budget, 0U);
  EXPECT_GT(count, 2);
  EXPECT_LT(count, 20);
}

}  // namespace
}  // namespace berth::cel
