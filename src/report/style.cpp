#include "report/style.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string_view>

#include "report/paper.h"

namespace darope::report {
namespace {

// In the order of the script's point styles, around (0, 0).
constexpr const char* kMarkers[kMarkerKinds] = {
    "<circle r='4'/>",
    "<path d='M0-5l4.6 8h-9.2z'/>",
    "<rect x='-3.5' y='-3.5' width='7' height='7'/>",
    "<path d='M0-5l5 5-5 5-5-5z'/>",
    "<path class='open' d='M-3.5-3.5l7 7M3.5-3.5l-7 7'/>",
    "<path class='open' d='M0-4.5v9M-4.5 0h9'/>",
    "<path class='open' d='M0-4.5v9M-4-2.3l8 4.6M4-2.3l-8 4.6'/>",
    "<circle class='hollow' r='3.8'/>",
};
constexpr const char* kDashes[] = {"", "6 3", "2 2", "8 2 2 2"};

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

}  // namespace

Style style_of(const std::string& encoding) {
  const size_t end = encoding.find(':');
  const std::string_view name = std::string_view(encoding).substr(0, end);
  Style style{hash(name) % kColours, hash(name) / kColours % kMarkerKinds};
  if (const auto known = paper().at("colours").find(name); known != paper().at("colours").end())
    style.colour = style.marker = known->get<size_t>();
  if (end != std::string::npos)  // options keep the colour and change the marker
    style.marker =
        (style.marker + 1 + hash(std::string_view(encoding).substr(end)) % (kMarkerKinds - 1)) % kMarkerKinds;
  return style;
}

std::string marker_svg(const Style& style, double x, double y) {
  return fmt::format("<g class='marker' style='--c:var(--s{})' transform='translate({:.1f} {:.1f})'>{}</g>",
                     style.colour, x, y, kMarkers[style.marker]);
}

std::string swatch(const std::string& encoding) {
  const Style style = style_of(encoding);
  return fmt::format(
      "<svg class='swatch' style='--c:var(--s{})' width='26' height='12' aria-hidden='true'>"
      "<path class='open' stroke-dasharray='{}' d='M1 6h24'/><g transform='translate(13 6)'>{}</g></svg>",
      style.colour, kDashes[style.colour % std::size(kDashes)], kMarkers[style.marker]);
}

std::string plain_colours() {
  return "svg{--paper:#ffffff;--ink:#1b1f24;--soft:#5b6570;--line:#d9dee4;--s0:#0072b2;--s1:#d55e00;"
         "--s2:#009e73;--s3:#b8558f;--s4:#d18b00;--s5:#3b9fdc;--s6:#5f6770;--s7:#8c8100}";
}

}  // namespace darope::report
