"""What only the judge may know about the exercises on fused kernels: references for times, the menu's answers."""
