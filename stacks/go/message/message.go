// Package message has the messages of the codec bench as an app would have them: structs with
// public fields, in the schema's order (crates/wire/proto/commute/bench/v1/bench.proto). No
// codec library stands in them; msgp.go, which tinylib/msgp generates, only adds methods.
package message

//go:generate go run github.com/tinylib/msgp@v1.6.5 -file message.go -o msgp.go -io=false -tests=false

// Generated decoders make room for as many elements as the input says it has, so what it may
// say is bounded; no message of the bench comes near.
//
//msgp:tag json
//msgp:limit arrays:1048576
//msgp:replace float32 with:anyFloat

type Small struct {
	Name string `json:"name"`
}

type AddressBook struct {
	People []Person `json:"people"`
}

type Person struct {
	Name   string        `json:"name"`
	ID     int32         `json:"id"`
	Email  string        `json:"email"`
	Phones []PhoneNumber `json:"phones"`
}

type PhoneNumber struct {
	Number string `json:"number"`
	Type   int32  `json:"type"`
}

type Newsfeed struct {
	Profiles []Profile `json:"profiles"`
}

type Profile struct {
	ID     int32  `json:"id"`
	Name   string `json:"name"`
	About  string `json:"about"`
	Gender bool   `json:"gender"`
	Posts  []Post `json:"posts"`
}

type Post struct {
	Owner     int32      `json:"owner"`
	Content   string     `json:"content"`
	Reactions []Reaction `json:"reactions"`
	Comments  []Comment  `json:"comments"`
}

type Reaction struct {
	Owner int32 `json:"owner"`
	Type  int32 `json:"type"`
}

type Comment struct {
	Owner int32  `json:"owner"`
	Text  string `json:"text"`
}

type Large struct {
	Attributes Attributes `json:"attributes"`
	Things     []Thing1   `json:"things"`
}

type Thing1 struct {
	Attributes Attributes `json:"attributes"`
	Things     []Thing2   `json:"things"`
}

type Thing2 struct {
	Attributes Attributes `json:"attributes"`
	Type       int32      `json:"type"`
	Things     []Thing3   `json:"things"`
}

type Thing3 struct {
	Attributes Attributes `json:"attributes"`
}

type Attributes struct {
	Int1    int32   `json:"int1"`
	Int2    int32   `json:"int2"`
	Int3    int32   `json:"int3"`
	Float1  float32 `json:"float1"`
	Float2  float32 `json:"float2"`
	Float3  float32 `json:"float3"`
	String1 string  `json:"string1"`
	String2 string  `json:"string2"`
	String3 string  `json:"string3"`
	Bool1   bool    `json:"bool1"`
	Bool2   bool    `json:"bool2"`
	Bool3   bool    `json:"bool3"`
	Double1 float64 `json:"double1"`
	Double2 float64 `json:"double2"`
	Double3 float64 `json:"double3"`
}

type Diag struct {
	CanID   int32       `json:"canId"`
	Payload DiagPayload `json:"payload"`
}

type DiagPayload struct {
	Body []byte `json:"body"`
}

type Big struct {
	ID         int32       `json:"id"`
	Name       string      `json:"name"`
	IntValue   int32       `json:"int"`
	FloatValue float32     `json:"float"`
	BoolValue  bool        `json:"bool"`
	Nil        *int32      `json:"nil"`
	Str        string      `json:"str"`
	Arr        []int32     `json:"arr"`
	Map        BigMap      `json:"map"`
	IntArr     []int32     `json:"intarr"`
	StrArr     []string    `json:"strarr"`
	BoolArr    []bool      `json:"boolarr"`
	MapArr     []BigRecord `json:"maparr"`
}

type BigRecord struct {
	ID         int32   `json:"id"`
	Name       string  `json:"name"`
	IntValue   int32   `json:"int"`
	FloatValue float32 `json:"float"`
	BoolValue  bool    `json:"bool"`
	Nil        *int32  `json:"nil"`
	Str        string  `json:"str"`
	Arr        []int32 `json:"arr"`
	Map        BigMap  `json:"map"`
}

type BigMap struct {
	Foo  string  `json:"foo"`
	Buzz int32   `json:"buzz"`
	Piyo float64 `json:"piyo"`
}

type PerlData struct {
	Rows []PerlRow `json:"rows"`
}

type PerlRow struct {
	IntValue    int32   `json:"int"`
	LongValue   int64   `json:"long"`
	FloatValue  float64 `json:"float"`
	StringValue string  `json:"string"`
	BoolValue   bool    `json:"bool"`
	Nil         *int32  `json:"nil"`
	Arr         []int32 `json:"arr"`
	Map         PerlMap `json:"map"`
}

type PerlMap struct {
	IntValue    int32    `json:"int"`
	LongValue   int64    `json:"long"`
	FloatValue  float64  `json:"float"`
	StringValue string   `json:"string"`
	BoolValue   bool     `json:"bool"`
	Nil         *int32   `json:"nil"`
	Arr         []string `json:"arr"`
}

type ApiPage struct {
	RequestID     string    `json:"requestId"`
	GeneratedAtMs int64     `json:"generatedAtMs"`
	Total         int32     `json:"total"`
	NextCursor    string    `json:"nextCursor"`
	Items         []ApiItem `json:"items"`
}

type ApiItem struct {
	ID          int64        `json:"id"`
	SKU         string       `json:"sku"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Price       float64      `json:"price"`
	Currency    string       `json:"currency"`
	Stock       int32        `json:"stock"`
	Available   bool         `json:"available"`
	UpdatedAtMs int64        `json:"updatedAtMs"`
	Tags        []string     `json:"tags"`
	Author      ApiAuthor    `json:"author"`
	Variants    []ApiVariant `json:"variants"`
}

type ApiAuthor struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	AvatarURL string `json:"avatarUrl"`
	Verified  bool   `json:"verified"`
}

type ApiVariant struct {
	Name       string  `json:"name"`
	Stock      int32   `json:"stock"`
	PriceDelta float64 `json:"priceDelta"`
}

type Echo struct {
	StartTs uint64 `json:"start_ts"`
	Padding string `json:"padding"`
}
