#pragma once
#include "base/safetensors.h"
#include "model/plan.h"

namespace darope {

// The weights of one model in one piece of memory, decaying ones first, so that zeroing, norms and optimizer
// steps are one operation each. What is laid out alike (gradients, moments) can be cut into the same tensors.
// With a low-precision compute type the memory holds float32, and products read a copy: the leaves. Encodings
// form angles in float32 and read the originals.
class Weights {
 public:
  Weights(const Plan& plan, const at::TensorOptions& compute,
          int64_t seed);  // drawn from streams that bear the parts' names

  const std::vector<Tensor>& leaves() const {
    return leaves_;
  }  // one for each weight of the plan, in the type it is computed with
  void refresh();                               // the copy from the originals
  const Tensor& copy() const { return copy_; }  // undefined where leaves are the originals
  const Tensor& flat() const { return flat_; }
  int64_t decayed() const { return decayed_; }        // so many elements of flat() from its front
  Tensor like_flat() const;                           // zeros
  std::vector<Tensor> cut(const Tensor& flat) const;  // into tensors like leaves()

  // Parts under their checkpoint names, from and to a tensor laid out like flat().
  std::vector<TensorToWrite> named(const Tensor& flat, const std::string& prefix = "") const;
  void read(const SafetensorsFile& file, const Tensor& flat, const std::string& prefix = "") const;

  std::string shared_hash() const;  // sha256 of names and values that no encoding owns

 private:
  struct Place {
    std::string name;
    std::vector<int64_t> shape;
    int64_t offset, count;
    bool of_encoding;
  };
  void initialise(const Plan& plan, int64_t seed);
  Tensor on_cpu(const Tensor& flat, const Place& place) const;

  Tensor flat_, copy_;
  int64_t decayed_ = 0;
  std::vector<Tensor> leaves_;
  std::vector<int64_t> offsets_;
  std::vector<Place> places_;
};

}  // namespace darope
