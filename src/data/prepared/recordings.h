#pragma once
#include <functional>

#include "data/eeg/edf.h"
#include "data/eeg/quantize.h"
#include "data/prepared/preparation.h"
#include "data/prepared/source_files.h"

namespace darope {

// A recording is read twice: once to count its values, and once its scale and the quantiles of all are known.
// Never are two in memory.
struct RecordingSource {
  std::string item;
  std::function<std::vector<int16_t>()> samples;
  Split split = Split::train;
};
struct CountedRecording {
  RecordingSource source;
  Recording recording;
};

// Reads each for the first time; those that cannot be read, or have no scale, are skipped.
std::vector<CountedRecording> count_recordings(const std::vector<RecordingSource>& sources, Preparation& out);

// Finds the boundaries in the recordings for training, writes all as tokens, and notes boundaries and scales
// as facts.
void write_recordings(const std::vector<CountedRecording>& recordings, Preparation& out);

// A plot for the terminal: all of it, and its beginning from near.
std::string show_signal(std::span<const int64_t> tokens);

// The samples of an EDF signal with the sign they have in volts; gain and offset play no part in what
// follows.
std::vector<int16_t> upright_samples(const EdfFile& file, const EdfSignal& signal);

}  // namespace darope
