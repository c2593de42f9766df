#include "runtime/transport/tcp/Socket.h"
