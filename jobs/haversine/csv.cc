#include "base/strings.h"
#include "jobs/haversine/csv_line.h"
#include "jobs/haversine/range_reader.h"
#include "jobs/haversine/read_ahead.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {
namespace {

constexpr std::size_t kLongestLineBytes = std::size_t{1} << 20;

class CsvSource : public Source {
 public:
  CsvSource(std::unique_ptr<RangeReader> reader, const ReadOptions& options)
      : name_(reader->name()), input_(std::move(reader), options.parallel, options.piece_bytes) {}

  Status ReadHeader() {
    Batch batch;
    BERTH_TRY(const bool found, NextLines(batch));
    const std::string lines = found ? batch.carried + batch.text : std::string();
    const std::size_t end = lines.find('\n');
    auto layout = CsvLayout::FromHeader(TrimSpace(std::string_view(lines).substr(0, end)));
    if (!layout) return Annotate(layout.error(), name_);
    layout_ = *std::move(layout);
    if (end != std::string::npos) first_ = lines.substr(end + 1);
    return OkStatus();
  }

  Result<bool> Take(Batch& batch) override {
    if (first_.empty()) return NextLines(batch);
    batch.carried.clear();
    batch.text = std::move(first_);
    first_.clear();
    return true;
  }

  Status Decode(Batch& batch) const override {
    std::string_view rest = batch.text;
    batch.trips.Resize(0);
    if (!batch.carried.empty()) {
      batch.carried += TakeLine(rest);
      DecodeLine(batch.carried, batch);
    }
    while (!rest.empty()) DecodeLine(TakeLine(rest), batch);
    const RowCounts malformed = batch.counts;
    batch.counts = {};
    DropBadTrips(batch.trips, batch.counts);
    batch.counts.Add(malformed);
    return OkStatus();
  }

  std::string description() const override { return name_; }
  std::uint64_t batch_count() const override { return input_.piece_count(); }
  std::uint64_t header_lines() const override { return 1; }

 private:
  static std::string_view TakeLine(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return line;
  }

  void DecodeLine(std::string_view line, Batch& batch) const {
    ++batch.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return;  // editors often leave one at the end
    const auto trip = layout_.Parse(line);
    if (trip) {
      for (std::size_t column = 0; column < trip->size(); ++column) {
        batch.trips.values[column].push_back((*trip)[column]);
      }
      return;
    }
    ++batch.counts.read;
    ++batch.counts.malformed;
    if (batch.first_bad.line == 0) batch.first_bad = {batch.lines, trip.error().message};
  }

  // Fills `batch` with the next lines, up to a line's end near the end of a piece, and keeps the
  // rest for the next call. One thread at a time runs it: it copies no more than a line.
  Result<bool> NextLines(Batch& batch) {
    batch.carried = std::move(carried_);
    carried_.clear();
    while (true) {
      BERTH_TRY(auto piece, input_.Next(std::move(batch.text)));
      batch.text.clear();
      if (!piece) return !batch.carried.empty();  // the last line, without a line end
      const std::size_t end = piece->rfind('\n');
      if (end != std::string::npos) {
        carried_ = piece->substr(end + 1);
        piece->resize(end + 1);
        batch.text = *std::move(piece);
        return true;
      }
      batch.carried += *piece;
      if (batch.carried.size() > kLongestLineBytes) {
        return Error{ErrorCode::kInvalid,
                     name_ + ": a line of more than 1 MiB: this is no CSV file"};
      }
    }
  }

  std::string name_;
  CsvLayout layout_;
  std::string first_;    // bytes behind the header in the first piece
  std::string carried_;  // start of a line that the next piece completes
  ReadAhead input_;
};

}  // namespace

Result<std::unique_ptr<Source>> OpenCsv(std::unique_ptr<RangeReader> reader,
                                        const ReadOptions& options) {
  auto source = std::make_unique<CsvSource>(std::move(reader), options);
  BERTH_CHECK_OK(source->ReadHeader());
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace berth::haversine
