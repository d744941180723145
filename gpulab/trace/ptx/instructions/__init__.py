"""PTX instructions translated to LLVM, by opcode: what one lane does, and what a warp does together."""
