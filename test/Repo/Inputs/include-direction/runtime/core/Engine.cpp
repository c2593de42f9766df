#include "../transport/tcp/Socket.h"
#include <llvm/ADT/SmallVector.h>
#include <infiniband/verbs.h>
TcpSocket *link; // a TcpSocket
