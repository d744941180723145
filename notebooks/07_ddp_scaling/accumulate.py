from contextlib import nullcontext
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
layers = [torch.nn.Linear(512, 512) for _ in range(8)]
model, sent = DDP(torch.nn.Sequential(*layers), bucket_cap_mb=2), []

def hook(state, bucket):
    sent.append(bucket.index())
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0] / dist.get_world_size())

model.register_comm_hook(None, hook)
for quiet in (0, 0, 3):  # so many of four micro-batches send nothing
    sent.clear()
    for number in range(4):
        with model.no_sync() if number < quiet else nullcontext():
            model(torch.randn(8, 512)).sum().backward()
    if dist.get_rank() == 0:
        print(f"no_sync in {quiet} of 4 backward passes: {len(sent)} buckets sent")
dist.destroy_process_group()
