"""PTX instructions translated to LLVM: what one lane does, and what a warp does together."""
