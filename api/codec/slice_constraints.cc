#include "api/codec/slice_constraints.h"

#include "api/codec/json_tree.h"
#include "api/codec/reader.h"

namespace berth::api {

using SliceConstraints = std::vector<TopologyRequest::SliceConstraint>;

Result<SliceConstraints> ParseSliceConstraints(const std::string& text) {
  BERTH_TRY(nlohmann::json layers, ParseJson(text));
  if (!layers.is_array()) return Error{ErrorCode::kInvalid, "it is no list"};
  nlohmann::json document = nlohmann::json::object();
  document["layers"] = std::move(layers);
  return ReadAs<SliceConstraints>(document, [](const Reader& in, SliceConstraints& out) {
    in.Field("layers").List(out, [](const Reader& item, TopologyRequest::SliceConstraint& layer) {
      item.Field("topology").Get(layer.topology);
      item.Field("size").Get(layer.size);
    });
  });
}

}  // namespace berth::api
