#include "api/codec/node_meters.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

constexpr JsonLimits kMeterLimits{.max_depth = 8, .max_values = 100'000};

void ReadMeter(const Reader& in, NodeMeter& meter) {
  in.Field("node").Get(meter.node);
  in.Field("workload").Get(meter.workload);
  in.Field("charge").Get(meter.charge);
  in.Field("class").Get(meter.provisioning_class);
  in.Field("from").Get(meter.from);
  in.Field("until").Get(meter.until);
  in.Field("nanoUSDPerHour").Get(meter.hourly_nano);
  in.Field("open").Get(meter.open);
  if (meter.hourly_nano) meter.hourly_nano = std::max<std::int64_t>(*meter.hourly_nano, 0);
  meter.until = std::max(meter.from, meter.until);
}

Json EncodeMeter(const NodeMeter& meter) {
  Json out = {{"node", meter.node},
              {"workload", meter.workload},
              {"from", FormatTime(meter.from)},
              {"until", FormatTime(meter.until)}};
  if (!meter.charge.empty()) out["charge"] = meter.charge;
  if (!meter.provisioning_class.empty()) out["class"] = meter.provisioning_class;
  if (meter.hourly_nano) out["nanoUSDPerHour"] = *meter.hourly_nano;
  if (meter.open) out["open"] = true;
  return out;
}

}  // namespace

std::string EncodeMeters(const QueueMeters& meters) {
  Json by_id = Json::object();
  for (const auto& [id, meter] : meters.meters) by_id[id] = EncodeMeter(meter);
  Json out{{"meters", std::move(by_id)}};
  if (meters.folded_seconds != 0) out["foldedSeconds"] = meters.folded_seconds;
  if (meters.folded_nano != 0) out["foldedNanoUSD"] = meters.folded_nano;
  return FormatJson(out);
}

Result<QueueMeters> DecodeMeters(std::string_view text) {
  BERTH_TRY(const Json tree, ParseJson(text, kMeterLimits));
  return ReadAs<QueueMeters>(tree, [](const Reader& in, QueueMeters& out) {
    in.Field("meters").EachMember("object", [&out](const std::string& id, const Reader& item) {
      ReadMeter(item, out.meters[id]);
    });
    in.Field("foldedSeconds").Get(out.folded_seconds);
    in.Field("foldedNanoUSD").Get(out.folded_nano);
    out.folded_seconds = std::max<std::int64_t>(out.folded_seconds, 0);
    out.folded_nano = std::max<std::int64_t>(out.folded_nano, 0);
  });
}

}  // namespace berth::api
