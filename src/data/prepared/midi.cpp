#include "data/prepared/kinds.h"
#include "data/prepared/performances.h"

namespace darope {

void prepare_midi(const PrepareRequest& request, Preparation& out) {
  prepare_performances(request, midi_files(request.source), out);
}

}  // namespace darope
