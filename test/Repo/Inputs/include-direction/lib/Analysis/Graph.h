#include "lib/Target/Host.h"
