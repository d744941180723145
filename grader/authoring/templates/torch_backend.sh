# Prints the CUDA build of PyTorch that this machine's driver needs, as uv's --torch-backend takes it; nothing where the
# one on PyPI will do (CUDA 13: a driver of branch 580 or later, and Turing or newer), or where there is no GPU.
# uv's own "auto" goes by the newest CUDA that a driver brought along (535: 12.2), for which no current PyTorch is built;
# but every driver from 525 on runs builds for any CUDA 12.
torch_backend() {
  seen=$(nvidia-smi --query-gpu=driver_version,compute_cap --format=csv,noheader 2>/dev/null) || return 0
  printf '%s\n' "$seen" | awk -F '[., ]+' '
    NR == 1 { driver = $1 + 0; capability = 10 * $(NF - 1) + $NF }
    END {
      if (driver < 525 || (driver >= 580 && capability >= 75)) exit
      print (capability >= 100) ? "cu128" : "cu126"
    }'
}
