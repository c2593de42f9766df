// One program per constraint of the frame of a schedule.
// RUN: coll-opt %s -split-input-file -verify-diagnostics

// coll.schedule C1
// expected-error @+1 {{needs a name and an index argument for each rank dimension, at least one [C1]}}
coll.schedule @s implements "allreduce" ranks() {
}

// -----

// coll.schedule C1
// expected-error @+1 {{needs a name and an index argument for each rank dimension, at least one [C1]}}
"coll.schedule"() <{contract = "allreduce", rank_names = ["N", "M"], sym_name = "s"}> ({
^bb0(%n: index):
}) : () -> ()

// -----

// coll.schedule C2
// expected-error @+1 {{has two parameters called "N" [C2]}}
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %p = coll.param "N"
}

// -----

// coll.schedule C2
// expected-error @+1 {{has two parameters called "N" [C2]}}
coll.schedule @s implements "allreduce" ranks(%n "N", %m "N") {
}

// -----

// coll.schedule C3
// expected-error @+1 {{has two buffers called "in" [C3]}}
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.buffer in "in"
  %b = coll.buffer out "in"
}

// -----

// coll.schedule C4
// expected-error @+1 {{has two of coll.chunks [C4]}}
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.chunks(%n)
  coll.chunks(%n)
}

// -----

// coll.schedule C4
// expected-error @+1 {{has two of coll.promise [C4]}}
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.promise {
  }
  coll.promise {
  }
}

// -----

// coll.param C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    %p = coll.param "K"
  }
}

// -----

// coll.launch C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    %p = coll.launch "root" : index in {
    }
  }
}

// -----

// coll.launch C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  // expected-error @+1 {{names a rank by 1 coordinates among ranks of 2 dimensions [C2]}}
  %p = coll.launch "root" : index in {
  }
}

// -----

// coll.launch C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  // expected-error @+1 {{is an integer with 2 results [C2]}}
  %p:2 = coll.launch "root" integer : index, index in {
  }
}

// -----

// coll.where C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %ok = coll.pow2 %n
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    coll.where %ok "pow2(N)"
  }
}

// -----

// coll.assert C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %ok = coll.pow2 %n
  // expected-error @+1 {{has a bad slug: "No Slug" [C1]}}
  coll.assert %ok, "No Slug", "message"
}

// -----

// coll.assert C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %ok = coll.pow2 %n
  // expected-error @+1 {{refers to an argument that is not there [C2]}}
  coll.assert %ok, "extent", "{0} and {1}"(%n)
}

// -----

// coll.chunks C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    coll.chunks(%n)
  }
}

// -----

// coll.chunks C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has no dimension [C2]}}
  coll.chunks()
}

// -----

// coll.buffer C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.group {
    // expected-error @+1 {{expects parent op 'coll.schedule'}}
    %a = coll.buffer in "in"
  }
}

// -----

// coll.buffer C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{has both a rank and members [C2]}}
  %a = coll.buffer in "in" at(%n) members {
  }
}

// -----

// coll.buffer C3
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C3]}}
  %a = coll.buffer in "in" at(%n, %n)
}

// -----

// coll.buffer C4
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{is an argument with parts or ranks [C4]}}
  %a = coll.buffer row "w" parts(%n)
}
