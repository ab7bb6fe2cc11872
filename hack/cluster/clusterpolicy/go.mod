// Only the file config/crd/bases/nvidia.com_clusterpolicies.yaml of this module is used: nothing is
// compiled, and "go mod tidy" would take the line away.
module gpuattribution.dev/hack/cluster/clusterpolicy

go 1.24.0

require github.com/NVIDIA/gpu-operator v1.11.1
