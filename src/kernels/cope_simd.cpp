#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cope.h"
#include "kernels/simd.h"

// CoPE's rows on the CPU: gates and exponentials sixteen at a time, counts one after another. Compiled once
// per instruction set, each into a namespace of its own (DAROPE_ISA); cpu.cpp picks at run time.
namespace darope::kernels {
namespace {

// run(j, n) for each sixteen of `count` numbers; n is how many are left.
template <class F>
inline void in_vectors(int64_t count, F&& run) {
  for (int64_t j = 0; j < count; j += kLanes) run(j, count - j);
}

// A place between two rows of z: (1 - weight) * z[low] + weight * z[high].
template <class C>
struct Place {
  int64_t low, high;
  C weight;
  Place(C count, int64_t places)
      : low(int64_t(count)), high(std::min(low + 1, places - 1)), weight(count - C(low)) {}
};

// What one row goes through, kept while the next is not begun.
template <class C>
class Row {
 public:
  explicit Row(const CopeShape& rows) : rows_(rows), s_(size_t(rows.keys)), gate_(s_), count_(s_), out_(s_) {}

  void gates_and_counts(const C* content, int64_t visible) {
    in_vectors(visible, [&](int64_t j, int64_t n) {
      const Vector<C> s = read(content + j, n) * C(rows_.scale);
      write(s_.data() + j, s, n);
      write(gate_.data() + j, 1 / (1 + exponential(-s)), n);
    });
    double sum = 0;  // as the library's cumulative sums are formed
    for (int64_t j = visible - 1; j >= 0; --j) count_[size_t(j)] = C(sum += gate_[size_t(j)]);
  }
  C counted(int64_t j) const {  // NaN counts as nothing here: its softmax is NaN all the same
    const C most = C(rows_.places - 1), count = count_[size_t(j)];
    return count < most ? count : count >= most ? most : C(0);
  }
  C logit(int64_t j, const C* z) const {
    const Place<C> at(counted(j), rows_.places);
    return s_[size_t(j)] + (1 - at.weight) * z[at.low] + at.weight * z[at.high];
  }
  bool at_the_end(int64_t j) const { return count_[size_t(j)] > C(rows_.places - 1); }
  C gate(int64_t j) const { return gate_[size_t(j)]; }
  C* out() { return out_.data(); }

 private:
  const CopeShape& rows_;
  std::vector<C> s_, gate_, count_, out_;
};

// A row of `whole` keys, of which `count` are seen from `begin` on.
template <class T, class C>
void put(T* to, const C* from, int64_t begin, int64_t count, int64_t whole) {
  std::fill(to, to + begin, T{});
  in_vectors(count, [&](int64_t j, int64_t n) { store(to + begin + j, read(from + j, n), n); });
  std::fill(to + begin + count, to + whole, T{});
}

template <class T>
void forward(const Cope<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  Row<C> row(p.rows);
  for (int64_t r = first; r < last; ++r) {
    const int64_t begin = p.rows.begin(r), visible = p.rows.visible(r) - begin;
    row.gates_and_counts(p.content + r * p.rows.keys + begin, visible);
    C* const out = row.out();
    C top = -std::numeric_limits<C>::infinity();
    for (int64_t j = 0; j < visible; ++j) top = std::max(top, out[j] = row.logit(j, p.z + r * p.rows.places));
    Vector<C> sums = {};
    in_vectors(visible, [&](int64_t j, int64_t n) {
      write(out + j, exponential(read(out + j, n) - top), n);
      sums += read(out + j, n);  // zero behind the end
    });
    const C total = sum<C>(sums), scale = 1 / total;
    p.norm[r] = top + std::log(total);
    in_vectors(visible, [&](int64_t j, int64_t n) { write(out + j, read(out + j, n) * scale, n); });
    put(p.weights + r * p.rows.keys, out, begin, visible, p.rows.keys);
  }
}

// dl_j = p_j (dp_j - sum p dp) reaches s_j directly and, where a count is not at its end, through z's slope:
// every gate u >= j is part of count_j, so gate u receives the sum over j <= u.
template <class T>
void backward(const CopeBackward<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  Row<C> row(p.rows);
  for (int64_t r = first; r < last; ++r) {
    const int64_t begin = p.rows.begin(r), visible = p.rows.visible(r) - begin;
    const T* const grads = p.weights_grad + r * p.rows.keys + begin;
    const C* const z = p.z + r * p.rows.places;
    C *const dl = row.out(), *const dz = p.z_grad + r * p.rows.places;
    row.gates_and_counts(p.content + r * p.rows.keys + begin, visible);
    for (int64_t j = 0; j < visible; ++j) dl[j] = row.logit(j, z);
    Vector<C> sums = {}, dots = {};  // the rounding of the norm leaves the sum beside 1
    in_vectors(visible, [&](int64_t j, int64_t n) {
      write(dl + j, exponential(read(dl + j, n) - p.norm[r]), n);
      const Vector<C> weights = read(dl + j, n);  // zero behind the end
      sums += weights, dots += weights * load(grads + j, n);
    });
    const C scale = 1 / sum<C>(sums), dot = scale * sum<C>(dots);
    in_vectors(visible, [&](int64_t j, int64_t n) {
      write(dl + j, scale * read(dl + j, n) * (load(grads + j, n) - dot), n);
    });
    double gate_grad = 0;
    for (int64_t j = 0; j < visible; ++j) {
      const Place<C> at(row.counted(j), p.rows.places);
      dz[at.low] += (1 - at.weight) * dl[j];
      dz[at.high] += at.weight * dl[j];
      if (!row.at_the_end(j)) gate_grad += dl[j] * (z[at.high] - z[at.low]);
      dl[j] = C(p.rows.scale) * (dl[j] + C(gate_grad) * row.gate(j) * (1 - row.gate(j)));
    }
    put(p.content_grad + r * p.rows.keys, dl, begin, visible, p.rows.keys);
  }
}

}  // namespace

namespace DAROPE_ISA {

#define DAROPE_COPE(T)                                                                  \
  void cope(const Cope<T>& p, int64_t first, int64_t last) { forward(p, first, last); } \
  void cope(const CopeBackward<T>& p, int64_t first, int64_t last) { backward(p, first, last); }
DAROPE_COPE(double)
DAROPE_COPE(float)
DAROPE_COPE(bfloat16)

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
