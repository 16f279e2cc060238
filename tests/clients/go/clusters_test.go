package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

// The Go pulsarctl sends the peers [""] unless it is told some.
func TestTheGoPulsarctlCreatesAClusterWithoutOptions(tt *testing.T) {
	t := start(tt)
	name := t.cluster()
	out, err := exec.Command(t.pulsarctl(), append([]string{"clusters", "create", name}, t.options()...)...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "Cluster "+name+" added" {
		t.Fatalf("%v: %s", err, out)
	}
	if data, err := t.admin.Clusters().Get(name); err != nil || !slices.Equal(data.PeerClusterNames, []string{""}) {
		t.Fatal(data, err)
	}
}

// These are the calls of a cluster resource in Terraform: its peers need not exist yet.
func TestAClusterIsCreatedChangedAndDeletedByTheAdminClient(tt *testing.T) {
	t := start(tt)
	name := t.cluster()
	data := utils.ClusterData{
		Name:             name,
		ServiceURL:       "http://localhost:1",
		BrokerServiceURL: "pulsar://localhost:1",
		PeerClusterNames: []string{"skrulls", "krees"},
	}
	t.must(t.admin.Clusters().Create(data))
	data.ServiceURL = "http://localhost:2"
	t.must(t.admin.Clusters().Update(data))
	read, err := t.admin.Clusters().Get(name)
	if err != nil || read.ServiceURL != "http://localhost:2" || !slices.Equal(read.PeerClusterNames, data.PeerClusterNames) {
		t.Fatal(read, err)
	}
	t.must(t.admin.Clusters().Delete(name))
	if _, err = t.admin.Clusters().Get(name); err == nil {
		t.Fatal("the cluster is still there")
	}
}

// cluster returns the name of a cluster that is deleted when the test ends.
func (t *test) cluster() string {
	name := "go-" + t.topic[strings.LastIndex(t.topic, "/")+1:]
	t.Cleanup(func() { _ = t.admin.Clusters().Delete(name) })
	return name
}

// pulsarctl builds the Go pulsarctl, and returns its path.
func (t *test) pulsarctl() string {
	program := filepath.Join(t.TempDir(), "pulsarctl")
	build := exec.Command("go", "build", "-tags=tools", "-o", program, "github.com/streamnative/pulsarctl")
	build.Dir = "pulsarctl"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

func (t *test) options() []string {
	options := []string{"--admin-service-url", required(t.T, "PULSAR_ADMIN_URL")}
	if token := os.Getenv("PULSAR_TOKEN"); token != "" {
		options = append(options, "--token", token)
	}
	if trust := os.Getenv("PULSAR_TRUST_CERTS"); trust != "" {
		options = append(options, "--tls-trust-cert-path", trust)
	}
	return options
}
