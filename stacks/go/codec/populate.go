package codec

import (
	"commute/stacks/go/benchpb"
	"commute/stacks/go/message"
)

// From plain objects to Protobuf's, written by hand as in an app: protobuf-go has no such mapping.

func populateSmall(m *message.Small) *benchpb.Small {
	return &benchpb.Small{
		Name: m.Name,
	}
}

func populateAddressBook(m *message.AddressBook) *benchpb.AddressBook {
	return &benchpb.AddressBook{
		People: populateAll(m.People, populatePerson),
	}
}

func populatePerson(m *message.Person) *benchpb.Person {
	return &benchpb.Person{
		Name:   m.Name,
		Id:     m.ID,
		Email:  m.Email,
		Phones: populateAll(m.Phones, populatePhoneNumber),
	}
}

func populatePhoneNumber(m *message.PhoneNumber) *benchpb.PhoneNumber {
	return &benchpb.PhoneNumber{
		Number: m.Number,
		Type:   m.Type,
	}
}

func populateNewsfeed(m *message.Newsfeed) *benchpb.Newsfeed {
	return &benchpb.Newsfeed{
		Profiles: populateAll(m.Profiles, populateProfile),
	}
}

func populateProfile(m *message.Profile) *benchpb.Profile {
	return &benchpb.Profile{
		Id:     m.ID,
		Name:   m.Name,
		About:  m.About,
		Gender: m.Gender,
		Posts:  populateAll(m.Posts, populatePost),
	}
}

func populatePost(m *message.Post) *benchpb.Post {
	return &benchpb.Post{
		Owner:     m.Owner,
		Content:   m.Content,
		Reactions: populateAll(m.Reactions, populateReaction),
		Comments:  populateAll(m.Comments, populateComment),
	}
}

func populateReaction(m *message.Reaction) *benchpb.Reaction {
	return &benchpb.Reaction{
		Owner: m.Owner,
		Type:  m.Type,
	}
}

func populateComment(m *message.Comment) *benchpb.Comment {
	return &benchpb.Comment{
		Owner: m.Owner,
		Text:  m.Text,
	}
}

func populateLarge(m *message.Large) *benchpb.Large {
	return &benchpb.Large{
		Attributes: populateAttributes(&m.Attributes),
		Things:     populateAll(m.Things, populateThing1),
	}
}

func populateThing1(m *message.Thing1) *benchpb.Thing1 {
	return &benchpb.Thing1{
		Attributes: populateAttributes(&m.Attributes),
		Things:     populateAll(m.Things, populateThing2),
	}
}

func populateThing2(m *message.Thing2) *benchpb.Thing2 {
	return &benchpb.Thing2{
		Attributes: populateAttributes(&m.Attributes),
		Type:       m.Type,
		Things:     populateAll(m.Things, populateThing3),
	}
}

func populateThing3(m *message.Thing3) *benchpb.Thing3 {
	return &benchpb.Thing3{
		Attributes: populateAttributes(&m.Attributes),
	}
}

func populateAttributes(m *message.Attributes) *benchpb.Attributes {
	return &benchpb.Attributes{
		Int1:    m.Int1,
		Int2:    m.Int2,
		Int3:    m.Int3,
		Float1:  m.Float1,
		Float2:  m.Float2,
		Float3:  m.Float3,
		String1: m.String1,
		String2: m.String2,
		String3: m.String3,
		Bool1:   m.Bool1,
		Bool2:   m.Bool2,
		Bool3:   m.Bool3,
		Double1: m.Double1,
		Double2: m.Double2,
		Double3: m.Double3,
	}
}

func populateDiag(m *message.Diag) *benchpb.Diag {
	return &benchpb.Diag{
		CanId:   m.CanID,
		Payload: populateDiagPayload(&m.Payload),
	}
}

func populateDiagPayload(m *message.DiagPayload) *benchpb.DiagPayload {
	return &benchpb.DiagPayload{
		Body: m.Body,
	}
}

func populateBig(m *message.Big) *benchpb.Big {
	return &benchpb.Big{
		Id:         m.ID,
		Name:       m.Name,
		IntValue:   m.IntValue,
		FloatValue: m.FloatValue,
		BoolValue:  m.BoolValue,
		Nil:        m.Nil,
		Str:        m.Str,
		Arr:        m.Arr,
		Map:        populateBigMap(&m.Map),
		IntArr:     m.IntArr,
		StrArr:     m.StrArr,
		BoolArr:    m.BoolArr,
		MapArr:     populateAll(m.MapArr, populateBigRecord),
	}
}

func populateBigRecord(m *message.BigRecord) *benchpb.BigRecord {
	return &benchpb.BigRecord{
		Id:         m.ID,
		Name:       m.Name,
		IntValue:   m.IntValue,
		FloatValue: m.FloatValue,
		BoolValue:  m.BoolValue,
		Nil:        m.Nil,
		Str:        m.Str,
		Arr:        m.Arr,
		Map:        populateBigMap(&m.Map),
	}
}

func populateBigMap(m *message.BigMap) *benchpb.BigMap {
	return &benchpb.BigMap{
		Foo:  m.Foo,
		Buzz: m.Buzz,
		Piyo: m.Piyo,
	}
}

func populatePerlData(m *message.PerlData) *benchpb.PerlData {
	return &benchpb.PerlData{
		Rows: populateAll(m.Rows, populatePerlRow),
	}
}

func populatePerlRow(m *message.PerlRow) *benchpb.PerlRow {
	return &benchpb.PerlRow{
		IntValue:    m.IntValue,
		LongValue:   m.LongValue,
		FloatValue:  m.FloatValue,
		StringValue: m.StringValue,
		BoolValue:   m.BoolValue,
		Nil:         m.Nil,
		Arr:         m.Arr,
		Map:         populatePerlMap(&m.Map),
	}
}

func populatePerlMap(m *message.PerlMap) *benchpb.PerlMap {
	return &benchpb.PerlMap{
		IntValue:    m.IntValue,
		LongValue:   m.LongValue,
		FloatValue:  m.FloatValue,
		StringValue: m.StringValue,
		BoolValue:   m.BoolValue,
		Nil:         m.Nil,
		Arr:         m.Arr,
	}
}

func populateApiPage(m *message.ApiPage) *benchpb.ApiPage {
	return &benchpb.ApiPage{
		RequestId:     m.RequestID,
		GeneratedAtMs: m.GeneratedAtMs,
		Total:         m.Total,
		NextCursor:    m.NextCursor,
		Items:         populateAll(m.Items, populateApiItem),
	}
}

func populateApiItem(m *message.ApiItem) *benchpb.ApiItem {
	return &benchpb.ApiItem{
		Id:          m.ID,
		Sku:         m.SKU,
		Title:       m.Title,
		Description: m.Description,
		Price:       m.Price,
		Currency:    m.Currency,
		Stock:       m.Stock,
		Available:   m.Available,
		UpdatedAtMs: m.UpdatedAtMs,
		Tags:        m.Tags,
		Author:      populateApiAuthor(&m.Author),
		Variants:    populateAll(m.Variants, populateApiVariant),
	}
}

func populateApiAuthor(m *message.ApiAuthor) *benchpb.ApiAuthor {
	return &benchpb.ApiAuthor{
		Id:        m.ID,
		Name:      m.Name,
		AvatarUrl: m.AvatarURL,
		Verified:  m.Verified,
	}
}

func populateApiVariant(m *message.ApiVariant) *benchpb.ApiVariant {
	return &benchpb.ApiVariant{
		Name:       m.Name,
		Stock:      m.Stock,
		PriceDelta: m.PriceDelta,
	}
}

func populateEcho(m *message.Echo) *benchpb.Echo {
	return &benchpb.Echo{
		StartTs: m.StartTs,
		Padding: m.Padding,
	}
}

func populateAll[Plain, Own any](plain []Plain, populate func(*Plain) *Own) []*Own {
	own := make([]*Own, len(plain))
	for i := range plain {
		own[i] = populate(&plain[i])
	}
	return own
}
