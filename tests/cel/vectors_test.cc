// Goal: expressions have the values and the errors that Kubernetes' evaluator gives them. Method:
// testdata/cel.jsonl, written by tools/vectors with cel-go and the environment of k8s.io/apiserver.
// What only the type checker refuses, the vectors evaluate without types ("unchecked").
#include <algorithm>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "cel/containers.h"
#include "cel/internal/numbers.h"
#include "cel/value_text.h"
#include "tests/cel/support.h"

namespace berth::cel {
namespace {

std::string Quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const std::string_view plain = "\a\b\f\n\r\t\v\\\"";
    const std::size_t at = plain.find(c);
    if (at == std::string_view::npos) {
      result += c;
    } else {
      result += '\\';
      result += std::string_view("abfnrtv\\\"")[at];
    }
  }
  return result + "\"";
}

std::string Describe(const Value& value);

std::string DescribeEntries(const Value& map) {
  std::vector<std::string> parts;
  map.AsMap().ForEach([&](const Value& key, const Value& entry) {
    parts.push_back(Describe(key) + ": " + Describe(entry));
    return true;
  });
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return "{" + text + "}";
}

// The text that tools/vectors writes for a value.
std::string Describe(const Value& value) {
  switch (value.kind()) {
    case Kind::kUint: return std::to_string(value.AsUint()) + "u";
    case Kind::kDouble: return "double(" + FormatDouble(value.AsDouble()) + ")";
    case Kind::kString: return Quoted(value.AsText());
    case Kind::kBytes: {
      std::string text;
      for (const char c : value.AsText()) {
        const auto byte = static_cast<unsigned char>(c);
        text += "0123456789abcdef"[byte >> 4U];
        text += "0123456789abcdef"[byte & 15U];
      }
      return "bytes(" + text + ")";
    }
    case Kind::kDuration:
    case Kind::kTimestamp: return std::string(TypeName(value)) + "(" + ToText(value) + ")";
    case Kind::kType: return "type(" + ToText(value) + ")";
    case Kind::kOptional:
      if (value.AsOptional() == nullptr) return "optional.none()";
      return "optional(" + Describe(*value.AsOptional()) + ")";
    case Kind::kList: {
      std::string text;
      value.AsList().ForEach([&](const Value& element) {
        text += (text.empty() ? "" : ", ") + Describe(element);
        return true;
      });
      return "[" + text + "]";
    }
    case Kind::kMap: return DescribeEntries(value);
    case Kind::kObject:
      if (TypeName(value) == "kubernetes.Quantity") return "quantity(" + ToText(value) + ")";
      if (TypeName(value) == "net.IP") return "ip(" + ToText(value) + ")";
      if (TypeName(value) == "net.CIDR") return "cidr(" + ToText(value) + ")";
      return std::string(TypeName(value));
    default: return ToText(value);
  }
}

std::vector<Json> ReadVectors() {
  std::ifstream file(BERTH_CEL_TESTDATA "/cel.jsonl");
  std::vector<Json> vectors;
  for (std::string line; std::getline(file, line);) vectors.push_back(Json::parse(line));
  return vectors;
}

// "value …", "failure …" or "refused …".
std::string Outcome(const std::string& expression, const Environment& environment,
                    const Activation& activation) {
  const auto program = Compile(expression, environment);
  if (!program) {
    return "refused " + program.error().message.substr(0, program.error().message.find('\n'));
  }
  const auto value = program->Evaluate(activation);
  return value ? "value " + Describe(*value) : "failure " + value.error().message;
}

// Where texts differ by intent. For a syntax error the place is compared, not the parser's list of
// tokens; a call with a wrong number of arguments has no types here; the type of a value without
// elements has CEL's name, not Go's.
std::string Normal(const std::string& outcome) {
  for (const char* words : {": Syntax error", ": found no matching overload",
                            ": unable to unescape", ": invalid unicode code point"}) {
    const std::size_t at = outcome.find(words);
    if (at != std::string::npos && outcome.starts_with("refused ")) return outcome.substr(0, at);
  }
  for (const char* words : {", expected iterable type", "error parsing regexp"}) {
    const std::size_t at = outcome.find(words);
    if (at != std::string::npos && !outcome.starts_with("value ")) return words;
  }
  return outcome;
}

std::string Wanted(const Json& vector) {
  for (const char* key : {"value", "failure", "refused"}) {
    if (vector.contains(key)) return std::string(key) + " " + vector[key].get<std::string>();
  }
  return "nothing";
}

// Differences that are meant, or defects of the other side.
struct KnownDifference {
  const char* wanted;   // a part of the other's outcome
  const char* outcome;  // the start of Berth's
  const char* reason;
};
constexpr KnownDifference kKnown[] = {
    {"internal error: interface conversion", "failure no such overload: distinct(",
     "a defect there"},
    {"value {", "failure unsupported key type: ", "CEL's definition allows four kinds of keys"},
    {"value {1: 1, 1u: 2}", "value {1u: 2}", "1 and 1u are equal keys"},
    {"failure no such overload", "failure no such overload: sort(", "words alone"},
    {"failure no such overload: map(dyn, dyn).flatten()", "failure no such overload: map.flatten()",
     "words alone"},
    {"failure no such overload: size(", "refused ERROR: <input>:1:", "refused when compiled"},
    {"math.greatest() invalid single argument value", "failure math.greatest(list) argument must",
     "there is no type checker"},
    {"value ", "failure no such overload", "a type is no string: dyn(int).matches('a')"},
};

bool IsKnown(const std::string& expression, const std::string& outcome, const std::string& wanted) {
  for (const KnownDifference& known : kKnown) {
    if (wanted.find(known.wanted) == std::string::npos || !outcome.starts_with(known.outcome))
      continue;
    if (std::string_view(known.wanted) == "value " && !expression.starts_with("dyn(int)."))
      continue;
    return true;
  }
  return false;
}

TEST(Vectors, AreEvaluatedAsByKubernetes) {
  const std::vector<Json> vectors = ReadVectors();
  ASSERT_GT(vectors.size(), 1000U);
  Environment environment;
  Activation activation;
  for (const auto& [name, value] : vectors[0]["variables"].items()) {
    environment.variables.push_back(name);
    activation.Set(name, Value::View(value));
  }
  int known = 0;
  for (std::size_t i = 1; i < vectors.size(); ++i) {
    const std::string expression = vectors[i]["expression"];
    const std::string outcome = Outcome(expression, environment, activation);
    const std::string wanted = Wanted(vectors[i]);
    if (IsKnown(expression, outcome, wanted)) {
      ++known;
      continue;
    }
    EXPECT_EQ(Normal(outcome), Normal(wanted)) << expression << ": " << outcome;
  }
  EXPECT_LT(known, 70);
}

}  // namespace
}  // namespace berth::cel
