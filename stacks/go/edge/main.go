// Command edge puts Envoy before commute's own server, to which it is connected over loopback. At layer 7,
// Envoy terminates TLS, HTTP/1.1, HTTP/2, HTTP/3 and gRPC and passes requests on; at layer 4, it passes
// on the bytes of TCP connections. Either way, everything that crosses the link is sent by Envoy's
// sockets. The command takes the arguments of `commute serve` that the lab needs, and writes the same
// log from both programs' logs (docs/server.md).
//
//	edge ENVOY COMMUTE [--layer 4] [ARGUMENTS]
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
	"slices"
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
	loopback   = "127.0.0.1:0"
	pollEvery  = 5 * time.Millisecond
)

// options are the command line.
type options struct {
	envoy, commute     string
	layer              int
	listen, mtlsListen []string
	plaintextListen    []string
	names              []string
	key, chain, auth   string
	credentials, log   string
	keyLog, qlog       string
	answers            string
	altSvc             bool
	threads            int
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
	list(&o.plaintextListen, "plaintext-listen", "`address` to listen on over TCP without TLS")
	list(&o.names, "name", "host `name` or IP address in the certificate")
	flags.IntVar(&o.layer, "layer", 7, "what Envoy balances: connections (4) or requests (7)")
	flags.StringVar(&o.auth, "auth", "", "`scheme` by which every request must prove who sends it: jwt or hmac")
	flags.StringVar(&o.key, "key", credentials.KeyP256, "type of all keys: p256 or rsa-2048")
	flags.StringVar(&o.chain, "chain", credentials.ChainTypical, "length of the certificate chain: typical or long")
	flags.StringVar(&o.credentials, "credentials", "", "`folder` for ca.pem, client.pem, client.key, and token.jwt or hmac.key")
	flags.StringVar(&o.log, "log", os.DevNull, "`file` to write the log to at the end")
	flags.StringVar(&o.keyLog, "keylog", "", "`file` to append the secrets of TLS sessions over TCP to")
	flags.StringVar(&o.qlog, "qlog", "", "`folder`, which stays empty: Envoy writes no qlog")
	flags.StringVar(&o.answers, "answers", "", "JSON `file` of answers to requests of a study's own")
	flags.BoolVar(&o.altSvc, "alt-svc", false, "advertise HTTP/3 over TCP")
	flags.IntVar(&o.threads, "threads", 1, "worker threads of Envoy")
	flags.Bool("early-data", false, "no difference: sessions are not resumed, so there is none")
	flags.Bool("grpc", false, "no difference: gRPC is served beside HTTP")
	flags.Bool("json", true, "print one line of JSON once listening, as always")
	flags.Parse(args[2:])
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %s", flags.Arg(0))
	case o.layer != 4 && o.layer != 7:
		return o, fmt.Errorf("--layer %d: use 4 or 7", o.layer)
	case o.credentials == "":
		return o, errors.New("--credentials is missing")
	}
	return o, nil
}

func run(o options) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	folder, err := os.MkdirTemp(filepath.Dir(o.credentials), "edge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	chainBytes := 0
	if o.layer == 7 {
		made, err := credentials.New(o.names, o.key, o.chain)
		if err != nil {
			return err
		}
		chainBytes = made.ChainBytes()
		err = errors.Join(made.Write(o.credentials), made.WriteServer(folder), prepareCaptures(o))
		if err != nil {
			return err
		}
	}
	backend, started, err := startBackend(o, folder)
	if err != nil {
		return err
	}
	defer backend.Process.Kill()
	if o.layer == 7 && o.auth != "" {
		if err := handOver(secrets[o.auth], filepath.Join(folder, backendCredentials), o.credentials); err != nil {
			return err
		}
	}
	config, err := envoyConfig(o, folder, started.Listening)
	if err != nil {
		return err
	}
	envoy, err := startEnvoy(o, folder, config)
	if err != nil {
		return err
	}
	defer envoy.Process.Kill()
	version, err := envoyVersion(o.envoy)
	if err != nil {
		return err
	}
	ready := announcement{o.addresses(), map[string]string{}}
	for protocol, library := range started.Libraries {
		switch {
		case o.layer == 7:
			ready.Libraries[protocol] = "Envoy " + version
		case protocol != "h3":
			ready.Libraries[protocol] = library + " behind Envoy " + version
		}
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
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("%s did not end well: %w", filepath.Base(program.Path), err)
			}
		case <-time.After(drainLimit):
			return fmt.Errorf("%s did not end", filepath.Base(program.Path))
		}
	}
	if o.layer == 4 {
		return writeProxiedLog(o.log, folder)
	}
	return writeLog(o.log, folder, chainBytes)
}

// An announcement is the line that a server prints once it listens.
type announcement struct {
	Listening []string          `json:"listening"`
	Libraries map[string]string `json:"libraries"`
}

// addresses returns all addresses that clients may connect to.
func (o options) addresses() []string {
	return slices.Concat(o.listen, o.mtlsListen, o.plaintextListen)
}

// secrets are the files that commute serve makes for each scheme of authentication.
var secrets = map[string]string{"jwt": "token.jwt", "hmac": "hmac.key"}

// handOver copies a secret between folders, for its owner alone.
func handOver(name, from, to string) error {
	secret, err := os.ReadFile(filepath.Join(from, name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, name), secret, 0o600)
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

// child prepares a program that ends with this one and writes to its stderr. The lab signals groups: in
// its own, the program gets the signal to end only once, and in order. Envoy dies of a second signal while it
// ends, and what its log buffers is lost.
func child(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, args...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return command
}

// startBackend starts commute serve on loopback and returns what it announced.
func startBackend(o options, folder string) (*exec.Cmd, announcement, error) {
	var started announcement
	backend := child(o.commute, backendArgs(o, folder)...)
	stdout, err := backend.StdoutPipe()
	if err != nil {
		return nil, started, err
	}
	if err := backend.Start(); err != nil {
		return nil, started, err
	}
	if err := json.NewDecoder(stdout).Decode(&started); err != nil || len(started.Listening) == 0 {
		backend.Process.Kill()
		return nil, started, fmt.Errorf("commute serve did not start: %v", err)
	}
	return backend, started, nil
}

// backendArgs returns the arguments of commute serve. Behind layer 4, it terminates the clients' TLS,
// and listens in the order of [options.addresses].
func backendArgs(o options, folder string) []string {
	args := []string{"serve", "--json", "--threads", "1", "--log", filepath.Join(folder, backendLog),
		"--listen", loopback}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	add("--auth", o.auth)
	add("--answers", o.answers)
	if o.layer == 7 {
		add("--name", backendName)
		add("--credentials", filepath.Join(folder, backendCredentials))
		return args
	}
	for _, name := range o.names {
		add("--name", name)
	}
	add("--mtls-listen", loopback)
	add("--plaintext-listen", loopback)
	add("--key", o.key)
	add("--chain", o.chain)
	add("--credentials", o.credentials)
	add("--keylog", o.keyLog)
	add("--qlog", o.qlog)
	return args
}

// startEnvoy starts Envoy and waits until it listens.
func startEnvoy(o options, folder string, config []byte) (*exec.Cmd, error) {
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

// listens tells whether all addresses accept connections. Their workers also serve the sockets for UDP
// and plaintext, which come before them in the configuration: a log may begin with the connection of a
// client that has sent nothing only where there is no TLS.
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
