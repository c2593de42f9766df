// One program per constraint of the contract.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.promise C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    coll.promise {
    }
  }
}

// -----

// coll.ensure C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  %v = coll.read %a
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  coll.ensure %a is %v
}

// -----

// coll.ensure C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  coll.promise {
    %v = coll.read %a
    // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C2]}}
    coll.ensure %a at(%n, %n) is %v
  }
}

// -----

// coll.inplace C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  coll.inplace %a with %a
}

// -----

// coll.inplace C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  coll.promise {
    // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C2]}}
    coll.inplace %a at(%n) with %a at(%n, %n)
  }
}

// -----

// coll.const_size C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  %s = coll.const_size %n
}

// -----

// coll.size_of C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  %s = "test.size"() : () -> !coll.size
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  coll.size_of %a is %s
}

// -----

// coll.size_of C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  coll.promise {
    %s = coll.const_size %n
    // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C2]}}
    coll.size_of %a at(%n, %n) is %s
  }
}

// -----

// coll.launch_counts C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  coll.launch_counts "n"(%n)
}

// -----

// coll.launch_counts C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.promise {
    // expected-error @+1 {{has no dimension [C2]}}
    coll.launch_counts "n"()
  }
}

// -----

// coll.count C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  %s = coll.count "n"[%n]
}

// -----

// coll.count C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.promise {
    // expected-error @+1 {{has no index [C2]}}
    %s = coll.count "n"[]
  }
}

// -----

// coll.same C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  // expected-error @+1 {{stands in no coll.promise [C1]}}
  coll.same %a
}
