// A shared library that has a version of BridgeStan's and nothing else.
extern "C" int bs_major_version;
int bs_major_version = 2;
