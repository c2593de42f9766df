class TcpSocket {};
