package check

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	// Of the only user, who may do everything.
	token = "token-of-the-test"
	// Longer than any step takes on a busy machine.
	patience = 2 * time.Minute
)

// server is an API server, with etcd below it, and controllers and a scheduler beside it.
type server struct {
	t      *testing.T
	url    string
	client http.Client
}

// startControlPlane starts the programs in the folder CONTROL_PLANE, and ends them with the test.
func startControlPlane(t *testing.T) *server {
	t.Helper()
	programs := os.Getenv("CONTROL_PLANE")
	if programs == "" {
		t.Skip("needs the programs that `make control-plane` builds")
	}
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	start := func(name string, arguments ...string) {
		log, err := os.Create(filepath.Join(folder, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command(filepath.Join(programs, name), arguments...)
		command.Stdout, command.Stderr = log, log
		// So that they end even if this process is killed.
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			command.Process.Kill()
			command.Wait()
			if t.Failed() {
				text, _ := os.ReadFile(log.Name())
				t.Logf("%s:\n%s", name, text[max(0, len(text)-3000):])
			}
		})
	}
	etcd, peer, port := freePort(t), freePort(t), freePort(t)
	local := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	start("etcd", "--data-dir="+filepath.Join(folder, "etcd"), "--initial-cluster=default="+local(peer),
		"--listen-client-urls="+local(etcd), "--advertise-client-urls="+local(etcd),
		"--listen-peer-urls="+local(peer), "--initial-advertise-peer-urls="+local(peer))
	key := write("key.pem", newKey(t))
	start("kube-apiserver", "--etcd-servers="+local(etcd), "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--advertise-address=192.0.2.1", "--cert-dir="+folder,
		"--authorization-mode=RBAC", "--token-auth-file="+write("tokens", token+",admin,1,system:masters\n"),
		"--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key)
	server := &server{t: t, url: fmt.Sprintf("https://127.0.0.1:%d", port), client: http.Client{
		Timeout: 30 * time.Second,
		// The server made its certificate itself a moment ago.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}}
	wait(t, "API server", func() bool { return server.exists("/readyz") })
	config := write("kubeconfig", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
"clusters": [{"name": "test", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}],
"users": [{"name": "test", "user": {"token": %q}}],
"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}`, server.url, token))
	start("kube-controller-manager", "--kubeconfig="+config, "--leader-elect=false", "--secure-port=0",
		"--controllers=job-controller,serviceaccount-controller")
	start("kube-scheduler", "--kubeconfig="+config, "--leader-elect=false", "--secure-port=0")
	return server
}

// post creates an object of a manifest.
func (server *server) post(t *testing.T, object []byte, options string) {
	t.Helper()
	var kind struct{ Kind string }
	if err := json.Unmarshal(object, &kind); err != nil {
		t.Fatal(err)
	}
	path := map[string]string{
		"Job":       "/apis/batch/v1/namespaces/" + namespace + "/jobs",
		"ConfigMap": "/api/v1/namespaces/" + namespace + "/configmaps",
	}[kind.Kind]
	server.send(http.MethodPost, path+options, json.RawMessage(object), nil)
}

// send makes a request that must succeed, and decodes its answer.
func (server *server) send(method, path string, object, answer any) {
	server.t.Helper()
	var body io.Reader
	if object != nil {
		text, err := json.Marshal(object)
		if err != nil {
			server.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	code, text := server.request(method, path, body)
	if code/100 != 2 {
		server.t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			server.t.Fatal(err)
		}
	}
}

func (server *server) exists(path string) bool {
	code, _ := server.request(http.MethodGet, path, nil)
	return code == http.StatusOK
}

// request returns the status code, 0 without a response, and the body.
func (server *server) request(method, path string, body io.Reader) (int, []byte) {
	request, err := http.NewRequest(method, server.url+path, body)
	if err != nil {
		server.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := server.client.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return response.StatusCode, text
}

func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// newKey returns the key that signs tokens of service accounts.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return string(pem.EncodeToMemory(&block))
}
