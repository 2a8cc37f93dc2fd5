#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "cli/compute/verbs.h"
#include "data/open.h"
#include "data/prepared/prepared_data.h"
#include "eval/microscope.h"
#include "experiments/saved_run.h"
#include "report/microscope.h"

namespace darope {
namespace {

using nlohmann::ordered_json;

struct InspectSettings {
  std::string run, text, out = "microscope.html";
  int64_t example = 0, tokens = 256;
  Which which;
};

// A tensor of any shape as nested lists, rounded: the page needs no more digits.
ordered_json nested(const Tensor& tensor, double digits) {
  if (tensor.dim() == 0) {
    const double value = std::round(tensor.item<double>() * digits) / digits;
    return value == std::floor(value) ? ordered_json(int64_t(value)) : ordered_json(value);
  }
  ordered_json list = ordered_json::array();
  for (int64_t i = 0; i < tensor.size(0); ++i) list.push_back(nested(tensor[i], digits));
  return list;
}

std::string name_of_token(const Kind* kind, int64_t id) {
  return kind && kind->word ? kind->word(id) : std::to_string(id);
}

std::vector<int64_t> tokens_to_read(const InspectSettings& s, const RunConfig& config,
                                    const Tokenizer* text) {
  std::vector<int64_t> ids;
  if (!s.text.empty()) {
    if (!text) throw Error(fmt::format("--text {}: the run's data is no text; take --example", s.text));
    ids = text->encode(read_file(s.text));
    if (const auto begin = text->begin_of_document()) ids.insert(ids.begin(), *begin);
  } else {
    const Dataset data =
        open_dataset(config.data, uint64_t(config.seed), config.steps * config.grad_acc_steps);
    const TestSet& set = *data.tests.at(0).set;
    if (s.example < 0 || s.example >= set.size())
      throw Error(fmt::format("--example {}: the test set has examples 0 to {}", s.example, set.size() - 1));
    const Tensor row = set.read(s.example, 1).tokens[0].contiguous();
    ids.assign(row.const_data_ptr<int64_t>(), row.const_data_ptr<int64_t>() + row.size(0));
    if (!config.data.task.empty())
      while (ids.size() > 2 && ids.back() == 0) ids.pop_back();  // padding
  }
  if (ids.size() < 2) throw Error("there are fewer than two tokens to look at: give more text");
  ids.resize(std::min(ids.size(), size_t(s.tokens)));
  return ids;
}

// Of a model without coordinates: every token stands at its index, in each head.
Tensor index_as_coordinate(const Decoder& model, int64_t count) {
  return at::arange(count, at::kFloat).expand({model.config().n_layers, model.config().kv_heads(), count});
}

std::string note_on(const std::string& encoding) {
  const Traits& traits = find_encoding(encoding).traits;
  return fmt::format(
      "{} learns no coordinate (slow bands: {}): tokens are drawn at their index, in every head.",
      traits.name, traits.slow_bands);
}

void inspect_verb(const InspectSettings& s) {
  constexpr int64_t kMost = 1024;  // tokens that can still be told apart
  if (s.tokens < 2 || s.tokens > kMost)
    throw Error(fmt::format("--tokens {}: from 2 to {} can be looked at", s.tokens, kMost));
  const SavedRun run = open_run(RunFolder(s.run), s.which);
  const std::shared_ptr<const Tokenizer> text = tokenizer_of(run.config.data);
  const std::vector<int64_t> ids = tokens_to_read(s, run.config, text.get());
  const Seen seen = look_through(*run.model, ids);
  const bool learned = seen.coordinates.defined();
  const std::string& folder = run.config.data.root_dir;
  const Kind* kind = text || folder.empty() ? nullptr : &find_kind(read_manifest(folder).kind);
  ordered_json labels = ordered_json::array();
  for (const int64_t id : ids) labels.push_back(text ? text->decode({&id, 1}) : name_of_token(kind, id));
  const int64_t count = int64_t(ids.size());
  const ordered_json data{
      {"title", fmt::format("{} at step {}, {}, on the first {} tokens of {}", RunFolder(s.run).name(),
                            run.step, run.config.model.encoding, count,
                            s.text.empty() ? fmt::format("test example {}", s.example) : s.text)},
      {"encoding", run.config.model.encoding},
      {"learned", learned},
      {"note", learned ? "" : note_on(run.config.model.encoding)},
      {"joined", text != nullptr},
      {"length", run.config.model.max_seqlen},
      {"tokens", labels},
      {"coordinates", nested(learned ? seen.coordinates : index_as_coordinate(*run.model, count), 10)},
      {"alpha", seen.alpha.defined() ? nested(seen.alpha, 1000) : ordered_json(nullptr)},
      {"attended", nested(seen.attended, 1)},
      {"shares", nested(seen.shares, 1000)}};
  write_file(s.out, report::microscope_page(data));
  fmt::print("{}\n", s.out);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto s = std::make_shared<InspectSettings>();
  CLI::App* verb =
      app.add_subcommand("inspect", "a page that shows where a model's heads place the tokens of a text");
  verb->add_option("RUN", s->run, "a run's folder")->required();
  verb->add_option("--text", s->text, "a file of text to read");
  verb->add_option("--example", s->example, "an example of the run's test set, where no text is given")
      ->capture_default_str();
  verb->add_option("--tokens", s->tokens, "how many to look at")->capture_default_str();
  verb->add_option("--out", s->out, "the page")->capture_default_str();
  verb->add_option("--step", s->which.step, "the checkpoint of this step; default: the newest")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", s->which.best, "the checkpoint of the lowest validation loss");
  verb->callback([s] { inspect_verb(*s); });
}

}  // namespace darope
