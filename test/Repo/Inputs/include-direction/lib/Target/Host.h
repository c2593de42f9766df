#include "coll/abi.h"
