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

# Prints the ONNX Runtime that uses this machine's GPU, as pip and uv take it; nothing where there is no GPU. It takes the
# place of `onnxruntime`: the two write the same files, so removing one of two breaks the other. The extras bring cuRAND,
# which PyTorch does not. $1: what torch_backend printed.
# Releases before 1.27 are built for CUDA 12. From 1.32 on, importing it may load CUDA, which is too early for processes
# that are forked afterwards.
gpu_onnxruntime() {
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null) || return 0
  [ "${driver%%.*}" -ge 525 ] 2>/dev/null || return 0
  case $1 in
    cu12*) echo 'onnxruntime-gpu[cuda,cudnn]>=1.26,<1.27' ;;
    *) echo 'onnxruntime-gpu[cuda,cudnn]>=1.31,<1.32' ;;
  esac
}
