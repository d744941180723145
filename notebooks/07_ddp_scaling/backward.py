import json, time, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
dist.init_process_group("gloo")
layers = [torch.nn.Linear(1024, 1024) for _ in range(8)]
model = DDP(torch.nn.Sequential(*layers), bucket_cap_mb=8)

def hook(state, bucket):  # DDP calls it when all gradients of a bucket are ready
    one = {"mbytes": bucket.buffer().nbytes / 1e6, "ready": time.perf_counter()}
    buckets.append(one)
    def finish(future):
        one["done"] = time.perf_counter()
        return future.value()[0] / dist.get_world_size()
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(finish)

model.register_comm_hook(None, hook)
for _ in range(2):  # after the first pass DDP builds its buckets anew
    buckets, loss = [], model(torch.randn(256, 1024)).square().mean()
    dist.barrier()
    start = time.perf_counter()
    loss.backward()
if dist.get_rank() == 0:
    print(json.dumps({"start": start, "buckets": buckets}))
dist.destroy_process_group()
