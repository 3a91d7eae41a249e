// view/screens/svg_charts.h — charts of series over time as SVG elements of an HTML page,
// and its texts and tables.
//
// Pure: data in, text out. The charts have no script; a mark's <title> is its tooltip. Colors come
// from the classes c0 … c7 and others of the page's style sheet (view/screens/simulation_page.cc).
// Units: times in microseconds from the beginning of the axis. Values that are not finite are an
// error of the caller.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "view/screens/text.h"

namespace berth::view {

// Returns the text with entities for the characters that HTML and XML reserve, and with U+FFFD for
// control characters, which XML does not allow.
std::string HtmlText(std::string_view text);
// The table in a box of class "wide"; cells of class "right" are numbers.
std::string TableHtml(const TextTable& table);

// The greatest of the values; 0 if there are none.
double Greatest(const std::vector<double>& values);

struct ChartSeries {
  std::string name;
  std::vector<double> values;  // values at equal steps over the time of the axis
  std::string color;           // a class: "c0" … "c7", "others"
};

struct TimeChart {
  std::string title;  // for readers of the page without pictures
  std::string unit;   // the unit of the values, for tooltips: "GPUs"
  Duration end{};     // the end of the axis, which begins at 0
  double most = 0;    // the axis reaches this value, or the greatest of the series
};

// The first series is a filled area, the others are lines.
std::string LineChart(const TimeChart& chart, const std::vector<ChartSeries>& series);
// Areas upon one another, the first at the bottom.
std::string StackedChart(const TimeChart& chart, const std::vector<ChartSeries>& series);

// How many values there are of each length: 0, up to 1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 d, more.
// `waits` in seconds.
std::string WaitsChart(const std::string& title, const std::vector<double>& waits);

struct BarMark {
  Duration start{};
  Duration end{};
  std::size_t lane = 0;
  std::string color;
  bool cut = false;  // whether a preemption ended the bar
  std::string tooltip;
};

struct BarRow {
  std::string name;
  std::size_t lanes = 1;
  Duration there_from{};  // the time in which the row exists; equal values: the whole axis
  Duration there_to{};
  Duration ready{};  // from `there_from` to `ready` a node boots
  std::vector<BarMark> bars;
};

std::string BarsChart(const std::string& title, Duration end, const std::vector<BarRow>& rows);

// Returns a <span> with its color for each name.
std::string Legend(const std::vector<ChartSeries>& series);

}  // namespace berth::view
