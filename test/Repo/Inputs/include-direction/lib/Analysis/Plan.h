#include "lib/Analysis/Schedule.h"
