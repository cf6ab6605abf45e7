package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"commute/stacks/go/auth"
	"commute/stacks/go/exchange"
)

// A Stack is a library before it is set up.
type Stack struct {
	Hello Hello
	// Codec is used by calls and streams. Exchanges use the setup's.
	Codec string
	// Open configures the library for setup.URL without touching the network.
	Open func(setup Setup) (Library, error)
}

// Serve answers the lab, over the pipes named in the environment, until it closes.
func Serve(stack Stack) error {
	in, err := openPipe("COMMUTE_IN", os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := openPipe("COMMUTE_OUT", os.O_WRONLY)
	if err != nil {
		return err
	}
	defer out.Close()
	driver := &driver{stack: stack, out: bufio.NewWriter(out)}
	return driver.converse(bufio.NewReader(in))
}

func openPipe(name string, flag int) (*os.File, error) {
	path := os.Getenv(name)
	if path == "" {
		return nil, fmt.Errorf("%s is not set: commute starts this program", name)
	}
	return os.OpenFile(path, flag, 0)
}

type driver struct {
	stack   Stack
	out     *bufio.Writer
	session *session
}

func (d *driver) converse(in *bufio.Reader) error {
	defer func() {
		if d.session != nil {
			d.session.close()
		}
	}()
	for {
		line, err := in.ReadBytes('\n') // of any length: a run can have many steps
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		request, err := parseRequest(line)
		if err == nil && request.Type == "close" {
			return nil
		}
		if err == nil {
			err = d.answer(request)
		}
		if err := d.sendError(err); err != nil {
			return err
		}
		if err := d.out.Flush(); err != nil {
			return err
		}
	}
}

func (d *driver) answer(request request) error {
	switch request.Type {
	case "hello":
		hello := d.stack.Hello
		hello.Type, hello.Version, hello.Clock, hello.ResolutionNs = "hello", Version, "monotonic", 1
		return d.send(hello)
	case "setup":
		if err := d.setUp(request.setup); err != nil {
			return err
		}
		return d.send(message{Type: "ready"})
	case "run":
		if d.session == nil {
			return errors.New("run came before setup")
		}
		run, err := d.session.prepare(request.Steps, d.stack)
		if err != nil {
			return err
		}
		if err := run.execute(func(row Row) error { return d.send(row) }); err != nil {
			return err
		}
		return d.send(message{Type: "done"})
	}
	return &Unsupported{"request " + request.Type, "unknown to this driver"}
}

func (d *driver) setUp(setup Setup) error {
	if err := d.check(setup); err != nil {
		return err
	}
	if d.session != nil {
		d.session.close()
		d.session = nil
	}
	if setup.WarmupURL != "" {
		if err := d.warmUp(setup); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	libraries, err := d.openAll(setup)
	if err != nil {
		return err
	}
	d.session = newSession(libraries, setup.TimeoutNs)
	if setup.Auth != nil {
		if d.session.credential, err = auth.Read(*setup.Auth); err != nil {
			return err
		}
	}
	if d.session.payloads, err = readPayloads(setup.Payloads); err != nil {
		return err
	}
	d.session.exchanges, err = exchange.New(setup.Codec, setup.Values)
	return err
}

// readPayloads returns the bytes of each payload by its name.
func readPayloads(files map[string]string) (map[string][]byte, error) {
	payloads := map[string][]byte{}
	for name, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		payloads[name] = content
	}
	return payloads, nil
}

// openAll configures the library for every origin, by the name in steps.
func (d *driver) openAll(setup Setup) (map[string]Library, error) {
	urls := map[string]string{"": setup.URL}
	maps.Copy(urls, setup.Origins)
	libraries := map[string]Library{}
	for name, url := range urls {
		setup.URL = url
		library, err := d.stack.Open(setup)
		if err != nil {
			return nil, err
		}
		libraries[name] = library
	}
	return libraries, nil
}

func (d *driver) check(setup Setup) error {
	hello := d.stack.Hello
	plaintext := strings.HasPrefix(setup.URL, "http:")
	switch {
	case !slices.Contains(hello.Protocols, setup.Protocol):
		return &Unsupported{"protocol " + setup.Protocol, hello.Stack + " does not speak it"}
	case setup.Codec != d.stack.Codec && !slices.Contains(hello.Codecs, setup.Codec):
		return &Unsupported{"codec " + setup.Codec, hello.Stack + " does not carry it"}
	case plaintext && (!slices.Contains(hello.Capabilities, "plaintext") || setup.Protocol == "h2"):
		return &Unsupported{"plaintext", setup.Protocol + " needs TLS here"}
	case setup.Auth != nil && !slices.Contains(hello.Capabilities, setup.Auth.Scheme):
		return &Unsupported{"auth " + setup.Auth.Scheme, hello.Stack + " does not have it"}
	case setup.Congestion != "":
		return &Unsupported{"congestion " + setup.Congestion, hello.Stack + " has no option for it"}
	case setup.Observe != "":
		return &Unsupported{"observe " + setup.Observe, "this driver has no frame loop"}
	case setup.Discovery != "":
		return &Unsupported{"discovery " + setup.Discovery, hello.Stack + " does not discover HTTP/3"}
	case setup.TimeoutNs <= 0:
		return fmt.Errorf("timeout_ns is %d", setup.TimeoutNs)
	}
	return nil
}

// warmUp downloads from another origin, over its own connection and tickets.
func (d *driver) warmUp(setup Setup) error {
	setup.URL = setup.WarmupURL
	library, err := d.stack.Open(setup)
	if err != nil {
		return err
	}
	session := newSession(map[string]Library{"": library}, setup.TimeoutNs)
	defer session.close()
	step := Step{Kind: "get", Bytes: 1}
	request, err := library.Prepare(step)
	if err != nil {
		return err
	}
	calls := 1
	if setup.WarmupCalls != nil {
		calls = *setup.WarmupCalls
	}
	for range calls {
		if row := session.call(step, request, nil).finish(); row.Error != nil {
			return row.Error
		}
	}
	return nil
}

type message struct {
	Type string `json:"type"`
}

// sendError reports an error to the lab. It returns the error if writing to the lab caused it.
func (d *driver) sendError(err error) error {
	var unsupported *Unsupported
	var path *os.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unsupported):
		return d.send(struct {
			message
			*Unsupported
		}{message{"unsupported"}, unsupported})
	case errors.As(err, &path) && path.Op == "write":
		return err
	}
	return d.send(struct {
		message
		Reason string `json:"reason"`
	}{message{"failed"}, err.Error()})
}

func (d *driver) send(reply any) error {
	line, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	if _, err := d.out.Write(append(line, '\n')); err != nil {
		return err
	}
	// Costs no call any time: rows are sent only when none is in flight.
	return d.out.Flush()
}
