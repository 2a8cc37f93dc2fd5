#pragma once
#include <optional>
#include <string>
#include <vector>

namespace darope::report {

// Lines of encodings over a common axis, as SVG in the page's colours.
struct Line {
  size_t index;          // of the encoding among the report's, with which it is hidden
  std::string encoding;  // for its colour and marker
  struct Point {
    double x, y, low, high;  // low == high: no interval is drawn
  };
  std::vector<Point> points;
};
struct LinePlot {
  std::string title, x_title, y_title;
  std::vector<Line> lines;
  bool log_x = false, markers = true;
  std::optional<double> mark = {};  // a vertical line, such as the training length
  std::optional<double> top = {};   // what is higher is cut
};
std::string lines_svg(const LinePlot& plot);

}  // namespace darope::report
