package message

// A Kind is a kind of message that requests name.
type Kind struct {
	Name string
	// New returns a pointer to an empty message.
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

// Kinds returns every kind of message.
func Kinds() []Kind { return kinds }

// Find returns the kind of that name.
func Find(name string) (Kind, bool) {
	for _, kind := range kinds {
		if kind.Name == name {
			return kind, true
		}
	}
	return Kind{}, false
}
