//===- NoLicence.cpp - Lacks the licence ---===//
int x;
