#include "coll/abi.h"
namespace coll {
struct Shared : Base {
};
} // namespace coll
