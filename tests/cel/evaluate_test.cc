// Goal: expressions have the values that CEL's definition gives them. Method: rows of expression
// and answer over a few variables.
#include <gtest/gtest.h>

#include "cel/containers.h"
#include "cel/value_json.h"
#include "tests/cel/support.h"

namespace berth::cel {
namespace {

Json Variables() {
  return Json::parse(R"({
    "self": {"name": "a", "replicas": 3, "ratio": 0.5, "ready": true, "none": null,
             "list": [1, 2, 3], "labels": {"app.kubernetes.io/name": "x", "plain": "y"},
             "my-field": 1, "a.b": 2, "c/d": 3, "e__f": 4, "namespace": "ns",
             "items": [{"name": "p", "count": 1}, {"name": "q"}]},
    "oldSelf": {"name": "a", "replicas": 2},
    "big": 18446744073709551615,
    "empty": {}
  })");
}

template <std::size_t kCount>
void ExpectAnswers(const ExpressionRow (&rows)[kCount]) {
  const Json variables = Variables();
  for (const ExpressionRow& row : rows) {
    EXPECT_EQ(Answer(row.expression, variables), row.answer) << row.expression;
  }
}

TEST(Evaluate, LiteralsHaveTheirValueAndType) {
  const ExpressionRow rows[] = {
      {"1", "int 1"},
      {"-1", "int -1"},
      {"- 1", "int -1"},
      {"0x1F", "int 31"},
      {"-9223372036854775808", "int -9223372036854775808"},
      {"9223372036854775807", "int 9223372036854775807"},
      {"1u", "uint 1"},
      {"0xFFu", "uint 255"},
      {"18446744073709551615u", "uint 18446744073709551615"},
      {"1.5", "double 1.5"},
      {".5", "double 0.5"},
      {"-2.5e-3", "double -0.0025"},
      {"1e3", "double 1000"},
      {"1e300", "double 1e+300"},
      {"true", "bool true"},
      {"null", "null_type null"},
      {"'a'", "string a"},
      {"\"a'b\"", "string a'b"},
      {"'''a\nb'''", "string a\nb"},
      {"\"\"\"a\"b\"\"\"", "string a\"b"},
      {"r'a\\n'", "string a\\n"},
      {"'\\n\\t\\\\\\x41\\101\\u00e9\\U0001F600'", "string \n\t\\AAé😀"},
      {"b'\\xff\\377a' == b'\\xFF\\xFFa'", "bool true"},
      {"''", "string "},
      {"[1, 'a', [true]]", "list [1, a, [true]]"},
      {"[1, 2,]", "list [1, 2]"},
      {"{'a': 1, 'b': [2]}", "map {a: 1, b: [2]}"},
      {"{1: 'a', true: 'b', 2u: 'c',}", "map {true: b, 1: a, 2: c}"},
      {"{}", "map {}"},
      {"int", "type int"},
      {"type(1) == int && type([]) == list && type(type(1)) == type", "bool true"},
      {"type(null) == null_type", "bool true"},
      {"type(duration('1s')) == google.protobuf.Duration", "bool true"},
      {"1 // a comment\n + 1", "int 2"},
      {"JSONPatch{op: 'add', path: '/a', value: 1}", "map {op: add, path: /a, value: 1}"},
      {"Object{spec: Object{a: 1}}.spec.a", "int 1"},
      {"Object{?a: optional.none(), ?b: optional.of(1)}", "map {b: 1}"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, FieldsAndIndexesSelectValues) {
  const ExpressionRow rows[] = {
      {"self.name", "string a"},
      {"self.replicas", "int 3"},
      {"self.ratio", "double 0.5"},
      {"self.none", "null_type null"},
      {"self.list[0]", "int 1"},
      {"self.list[2.0]", "int 3"},
      {"self.list[1u]", "int 2"},
      {"self['name']", "string a"},
      {"self.labels['app.kubernetes.io/name']", "string x"},
      {"self.items[1].name", "string q"},
      {".self.name", "string a"},
      {"self.missing", "error: no such key: missing"},
      {"self['missing']", "error: no such key: missing"},
      {"self.name.first", "error: no such key: first"},
      {"self.none.a", "error: no such key: a"},
      {"self.list[3]", "error: index out of bounds: 3"},
      {"self.list[-1]", "error: index out of bounds: -1"},
      {"self.list[1.5]", "error: unsupported index value 1.5 in list"},
      {"self.list['a']", "error: unsupported index type 'string' in list"},
      {"self.list.a", "error: unsupported index type 'string' in list"},
      {"{1: 'a'}[1.0]", "string a"},
      {"{1: 'a'}[1u]", "string a"},
      {"{1: 'a'}[2]", "error: no such key: 2"},
      {"self.my__dash__field + self.a__dot__b + self.c__slash__d", "int 6"},
      {"self.e__underscores__f", "int 4"},
      {"self.__namespace__", "string ns"},
      {"has(self.my__dash__field) && has(self.__namespace__)", "bool true"},
      {"big", "double 1.8446744073709552e+19"},
      {"has(self.name)", "bool true"},
      {"has(self.none)", "bool true"},
      {"has(self.missing)", "bool false"},
      {"has(self.missing.a)", "error: no such key: missing"},
      {"has(self.name.a)", "bool false"},
      {"has({'a': 1}.a)", "bool true"},
      {"has(empty.a) ? 1 : 2", "int 2"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, LogicAbsorbsErrors) {
  const ExpressionRow rows[] = {
      {"true && false", "bool false"},
      {"true || false", "bool true"},
      {"!true", "bool false"},
      {"!!true", "bool true"},
      {"self.missing == 1 || true", "bool true"},
      {"true || self.missing == 1", "bool true"},
      {"self.missing == 1 && false", "bool false"},
      {"self.missing == 1 || false", "error: no such key: missing"},
      {"self.missing == 1 && true", "error: no such key: missing"},
      {"self.missing == 1 || 1 / 0 == 1", "error: no such key: missing"},
      {"1 || true", "bool true"},
      {"self.name || false", "error: no such overload"},
      {"self.ready ? 'a' : 1 / 0", "string a"},
      {"self.name ? 1 : 2", "error: no such overload"},
      {"self.missing ? 1 : 2", "error: no such key: missing"},
      {"!self.name", "error: no such overload"},
      {"[1, 2].all(x, x > 0)", "bool true"},
      {"[1, 'a', -1].all(x, x > 0)", "bool false"},
      {"[1, 'a'].all(x, x > 0)", "error: no such overload"},
      {"['a', 1].exists(x, x > 0)", "bool true"},
      {"[1, 'a'].exists(x, x > 1)", "error: no such overload"},
      {"[].all(x, false)", "bool true"},
      {"[].exists(x, true)", "bool false"},
      {"self.items.all(i, has(i.count) || i.name == 'q')", "bool true"},
      {"self.items.all(i, i.count > 0)", "error: no such key: count"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, EqualityAndOrderCompareAcrossNumberTypes) {
  const ExpressionRow rows[] = {
      {"1 == 1.0 && 1 == 1u && 1u == 1.0", "bool true"},
      {"1 == '1'", "bool false"},
      {"null == null", "bool true"},
      {"null == 0", "bool false"},
      {"self.none == null", "bool true"},
      {"[1, [2, {'a': 3.0}]] == [1.0, [2u, {'a': 3}]]", "bool true"},
      {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "bool true"},
      {"{1: 'a'} == {1u: 'a'}", "bool true"},
      {"{'a': 1} == {'a': 1, 'b': 2}", "bool false"},
      {"self == self", "bool true"},
      {"self != oldSelf", "bool true"},
      {"self.list == [1, 2, 3]", "bool true"},
      {"1 < 2.5 && 2u > 1 && -1 < 0u && 1.5 <= 2u", "bool true"},
      {"-1 < 18446744073709551615u", "bool true"},
      {"9223372036854775807 < 1e19", "bool true"},
      {"'a' < 'b' && b'a' < b'b' && false < true", "bool true"},
      {"duration('1m') > duration('59s')", "bool true"},
      {"timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-01T00:00:00.000000001Z')",
       "bool true"},
      {"1 < 'a'", "error: no such overload"},
      {"self < 1", "error: no such overload: _<_"},
      {"double('NaN') == double('NaN')", "bool false"},
      {"double('NaN') < 1.0", "error: NaN values cannot be ordered"},
      {"2 in [1, 2]", "bool true"},
      {"2.0 in [1, 2]", "bool true"},
      {"'x' in self.labels", "bool false"},
      {"'plain' in self.labels", "bool true"},
      {"1 in self.labels", "bool false"},
      {"1 in 2", "error: no such overload"},
      {"self.name in ['a', 'b']", "bool true"},
      {"optional.of(1) == optional.of(1.0)", "bool true"},
      {"optional.none() == optional.of(1)", "bool false"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, ArithmeticIsCheckedForOverflowZeroDivisorsAndTypes) {
  const ExpressionRow rows[] = {
      {"1 + 2 * 3 - 4 / 2 % 3", "int 5"},
      {"(1 + 2) * 3", "int 9"},
      {"-7 / 2", "int -3"},
      {"-7 % 3", "int -1"},
      {"7u % 4u", "uint 3"},
      {"1.5 * 2.0", "double 3"},
      {"1.0 / 0.0", "double +Inf"},
      {"-self.replicas", "int -3"},
      {"--1", "int 1"},
      {"1 - -1", "int 2"},
      {"'a' + 'b'", "string ab"},
      {"[1] + [2]", "list [1, 2]"},
      {"self.list + [4]", "list [1, 2, 3, 4]"},
      {"b'a' + b'b' == b'ab'", "bool true"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775808 - 1", "error: integer overflow"},
      {"9223372036854775807 * 2", "error: integer overflow"},
      {"-9223372036854775808 / -1", "error: integer overflow"},
      {"-9223372036854775808 % -1", "error: integer overflow"},
      {"-(-9223372036854775808)", "error: integer overflow"},
      {"0u - 1u", "error: unsigned integer overflow"},
      {"1 / 0", "error: division by zero"},
      {"1 % 0", "error: modulus by zero"},
      {"1u / 0u", "error: division by zero"},
      {"1 + 1.0", "error: no such overload"},
      {"1 + 'a'", "error: no such overload"},
      {"{} + {}", "error: no such overload: _+_"},
      {"'a' - 'b'", "error: no such overload"},
      {"duration('1h') + duration('30m') == duration('90m')", "bool true"},
      {"timestamp('2024-02-28T23:00:00Z') + duration('2h')",
       "google.protobuf.Timestamp 2024-02-29T01:00:00Z"},
      {"timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z')",
       "google.protobuf.Duration 86400s"},
      {"timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"},
      {"duration('2562047h') + duration('2562047h')", "error: duration overflow"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, MacrosEvaluateTheirBodyWithTheirVariableBound) {
  const ExpressionRow rows[] = {
      {"[1, 2, 3].map(x, x * 2)", "list [2, 4, 6]"},
      {"[1, 2, 3].map(x, x > 1, x * 2)", "list [4, 6]"},
      {"[1, 2, 3].filter(x, x % 2 == 1)", "list [1, 3]"},
      {"[1, 2, 3].exists_one(x, x > 2)", "bool true"},
      {"[1, 2, 3].existsOne(x, x > 1)", "bool false"},
      {"[1, 'a'].exists_one(x, x > 0)", "error: no such overload"},
      {"{'a': 1, 'b': 2}.map(k, k)", "list [a, b]"},
      {"self.labels.all(k, self.labels[k] != '')", "bool true"},
      {"{'a': 1}.exists(k, k == 'a')", "bool true"},
      {"[[1, 2], [3]].map(x, x.map(y, y + size(x)))", "list [[3, 4], [4]]"},
      {"[1].map(x, [2].map(x, x))", "list [[2]]"},
      {"[1, 2].map(x, 1 / 0)", "error: division by zero"},
      {"1.map(x, x)", "error: got 'int', expected iterable type"},
      {"[10, 20].all(i, v, v == (i + 1) * 10)", "bool true"},
      {"{'a': 1}.exists(k, v, k == 'a' && v == 1)", "bool true"},
      {"[5, 6].transformList(i, v, v * i)", "list [0, 6]"},
      {"[5, 6].transformList(i, v, i > 0, v)", "list [6]"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", "map {a: 2, b: 3}"},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", "map {b: 2}"},
      {"{'a': 1}.transformMapEntry(k, v, {v: k})", "map {1: a}"},
      {"['x', 'x'].transformMapEntry(i, v, {v: i})", "error: insert failed: key x already exists"},
      {"cel.bind(x, 2, x * x)", "int 4"},
      {"cel.bind(x, cel.bind(y, 3, y + 1), x)", "int 4"},
      {"['b', 'a'].sortBy(x, x)", "list [a, b]"},
      {"[{'n': 2}, {'n': 1}].sortBy(x, x.n).map(x, x.n)", "list [1, 2]"},
      {"[1].all(self, self == 1)", "bool true"},
      {"[1].all(x, .self.name == 'a')", "bool true"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, OptionalsStandForValuesThatMayBeMissing) {
  const ExpressionRow rows[] = {
      {"self.?name", "optional_type optional(a)"},
      {"self.?missing", "optional_type optional.none()"},
      {"self.?missing.?deeper.orValue('d')", "string d"},
      {"self.?missing.deeper.orValue('d')", "string d"},
      {"self.?labels.plain.orValue('d')", "string y"},
      {"self.?labels['plain'].value()", "string y"},
      {"self.list[?1].orValue(0)", "int 2"},
      {"self.list[?9].orValue(0)", "int 0"},
      {"self.labels[?'plain']", "optional_type optional(y)"},
      {"optional.none().value()", "error: optional.none() dereference"},
      {"optional.of(1).value()", "int 1"},
      {"optional.of(1).hasValue() && !optional.none().hasValue()", "bool true"},
      {"optional.ofNonZeroValue('')", "optional_type optional.none()"},
      {"optional.ofNonZeroValue(2)", "optional_type optional(2)"},
      {"optional.none().or(optional.of(2)).value()", "int 2"},
      {"optional.of(1).or(optional.of(1 / 0)).value()", "int 1"},
      {"optional.of(1).orValue(1 / 0)", "int 1"},
      {"self.?replicas.optMap(r, r * 2).orValue(0)", "int 6"},
      {"self.?missing.optMap(r, r * 2).orValue(0)", "int 0"},
      {"self.?labels.optFlatMap(l, l.?plain).value()", "string y"},
      {"[?optional.of(1), ?optional.none(), 3]", "list [1, 3]"},
      {"{?'a': optional.of(1), ?'b': optional.none()}", "map {a: 1}"},
      {"[?1]", "error: cannot initialize optional list element from non-optional value 1"},
      {"{?'a': 1}", "error: cannot initialize optional entry 'a' from non-optional value 1"},
      {"optional.unwrap([optional.of(1), optional.none()])", "list [1]"},
      {"[optional.of(1)].unwrapOpt()", "list [1]"},
      {"[1, 2].first().value() + [1, 2].last().value()", "int 3"},
      {"has(self.?labels.plain)", "bool true"},
      {"self.name.orValue('x')", "string a"},
      {"type(self.?name) == optional_type", "bool true"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, ConversionsGiveAValueOrAnErrorThatSaysWhy) {
  const ExpressionRow rows[] = {
      {"int('42') + int(2.9) + int(3u)", "int 47"},
      {"int('-5')", "int -5"},
      {"int('4x')", "error: type conversion error from 'string' to 'int'"},
      {"int(1e19)", "error: integer overflow"},
      {"int(timestamp('1970-01-01T00:01:00Z'))", "int 60"},
      {"uint(-1)", "error: unsigned integer overflow"},
      {"uint('7') == 7u", "bool true"},
      {"double('1.5') + double(1)", "double 2.5"},
      {"double('x')", "error: type conversion error from 'string' to 'double'"},
      {"string(1) + string(2u) + string(1.5) + string(true) + string(b'x')", "string 121.5truex"},
      {"string(1000000.0)", "string 1e+06"},
      {"string(123456.0)", "string 123456"},
      {"string(0.00001)", "string 1e-05"},
      {"string(b'\\xff')", "error: invalid UTF-8 in bytes, cannot convert to string"},
      {"bytes('é') == b'\\xc3\\xa9'", "bool true"},
      {"bool('true') && !bool('F')", "bool true"},
      {"bool('yes')", "error: type conversion error from 'string' to 'bool'"},
      {"string(duration('90m'))", "string 5400s"},
      {"string(duration('1500ms'))", "string 1.5s"},
      {"duration('-1.5h') == duration('-90m')", "bool true"},
      {"duration('1')", "error: type conversion error from 'string' to 'google.protobuf.Duration'"},
      {"string(timestamp('2024-05-01T12:00:00.120+02:00'))", "string 2024-05-01T10:00:00.12Z"},
      {"timestamp('2024-05-01')",
       "error: type conversion error from 'string' to 'google.protobuf.Timestamp'"},
      {"timestamp(0)", "google.protobuf.Timestamp 1970-01-01T00:00:00Z"},
      {"int(self)", "error: no such overload: int(map)"},
      {"dyn(1) == 1", "bool true"},
      {"timestamp('2024-05-01T12:34:56.789Z').getFullYear()", "int 2024"},
      {"timestamp('2024-05-01T12:34:56.789Z').getMonth()", "int 4"},
      {"timestamp('2024-05-01T12:34:56.789Z').getDate()", "int 1"},
      {"timestamp('2024-05-01T12:34:56.789Z').getDayOfMonth()", "int 0"},
      {"timestamp('2024-05-01T12:34:56.789Z').getDayOfYear()", "int 121"},
      {"timestamp('2024-05-01T12:34:56.789Z').getDayOfWeek()", "int 3"},
      {"timestamp('2024-05-01T23:34:56.789Z').getHours('+02:00')", "int 1"},
      {"timestamp('2024-05-01T12:34:56.789Z').getMinutes()", "int 34"},
      {"timestamp('2024-05-01T12:34:56.789Z').getSeconds()", "int 56"},
      {"timestamp('2024-05-01T12:34:56.789Z').getMilliseconds()", "int 789"},
      {"timestamp(0).getHours('Europe/Berlin')",
       "error: unknown time zone Europe/Berlin: write UTC or an offset like +02:00"},
      {"duration('90m').getHours() + duration('90m').getMinutes()", "int 91"},
  };
  ExpectAnswers(rows);
}

TEST(Evaluate, CompileErrorNamesLineColumnAndMistake) {
  const ExpressionRow rows[] = {
      {"zz", "refused: ERROR: <input>:1:1: undeclared reference to 'zz' (in container '')"},
      {"self.a == zz",
       "refused: ERROR: <input>:1:11: undeclared reference to 'zz' (in container '')"},
      {"1 +\n  zz", "refused: ERROR: <input>:2:3: undeclared reference to 'zz' (in container '')"},
      {"'é' + zz", "refused: ERROR: <input>:1:7: undeclared reference to 'zz' (in container '')"},
      {"foo(1)", "refused: ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')"},
      {"self.foo()",
       "refused: ERROR: <input>:1:9: undeclared reference to 'foo' (in container '')"},
      {"[1].all(x, y)",
       "refused: ERROR: <input>:1:12: undeclared reference to 'y' (in container '')"},
      {"[1].all(x, true) && x",
       "refused: ERROR: <input>:1:21: undeclared reference to 'x' (in container '')"},
      {"'a'.startsWith()",
       "refused: ERROR: <input>:1:15: found no matching overload for 'startsWith' applied to "
       "'dyn.()'"},
      {"size()",
       "refused: ERROR: <input>:1:5: found no matching overload for 'size' applied to '()'"},
      {"has(self)", "refused: ERROR: <input>:1:5: invalid argument to has() macro"},
      {"[1].all(1, true)", "refused: ERROR: <input>:1:9: argument must be a simple name"},
      {"for", "refused: ERROR: <input>:1:1: reserved identifier: for"},
      {"'a'.matches('(')",
       "refused: ERROR: <input>:1:13: invalid matches argument: error parsing regexp: missing "
       "closing ): "
       "`(`"},
      {"",
       "refused: ERROR: <input>:1:1: Syntax error: mismatched input '<EOF>' expecting an "
       "expression"},
      {"1 +",
       "refused: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting an "
       "expression"},
      {"(1", "refused: ERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting ')'"},
      {"1 2", "refused: ERROR: <input>:1:3: Syntax error: extraneous input '2' expecting <EOF>"},
      {"a ? b",
       "refused: ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting ':'"},
      {"1 = 2", "refused: ERROR: <input>:1:3: Syntax error: token recognition error at: '='"},
      {"'abc", "refused: ERROR: <input>:1:1: Syntax error: token recognition error at: '''"},
      {"'\\q'", "refused: ERROR: <input>:1:1: unable to unescape string"},
      {"'\\ud800'", "refused: ERROR: <input>:1:1: invalid unicode code point"},
      {"9223372036854775808", "refused: ERROR: <input>:1:1: invalid int literal"},
      {"18446744073709551616u", "refused: ERROR: <input>:1:1: invalid uint literal"},
      {"1e999", "refused: ERROR: <input>:1:1: invalid double literal"},
      {"Foo{}", "refused: ERROR: <input>:1:4: undeclared reference to 'Foo' (in container '')"},
      {"self.",
       "refused: ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting IDENTIFIER"},
      {"self.in",
       "refused: ERROR: <input>:1:6: Syntax error: mismatched input 'in' expecting IDENTIFIER"},
  };
  ExpectAnswers(rows);
}

TEST(Compile, MarksThePlaceOfEachError) {
  const auto program = Compile("aa == 1 &&\n\tbb.c", Environment{});
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().message,
            "ERROR: <input>:1:1: undeclared reference to 'aa' (in container '')\n"
            " | aa == 1 &&\n"
            " | ^\n"
            "ERROR: <input>:2:2: undeclared reference to 'bb' (in container '')\n"
            " |  bb.c\n"
            " | .^");
}

TEST(Program, NamesTheVariablesThatItReads) {
  const Environment environment{.variables = {"self", "oldSelf", "params"}};
  const auto program = Compile("[1].all(self, self > 0) && oldSelf.a == params", environment);
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(program->variables(), (std::vector<std::string>{"oldSelf", "params"}));
  EXPECT_TRUE(program->Reads("params"));
  EXPECT_FALSE(program->Reads("self"));
  const auto answer = program->Evaluate(Activation());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, "no such attribute(s): oldSelf");
}

TEST(Value, ViewsJsonAndCopiesItWithinABound) {
  const Json json = Variables();
  const Environment environment{.variables = {"self"}};
  const auto program = Compile("self.items", environment);
  ASSERT_TRUE(program.has_value());
  const auto answer = program->Evaluate(Activation().Set("self", Value::View(json["self"])));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->AsList().viewed(), &json["self"]["items"]);
  EXPECT_EQ(*ToJson(*answer), json["self"]["items"]);
  EXPECT_EQ(ToJson(*answer, 3).error().message, "the value has too many parts for a copy as JSON");
}

}  // namespace
}  // namespace berth::cel
