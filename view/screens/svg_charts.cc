#include "view/screens/svg_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/rfc3339.h"

namespace berth::view {
namespace {

using std::chrono::duration;

// Pixels of the drawing, which the page scales to its width.
constexpr double kWidth = 760;
constexpr double kHeight = 220;
constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 10;
constexpr double kBottom = 26;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr double kNameWidth = 150;  // the width of the names of BarsChart's rows
constexpr double kLaneHeight = 9;
constexpr double kRowGap = 5;

std::string Number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double AxisSeconds(Duration span) { return std::max(duration<double>(span).count(), 1e-6); }

std::string TimeText(double span) {
  return span < 0.5 ? "0s" : HumanDuration(std::chrono::seconds(std::llround(span)));
}

// In the greatest unit of which the span is a whole number.
std::string AxisLabel(double span) {
  const auto whole = std::llround(span);
  if (whole == 0) return "0";
  for (const auto& [unit, name] : {std::pair(86400, "d"), {3600, "h"}, {60, "m"}}) {
    if (whole % unit == 0) return std::to_string(whole / unit) + name;
  }
  return std::to_string(whole) + "s";
}

// 1, 2 or 5 times a power of ten, so that at most five steps reach `most`.
double NiceStep(double most) {
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * 5 >= most) return factor * power;
  }
  return 10 * power;
}

// Seconds between the marks of a time axis, so that there are at most nine.
double TimeStep(double end) {
  constexpr std::array<double, 18> kSteps{1,     5,     15,     30,     60,      300,
                                          900,   1800,  3600,   7200,   10800,   21600,
                                          43200, 86400, 172800, 604800, 1209600, 2592000};
  for (const double step : kSteps) {
    if (end / step <= 9) return step;
  }
  return std::ceil(end / 9 / kSteps.back()) * kSteps.back();
}

// An SVG element of `height` pixels.
class Svg {
 public:
  Svg(const std::string& title, double height)
      : text_(fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                          Number(height), HtmlText(title))) {}

  void Line(const char* style, double x1, double y1, double x2, double y2) {
    text_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", style,
                         Number(x1), Number(y1), Number(x2), Number(y2));
  }
  void Text(const char* anchor, double x, double y, const std::string& text) {
    text_ += fmt::format("<text text-anchor=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", anchor,
                         Number(x), Number(y), HtmlText(text));
  }
  void Box(const std::string& style, double x, double y, double width, double height,
           const std::string& tooltip) {
    text_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", style,
                         Number(x), Number(y), Number(width), Number(height));
    text_ += tooltip.empty() ? "/>\n" : "><title>" + HtmlText(tooltip) + "</title></rect>\n";
  }
  void Path(const std::string& style, const std::string& path) {
    text_ += "<path class=\"" + style + "\" d=\"" + path + "\"/>\n";
  }
  std::string Take() { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

// A drawing with a time axis below: `left` is where the time begins, `height` that of the plot.
class Drawing : public Svg {
 public:
  Drawing(const std::string& title, Duration end, double left, double height)
      : Svg(title, kTop + height + kBottom), end_(AxisSeconds(end)), left_(left), height_(height) {
    const double step = TimeStep(end_);
    for (int i = 0; step * i <= end_ * 1.0001; ++i) {
      const double x = X(step * i);
      Line("grid", x, kTop, x, kTop + height);
      Text("middle", x, kTop + height + 16, AxisLabel(step * i));
    }
  }

  double X(double second) const {
    return left_ + std::clamp(second / end_, 0.0, 1.0) * (kWidth - kRight - left_);
  }
  double X(Duration time) const { return X(duration<double>(time).count()); }

  void Values(double most) {
    const double step = NiceStep(most);
    for (int i = 0; step * i <= most * 1.0001 && i < 10; ++i) {
      const double y = Y(step * i, most);
      Line("grid", left_, y, kWidth - kRight, y);
      Text("end", left_ - 6, y + 4, Number(step * i));
    }
  }
  double Y(double value, double most) const {
    return kTop + height_ - (most <= 0 ? 0 : std::clamp(value / most, 0.0, 1.0) * height_);
  }

 private:
  double end_;  // seconds
  double left_;
  double height_;
};

// "M x y H x V y H …" along the steps.
std::string StepPath(const std::vector<double>& values, double most, const Drawing& drawing) {
  const double width = kPlotWidth / static_cast<double>(std::max<std::size_t>(values.size(), 1));
  std::string path;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = drawing.Y(values[i], most);
    path += i == 0 ? fmt::format("M{} {}", Number(kLeft), Number(y)) : "V" + Number(y);
    path += "H" + Number(kLeft + width * static_cast<double>(i + 1));
  }
  return path;
}

// The steps of `upper` forwards and those of `lower` back.
std::string AreaPath(const std::vector<double>& lower, const std::vector<double>& upper,
                     double most, const Drawing& drawing) {
  const double width = kPlotWidth / static_cast<double>(std::max<std::size_t>(upper.size(), 1));
  std::string path = StepPath(upper, most, drawing);
  for (std::size_t i = lower.size(); i-- > 0;) {
    path += "V" + Number(drawing.Y(lower[i], most));
    path += "H" + Number(kLeft + width * static_cast<double>(i));
  }
  return path + "Z";
}

// A column for each step, so that the pointer finds a value anywhere.
void AddTooltips(const TimeChart& chart, const std::vector<ChartSeries>& series, Drawing& drawing) {
  if (series.empty()) return;
  const std::size_t steps = series.front().values.size();
  const double width = kPlotWidth / static_cast<double>(std::max<std::size_t>(steps, 1));
  for (std::size_t i = 0; i < steps; ++i) {
    const double at = AxisSeconds(chart.end) * static_cast<double>(i) / static_cast<double>(steps);
    std::string text = "from " + TimeText(at);
    for (const ChartSeries& each : series) {
      text += "\n" + each.name + ": " + Number(each.values[i]) + " " + chart.unit;
    }
    drawing.Box("hit", kLeft + width * static_cast<double>(i), kTop, width, kPlotHeight, text);
  }
}

}  // namespace

double Greatest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::string HtmlText(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          result += "\xEF\xBF\xBD";
        else
          result += c;
    }
  }
  return result;
}

std::string TableHtml(const TextTable& table) {
  const auto attribute = [&table](std::size_t column) {
    return table.columns()[column].align == Align::kRight ? " class=\"right\"" : "";
  };
  std::string text = "<div class=\"wide\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    text += fmt::format("<th{}>{}</th>", attribute(i), HtmlText(table.columns()[i].title));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows()) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("<td{}>{}</td>", attribute(i), HtmlText(row[i]));
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string LineChart(const TimeChart& chart, const std::vector<ChartSeries>& series) {
  double most = chart.most;
  for (const ChartSeries& each : series) most = std::max(most, Greatest(each.values));
  Drawing drawing(chart.title, chart.end, kLeft, kPlotHeight);
  drawing.Values(most);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const ChartSeries& each = series[i];
    if (i == 0) {
      drawing.Path("area " + each.color,
                   AreaPath(std::vector<double>(each.values.size()), each.values, most, drawing));
    }
    drawing.Path("line " + each.color, StepPath(each.values, most, drawing));
  }
  AddTooltips(chart, series, drawing);
  return drawing.Take();
}

std::string StackedChart(const TimeChart& chart, const std::vector<ChartSeries>& series) {
  const std::size_t steps = series.empty() ? 0 : series.front().values.size();
  std::vector<double> sum(steps);
  for (const ChartSeries& each : series) {
    std::transform(sum.begin(), sum.end(), each.values.begin(), sum.begin(), std::plus<>());
  }
  const double most = std::max(chart.most, Greatest(sum));
  Drawing drawing(chart.title, chart.end, kLeft, kPlotHeight);
  drawing.Values(most);
  std::vector<double> lower(steps);
  for (const ChartSeries& each : series) {
    std::vector<double> upper = lower;
    std::transform(upper.begin(), upper.end(), each.values.begin(), upper.begin(), std::plus<>());
    drawing.Path("stack " + each.color, AreaPath(lower, upper, most, drawing));
    lower = std::move(upper);
  }
  AddTooltips(chart, series, drawing);
  return drawing.Take();
}

std::string WaitsChart(const std::string& title, const std::vector<double>& waits) {
  struct Bin {
    const char* name;
    double most;  // seconds, included
  };
  constexpr std::array<Bin, 9> kBins{{{"0s", 0},
                                      {"1s", 1},
                                      {"10s", 10},
                                      {"1m", 60},
                                      {"10m", 600},
                                      {"1h", 3600},
                                      {"6h", 21600},
                                      {"1d", 86400},
                                      {"more", HUGE_VAL}}};
  std::array<double, kBins.size()> counts{};
  for (const double wait : waits) {
    std::size_t bin = 0;
    while (wait > kBins[bin].most) ++bin;
    ++counts[bin];
  }
  const double most = *std::max_element(counts.begin(), counts.end());
  Svg svg(title, kHeight);
  const double width = kPlotWidth / static_cast<double>(kBins.size());
  for (std::size_t i = 0; i < kBins.size(); ++i) {
    const double height = most <= 0 ? 0 : counts[i] / most * (kPlotHeight - 14);
    const double x = kLeft + width * static_cast<double>(i);
    const double y = kTop + kPlotHeight - height;
    const std::string percent =
        waits.empty()
            ? "0"
            : Number(std::round(counts[i] * 1000 / static_cast<double>(waits.size())) / 10);
    svg.Box("stack c0", x + 3, y, width - 6, height,
            Number(counts[i]) + " jobs (" + percent + " %)");
    svg.Text("middle", x + width / 2, y - 4, Number(counts[i]));
    const bool is_bound = i > 0 && i + 1 < kBins.size();
    svg.Text("middle", x + width / 2, kTop + kPlotHeight + 16,
             (is_bound ? "\xE2\x89\xA4 " : "") + std::string(kBins[i].name));
  }
  return svg.Take();
}

std::string BarsChart(const std::string& title, Duration end, const std::vector<BarRow>& rows) {
  const double height =
      std::accumulate(rows.begin(), rows.end(), 0.0, [](double sum, const BarRow& row) {
        return sum + static_cast<double>(std::max<std::size_t>(row.lanes, 1)) * kLaneHeight +
               kRowGap;
      });
  Drawing drawing(title, end, kNameWidth, height);
  double y = kTop;
  for (const BarRow& row : rows) {
    const double row_height =
        static_cast<double>(std::max<std::size_t>(row.lanes, 1)) * kLaneHeight;
    drawing.Text("end", kNameWidth - 6, y + row_height / 2 + 4, row.name);
    const bool always = row.there_from == row.there_to;
    const double from = always ? drawing.X(Duration(0)) : drawing.X(row.there_from);
    const double to = always ? drawing.X(end) : drawing.X(row.there_to);
    drawing.Box("there", from, y, to - from, row_height, "");
    if (row.ready > row.there_from) {
      drawing.Box("boot", from, y, drawing.X(row.ready) - from, row_height, "boots");
    }
    for (const BarMark& bar : row.bars) {
      const double x = drawing.X(bar.start);
      drawing.Box((bar.cut ? "bar cut " : "bar ") + bar.color, x,
                  y + static_cast<double>(bar.lane) * kLaneHeight + 1,
                  std::max(drawing.X(bar.end) - x, 0.5), kLaneHeight - 2, bar.tooltip);
    }
    y += row_height + kRowGap;
  }
  return drawing.Take();
}

std::string Legend(const std::vector<ChartSeries>& series) {
  std::string text = "<p class=\"legend\">";
  for (const ChartSeries& each : series) {
    text += "<span class=\"key " + each.color + "\"></span>" + HtmlText(each.name) + " ";
  }
  return text + "</p>\n";
}

}  // namespace berth::view
