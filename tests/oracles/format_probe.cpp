// Drives the file formats for the Python tests beside it, which hold the results against the original
// libraries.
#include <fmt/format.h>

#include <cmath>

#include "base/config.h"
#include "base/safetensors.h"
#include "base/tensorboard.h"
#include "data/text/token_file.h"
#include "probe.h"

namespace darope {
namespace {

// Reads every tensor of a safetensors file and writes them, last one first, to another.
void copy_safetensors(const std::string& from, const std::string& to) {
  const SafetensorsFile in(from);
  std::vector<TensorToWrite> tensors;
  for (const TensorView& view : in.tensors())
    tensors.push_back({view.name, view.dtype, view.shape, [&view] { return view.bytes; }});
  std::reverse(tensors.begin(), tensors.end());
  FileWriter out(to);
  write_safetensors(out, tensors);
  out.commit();
}

// A run that reaches step 5, is killed, and resumes from step 3 with other values.
void write_events(const std::string& folder) {
  const std::map<std::string, HParam> hparams = {
      {"model.encoding", "darope"}, {"optim.lr", 0.003}, {"compile", true}};
  {
    EventFile file(folder);
    file.hparams_start(hparams, "darope");
    for (int64_t step = 0; step <= 5; ++step)
      file.scalars(step, {{"loss/out", 10.0 - double(step)}, {"optim/lr", 0.5}});
  }
  EventFile file(folder, 3);
  for (int64_t step = 4; step <= 6; ++step)
    file.scalars(step, {{"loss/out", 100.0 + double(step)}, {"optim/lr", NAN}});
  file.hparams_end(SessionStatus::kSuccess);
}

// Vocabulary, document starts and ids, a line each.
void print_tokens(const std::string& path) {
  const TokenSource source = open_tokens(path);
  std::vector<int64_t> ids(size_t(source.size()));
  source.read(0, ids);
  fmt::print("{}\n{}\n{}\n", source.vocabulary(), fmt::join(source.document_starts(), " "),
             fmt::join(ids, " "));
}

struct Settings {
  std::string name = "it's: a \"test\" #1";
  std::vector<std::string> words = {"yes", "1", "", "é\n", "null", "plain"};
  std::vector<double> numbers = {1e-5, 1e20, -0.0, 1.0 / 3, 123456789.0, 5e-324};
  std::optional<int64_t> seed;
  bool flag = true;
  void fields(auto&& visit) {
    visit("name", name, "");
    visit("words", words, "");
    visit("numbers", numbers, "");
    visit("seed", seed, "");
    visit("flag", flag, "");
  }
};
void print_config(const std::string& path) {
  Settings settings;
  load_config(settings, path, {});
  fmt::print("{}", to_yaml(settings));
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  return probe(argc, argv,
               {{"copy-safetensors FROM TO", [](Words words) { copy_safetensors(words[0], words[1]); }},
                {"events FOLDER", [](Words words) { write_events(words[0]); }},
                {"tokens FILE", [](Words words) { print_tokens(words[0]); }},
                {"config FILE", [](Words words) { print_config(words[0]); }}});
}
