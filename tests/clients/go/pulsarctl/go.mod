module pulsarctl/clients/pulsarctl

go 1.24.0

require github.com/streamnative/pulsarctl v0.5.0
