#include "encodings/encoding.h"

namespace darope {

// One line per encoding, in the order reports list them. The class lives in the file of its name.
static const std::vector<Spec> table = {
    // clang-format off
    spec_of<class NoPE>(),
    spec_of<class NoPEWindow>(),
    spec_of<class Sinusoidal>(),
    spec_of<class Learned>(),
    spec_of<class RoPE>(),
    spec_of<class HoPE>(),
    spec_of<class YaRN>(),
    spec_of<class ALiBi>(),
    spec_of<class T5>(),
    spec_of<class KERPLE>(),
    spec_of<class FIRE>(),
    spec_of<class CoPE>(),
    spec_of<class PoPE>(),
    spec_of<class DaRoPE>(),
    spec_of<class DaRoPENoPrior>(),
    spec_of<class DaRoPEFixedAlpha>(),
    spec_of<class DaRoPEPerBand>(),
    spec_of<class DaRoPEDynamic>(),
    // clang-format on
};

const std::vector<Spec>& encodings() { return table; }

}  // namespace darope
