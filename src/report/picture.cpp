#include "report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assets.h"
#include "report/style.h"
#include "report/text.h"

namespace darope::report {
namespace {

constexpr double kWidth = 560, kRow = 34, kTop = 10, kFoot = 40, kGroup = 12;

// Names as long as a third of the picture are cut; the tables have them whole.
constexpr size_t kLongestName = 24;
std::string short_name(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 1) + "…";
}

double label_width(const std::vector<Standing>& standings) {
  size_t longest = 0;
  for (const Standing& each : standings) longest = std::max(longest, short_name(each.encoding).size());
  return 34 + 7.4 * double(longest);
}

// What the scale spans. One far behind all others would press them into a point: it is drawn at the edge.
struct Scale {
  double low = 0, high = 1, left = 0, right = 1;

  double at(double value) const {
    return left + (right - left) * std::clamp((value - low) / (high - low), 0.0, 1.0);
  }
  bool holds(double value) const { return low <= value && value <= high; }
};

Scale scale_of(const std::vector<Standing>& standings, double left, double right) {
  constexpr double far = 4;  // times the distance that the next one has from the best
  std::vector<const Standing*> shown;
  for (const Standing& each : standings) shown.push_back(&each);
  const auto behind = [&](const Standing* each) { return std::abs(each->mean - standings.front().mean); };
  while (shown.size() > 2 && behind(shown.back()) > far * behind(shown[shown.size() - 2])) shown.pop_back();
  Scale scale{standings.front().mean, standings.front().mean, left, right};
  for (const Standing* each : shown) {
    scale.low = std::min(scale.low, each->mean - each->half_width);
    scale.high = std::max(scale.high, each->mean + each->half_width);
    for (const double run : each->runs) {
      scale.low = std::min(scale.low, run);
      scale.high = std::max(scale.high, run);
    }
  }
  const double room = std::max(0.04 * (scale.high - scale.low), 1e-6 * std::max(1.0, std::abs(scale.high)));
  scale.low -= room;
  scale.high += room;
  return scale;
}

std::string axis(const Scale& scale, const Metric& metric, double bottom) {
  const double units = metric.is_share() ? 100 : 1, span = units * (scale.high - scale.low);
  double step = std::pow(10, std::floor(std::log10(span / 4)));
  if (span / step > 12)
    step *= 5;
  else if (span / step > 6)
    step *= 2;
  const int digits = std::max(0, int(-std::floor(std::log10(step) + 1e-9)));
  std::string svg;
  const auto first = int64_t(std::ceil(units * scale.low / step));
  const auto last = int64_t(std::floor(units * scale.high / step));
  for (int64_t i = first; i <= last; ++i) {
    const double tick = double(i) * step, x = scale.at(tick / units);
    svg += fmt::format(
        "<path class='grid' d='M{0:.1f} {1}V{2:.1f}'/><text x='{0:.1f}' y='{3:.1f}'>{4:.{5}f}</text>", x,
        kTop, bottom, bottom + 15, tick, digits);
  }
  if (metric.is_share() && scale.holds(0))
    svg += fmt::format("<path class='floor' d='M{0:.1f} {1}V{2:.1f}'/>", scale.at(0), kTop, bottom);
  return svg + fmt::format("<text x='{:.1f}' y='{:.1f}'>{}</text>", (scale.left + scale.right) / 2,
                           bottom + 32,
                           metric.is_share() ? "0: best constant answer, 100: perfect"
                                             : escape(metric_name(metric)) + ", lower is better");
}

std::string row(const Standing& standing, const Scale& scale, double y, bool share) {
  std::string svg = fmt::format("<text class='name' x='20' y='{:.1f}'>{}</text>", y + 5,
                                escape(short_name(standing.encoding)));
  const Style style = style_of(standing.encoding);
  svg += marker_svg(style, 10, y);
  if (!scale.holds(standing.mean)) {  // an arrow towards where it is
    const double edge = standing.mean < scale.low ? scale.left : scale.right,
                 turn = standing.mean < scale.low ? 1 : -1;
    return svg +
           fmt::format(
               "<path class='far' style='--c:var(--s{})' d='M{:.1f} {:.1f}h{:.0f}m0-5l{:.0f} 5l{:.0f} 5'/>"
               "<text x='{:.1f}' y='{:.1f}'>{}</text>",
               style.colour, edge + turn * 30, y, -turn * 26, -turn * 4, turn * 4, edge + turn * 56, y + 5,
               score_text(standing.mean, share));
  }
  svg += fmt::format("<path class='interval' style='--c:var(--s{})' d='M{:.1f} {:.1f}H{:.1f}'/>",
                     style.colour, scale.at(standing.mean - standing.half_width), y,
                     scale.at(standing.mean + standing.half_width));
  for (const double run : standing.runs)
    svg += fmt::format("<circle class='run' style='--c:var(--s{})' cx='{:.1f}' cy='{:.1f}' r='2.6'/>",
                       style.colour, scale.at(run), y + 10);
  return svg + marker_svg(style, scale.at(standing.mean), y);
}

// A bar beside the rows of every group that is tied, with a knot at each member.
std::string bars(const Picture& picture, const std::vector<std::vector<size_t>>& groups, double x) {
  std::string svg;
  for (const std::vector<size_t>& group : groups) {
    std::vector<double> rows;
    for (size_t r = 0; r < picture.standings.size(); ++r)
      if (std::ranges::any_of(
              group, [&](size_t e) { return picture.judged.encodings[e] == picture.standings[r].encoding; }))
        rows.push_back(kTop + kRow * (double(r) + 0.5));
    svg += fmt::format("<path class='tie' d='M{:.1f} {:.1f}V{:.1f}'/>", x, rows.front(), rows.back());
    for (const double y : rows)
      svg += fmt::format("<circle class='knot' cx='{:.1f}' cy='{:.1f}' r='3.4'/>", x, y);
    x += kGroup;
  }
  return svg;
}

std::string drawn(const Picture& picture, const std::string& head) {
  const auto groups = picture.judged.tied_groups();
  const double rows = double(picture.standings.size()), bottom = kTop + kRow * rows;
  const double right = kWidth - 8 - kGroup * double(groups.size());
  const Scale scale = scale_of(picture.standings, label_width(picture.standings), right);
  std::string svg = fmt::format(
      "<svg class='scale' xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' role='img' "
      "aria-label='{}'>{}",
      kWidth, bottom + kFoot, escape(picture.title), head);
  svg += axis(scale, picture.metric, bottom);
  for (size_t r = 0; r < picture.standings.size(); ++r)
    svg += fmt::format(
        "<g data-e='{}'>{}</g>\n",
        std::ranges::find(picture.encodings, picture.standings[r].encoding) - picture.encodings.begin(),
        row(picture.standings[r], scale, kTop + kRow * (double(r) + 0.5), picture.metric.is_share()));
  return svg + bars(picture, groups, right + kGroup) + "</svg>";
}

}  // namespace

std::string picture_svg(const Picture& picture) { return drawn(picture, ""); }

std::string picture_file(const Picture& picture) {
  return drawn(picture, fmt::format("<style>{}{}</style>", plain_colours(), assets::picture_css));
}

}  // namespace darope::report
