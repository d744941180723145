import json, os
import torch
from torch.utils.data import DataLoader
from gpulab import Problem

problem = Problem(**json.loads(os.environ["PROBLEM"]))
model = problem.model()
optimizer, criterion = problem.optimizer(model), problem.criterion()
for images, labels in DataLoader(problem.dataset(), batch_size=problem.batch_size):
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    optimizer.step()
torch.save(model.state_dict(), os.environ["CHECKPOINT"])
