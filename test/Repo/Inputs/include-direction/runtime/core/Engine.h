#include "coll/abi.h"
namespace coll {
class Shared {
};
} // namespace coll
