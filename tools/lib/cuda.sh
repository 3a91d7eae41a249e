# cuda.sh — nvcc from NVIDIA's PyPI packages, in a virtual environment under build/. Sourced.

# All four are pinned: nvcc alone brings a newer crt and nvvm, which it then refuses
# ("Unsupported .version 9.5; current version is '9.0'").
berth_cuda_packages=(
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88
  nvidia-cuda-runtime==13.0.96
)

# berth_need_nvcc prints the path of nvcc, after installing it if missing (289 MB).
berth_need_nvcc() {
  local environment=$PWD/build/cuda stamp
  stamp="${berth_cuda_packages[*]}"
  if [[ ! -f $environment/stamp || $(<"$environment/stamp") != "$stamp" ]]; then
    echo "installing nvcc from PyPI into build/cuda: ${berth_cuda_packages[*]}" >&2
    rm -rf "$environment"
    python3 -m venv "$environment" >&2 || {
      echo "python3 -m venv failed; on Debian: apt-get install python3-venv" >&2
      return 1
    }
    "$environment/bin/pip" install --quiet --disable-pip-version-check \
      "${berth_cuda_packages[@]}" >&2
    echo "$stamp" >"$environment/stamp"
  fi
  local toolkit
  toolkit=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)
  [[ -e $toolkit/lib64 ]] || ln -s lib "$toolkit/lib64"  # nvcc.profile of 13.0 says lib64
  echo "$toolkit/bin/nvcc"
}
