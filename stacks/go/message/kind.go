package message

// A Kind of message that a codec is asked for by name.
type Kind struct {
	Name string
	// New returns a pointer to an empty one.
	New func() any
}

var kinds = []Kind{
	{"Small", func() any { return new(Small) }},
	{"AddressBook", func() any { return new(AddressBook) }},
	{"Newsfeed", func() any { return new(Newsfeed) }},
	{"Large", func() any { return new(Large) }},
	{"Diag", func() any { return new(Diag) }},
	{"Big", func() any { return new(Big) }},
	{"PerlData", func() any { return new(PerlData) }},
	{"ApiPage", func() any { return new(ApiPage) }},
	{"Echo", func() any { return new(Echo) }},
}

// Find returns the kind of this name.
func Find(name string) (Kind, bool) {
	for _, kind := range kinds {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}
