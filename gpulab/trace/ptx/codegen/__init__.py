"""A PTX kernel as one LLVM function: functions, basic blocks, what a lane does in a block, how a block ends."""
