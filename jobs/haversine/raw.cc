#include <bit>

#include "jobs/haversine/range_reader.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {
namespace {

static_assert(std::endian::native == std::endian::little, "raw columns are little-endian");

class RawSource : public Source {
 public:
  explicit RawSource(std::unique_ptr<RangeReader> reader)
      : reader_(std::move(reader)), rows_(reader_->size() / (4 * sizeof(double))) {}

  Result<bool> Take(Batch& batch) override { return rows_.Take(batch); }

  Status Decode(Batch& batch) const override {
    batch.trips.Resize(batch.row_count);
    for (std::size_t column = 0; column < kColumnNames.size(); ++column) {
      const std::uint64_t offset = (column * rows_.rows() + batch.first_row) * sizeof(double);
      auto* bytes = reinterpret_cast<char*>(batch.trips.values[column].data());
      BERTH_CHECK_OK(reader_->ReadAt(offset, {bytes, batch.row_count * sizeof(double)}));
    }
    DropBadTrips(batch.trips, batch.counts);
    return OkStatus();
  }

  std::string description() const override { return reader_->name(); }
  std::uint64_t batch_count() const override { return rows_.batch_count(); }

 private:
  std::unique_ptr<RangeReader> reader_;
  RowCounter rows_;
};

}  // namespace

Result<std::unique_ptr<Source>> OpenRaw(std::unique_ptr<RangeReader> reader) {
  if (reader->size() % (4 * sizeof(double)) != 0) {
    return Error{ErrorCode::kInvalid,
                 reader->name() + ": " + std::to_string(reader->size()) +
                     " bytes are not four float64 columns of one length (32 bytes a row)"};
  }
  return std::unique_ptr<Source>(std::make_unique<RawSource>(std::move(reader)));
}

}  // namespace berth::haversine
