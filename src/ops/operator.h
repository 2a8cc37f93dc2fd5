#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <tuple>

// An operator's arguments are one struct, which its checks, its kernels for each device, its gradient and its
// callers hand on. It has a Result, the name of its schema, and All: its members in the schema's order.
namespace darope::ops {

template <class Args, class All = typename Args::All>
struct Operator;

template <class Args, class... Each>
struct Operator<Args, std::tuple<Each...>> {
  using Result = typename Args::Result;

  // A function of the struct, as the dispatcher calls it.
  template <Result (*run)(const Args&)>
  static Result kernel(Each... each) {
    return run(Args{each...});
  }

  static Result call(const Args& args) {
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow(Args::name, "").template typed<Result(Each...)>();
    return std::apply([](Each... each) { return op.call(each...); }, args.all());
  }
};

}  // namespace darope::ops
