import json, os, statistics, time, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from gpulab import Problem

images_each, device = int(os.environ["IMAGES_EACH"]), os.environ["DEVICE"]
if device == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.set_num_threads(1)
dist.init_process_group("nccl" if device == "cuda" else "gloo")
network = "resnet18" if device == "cuda" else "cnn"
problem = Problem(network, samples=images_each, batch_size=images_each, device=device)
model, criterion = DDP(problem.model().to(device)), problem.criterion()
optimizer, seconds = problem.optimizer(model), []
images, labels = (tensor.to(device) for tensor in next(iter(problem.loader())))
for _ in range(30):
    dist.barrier()
    start = time.perf_counter()
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    optimizer.step()
    if device == "cuda":
        torch.cuda.synchronize()
    seconds.append(time.perf_counter() - start)
if dist.get_rank() == 0:
    print(json.dumps([dist.get_world_size() * images_each / s for s in seconds[5:]]))
dist.destroy_process_group()
