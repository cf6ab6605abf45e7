"""Plain objects to Protobuf objects, by hand, as an app writes it."""

from . import bench_pb2 as pb


def small(m):
    return pb.Small(
        name=m["name"],
    )


def address_book(m):
    return pb.AddressBook(
        people=[person(x) for x in m["people"]],
    )


def person(m):
    return pb.Person(
        name=m["name"],
        id=m["id"],
        email=m["email"],
        phones=[phone_number(x) for x in m["phones"]],
    )


def phone_number(m):
    return pb.PhoneNumber(
        number=m["number"],
        type=m["type"],
    )


def newsfeed(m):
    return pb.Newsfeed(
        profiles=[profile(x) for x in m["profiles"]],
    )


def profile(m):
    return pb.Profile(
        id=m["id"],
        name=m["name"],
        about=m["about"],
        gender=m["gender"],
        posts=[post(x) for x in m["posts"]],
    )


def post(m):
    return pb.Post(
        owner=m["owner"],
        content=m["content"],
        reactions=[reaction(x) for x in m["reactions"]],
        comments=[comment(x) for x in m["comments"]],
    )


def reaction(m):
    return pb.Reaction(
        owner=m["owner"],
        type=m["type"],
    )


def comment(m):
    return pb.Comment(
        owner=m["owner"],
        text=m["text"],
    )


def large(m):
    return pb.Large(
        attributes=attributes(m["attributes"]),
        things=[thing1(x) for x in m["things"]],
    )


def thing1(m):
    return pb.Thing1(
        attributes=attributes(m["attributes"]),
        things=[thing2(x) for x in m["things"]],
    )


def thing2(m):
    return pb.Thing2(
        attributes=attributes(m["attributes"]),
        type=m["type"],
        things=[thing3(x) for x in m["things"]],
    )


def thing3(m):
    return pb.Thing3(
        attributes=attributes(m["attributes"]),
    )


def attributes(m):
    return pb.Attributes(
        int1=m["int1"],
        int2=m["int2"],
        int3=m["int3"],
        float1=m["float1"],
        float2=m["float2"],
        float3=m["float3"],
        string1=m["string1"],
        string2=m["string2"],
        string3=m["string3"],
        bool1=m["bool1"],
        bool2=m["bool2"],
        bool3=m["bool3"],
        double1=m["double1"],
        double2=m["double2"],
        double3=m["double3"],
    )


def diag(m):
    return pb.Diag(
        can_id=m["canId"],
        payload=diag_payload(m["payload"]),
    )


def diag_payload(m):
    return pb.DiagPayload(
        body=m["body"],
    )


def big(m):
    return pb.Big(
        id=m["id"],
        name=m["name"],
        int_value=m["int"],
        float_value=m["float"],
        bool_value=m["bool"],
        nil=m["nil"],
        str=m["str"],
        arr=m["arr"],
        map=big_map(m["map"]),
        int_arr=m["intarr"],
        str_arr=m["strarr"],
        bool_arr=m["boolarr"],
        map_arr=[big_record(x) for x in m["maparr"]],
    )


def big_record(m):
    return pb.BigRecord(
        id=m["id"],
        name=m["name"],
        int_value=m["int"],
        float_value=m["float"],
        bool_value=m["bool"],
        nil=m["nil"],
        str=m["str"],
        arr=m["arr"],
        map=big_map(m["map"]),
    )


def big_map(m):
    return pb.BigMap(
        foo=m["foo"],
        buzz=m["buzz"],
        piyo=m["piyo"],
    )


def perl_data(m):
    return pb.PerlData(
        rows=[perl_row(x) for x in m["rows"]],
    )


def perl_row(m):
    return pb.PerlRow(
        int_value=m["int"],
        long_value=m["long"],
        float_value=m["float"],
        string_value=m["string"],
        bool_value=m["bool"],
        nil=m["nil"],
        arr=m["arr"],
        map=perl_map(m["map"]),
    )


def perl_map(m):
    return pb.PerlMap(
        int_value=m["int"],
        long_value=m["long"],
        float_value=m["float"],
        string_value=m["string"],
        bool_value=m["bool"],
        nil=m["nil"],
        arr=m["arr"],
    )


def api_page(m):
    return pb.ApiPage(
        request_id=m["requestId"],
        generated_at_ms=m["generatedAtMs"],
        total=m["total"],
        next_cursor=m["nextCursor"],
        items=[api_item(x) for x in m["items"]],
    )


def api_item(m):
    return pb.ApiItem(
        id=m["id"],
        sku=m["sku"],
        title=m["title"],
        description=m["description"],
        price=m["price"],
        currency=m["currency"],
        stock=m["stock"],
        available=m["available"],
        updated_at_ms=m["updatedAtMs"],
        tags=m["tags"],
        author=api_author(m["author"]),
        variants=[api_variant(x) for x in m["variants"]],
    )


def api_author(m):
    return pb.ApiAuthor(
        id=m["id"],
        name=m["name"],
        avatar_url=m["avatarUrl"],
        verified=m["verified"],
    )


def api_variant(m):
    return pb.ApiVariant(
        name=m["name"],
        stock=m["stock"],
        price_delta=m["priceDelta"],
    )


def echo(m):
    return pb.Echo(
        start_ts=m["start_ts"],
        padding=m["padding"],
    )
