#include "runs/curve.h"

#include <cmath>

#include "runs/lines.h"

namespace darope {
namespace {

// Means over stretches of equal length: the picture keeps its shape and loses only its noise.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points) {
  if (points.size() <= kCurvePoints) return points;
  std::vector<CurvePoint> kept;
  for (size_t bin = 0; bin < kCurvePoints; ++bin) {
    const size_t begin = bin * points.size() / kCurvePoints, end = (bin + 1) * points.size() / kCurvePoints;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += points[i].loss;
    kept.push_back({points[end - 1].step, sum / double(end - begin)});
  }
  return kept;
}

}  // namespace

std::vector<CurvePoint> read_curve(std::string_view metrics, const std::string& file) {
  std::vector<CurvePoint> points;
  each_line(metrics, file, [&](const Json& line, const std::string& where) {
    const std::optional<double> loss =
        line.is_object() ? optional_number(line, "loss/out", where) : std::nullopt;
    if (loss && std::isfinite(*loss)) points.push_back({need<int64_t>(line, "global_step", where), *loss});
  });
  return thinned(points);
}

std::string metrics_lines(const std::vector<CurvePoint>& curve) {
  std::string lines;  // six digits draw the same line
  for (const CurvePoint& point : curve)
    lines += fmt::format("{{\"global_step\":{},\"loss/out\":{:.6g}}}\n", point.step, point.loss);
  return lines;
}

}  // namespace darope
