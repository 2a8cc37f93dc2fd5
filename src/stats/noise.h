#pragma once
#include <cstddef>
#include <map>
#include <vector>

namespace darope::stats {

// Random numbers for drawing a table of scores again, the same in every program: named by the shape of the
// table and the place of its task. Drawn once and kept, since a suite and its parts ask for them many times.
class Noise {
 public:
  static constexpr size_t kRepeats = 2000;

  struct Shape {
    size_t task, encodings, seeds, clusters;
    auto operator<=>(const Shape&) const = default;
  };
  // One table: normal numbers of the runs [encodings x seeds] and of the examples [encodings]; how wrong the
  // variance of the runs [encodings] and of the examples [pairs] may be estimated, as factors.
  struct Draw {
    const float *runs, *examples, *run_sd, *example_variance;
  };
  Draw draw(const Shape& shape, size_t repeat);

 private:
  struct Kept {
    std::vector<float> runs, examples, run_sd, example_variance;
  };
  static Kept make(const Shape& shape);

  std::map<Shape, Kept> kept_;
};

}  // namespace darope::stats
