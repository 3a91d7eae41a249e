// Topology assignments: in memory a list of domains; in the API slices that share common parts.

#include <algorithm>

#include "api/codec/codec.h"
#include "api/codec/parts.h"

namespace berth::api {
namespace {

constexpr std::int32_t kMaxDomains = 100'000;    // a slice's limit in the CRD
constexpr std::size_t kMaxAllDomains = 100'000;  // for an assignment; clusters have fewer nodes
constexpr std::size_t kMaxLevels = 16;           // the CRD's limits
constexpr std::size_t kMaxNameBytes = 63;

// A name is repeated for each domain.
void ReadName(const Reader& in, std::string& out) {
  in.Get(out);
  if (out.size() > kMaxNameBytes) in.Fail("may not be longer than 63 bytes");
}

// One value per domain of a slice: `universal` for all, or one each.
void ReadPodCounts(const Reader& in, std::size_t domain_count, std::vector<std::int32_t>& out) {
  const Reader universal = in.Field("universal");
  if (universal.present()) {
    std::int32_t count = 0;
    universal.Get(count);
    out.assign(domain_count, count);
    return;
  }
  in.Field("individual").List(out, [](const Reader& item, std::int32_t& count) {
    item.Get(count);
  });
  if (out.size() != domain_count) in.Fail("there is not one pod count for each domain");
}

void ReadLevelValues(const Reader& in, std::size_t domain_count, std::vector<std::string>& out) {
  const Reader universal = in.Field("universal");
  if (universal.present()) {
    std::string value;
    ReadName(universal, value);
    if (value.size() <= kMaxNameBytes) out.assign(domain_count, value);
    return;
  }
  const Reader individual = in.Field("individual");
  std::string prefix;
  std::string suffix;
  ReadName(individual.Field("prefix"), prefix);
  ReadName(individual.Field("suffix"), suffix);
  individual.Field("roots").List(out, [&](const Reader& item, std::string& value) {
    std::string root;
    ReadName(item, root);
    value = prefix.substr(0, kMaxNameBytes);
    value.append(root.substr(0, kMaxNameBytes)).append(suffix, 0, kMaxNameBytes);
    if (value.size() > kMaxNameBytes) item.Fail("with prefix and suffix, may have 63 bytes");
  });
  if (out.size() != domain_count) in.Fail("there is not one value for each domain");
}

void ReadSlice(const Reader& in, std::size_t level_count, TopologyAssignment& out) {
  std::int32_t domain_count = 0;
  in.Field("domainCount").Get(domain_count);
  if (domain_count < 1 || domain_count > kMaxDomains) {
    return in.Field("domainCount").Fail("must be between 1 and 100000");
  }
  const auto count = static_cast<std::size_t>(domain_count);
  if (out.domains.size() + count > kMaxAllDomains) {
    return in.Field("domainCount").Fail("the slices may have 100000 domains in all");
  }
  std::vector<std::int32_t> pod_counts;
  ReadPodCounts(in.Field("podCounts"), count, pod_counts);
  std::vector<std::vector<std::string>> levels;
  in.Field("valuesPerLevel")
      .List(levels, [&](const Reader& item, std::vector<std::string>& values) {
        ReadLevelValues(item, count, values);
      });
  if (levels.size() != level_count) {
    in.Field("valuesPerLevel").Fail("must have one entry for each level");
  }
  if (!in.present()) return;  // after an error
  for (std::size_t domain = 0; domain < count; ++domain) {
    TopologyAssignment::Domain& added = out.domains.emplace_back();
    added.count = pod_counts[domain];
    for (const auto& level : levels) added.values.push_back(level[domain]);
  }
}

std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(end - a.begin());
}

std::size_t CommonSuffix(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first;
  return static_cast<std::size_t>(end - a.rbegin());
}

// Removes the common suffix before the common prefix, as Kueue does: the two must not overlap in
// the shortest value.
Json EncodeLevel(const std::vector<TopologyAssignment::Domain>& domains, std::size_t level) {
  const std::string& first = domains.front().values[level];
  std::size_t prefix = first.size();
  std::size_t suffix = first.size();
  std::size_t shortest = first.size();
  bool same = true;
  for (const auto& domain : domains) {
    const std::string& value = domain.values[level];
    prefix = std::min(prefix, CommonPrefix(first, value));
    suffix = std::min(suffix, CommonSuffix(first, value));
    shortest = std::min(shortest, value.size());
    same = same && value == first;
  }
  if (same) return {{"universal", first}};
  prefix = std::min(prefix, shortest - suffix);
  Json roots = Json::array();
  for (const auto& domain : domains) {
    const std::string& value = domain.values[level];
    roots.push_back(value.substr(prefix, value.size() - prefix - suffix));
  }
  Json individual = {{"roots", std::move(roots)}};
  if (prefix > 0) individual["prefix"] = first.substr(0, prefix);
  if (suffix > 0) individual["suffix"] = first.substr(first.size() - suffix);
  return {{"individual", std::move(individual)}};
}

}  // namespace

void Read(const Reader& in, TopologyAssignment& out) {
  in.Field("levels").Get(out.levels);
  if (out.levels.size() > kMaxLevels) return in.Field("levels").Fail("may be at most 16");
  in.Field("slices").Each([&](const Reader& slice) { ReadSlice(slice, out.levels.size(), out); });
}

Json Encode(const TopologyAssignment& assignment) {
  Json json = {{"levels", assignment.levels}, {"slices", Json::array()}};
  if (assignment.domains.empty()) return json;
  const std::int32_t first_count = assignment.domains.front().count;
  const bool same_count = std::all_of(assignment.domains.begin(), assignment.domains.end(),
                                      [&](const auto& d) { return d.count == first_count; });
  Json pod_counts;
  if (same_count) {
    pod_counts["universal"] = first_count;
  } else {
    for (const auto& domain : assignment.domains) pod_counts["individual"].push_back(domain.count);
  }
  Json levels = Json::array();
  for (std::size_t level = 0; level < assignment.levels.size(); ++level) {
    levels.push_back(EncodeLevel(assignment.domains, level));
  }
  json["slices"].push_back({{"domainCount", assignment.domains.size()},
                            {"podCounts", std::move(pod_counts)},
                            {"valuesPerLevel", std::move(levels)}});
  return json;
}

}  // namespace berth::api
