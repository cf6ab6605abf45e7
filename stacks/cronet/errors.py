"""Cronet's errors as kinds of the driver protocol."""

# net/base/net_error_list.h
KINDS = {
    -105: "dns", -137: "dns",
    -102: "connect", -104: "connect", -106: "connect", -108: "connect", -109: "connect",
    -118: "connect",
    -107: "tls", -110: "tls", -113: "tls", -117: "tls", -123: "tls", -126: "tls", -134: "tls",
    -141: "tls", -148: "tls", -149: "tls", -159: "tls", -164: "tls",
    -7: "timeout",
    -15: "reset", -100: "reset", -101: "reset", -103: "reset", -324: "reset", -354: "reset",
    -355: "reset",
    -320: "protocol", -321: "protocol", -337: "protocol", -352: "protocol", -356: "protocol",
    -358: "protocol", -360: "protocol", -361: "protocol", -363: "protocol", -370: "protocol",
    -372: "protocol", -374: "protocol",
}
CERTIFICATE_ERRORS = range(-299, -199)


def kind_of(net_error):
    return "tls" if net_error in CERTIFICATE_ERRORS else KINDS.get(net_error, "other")
