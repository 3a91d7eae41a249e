#include "admission/topology/topology_request.h"

#include <algorithm>
#include <optional>

namespace berth::admission {
namespace {

std::optional<std::int32_t> LevelOf(const std::vector<std::string>& levels,
                                    const std::string& label) {
  const auto found = std::find(levels.begin(), levels.end(), label);
  if (found == levels.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - levels.begin());
}

// Null: the request names no level.
const std::string* LevelAskedFor(const std::vector<std::string>& levels,
                                 const api::TopologyRequest& request) {
  if (request.required) return &*request.required;
  if (request.preferred) return &*request.preferred;
  if (request.slice_required_topology || !request.slice_constraints.empty()) {
    return &levels.front();
  }
  return request.unconstrained ? &levels.back() : nullptr;
}

// Adds the sizes below the slice level; returns an error text, or "".
std::string AddInnerLayers(const std::vector<std::string>& levels, ResolvedRequest& resolved) {
  std::int32_t above = resolved.slice_level;
  std::int32_t size_above = resolved.slice_size;
  for (std::size_t i = 1; i < resolved.layers.size(); ++i) {
    const api::TopologyRequest::SliceConstraint& layer = resolved.layers[i];
    const std::optional<std::int32_t> level = LevelOf(levels, layer.topology);
    if (!level) {
      return "no requested topology level for additional slice layer: " + layer.topology;
    }
    if (*level <= above) {
      return "additional slice layer topology " + layer.topology +
             " must be at a lower level than " + levels[static_cast<std::size_t>(above)];
    }
    if (layer.size <= 0 || size_above % layer.size != 0) {
      return "additional slice layer size " + std::to_string(layer.size) +
             " must evenly divide parent layer size " + std::to_string(size_above);
    }
    resolved.inner_sizes.resize(levels.size(), 0);
    for (std::int32_t between = above + 1; between <= *level; ++between) {
      resolved.inner_sizes[static_cast<std::size_t>(between)] = layer.size;
    }
    above = *level;
    size_above = layer.size;
  }
  return "";
}

}  // namespace

std::vector<api::TopologyRequest::SliceConstraint> SliceLayers(
    const std::optional<api::TopologyRequest>& request) {
  if (!request) return {};
  if (!request->slice_constraints.empty()) return request->slice_constraints;
  if (!request->slice_required_topology) return {};
  return {{*request->slice_required_topology, request->slice_size.value_or(0)}};
}

bool HasLevels(const std::vector<std::string>& levels, const api::TopologyRequest& request) {
  const std::string* asked = LevelAskedFor(levels, request);
  if (asked == nullptr || !LevelOf(levels, *asked)) return false;
  const auto layers = SliceLayers(request);
  return std::all_of(layers.begin(), layers.end(), [&levels](const auto& layer) {
    return LevelOf(levels, layer.topology).has_value();
  });
}

std::variant<ResolvedRequest, std::string> Resolve(
    const std::vector<std::string>& levels, const std::optional<api::TopologyRequest>& request,
    bool implied) {
  ResolvedRequest resolved;
  const auto layers = SliceLayers(request);
  if (!layers.empty()) {
    resolved.slice_size = layers.front().size;
    if (resolved.slice_size <= 0) return "slice topology requested, but slice size not provided";
  }
  const std::string* asked = request ? LevelAskedFor(levels, *request) : nullptr;
  if (asked == nullptr && implied) asked = &levels.back();
  if (asked == nullptr) return "topology level not specified";
  resolved.required = request && request->required;
  resolved.unconstrained =
      implied || (request && (request->unconstrained ||
                              (!request->required && !request->preferred && !layers.empty())));
  const std::optional<std::int32_t> level = LevelOf(levels, *asked);
  if (!level) return "no requested topology level: " + *asked;
  const std::string& slice_topology = layers.empty() ? levels.back() : layers.front().topology;
  const std::optional<std::int32_t> slice_level = LevelOf(levels, slice_topology);
  if (!slice_level) return "no requested topology level for slices: " + slice_topology;
  if (*level > *slice_level) {
    return "podset slice topology " + slice_topology + " is above the podset topology " + *asked;
  }
  resolved.level = *level;
  resolved.slice_level = *slice_level;
  if (layers.size() > 1) {
    resolved.layers = layers;
    if (std::string wrong = AddInnerLayers(levels, resolved); !wrong.empty()) return wrong;
  }
  return resolved;
}

}  // namespace berth::admission
