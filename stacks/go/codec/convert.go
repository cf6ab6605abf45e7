package codec

import (
	"commute/stacks/go/benchpb"
	"commute/stacks/go/message"
)

// From Protobuf's objects to plain ones, written by hand as in an app: protobuf-go has no such
// mapping. The getters treat an absent message as an empty one.

func convertSmall(m *benchpb.Small) message.Small {
	return message.Small{
		Name: m.GetName(),
	}
}

func convertAddressBook(m *benchpb.AddressBook) message.AddressBook {
	return message.AddressBook{
		People: convertAll(m.GetPeople(), convertPerson),
	}
}

func convertPerson(m *benchpb.Person) message.Person {
	return message.Person{
		Name:   m.GetName(),
		ID:     m.GetId(),
		Email:  m.GetEmail(),
		Phones: convertAll(m.GetPhones(), convertPhoneNumber),
	}
}

func convertPhoneNumber(m *benchpb.PhoneNumber) message.PhoneNumber {
	return message.PhoneNumber{
		Number: m.GetNumber(),
		Type:   m.GetType(),
	}
}

func convertNewsfeed(m *benchpb.Newsfeed) message.Newsfeed {
	return message.Newsfeed{
		Profiles: convertAll(m.GetProfiles(), convertProfile),
	}
}

func convertProfile(m *benchpb.Profile) message.Profile {
	return message.Profile{
		ID:     m.GetId(),
		Name:   m.GetName(),
		About:  m.GetAbout(),
		Gender: m.GetGender(),
		Posts:  convertAll(m.GetPosts(), convertPost),
	}
}

func convertPost(m *benchpb.Post) message.Post {
	return message.Post{
		Owner:     m.GetOwner(),
		Content:   m.GetContent(),
		Reactions: convertAll(m.GetReactions(), convertReaction),
		Comments:  convertAll(m.GetComments(), convertComment),
	}
}

func convertReaction(m *benchpb.Reaction) message.Reaction {
	return message.Reaction{
		Owner: m.GetOwner(),
		Type:  m.GetType(),
	}
}

func convertComment(m *benchpb.Comment) message.Comment {
	return message.Comment{
		Owner: m.GetOwner(),
		Text:  m.GetText(),
	}
}

func convertLarge(m *benchpb.Large) message.Large {
	return message.Large{
		Attributes: convertAttributes(m.GetAttributes()),
		Things:     convertAll(m.GetThings(), convertThing1),
	}
}

func convertThing1(m *benchpb.Thing1) message.Thing1 {
	return message.Thing1{
		Attributes: convertAttributes(m.GetAttributes()),
		Things:     convertAll(m.GetThings(), convertThing2),
	}
}

func convertThing2(m *benchpb.Thing2) message.Thing2 {
	return message.Thing2{
		Attributes: convertAttributes(m.GetAttributes()),
		Type:       m.GetType(),
		Things:     convertAll(m.GetThings(), convertThing3),
	}
}

func convertThing3(m *benchpb.Thing3) message.Thing3 {
	return message.Thing3{
		Attributes: convertAttributes(m.GetAttributes()),
	}
}

func convertAttributes(m *benchpb.Attributes) message.Attributes {
	return message.Attributes{
		Int1:    m.GetInt1(),
		Int2:    m.GetInt2(),
		Int3:    m.GetInt3(),
		Float1:  m.GetFloat1(),
		Float2:  m.GetFloat2(),
		Float3:  m.GetFloat3(),
		String1: m.GetString1(),
		String2: m.GetString2(),
		String3: m.GetString3(),
		Bool1:   m.GetBool1(),
		Bool2:   m.GetBool2(),
		Bool3:   m.GetBool3(),
		Double1: m.GetDouble1(),
		Double2: m.GetDouble2(),
		Double3: m.GetDouble3(),
	}
}

func convertDiag(m *benchpb.Diag) message.Diag {
	return message.Diag{
		CanID:   m.GetCanId(),
		Payload: convertDiagPayload(m.GetPayload()),
	}
}

func convertDiagPayload(m *benchpb.DiagPayload) message.DiagPayload {
	return message.DiagPayload{
		Body: m.GetBody(),
	}
}

func convertBig(m *benchpb.Big) message.Big {
	return message.Big{
		ID:         m.GetId(),
		Name:       m.GetName(),
		IntValue:   m.GetIntValue(),
		FloatValue: m.GetFloatValue(),
		BoolValue:  m.GetBoolValue(),
		Nil:        m.Nil,
		Str:        m.GetStr(),
		Arr:        m.GetArr(),
		Map:        convertBigMap(m.GetMap()),
		IntArr:     m.GetIntArr(),
		StrArr:     m.GetStrArr(),
		BoolArr:    m.GetBoolArr(),
		MapArr:     convertAll(m.GetMapArr(), convertBigRecord),
	}
}

func convertBigRecord(m *benchpb.BigRecord) message.BigRecord {
	return message.BigRecord{
		ID:         m.GetId(),
		Name:       m.GetName(),
		IntValue:   m.GetIntValue(),
		FloatValue: m.GetFloatValue(),
		BoolValue:  m.GetBoolValue(),
		Nil:        m.Nil,
		Str:        m.GetStr(),
		Arr:        m.GetArr(),
		Map:        convertBigMap(m.GetMap()),
	}
}

func convertBigMap(m *benchpb.BigMap) message.BigMap {
	return message.BigMap{
		Foo:  m.GetFoo(),
		Buzz: m.GetBuzz(),
		Piyo: m.GetPiyo(),
	}
}

func convertPerlData(m *benchpb.PerlData) message.PerlData {
	return message.PerlData{
		Rows: convertAll(m.GetRows(), convertPerlRow),
	}
}

func convertPerlRow(m *benchpb.PerlRow) message.PerlRow {
	return message.PerlRow{
		IntValue:    m.GetIntValue(),
		LongValue:   m.GetLongValue(),
		FloatValue:  m.GetFloatValue(),
		StringValue: m.GetStringValue(),
		BoolValue:   m.GetBoolValue(),
		Nil:         m.Nil,
		Arr:         m.GetArr(),
		Map:         convertPerlMap(m.GetMap()),
	}
}

func convertPerlMap(m *benchpb.PerlMap) message.PerlMap {
	return message.PerlMap{
		IntValue:    m.GetIntValue(),
		LongValue:   m.GetLongValue(),
		FloatValue:  m.GetFloatValue(),
		StringValue: m.GetStringValue(),
		BoolValue:   m.GetBoolValue(),
		Nil:         m.Nil,
		Arr:         m.GetArr(),
	}
}

func convertApiPage(m *benchpb.ApiPage) message.ApiPage {
	return message.ApiPage{
		RequestID:     m.GetRequestId(),
		GeneratedAtMs: m.GetGeneratedAtMs(),
		Total:         m.GetTotal(),
		NextCursor:    m.GetNextCursor(),
		Items:         convertAll(m.GetItems(), convertApiItem),
	}
}

func convertApiItem(m *benchpb.ApiItem) message.ApiItem {
	return message.ApiItem{
		ID:          m.GetId(),
		SKU:         m.GetSku(),
		Title:       m.GetTitle(),
		Description: m.GetDescription(),
		Price:       m.GetPrice(),
		Currency:    m.GetCurrency(),
		Stock:       m.GetStock(),
		Available:   m.GetAvailable(),
		UpdatedAtMs: m.GetUpdatedAtMs(),
		Tags:        m.GetTags(),
		Author:      convertApiAuthor(m.GetAuthor()),
		Variants:    convertAll(m.GetVariants(), convertApiVariant),
	}
}

func convertApiAuthor(m *benchpb.ApiAuthor) message.ApiAuthor {
	return message.ApiAuthor{
		ID:        m.GetId(),
		Name:      m.GetName(),
		AvatarURL: m.GetAvatarUrl(),
		Verified:  m.GetVerified(),
	}
}

func convertApiVariant(m *benchpb.ApiVariant) message.ApiVariant {
	return message.ApiVariant{
		Name:       m.GetName(),
		Stock:      m.GetStock(),
		PriceDelta: m.GetPriceDelta(),
	}
}

func convertEcho(m *benchpb.Echo) message.Echo {
	return message.Echo{
		StartTs: m.GetStartTs(),
		Padding: m.GetPadding(),
	}
}

func convertAll[Own, Plain any](own []*Own, convert func(*Own) Plain) []Plain {
	plain := make([]Plain, len(own))
	for i := range own {
		plain[i] = convert(own[i])
	}
	return plain
}
