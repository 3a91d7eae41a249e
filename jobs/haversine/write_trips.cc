#include "jobs/haversine/write_trips.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "jobs/haversine/output_file.h"

namespace berth::haversine {
namespace {

constexpr std::string_view kHeader =
    "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,"
    "pickup_longitude,pickup_latitude,RateCodeID,store_and_fwd_flag,dropoff_longitude,"
    "dropoff_latitude,payment_type,fare_amount,extra,mta_tax,tip_amount,tolls_amount,"
    "improvement_surcharge,total_amount\n";

// Six decimals without printf: a year of trips has half a billion numbers.
void AppendDegrees(double degrees, std::string& text) {
  std::int64_t millionths = std::llround(degrees * 1e6);
  if (millionths < 0) {
    text += '-';
    millionths = -millionths;
  }
  std::array<char, 24> digits{};
  std::size_t start = digits.size();
  for (int place = 0; place < 7 || millionths > 0; ++place) {
    if (place == 6) digits[--start] = '.';
    digits[--start] = static_cast<char>('0' + millionths % 10);
    millionths /= 10;
  }
  text.append(digits.data() + start, digits.size() - start);
}

void AppendRow(const Columns& trips, std::size_t row, std::string& text) {
  text += "2,2015-01-15 19:05:39,2015-01-15 19:23:42,1,1.59,";
  AppendDegrees(trips.values[0][row], text);
  text += ',';
  AppendDegrees(trips.values[1][row], text);
  text += ",1,N,";
  AppendDegrees(trips.values[2][row], text);
  text += ',';
  AppendDegrees(trips.values[3][row], text);
  text += ",1,12,1,0.5,3.25,0,0.3,17.05\n";
}

}  // namespace

Result<std::uint64_t> WriteCsv(Source& source, const std::string& path,
                               const std::function<void(const Progress&)>& on_progress) {
  BERTH_TRY(auto file, OutputFile::Create(path));
  BERTH_CHECK_OK(file.Append(kHeader));
  std::uint64_t rows = 0;
  std::uint64_t taken = 0;
  std::string text;
  Batch batch;
  while (true) {
    BERTH_TRY(const bool more, source.Take(batch));
    if (!more) break;
    BERTH_CHECK_OK(source.Decode(batch));
    text.clear();
    for (std::size_t row = 0; row < batch.trips.size(); ++row) AppendRow(batch.trips, row, text);
    BERTH_CHECK_OK(file.Append(text));
    rows += batch.trips.size();
    if (on_progress) on_progress({rows, source.Fraction(++taken)});
  }
  BERTH_CHECK_OK(file.Finish());
  return rows;
}

Result<std::uint64_t> WriteRaw(Source& source, std::uint64_t rows, const std::string& path,
                               const std::function<void(const Progress&)>& on_progress) {
  BERTH_TRY(auto file, OutputFile::Create(path));
  std::uint64_t written = 0;
  std::uint64_t taken = 0;
  Batch batch;
  while (true) {
    BERTH_TRY(const bool more, source.Take(batch));
    if (!more) break;
    BERTH_CHECK_OK(source.Decode(batch));
    for (std::size_t column = 0; column < kColumnNames.size(); ++column) {
      const auto& values = batch.trips.values[column];
      const std::uint64_t offset = (column * rows + written) * sizeof(double);
      BERTH_CHECK_OK(file.WriteAt(
          offset, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)}));
    }
    written += batch.trips.size();
    if (on_progress) on_progress({written, source.Fraction(++taken)});
  }
  BERTH_CHECK_OK(file.Finish());
  return written;
}

}  // namespace berth::haversine
