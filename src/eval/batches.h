#pragma once
#include "base/signals.h"
#include "eval/evaluation.h"

namespace darope {

// What evaluations that go through a test set share.

int64_t examples_at_once(const Decoder& model, int64_t length);  // of that length, in one forward pass

// Of each example: its scored tokens, and their mean. [count], on the CPU.
Tensor tokens_by_example(const Batch& batch);
Tensor mean_by_example(const Tensor& values, const Batch& batch);

// Hands on `values`, one for each example of a batch that begins with the test's example `first`.
void emit_all(const Emit& emit, std::string_view metric, const TestLength& test, int64_t first,
              const Tensor& values, const Batch& batch);

// Calls use(batch, first) with the first `count` examples of a set, `at_once` at a time.
template <class Use>
void in_batches(const Decoder& model, const TestSet& set, int64_t at_once, int64_t count, const Use& use) {
  for (int64_t first = 0; first < count; first += at_once) {
    throw_if_stopped();
    use(set.read(first, std::min(at_once, count - first)).to(model.device()), first);
  }
}

// The same over every test of a dataset, each whole: use(batch, test, first).
template <class Use>
void over_tests(const Decoder& model, const Dataset& data, const Use& use) {
  for (const TestLength& test : data.tests)
    in_batches(model, *test.set, examples_at_once(model, test.multiple * model.config().max_seqlen),
               test.set->size(), [&](const Batch& batch, int64_t first) { use(batch, test, first); });
}

}  // namespace darope
