// Through another header.
#include "lib/Analysis/Plan.h"
