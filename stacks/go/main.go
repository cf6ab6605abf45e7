// Command driver drives Go's client libraries by commute's driver protocol.
package main

import (
	"fmt"
	"os"

	"commute/stacks/go/engine"
	"commute/stacks/go/grpcgo"
	"commute/stacks/go/nethttp"
	"commute/stacks/go/quicgo"
)

var stacks = map[string]func() engine.Stack{
	"grpc-go":  grpcgo.Stack,
	"net-http": nethttp.Stack,
	"quic-go":  quicgo.Stack,
}

func main() {
	if len(os.Args) != 2 || stacks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: driver net-http | quic-go | grpc-go")
		os.Exit(2)
	}
	if err := engine.Serve(stacks[os.Args[1]]()); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}
