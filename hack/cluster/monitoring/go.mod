// Only definitions in example/prometheus-operator-crd of this module are used: nothing is compiled, and
// "go mod tidy" would take the line away.
module gpuattribution.dev/hack/cluster/monitoring

go 1.24.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
