// The part of the program that stands on torch, a program of its own: `darope` becomes it for the verbs that
// compute.
#include <cstdio>
#include <cstring>

#include "base/streams.h"
#include "cli/common/help.h"
#include "cli/common/run_verbs.h"
#include "cli/common/table.h"
#include "cli/compute/verbs.h"
#include "encodings/encoding.h"
#include "experiments/run.h"

namespace darope {
namespace {

// What the front needs to know of this part without loading it; the build puts it there.
void print_tables(const CLI::App& app) {
  const nlohmann::ordered_json tables{{"verbs", to_json(table_of(app)).at("verbs")},
                                      {"encodings", nlohmann::ordered_json::parse(encodings_json())},
                                      {"feed_forwards", feed_forward_names()}};
  std::puts(tables.dump().c_str());
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  prepare_streams();
  CLI::App app{"", "darope"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  add_compare(app);
  add_train(app);
  add_eval(app);
  add_generate(app);
  add_inspect(app);
  add_bench(app);
  add_doctor(app);
  if (argc == 2 && std::strcmp(argv[1], "--tables") == 0) {
    print_tables(app);
    return 0;
  }
  return run_verbs(app, argc, argv);
}
