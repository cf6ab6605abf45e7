"""Protobuf objects to plain ones, by hand, as an app writes it."""


def small(m):
    return {
        "name": m.name,
    }


def address_book(m):
    return {
        "people": [person(x) for x in m.people],
    }


def person(m):
    return {
        "name": m.name,
        "id": m.id,
        "email": m.email,
        "phones": [phone_number(x) for x in m.phones],
    }


def phone_number(m):
    return {
        "number": m.number,
        "type": m.type,
    }


def newsfeed(m):
    return {
        "profiles": [profile(x) for x in m.profiles],
    }


def profile(m):
    return {
        "id": m.id,
        "name": m.name,
        "about": m.about,
        "gender": m.gender,
        "posts": [post(x) for x in m.posts],
    }


def post(m):
    return {
        "owner": m.owner,
        "content": m.content,
        "reactions": [reaction(x) for x in m.reactions],
        "comments": [comment(x) for x in m.comments],
    }


def reaction(m):
    return {
        "owner": m.owner,
        "type": m.type,
    }


def comment(m):
    return {
        "owner": m.owner,
        "text": m.text,
    }


def large(m):
    return {
        "attributes": attributes(m.attributes),
        "things": [thing1(x) for x in m.things],
    }


def thing1(m):
    return {
        "attributes": attributes(m.attributes),
        "things": [thing2(x) for x in m.things],
    }


def thing2(m):
    return {
        "attributes": attributes(m.attributes),
        "type": m.type,
        "things": [thing3(x) for x in m.things],
    }


def thing3(m):
    return {
        "attributes": attributes(m.attributes),
    }


def attributes(m):
    return {
        "int1": m.int1,
        "int2": m.int2,
        "int3": m.int3,
        "float1": m.float1,
        "float2": m.float2,
        "float3": m.float3,
        "string1": m.string1,
        "string2": m.string2,
        "string3": m.string3,
        "bool1": m.bool1,
        "bool2": m.bool2,
        "bool3": m.bool3,
        "double1": m.double1,
        "double2": m.double2,
        "double3": m.double3,
    }


def diag(m):
    return {
        "canId": m.can_id,
        "payload": diag_payload(m.payload),
    }


def diag_payload(m):
    return {
        "body": m.body,
    }


def big(m):
    return {
        "id": m.id,
        "name": m.name,
        "int": m.int_value,
        "float": m.float_value,
        "bool": m.bool_value,
        "nil": m.nil if m.HasField("nil") else None,
        "str": m.str,
        "arr": list(m.arr),
        "map": big_map(m.map),
        "intarr": list(m.int_arr),
        "strarr": list(m.str_arr),
        "boolarr": list(m.bool_arr),
        "maparr": [big_record(x) for x in m.map_arr],
    }


def big_record(m):
    return {
        "id": m.id,
        "name": m.name,
        "int": m.int_value,
        "float": m.float_value,
        "bool": m.bool_value,
        "nil": m.nil if m.HasField("nil") else None,
        "str": m.str,
        "arr": list(m.arr),
        "map": big_map(m.map),
    }


def big_map(m):
    return {
        "foo": m.foo,
        "buzz": m.buzz,
        "piyo": m.piyo,
    }


def perl_data(m):
    return {
        "rows": [perl_row(x) for x in m.rows],
    }


def perl_row(m):
    return {
        "int": m.int_value,
        "long": m.long_value,
        "float": m.float_value,
        "string": m.string_value,
        "bool": m.bool_value,
        "nil": m.nil if m.HasField("nil") else None,
        "arr": list(m.arr),
        "map": perl_map(m.map),
    }


def perl_map(m):
    return {
        "int": m.int_value,
        "long": m.long_value,
        "float": m.float_value,
        "string": m.string_value,
        "bool": m.bool_value,
        "nil": m.nil if m.HasField("nil") else None,
        "arr": list(m.arr),
    }


def api_page(m):
    return {
        "requestId": m.request_id,
        "generatedAtMs": m.generated_at_ms,
        "total": m.total,
        "nextCursor": m.next_cursor,
        "items": [api_item(x) for x in m.items],
    }


def api_item(m):
    return {
        "id": m.id,
        "sku": m.sku,
        "title": m.title,
        "description": m.description,
        "price": m.price,
        "currency": m.currency,
        "stock": m.stock,
        "available": m.available,
        "updatedAtMs": m.updated_at_ms,
        "tags": list(m.tags),
        "author": api_author(m.author),
        "variants": [api_variant(x) for x in m.variants],
    }


def api_author(m):
    return {
        "id": m.id,
        "name": m.name,
        "avatarUrl": m.avatar_url,
        "verified": m.verified,
    }


def api_variant(m):
    return {
        "name": m.name,
        "stock": m.stock,
        "priceDelta": m.price_delta,
    }


def echo(m):
    return {
        "start_ts": m.start_ts,
        "padding": m.padding,
    }
