#include <algorithm>
#include <array>

#include "cel/internal/functions.h"

namespace berth::cel {
namespace {

std::array<std::span<const FunctionEntry>, 16> AllFunctions() {
  return {OperatorFunctions(), CoreFunctions(),   TimeFunctions(),   OptionalFunctions(),
          StringFunctions(),   ListFunctions(),   MathFunctions(),   QuantityFunctions(),
          RegexFunctions(),    SetFunctions(),    FormatFunctions(), NetFunctions(),
          UrlFunctions(),      SemverFunctions(), NameFunctions(),   AuthorizerFunctions()};
}

}  // namespace

const FunctionEntry* FindFunction(std::string_view name, Style style, std::size_t arguments,
                                  bool& known) {
  const int count = static_cast<int>(std::min<std::size_t>(arguments, kManyArguments + 1));
  for (const std::span<const FunctionEntry> library : AllFunctions()) {
    for (const FunctionEntry& entry : library) {
      if (entry.name != name) continue;
      known = true;
      const bool fits = count >= entry.min_arguments && count <= entry.max_arguments;
      if (entry.style == style && fits) return &entry;
    }
  }
  return nullptr;
}

const Value* FindType(std::string_view name) {
  static const std::array<Value, 19> kTypes{Value::Type("int"),
                                            Value::Type("uint"),
                                            Value::Type("double"),
                                            Value::Type("bool"),
                                            Value::Type("string"),
                                            Value::Type("bytes"),
                                            Value::Type("list"),
                                            Value::Type("map"),
                                            Value::Type("null_type"),
                                            Value::Type("type"),
                                            Value::Type("google.protobuf.Duration"),
                                            Value::Type("google.protobuf.Timestamp"),
                                            Value::Type("optional_type"),
                                            Value::Type("kubernetes.Quantity"),
                                            Value::Type("kubernetes.URL"),
                                            Value::Type("kubernetes.Semver"),
                                            Value::Type("kubernetes.NamedFormat"),
                                            Value::Type("net.IP"),
                                            Value::Type("net.CIDR")};
  for (const Value& type : kTypes) {
    if (type.AsText() == name) return &type;
  }
  return nullptr;
}

}  // namespace berth::cel
