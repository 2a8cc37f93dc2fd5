#pragma once
#include "runs/curve.h"
#include "runs/facts.h"
#include "runs/runs.h"

namespace darope {

// One trained and tested model, as its files tell it. A diverged run has no scores.
struct FinishedRun : RunFacts {
  ScoreTable scores;  // of `metrics`
  ScoreTable best_scores =
      {};  // likewise with the weights of the lowest validation loss, where they were kept
  std::vector<CurvePoint> curve;  // training loss, thinned for drawing
};

// What the texts of one run say; an Error that names the file and line of what they should not say.
FinishedRun read_finished(const RunFiles& files);
// The end of a run: its facts, with the hashes of every other file of its folder.
void write_finished(const RunFolder& folder, const RunFacts& facts);

}  // namespace darope
