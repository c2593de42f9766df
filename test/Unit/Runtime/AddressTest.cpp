//===- AddressTest.cpp - Ranks meet by way of an address ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"
#include "runtime/core/AddressExchange.h"
#include "runtime/core/Host.h"
#include "runtime/core/Sha256.h"
#include "runtime/core/TcpStream.h"
#include "runtime/core/Wire.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace coll;
using namespace coll::test;

namespace {

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
}

/// "127.0.0.1:PORT" of a port that was free a moment ago.
std::string freeAddress() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(
      getsockname(fd.get(), reinterpret_cast<sockaddr *>(&address), &size), 0);
  return format("127.0.0.1:%d", ntohs(address.sin_port));
}

AddressRequest requestOf(int rank, int nranks, const std::string &address,
                         const std::string &secret = "",
                         uint64_t deadlineMs = 20'000) {
  AddressRequest request;
  request.rank = rank;
  request.nranks = nranks;
  request.address = address;
  request.secret = secret;
  request.deadline = Deadline::after(deadlineMs * 1'000'000);
  return request;
}

/// Runs all requests at once.
std::vector<Status> exchangeAll(const std::vector<AddressRequest> &requests,
                                std::vector<Token> &tokens) {
  std::vector<Status> results(requests.size());
  tokens.assign(requests.size(), Token());
  asThreads(int(requests.size()), [&](int i) {
    results[size_t(i)] = exchangeToken(requests[size_t(i)], tokens[size_t(i)]);
  });
  return results;
}

TEST(Address, AllRanksGetOneToken) {
  for (const char *secret : {"", "swordfish"}) {
    std::string address = freeAddress();
    std::vector<AddressRequest> requests;
    for (int rank = 0; rank != 5; ++rank)
      requests.push_back(requestOf(rank, 5, address, secret));
    std::vector<Token> tokens;
    for (const Status &status : exchangeAll(requests, tokens))
      EXPECT_TRUE(status.isOk()) << status.text();
    for (const Token &token : tokens) {
      EXPECT_EQ(token, tokens[0]);
      EXPECT_NE(token, Token());
    }
  }
}

TEST(Address, RanksMeetThroughTheEnvironment) {
  RendezvousDirectory directory;
  std::string address = freeAddress();
  auto results = asProcesses(3, [&](int rank) -> std::string {
    setenv("COLL_RANK", std::to_string(rank).c_str(), 1);
    setenv("COLL_NRANKS", "3", 1);
    setenv("COLL_ADDRESS", address.c_str(), 1);
    coll_comm *comm;
    if (coll_comm_init_env(&comm, nullptr) != COLL_OK ||
        coll_comm_destroy(comm) != COLL_OK)
      return coll_last_error();
    return "";
  });
  EXPECT_EQ(results, std::vector<std::string>(3));
}

TEST(Address, TheEnvironmentsAddressIsWhereRankZeroListens) {
  RendezvousDirectory directory;
  std::string address = freeAddress();
  Variables variables({{"COLL_RANK", "0"},
                       {"COLL_NRANKS", "2"},
                       {"COLL_ADDRESS", address},
                       {"COLL_INIT_DEADLINE", "0.1"}});
  coll_comm *comm;
  EXPECT_EQ(coll_comm_init_env(&comm, nullptr), COLL_TIMEOUT);
  EXPECT_EQ(std::string(coll_last_error()),
            "init of rank 0 of 2: rank 1 of 2 never came to " + address);
}

TEST(Address, AWrongSecretIsToldApart) {
  std::string address = freeAddress();
  std::vector<Token> tokens;
  auto results = exchangeAll({requestOf(0, 2, address, "right", 500),
                              requestOf(1, 2, address, "wrong")},
                             tokens);
  EXPECT_EQ(results[1].code(), COLL_INVALID);
  expectContains(results[1].text(), "does not have this rank's secret");
  EXPECT_EQ(results[0].code(), COLL_TIMEOUT); // it may have been a stranger
  expectContains(results[0].text(), "rank 1 of 2 never came to 127.0.0.1:");
}

TEST(Address, RanksThatDisagreeAllLearnIt) {
  std::string address = freeAddress();
  std::vector<Token> tokens;
  for (const Status &status :
       exchangeAll({requestOf(0, 3, address), requestOf(1, 3, address),
                    requestOf(2, 4, address)},
                   tokens)) {
    EXPECT_EQ(status.code(), COLL_INVALID);
    expectContains(status.text(), "says that there are 4 ranks, rank 0 says 3");
  }
  address = freeAddress();
  for (const Status &status :
       exchangeAll({requestOf(0, 3, address), requestOf(1, 3, address),
                    requestOf(1, 3, address)},
                   tokens)) {
    EXPECT_EQ(status.code(), COLL_INVALID);
    expectContains(status.text(), "two processes say that they are rank 1");
  }
}

/// A rank that says it is on another host.
Status guestOfAnotherHost(const std::string &text, int rank, int nranks) {
  TcpAddress address;
  COLL_TRY(TcpAddress::resolve(text, address));
  TcpStream stream;
  Deadline deadline = Deadline::after(20'000'000'000);
  COLL_TRY(TcpStream::connect(address, deadline, stream));
  std::array<std::byte, 16> nonce = {}, rootNonce, host = {};
  COLL_TRY(stream.send(1, nonce, deadline));
  TcpMessage message;
  COLL_TRY(stream.await(deadline, message));
  std::copy_n(message.bytes.begin(), 16, rootNonce.begin());
  WireWriter body, said;
  body.write<int32_t>(rank).write<int32_t>(nranks).writeBytes(host);
  body.writeString("elsewhere");
  said.writeString("guest").writeBytes(nonce).writeBytes(rootNonce);
  said.writeBytes(body.bytes());
  body.writeBytes(hmacSha256({}, said.bytes()));
  COLL_TRY(stream.send(3, body.bytes(), deadline));
  COLL_TRY(stream.await(deadline, message));
  WireReader reader(message.bytes);
  int32_t code = reader.read<int32_t>();
  return Status::error(coll_status(code), "%s",
                       reader.readString(4096).c_str());
}

TEST(Address, RanksOfOtherHostsAreToldSo) {
  std::string address = freeAddress();
  std::vector<Status> results(4);
  asThreads(4, [&](int rank) {
    Token token;
    results[size_t(rank)] =
        rank >= 2 ? guestOfAnotherHost(address, rank, 4)
                  : exchangeToken(requestOf(rank, 4, address), token);
  });
  for (const Status &status : results) {
    EXPECT_EQ(status.code(), COLL_INVALID);
    EXPECT_EQ(status.text(),
              "ranks 2 and 3 on host 'elsewhere', rank 0 on host '" +
                  hostName() +
                  "': ranks on several hosts are not supported yet");
  }
}

TEST(Address, NonsenseAtThePortIsIgnored) {
  std::string text = freeAddress();
  std::mt19937 random(7);
  std::vector<Status> results(2);
  asThreads(3, [&](int rank) {
    Token token;
    if (rank == 1)
      sleepMs(200);
    if (rank != 2) {
      results[size_t(rank)] = exchangeToken(requestOf(rank, 2, text), token);
      return;
    }
    TcpAddress address;
    ASSERT_TRUE(TcpAddress::resolve(text, address).isOk());
    for (int i = 0; i != 200; ++i) {
      TcpStream stream;
      if (!TcpStream::connect(address, Deadline::after(100'000'000), stream)
               .isOk())
        break; // they have met
      std::byte bytes[64];
      for (std::byte &byte : bytes)
        byte = std::byte(random());
      if (i % 2) // a good head
        (void)stream.send(uint16_t(random() % 6), std::span(bytes).first(16),
                          Deadline::at(0));
      [[maybe_unused]] ssize_t sent =
          send(stream.socket(), bytes, random() % 64, MSG_NOSIGNAL);
    }
  });
  for (const Status &status : results)
    EXPECT_TRUE(status.isOk()) << status.text();
}

TEST(Address, Texts) {
  Token token;
  auto error = [&](const char *address) {
    Status status = exchangeToken(requestOf(0, 2, address), token);
    EXPECT_EQ(status.code(), COLL_INVALID);
    return status.text();
  };
  EXPECT_EQ(error("here"), "COLL_ADDRESS: 'here' is not HOST:PORT");
  EXPECT_EQ(error(":80"), "COLL_ADDRESS: ':80' is not HOST:PORT");
  EXPECT_EQ(error("127.0.0.1:"), "COLL_ADDRESS: '127.0.0.1:' is not HOST:PORT");
  expectContains(error("127.0.0.1:x"), "cannot be resolved");
  expectContains(error("192.0.2.1:4000"), "can be reached from other hosts");
  AddressRequest request = requestOf(0, 2, "198.51.100.7:4000", "secret");
  EXPECT_EQ(exchangeToken(request, token).text(),
            "198.51.100.7:4000 is not an address of this host, on which rank 0 "
            "runs");
}

TEST(Address, RankZeroThatNeverComes) {
  Token token;
  std::string address = freeAddress();
  Status status = exchangeToken(requestOf(1, 2, address, "", 100), token);
  EXPECT_EQ(status.code(), COLL_TIMEOUT);
  EXPECT_EQ(status.text(), "rank 0 never came: nothing listens at " + address);
}

TEST(Address, SecretFiles) {
  RendezvousDirectory directory;
  std::string path = directory.path() + "/secret", secret;
  EXPECT_EQ(readSecretFile(path, secret).code(), COLL_INVALID);
  std::ofstream(path) << "swordfish\nmore\n";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  expectContains(readSecretFile(path, secret).text(), "(chmod 600)");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(readSecretFile(path, secret).isOk());
  EXPECT_EQ(secret, "swordfish");
  std::ofstream(path) << "\n";
  expectContains(readSecretFile(path, secret).text(), "is empty");
}

} // namespace
