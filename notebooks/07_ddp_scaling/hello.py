import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
number = 3
if rank == 1:
    number = 7
total = torch.tensor([float(number)])
dist.all_reduce(total)  # the sum over all ranks, on all ranks
place = f"rank {rank} of {ranks} ({os.environ['LOCAL_RANK']} on its node)"
line = f"{place}: the sum is {total.item():g}, number is {number}"
print(line + "\n", end="")  # in one piece: both ranks write to this page
dist.destroy_process_group()
