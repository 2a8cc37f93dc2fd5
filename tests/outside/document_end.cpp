#include <ATen/TensorOperators.h>

#include "eval/batches.h"
#include "eval/define.h"

namespace darope {

// The loss over the last quarter of long documents.
class DocumentEnd {
 public:
  static constexpr Evaluation::Traits traits{.name = "document-end",
                                             .summary = "how likely the last quarter of a document is",
                                             .needs = Need::documents,
                                             .of_its_own = true};

  static std::vector<Metric> metrics(const Dataset& data) {
    return {{.name = "nll",
             .axis = {"tokens", " tokens", "tokens of the whole document"},
             .title = "loss at the end",
             .unit = std::string(kNats),
             .meaning = "mean negative log-likelihood of a token in the last quarter of " + data.asked,
             .higher_better = false}};
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    in_batches(model, *data.documents, 1, data.documents->size(), [&](const Batch& batch, int64_t example) {
      const Tensor nll = model.nll(batch).flatten();
      const int64_t length = nll.size(0), quarter = length / 4;
      emit({.metric = "nll",
            .axis = "tokens",
            .at = double(length),
            .example = example,
            .cluster = example,
            .value = nll.slice(0, length - quarter).mean().item<double>(),
            .tokens = quarter});
    });
  }
};

template Evaluation evaluation_of<DocumentEnd>();
}  // namespace darope
