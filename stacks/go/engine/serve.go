package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"commute/stacks/go/exchange"
)

// A Stack is a library before it is set up.
type Stack struct {
	Hello Hello
	// Codec is that of calls and streams; an exchange is in the setup's.
	Codec string
	// Open sets it up for setup.URL, without touching the network.
	Open func(setup Setup) (Library, error)
}

// Serve follows the lab, on the wires that the environment names, until it closes.
func Serve(stack Stack) error {
	in, err := openWire("COMMUTE_IN", os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := openWire("COMMUTE_OUT", os.O_WRONLY)
	if err != nil {
		return err
	}
	defer out.Close()
	driver := &driver{stack: stack, out: bufio.NewWriter(out)}
	return driver.converse(bufio.NewReader(in))
}

func openWire(name string, flag int) (*os.File, error) {
	path := os.Getenv(name)
	if path == "" {
		return nil, fmt.Errorf("%s is not set: a driver is started by the lab", name)
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
		if err := d.refuse(err); err != nil {
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
		if err := run.follow(func(row Row) error { return d.send(row) }); err != nil {
			return err
		}
		return d.send(message{Type: "done"})
	}
	return &Unsupported{"request " + request.Type, "this driver does not know it"}
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
	library, err := d.stack.Open(setup)
	if err != nil {
		return err
	}
	d.session = newSession(library, setup.TimeoutNs)
	d.session.exchanges, err = exchange.New(setup.Codec, setup.Values)
	return err
}

func (d *driver) check(setup Setup) error {
	hello := d.stack.Hello
	switch {
	case !slices.Contains(hello.Protocols, setup.Protocol):
		return &Unsupported{"protocol " + setup.Protocol, hello.Stack + " does not speak it"}
	case setup.Codec != d.stack.Codec && !slices.Contains(hello.Codecs, setup.Codec):
		return &Unsupported{"codec " + setup.Codec, hello.Stack + " does not carry it"}
	case setup.Congestion != "":
		return &Unsupported{"congestion " + setup.Congestion, hello.Stack + " has no option for it"}
	case setup.Observe != "":
		return &Unsupported{"observe " + setup.Observe, "a call ends here when the library says so"}
	case setup.Discovery != "":
		return &Unsupported{"discovery " + setup.Discovery, hello.Stack + " does not learn of HTTP/3"}
	case setup.TimeoutNs <= 0:
		return fmt.Errorf("timeout_ns is %d", setup.TimeoutNs)
	}
	return nil
}

// warmUp downloads from another origin, with a connection and tickets of its own.
func (d *driver) warmUp(setup Setup) error {
	setup.URL = setup.WarmupURL
	library, err := d.stack.Open(setup)
	if err != nil {
		return err
	}
	session := newSession(library, setup.TimeoutNs)
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

// refuse tells the lab of an error, unless it is that the lab cannot be told.
func (d *driver) refuse(err error) error {
	var unsupported *Unsupported
	var lost *os.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unsupported):
		return d.send(struct {
			message
			*Unsupported
		}{message{"unsupported"}, unsupported})
	case errors.As(err, &lost) && lost.Op == "write":
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
	// While the lab waits: rows are sent when no call is under way.
	return d.out.Flush()
}
