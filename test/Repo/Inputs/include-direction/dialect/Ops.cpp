#include "lib/Analysis/Graph.h"
