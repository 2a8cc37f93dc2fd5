#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "eval/batches.h"
#include "eval/define.h"

namespace darope {
namespace {

const Axis kPosition{"position", "", "tokens before the one that is told; a stretch by its first"};
const Axis kBand{"band", "x", "positions from this multiple of the training length to twice it", true};

constexpr int64_t kSmoothed = 128;       // positions under the paper's moving average
constexpr int64_t kMostStretches = 128;  // of a document, for the curve of each

void emit_documents(const Emit& emit, const Axis& axis, double at, int64_t first, const Tensor& nll) {
  const Tensor means = nll.mean(1).cpu();
  for (int64_t i = 0; i < means.size(0); ++i)
    emit({.metric = "nll",
          .axis = axis.name,
          .at = at,
          .example = first + i,
          .cluster = first + i,
          .value = means.const_data_ptr<double>()[i],
          .tokens = nll.size(1)});
}

}  // namespace

// The loss at every position of long documents, each read in a single pass without window or chunk.
class Positions {
 public:
  static constexpr Evaluation::Traits traits{.name = "positions",
                                             .summary = "loss by position, far beyond the training length",
                                             .needs = Need::documents,
                                             .of_its_own = true};

  static std::vector<Metric> metrics(const Dataset& data) {
    const std::string nats(kNats);
    Axis position = kPosition;
    position.mark = double(data.train_length);
    position.mark_meaning = "training length";
    return {
        {.name = "nll",
         .axis = kBand,
         .title = "loss",
         .unit = nats,
         .meaning = "mean negative log-likelihood of a document's tokens in a band of positions",
         .higher_better = false},
        {.name = "nll",
         .axis = position,
         .title = "loss by position",
         .unit = nats,
         .meaning = "mean negative log-likelihood of a document's tokens in a stretch of positions",
         .higher_better = false},
        {.name = "perplexity",
         .axis = position,
         .title = "perplexity by position",
         .unit = "",
         .meaning = "exp of the mean loss over documents at a position, averaged over up to 128 positions",
         .higher_better = false},
        {.name = "perplexity",
         .axis = kBand,
         .title = "perplexity",
         .unit = "",
         .meaning = "exp of the mean loss over documents at a position, averaged over a band",
         .higher_better = false}};
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    const TestSet& set = *data.documents;
    const int64_t length = set.read(0, 1).tokens.size(1), stretch = (length - 1) / kMostStretches + 1;
    const std::vector<Band> bands = bands_of(model.config().max_seqlen, length);
    Tensor sum = at::zeros({length}, at::kDouble);
    in_batches(model, set, examples_at_once(model, length), set.size(),
               [&](const Batch& batch, int64_t first) {
                 const Tensor nll = model.nll(batch).to(at::kDouble).view({-1, length}).cpu();
                 sum += nll.sum(0);
                 for (const Band& band : bands)
                   emit_documents(emit, kBand, band.multiple, first, nll.slice(1, band.first, band.end));
                 for (int64_t at = 0; at < length; at += stretch)
                   emit_documents(emit, kPosition, double(at), first, nll.slice(1, at, at + stretch));
               });
    const Tensor perplexity = (sum / double(set.size())).exp();
    const auto whole = [&](const Axis& axis, double at, const Tensor& part) {
      emit({.metric = "perplexity", .axis = axis.name, .at = at, .value = part.mean().item<double>()});
    };
    const int64_t smoothed = std::min(kSmoothed, length);
    for (int64_t at = 0; at + smoothed <= length; at += kSmoothed / 2)
      whole(kPosition, double(at + smoothed / 2), perplexity.slice(0, at, at + smoothed));
    for (const Band& band : bands) whole(kBand, band.multiple, perplexity.slice(0, band.first, band.end));
  }

 private:
  // From half the training length on, each twice as long as the one before: [first, end) and its multiple.
  struct Band {
    double multiple;
    int64_t first, end;
  };
  static std::vector<Band> bands_of(int64_t train_length, int64_t length) {
    std::vector<Band> bands;
    const auto from = [&](double multiple) { return int64_t(multiple * double(train_length)); };
    for (double multiple = 0.5; from(multiple) < length; multiple *= 2)
      bands.push_back({multiple, from(multiple), std::min(from(2 * multiple), length)});
    return bands;
  }
};

template Evaluation evaluation_of<Positions>();
}  // namespace darope
