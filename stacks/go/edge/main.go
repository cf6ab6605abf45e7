// Command edge puts Envoy before commute's own server. Envoy terminates TLS, HTTP/1.1, HTTP/2, HTTP/3
// and gRPC, and so sends everything that crosses the link; it passes requests on to `commute serve`
// over loopback. The command takes the arguments of `commute serve` that the lab needs, and writes
// the same log from both programs' logs (docs/server.md).
//
//	edge ENVOY COMMUTE [ARGUMENTS]
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"commute/stacks/go/credentials"
)

const (
	// startLimit is how long both programs may take until they listen.
	startLimit = 10 * time.Second
	// drainLimit is half of the time after which the lab kills a server that was asked to end.
	drainLimit = 5 * time.Second
	pollEvery  = 5 * time.Millisecond
)

// options are the command line.
type options struct {
	envoy, commute            string
	listen, mtlsListen, names []string
	key, chain                string
	credentials, log          string
	keyLog, qlog              string
	altSvc                    bool
	threads                   int
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	if len(args) < 2 {
		return o, errors.New("usage: edge ENVOY COMMUTE [ARGUMENTS of commute serve]")
	}
	o.envoy, o.commute = args[0], args[1]
	flags := flag.NewFlagSet("edge", flag.ExitOnError)
	list := func(to *[]string, name, usage string) {
		flags.Func(name, usage+"; repeatable", func(value string) error {
			*to = append(*to, value)
			return nil
		})
	}
	list(&o.listen, "listen", "`address` to listen on, over TCP and UDP")
	list(&o.mtlsListen, "mtls-listen", "`address` to listen on and demand a client certificate")
	list(&o.names, "name", "host `name` or IP address in the certificate")
	flags.StringVar(&o.key, "key", credentials.KeyP256, "type of all keys: p256 or rsa-2048")
	flags.StringVar(&o.chain, "chain", credentials.ChainTypical, "length of the certificate chain: typical or long")
	flags.StringVar(&o.credentials, "credentials", "", "`folder` for ca.pem, client.pem and client.key")
	flags.StringVar(&o.log, "log", os.DevNull, "`file` to write the log to at the end")
	flags.StringVar(&o.keyLog, "keylog", "", "`file` to append the secrets of TLS sessions over TCP to")
	flags.StringVar(&o.qlog, "qlog", "", "`folder`, which stays empty: Envoy writes no qlog")
	flags.BoolVar(&o.altSvc, "alt-svc", false, "advertise HTTP/3 over TCP")
	flags.IntVar(&o.threads, "threads", 1, "worker threads of Envoy")
	flags.Bool("early-data", false, "no difference: sessions are not resumed, so there is none")
	flags.Bool("grpc", false, "no difference: gRPC is served beside HTTP")
	flags.Bool("json", true, "print one line of JSON once listening, as always")
	flags.Parse(args[2:])
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %s", flags.Arg(0))
	case o.credentials == "":
		return o, errors.New("--credentials is missing")
	}
	return o, nil
}

func run(o options) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	made, err := credentials.New(o.names, o.key, o.chain)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(o.credentials), "edge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := errors.Join(made.Write(o.credentials), made.WriteServer(folder)); err != nil {
		return err
	}
	if err := prepareCaptures(o); err != nil {
		return err
	}
	backend, address, err := startBackend(o, folder)
	if err != nil {
		return err
	}
	defer backend.Process.Kill()
	envoy, err := startEnvoy(o, folder, address)
	if err != nil {
		return err
	}
	defer envoy.Process.Kill()
	version, err := envoyVersion(o.envoy)
	if err != nil {
		return err
	}
	ready := struct {
		Listening []string          `json:"listening"`
		Libraries map[string]string `json:"libraries"`
	}{append(o.listen, o.mtlsListen...), map[string]string{}}
	for _, protocol := range []string{"h1", "h2", "h3", "grpc"} {
		ready.Libraries[protocol] = "Envoy " + version
	}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	ended := make(chan error, 2)
	for _, program := range []*exec.Cmd{envoy, backend} {
		go func() { ended <- program.Wait() }()
	}
	select {
	case err := <-ended:
		return fmt.Errorf("Envoy or commute serve ended by itself: %w", err)
	case <-stop:
	}
	// Envoy first, so that no request is passed on to a backend that has ended.
	for _, program := range []*exec.Cmd{envoy, backend} {
		program.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(drainLimit):
			return fmt.Errorf("%s did not end", filepath.Base(program.Path))
		}
	}
	return writeLog(o.log, folder, made.ChainBytes())
}

// prepareCaptures creates what is kept on request, which is empty if Envoy has nothing to write.
func prepareCaptures(o options) error {
	if o.qlog != "" {
		if err := os.MkdirAll(o.qlog, 0o755); err != nil {
			return err
		}
	}
	if o.keyLog == "" {
		return nil
	}
	// Whoever reads the secrets can read what was encrypted with them.
	file, err := os.OpenFile(o.keyLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// child prepares a program that ends with this one and writes to its stderr.
func child(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, args...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// startBackend starts commute serve on loopback and returns its address.
func startBackend(o options, folder string) (*exec.Cmd, string, error) {
	backend := child(o.commute, "serve", "--json", "--threads", "1", "--listen", "127.0.0.1:0",
		"--name", backendName, "--credentials", filepath.Join(folder, backendCredentials),
		"--log", filepath.Join(folder, backendLog))
	stdout, err := backend.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := backend.Start(); err != nil {
		return nil, "", err
	}
	var ready struct {
		Listening []string `json:"listening"`
	}
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil || len(ready.Listening) == 0 {
		backend.Process.Kill()
		return nil, "", fmt.Errorf("commute serve did not start: %v", err)
	}
	return backend, ready.Listening[0], nil
}

// startEnvoy starts Envoy and waits until it listens.
func startEnvoy(o options, folder, backend string) (*exec.Cmd, error) {
	config, err := envoyConfig(o, folder, backend)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "envoy.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return nil, err
	}
	envoy := child(o.envoy, "-c", path, "--concurrency", fmt.Sprint(o.threads),
		"--disable-hot-restart", "--log-level", "error")
	if err := envoy.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(startLimit); ; time.Sleep(pollEvery) {
		if listens(append(o.listen, o.mtlsListen...)) {
			return envoy, nil
		}
		if time.Now().After(until) {
			envoy.Process.Kill()
			return nil, errors.New("Envoy did not start to listen")
		}
	}
}

// listens tells whether all addresses accept connections. Their workers also serve the UDP sockets,
// which come before them in the configuration.
func listens(addresses []string) bool {
	for _, address := range addresses {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		conn.Close()
	}
	return true
}

var versionPattern = regexp.MustCompile(`/(\d+\.\d+\.\d+)/`)

func envoyVersion(program string) (string, error) {
	output, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "", err
	}
	found := versionPattern.FindSubmatch(output)
	if found == nil {
		return "", fmt.Errorf("no version in %q", strings.TrimSpace(string(output)))
	}
	return string(found[1]), nil
}
