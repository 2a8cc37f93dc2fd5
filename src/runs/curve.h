#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

struct CurvePoint {
  int64_t step = 0;
  double loss = 0;
};
inline constexpr size_t kCurvePoints = 200;

// The training loss of a metrics.jsonl, averaged down to at most kCurvePoints; a curve that is so thin
// already stays as it is.
std::vector<CurvePoint> read_curve(std::string_view metrics, const std::string& where);
std::string metrics_lines(const std::vector<CurvePoint>& curve);  // the same as a metrics.jsonl of its own

}  // namespace darope
