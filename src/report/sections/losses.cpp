#include <fmt/format.h>

#include "report/picture.h"
#include "report/sections/sections.h"
#include "report/words.h"

namespace darope::report {

std::string losses_section(const Summary& summary, const Gathered&) {
  std::string blocks;
  for (size_t i = 0; i < summary.lengths.size(); ++i) {
    std::string figures;
    for (const Dataset& dataset : summary.datasets) {
      const AtLength* at = dataset.at(summary.lengths[i]);
      if (!at || dataset.metric.higher_better || !at->judged) continue;
      const std::string counting = baselines_in_words(dataset, at->x),
                        best = best_weights_in_words(dataset, *at);
      figures += fmt::format(
          "<figure><figcaption>{}</figcaption>{}<p class='fine'>{} examples of {} sources.{}{}</p></figure>",
          escape(dataset.name),
          picture_svg({at->standings, *at->judged, dataset.metric, summary.encodings, dataset.name}),
          at->examples, at->clusters,
          counting.empty() ? "" : escape(fmt::format(" Counting alone gets: {}.", counting)),
          best.empty() ? "" : escape(fmt::format(" Weights that did best in validation: {}.", best)));
    }
    if (!figures.empty()) blocks += per_length(summary, i, "<div class='grid wide'>" + figures + "</div>");
  }
  if (blocks.empty()) return "";
  return "<p>Test loss in nats per token with simultaneous 95 % intervals; a small dot is a run, a bar at "
         "the right "
         "joins encodings that are tied. An arrow stands for one beyond the scale. All encodings share a "
         "dataset's "
         "hyperparameters, which were not re-tuned for any of them.</p>" +
         blocks;
}

}  // namespace darope::report
