// One program per constraint of statements and mappings.
// RUN: coll-opt %s -split-input-file -verify-diagnostics

// coll.tmp C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{stands in a coll.group [C1]}}
    %t = coll.tmp "t"
  }
}

// -----

// coll.init C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  coll.group {
    // expected-error @+1 {{stands in a coll.group [C1]}}
    coll.init %t from %t
  }
}

// -----

// coll.copy C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  %v = coll.read %t
  // expected-error @+1 {{has both a rank and members [C1]}}
  coll.copy %v to %t at(%n) members {
  }
}

// -----

// coll.copy C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  %t = coll.tmp "t"
  %v = coll.read %t
  // expected-error @+1 {{names a rank by 1 coordinates among ranks of 2 dimensions [C2]}}
  coll.copy %v to %t at(%m)
}

// -----

// coll.reduce C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  %v = coll.read %t
  // expected-error @+1 {{has both a rank and members [C1]}}
  coll.reduce %v to %t at(%n) members {
  }
}

// -----

// coll.reduce C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  %t = coll.tmp "t"
  %v = coll.read %t
  // expected-error @+1 {{names a rank by 1 coordinates among ranks of 2 dimensions [C2]}}
  coll.reduce %v to %t at(%m)
}

// -----

// coll.group C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{stands in a coll.group [C1]}}
    coll.group {
    }
  }
}

// -----

// coll.on C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.on members {
  } do(%r) {
    // expected-error @+1 {{stands in a coll.on [C1]}}
    coll.on members {
    } do(%q) {
    }
  }
}

// -----

// coll.on C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{stands in a coll.group [C1]}}
    coll.on members {
    } do(%q) {
    }
  }
}

// -----

// coll.on C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  // expected-error @+1 {{names a rank by 1 coordinates among ranks of 2 dimensions [C2]}}
  coll.on members {
  } do(%q) {
  }
}

// -----

// coll.on C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has a body whose arguments are no indices [C2]}}
  "coll.on"() ({
  ^bb0:
  }, {
  ^bb0(%q: i32):
  }) : () -> ()
}

// -----

// coll.send C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  %v = coll.read %t
  // expected-error @+1 {{stands in no body of a coll.on [C1]}}
  coll.send %v to(%n)
}

// -----

// coll.send C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  coll.on members {
  } do(%r) {
    %v = coll.read %t
    // expected-error @+1 {{names a rank by 0 coordinates among ranks of 1 dimensions [C2]}}
    coll.send %v to()
  }
}

// -----

// coll.recv C1: the first region lists ranks
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  coll.on members {
    // expected-error @+1 {{stands in no body of a coll.on [C1]}}
    coll.recv %t from(%n)
  } do(%r) {
  }
}

// -----

// coll.recv C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %t = coll.tmp "t"
  coll.on members {
  } do(%r) {
    // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C2]}}
    coll.recv %t from(%r, %r)
  }
}

// -----

// coll.mapping C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has 2 keys and 1 values [C1]}}
  %m = "coll.mapping"(%n) <{keys = ["channel", "block"]}> : (index) -> !coll.mapping
}

// -----

// coll.mapping C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has an unknown or repeated key: "lane" [C2]}}
  %m = coll.mapping(lane = %n)
}

// -----

// coll.mapping C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has an unknown or repeated key: "block" [C2]}}
  %m = coll.mapping(block = %n, block = %n)
}

// -----

// coll.mapping C3
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{names no protocol: "fast" [C3]}}
  %m = coll.mapping() protocol "fast"
}

// -----

// coll.directive C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    coll.directive "round"(%n)
  }
}

// -----

// coll.directive C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{is no directive of a schedule: "channel" [C2]}}
  coll.directive "channel"(%n)
}

// -----

// coll.directive C3
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has 1 values for "sizes" [C3]}}
  coll.directive "sizes"(%n)
}

// -----

// coll.directive C4
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{needs a text for "protocol" [C4]}}
  coll.directive "protocol"
}

// -----

// coll.directive C4
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has a text for "round" [C4]}}
  coll.directive "round"(%n) text "1MiB"
}
