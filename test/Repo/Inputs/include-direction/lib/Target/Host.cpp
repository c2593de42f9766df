#include "runtime/core/Engine.h"
#include "lib/Analysis/Graph.h"
