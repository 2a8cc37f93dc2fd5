#pragma once
#include <string>

namespace darope::report {

// How an encoding is drawn, by its name and nothing else: the same in every report, chart and table. Colours
// are those of the page's style sheet (--s0 to --s7), told apart by colour-blind eyes; markers are below.
struct Style {
  size_t colour = 0, marker = 0;
};
inline constexpr size_t kColours = 8, kMarkerKinds = 8;
Style style_of(const std::string& encoding);

std::string marker_svg(const Style& style, double x, double y);  // shapes around a point, in colour
std::string swatch(const std::string& encoding);                 // line and marker of its series
std::string plain_colours();  // the style sheet's variables, for pictures that stand alone

}  // namespace darope::report
