#include "admission/flavors/device_pool.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cel/containers.h"
#include "cel/value_text.h"

namespace berth::admission {
namespace {

using cel::Value;

// The value that one of CEL's own functions makes of a text.
Value MadeOf(const Result<cel::Program>& function, const std::string& text) {
  if (!function) return Value::Failure(function.error().message);
  cel::Activation activation;
  activation.Set("text", Value::String(text));
  Result<Value> value = function->Evaluate(activation);
  return value ? *value : Value::Failure(value.error().message);
}

Result<cel::Program> FunctionOfText(const char* expression) {
  return cel::Compile(expression, {.variables = {"text"}, .objects = {}, .limits = {}});
}

Value VersionOf(const std::string& text) {
  static const Result<cel::Program> kFunction = FunctionOfText("semver(text)");
  return MadeOf(kFunction, text);
}

Value QuantityOf(const std::string& text) {
  static const Result<cel::Program> kFunction = FunctionOfText("quantity(text)");
  return MadeOf(kFunction, text);
}

Value ValueOf(const api::DeviceAttribute& attribute) {
  struct Visitor {
    Value operator()(bool flag) const { return Value(flag); }
    Value operator()(std::int64_t number) const { return Value::Int(number); }
    Value operator()(const std::string& text) const { return Value::String(text); }
    Value operator()(const api::DeviceVersion& version) const { return VersionOf(version.text); }
  };
  return std::visit(Visitor(), attribute);
}

// Qualified names as a map of domains; names without domain are the driver's.
class Domains {
 public:
  explicit Domains(std::string driver) : driver_(std::move(driver)) {}

  void Add(const std::string& name, Value value) {
    const std::size_t slash = name.find('/');
    const bool qualified = slash != std::string::npos;
    entries_[qualified ? name.substr(0, slash) : driver_].emplace_back(
        Value::String(qualified ? name.substr(slash + 1) : name), std::move(value));
  }
  Value ToValue() {
    cel::Entries domains;
    for (auto& [domain, entries] : entries_) {
      domains.emplace_back(Value::String(domain), Value::Map(std::move(entries)));
    }
    return Value::Map(std::move(domains));
  }

 private:
  std::string driver_;
  std::map<std::string, cel::Entries> entries_;
};

Value ValueOf(const api::Device& device, const std::string& driver) {
  Domains attributes(driver);
  for (const auto& [name, attribute] : device.attributes) attributes.Add(name, ValueOf(attribute));
  Domains capacity(driver);
  for (const auto& [name, amount] : device.capacity) {
    capacity.Add(name, QuantityOf(amount));
  }
  cel::Entries entries;
  entries.emplace_back(Value::String("driver"), Value::String(driver));
  entries.emplace_back(Value::String("attributes"), attributes.ToValue());
  entries.emplace_back(Value::String("capacity"), capacity.ToValue());
  return Value::Map(std::move(entries));
}

// The texts in attributes["…"] and capacity["…"].
void AddDomains(std::string_view text, std::set<std::string>& domains) {
  for (const std::string_view opening : {"attributes[", "capacity["}) {
    for (std::size_t at = text.find(opening); at != std::string_view::npos;
         at = text.find(opening, at + 1)) {
      const std::size_t begin = at + opening.size();
      if (begin >= text.size() || (text[begin] != '"' && text[begin] != '\'')) continue;
      const std::size_t end = text.find(text[begin], begin + 1);
      if (end != std::string_view::npos) {
        domains.emplace(text.substr(begin + 1, end - begin - 1));
      }
    }
  }
}

// The map of domains with those of `named` that it lacks.
Value WithDomains(const Value& map, const std::set<std::string>& named) {
  cel::Entries entries = map.AsMap().ListEntries();
  const std::size_t before = entries.size();
  for (const std::string& domain : named) {
    if (!map.AsMap().Find(domain)) entries.emplace_back(Value::String(domain), Value::Map({}));
  }
  return entries.size() == before ? map : Value::Map(std::move(entries));
}

Value WithDomains(const Value& device, const std::vector<const DeviceSelectors*>& selectors) {
  std::set<std::string> named;
  for (const DeviceSelectors* each : selectors) {
    named.insert(each->domains().begin(), each->domains().end());
  }
  if (named.empty()) return device;
  cel::Entries entries = device.AsMap().ListEntries();
  for (auto& [key, value] : entries) {
    if (key.AsText() != "driver") value = WithDomains(value, named);
  }
  return Value::Map(std::move(entries));
}

Result<bool> Fits(const Value& value, const std::vector<const DeviceSelectors*>& selectors,
                  std::uint64_t& budget) {
  const Value device = WithDomains(value, selectors);
  for (const DeviceSelectors* each : selectors) {
    BERTH_TRY(const bool fits, each->Match(device, budget));
    if (!fits) return false;
  }
  return true;
}

}  // namespace

Result<DeviceSelectors> DeviceSelectors::Compile(const std::vector<std::string>& expressions) {
  DeviceSelectors made;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    auto program =
        cel::Compile(expressions[i], {.variables = {"device"}, .objects = {}, .limits = {}});
    if (!program) {
      return Error{
          ErrorCode::kInvalid,
          "[" + std::to_string(i) + "].cel.expression: Invalid value: \"" + expressions[i] +
              "\": CEL compilation failed: compilation failed: " + program.error().message};
    }
    made.programs_.push_back(*std::move(program));
    AddDomains(expressions[i], made.domains_);
  }
  return made;
}

Result<bool> DeviceSelectors::Match(const Value& device, std::uint64_t& budget) const {
  cel::Activation activation;
  activation.Set("device", device);
  for (const cel::Program& program : programs_) {
    BERTH_TRY(const Value value, program.Evaluate(activation, budget));
    if (!value.is(cel::Kind::kBool)) {
      return Error{ErrorCode::kInvalid, "CEL expression must evaluate to a bool, not to " +
                                            std::string(cel::TypeName(value))};
    }
    if (!cel::IsTrue(value)) return false;
  }
  return true;
}

void DevicePool::Set(const api::ResourceSlice& slice) {
  Slice& kept = slices_[slice.meta.name];
  kept.object = slice;
  kept.values.clear();
  for (const api::Device& device : slice.devices) {
    kept.values.push_back(ValueOf(device, slice.driver));
  }
  ++version_;
}

void DevicePool::RemoveSlice(const std::string& name) {
  if (slices_.erase(name) > 0) ++version_;
}

void DevicePool::Set(const api::DeviceClass& device_class) {
  RemoveClass(device_class.meta.name);
  classes_[device_class.meta.name] = device_class;
  if (!device_class.extended_resource.empty()) {
    by_resource_[device_class.extended_resource].insert(device_class.meta.name);
  }
  ++version_;
}

void DevicePool::RemoveClass(const std::string& name) {
  const auto known = classes_.find(name);
  if (known == classes_.end()) return;
  if (const auto served = by_resource_.find(known->second.extended_resource);
      served != by_resource_.end()) {
    served->second.erase(name);
    if (served->second.empty()) by_resource_.erase(served);
  }
  classes_.erase(known);
  ++version_;
}

const api::DeviceClass* DevicePool::ClassNamed(const std::string& name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? nullptr : &found->second;
}

const api::DeviceClass* DevicePool::ClassOf(const std::string& extended_resource) const {
  const auto names = by_resource_.find(extended_resource);
  if (names == by_resource_.end()) return nullptr;
  const api::DeviceClass* chosen = nullptr;
  for (const std::string& name : names->second) {  // by name
    const api::DeviceClass& each = classes_.at(name);
    if (chosen == nullptr || chosen->meta.creation_timestamp < each.meta.creation_timestamp) {
      chosen = &each;
    }
  }
  return chosen;
}

bool DevicePool::IsComplete(const api::ResourceSlice& slice) const {
  if (pools_version_ != version_) {
    pools_version_ = version_;
    pools_.clear();
    for (const auto& [name, kept] : slices_) {
      PoolState& pool = pools_[{kept.object.driver, kept.object.pool}];
      if (pool.slices == 0 || kept.object.pool_generation > pool.generation) {
        pool = {kept.object.pool_generation, 1};
      } else if (kept.object.pool_generation == pool.generation) {
        ++pool.slices;
      }
    }
  }
  const PoolState& pool = pools_.at({slice.driver, slice.pool});
  return slice.pool_generation == pool.generation && pool.slices == slice.pool_slices;
}

Result<std::vector<DevicePool::Found>> DevicePool::Find(const Question& question,
                                                        const std::set<Place>& except,
                                                        std::uint64_t& budget) const {
  std::vector<Found> found;
  Place next = 0;
  for (const auto& [name, slice] : slices_) {
    const Place first = next;
    next += slice.values.size();
    const auto& drivers = question.drivers;
    if (!drivers.empty() && !drivers.contains(slice.object.driver)) continue;
    if (question.complete_pools && !IsComplete(slice.object)) continue;
    for (std::size_t i = 0; i < slice.values.size(); ++i) {
      if (question.most && static_cast<std::int64_t>(found.size()) >= *question.most) return found;
      if (except.contains(first + i)) continue;
      BERTH_TRY(const bool fits, Fits(slice.values[i], question.selectors, budget));
      if (fits) found.push_back({first + i, &slice.object.devices[i]});
    }
  }
  return found;
}

}  // namespace berth::admission
