module commute/stacks/go

go 1.26.0

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/hashicorp/go-msgpack/v2 v2.1.5
	github.com/klauspost/compress v1.20.3
	github.com/quic-go/quic-go v0.65.0
	github.com/tinylib/msgp v1.6.5
	golang.org/x/sys v0.49.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

require (
	golang.org/x/net v0.62.0
	golang.org/x/text v0.43.0 // indirect
)
