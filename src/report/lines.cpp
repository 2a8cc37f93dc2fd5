#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/style.h"
#include "report/text.h"

namespace darope::report {
namespace {

struct Frame {  // of the plot, and the margins around it
  static constexpr double width = 540, height = 300, left = 58, right = 14, top = 16, bottom = 44;
};

// Numbers on a side of the plot, and where they are drawn.
struct Ruler {
  double low, high, from, to;
  bool log = false;
  double at(double value) const {
    const auto f = [&](double x) { return log ? std::log2(x) : x; };
    return from + (to - from) * (f(value) - f(low)) / (f(high) - f(low));
  }
  std::vector<double> ticks() const {
    std::vector<double> out;
    if (log) {
      for (int i = 0; std::ldexp(low, i) <= high * 1.001; ++i) out.push_back(std::ldexp(low, i));
      return out;
    }
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    const auto first = int64_t(std::ceil(low / step)), last = int64_t(std::floor(high / step + 1e-6));
    for (int64_t i = first; i <= last; ++i) out.push_back(double(i) * step);
    return out;
  }
};

Ruler x_scale(const LinePlot& plot) {
  double low = INFINITY, high = -INFINITY;
  for (const Line& line : plot.lines)
    for (const Line::Point& p : line.points) low = std::min(low, p.x), high = std::max(high, p.x);
  if (low == high) high = low + 1;
  return {low, high, Frame::left, Frame::width - Frame::right, plot.log_x};
}

Ruler y_scale(const LinePlot& plot) {
  double low = INFINITY, high = -INFINITY;
  for (const Line& line : plot.lines)
    for (const Line::Point& p : line.points) low = std::min(low, p.low), high = std::max(high, p.high);
  high = std::min(high, plot.top.value_or(high));
  if (!(low < high)) high = low + 1;
  const double room = 0.05 * (high - low);
  return {low - room, high + room, Frame::height - Frame::bottom, Frame::top};
}

std::string axes(const LinePlot& plot, const Ruler& x, const Ruler& y) {
  std::string out;
  for (const double tick : y.ticks())
    out += fmt::format(
        "<line class='grid' x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}'/><text x='{}' y='{:.1f}' "
        "text-anchor='end'>{:g}</text>",
        Frame::left, Frame::width - Frame::right, y.at(tick), y.at(tick), Frame::left - 6, y.at(tick) + 4,
        std::abs(tick) < 1e-9 ? 0.0 : tick);
  for (const double tick : x.ticks())
    out += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:g}</text>", x.at(tick),
                       Frame::height - 26, tick);
  out += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>", (Frame::left + Frame::width) / 2,
                     Frame::height - 6, escape(plot.x_title));
  out += fmt::format("<text x='12' y='{0}' text-anchor='middle' transform='rotate(-90 12 {0})'>{1}</text>",
                     (Frame::height - Frame::bottom) / 2, escape(plot.y_title));
  if (plot.mark)
    out += fmt::format("<line class='mark' x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}'/>", x.at(*plot.mark),
                       Frame::top, Frame::height - Frame::bottom);
  return out;
}

std::string drawn(const Line& line, const LinePlot& plot, const Ruler& x, const Ruler& y) {
  const Style style = style_of(line.encoding);
  const auto clipped = [&](double value) { return y.at(std::min(value, plot.top.value_or(value))); };
  std::string path, marks;
  for (const Line::Point& p : line.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(p.x), clipped(p.y));
    if (p.low < p.high)
      marks += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}'/>", x.at(p.x),
                           clipped(p.low), clipped(p.high));
    if (plot.markers) marks += marker_svg(style, x.at(p.x), clipped(p.y));
  }
  return fmt::format(
      "<g data-e='{}' class='line' style='--c:var(--s{})'><title>{}</title><path d='{}'/>{}</g>", line.index,
      style.colour, escape(line.encoding), path, marks);
}

}  // namespace

std::string lines_svg(const LinePlot& plot) {
  const Ruler x = x_scale(plot), y = y_scale(plot);
  std::string out = fmt::format("<svg class='lines' viewBox='0 0 {} {}' role='img' aria-label='{}'>",
                                Frame::width, Frame::height, escape(plot.title));
  out += axes(plot, x, y);
  for (const Line& line : plot.lines) out += drawn(line, plot, x, y);
  return out + "</svg>";
}

}  // namespace darope::report
