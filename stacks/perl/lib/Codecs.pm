package Codecs;

# Perl's codec libraries, called as their authors advise an app to (docs/codec-runner.md). An
# offer's `make` takes a schema and the name of a message, and returns a codec: a hash of the
# functions `encode` and `decode`, without `encode` if the library cannot write the message.

use v5.36;
use Compress::Raw::Zlib     ();
use Cpanel::JSON::XS        ();
use Data::MessagePack       ();
use IO::Compress::Gzip      ();
use IO::Uncompress::Gunzip  ();
use JSON::XS                ();
use MIME::Base64            ();

my $LONGEST  = 64 << 20;    # bytes that a decompressor may produce
my $MESSAGES = { map { $_ => 1 } qw(Small AddressBook Newsfeed Large Diag Big PerlData ApiPage Echo) };

sub messages { return $MESSAGES }

sub offers {
    my $parts    = [qw(encode decode)];
    my $no_order = "a hash's keys have no fixed order";
    my $digits   = 'a double is written with 15 digits';
    my $reads    = "$digits and may be read as a neighbour of the nearest double";
    my $doubles  = "floats are written as doubles; $no_order";
    my $gzip     = "IO::Compress::Gzip $IO::Compress::Gzip::VERSION (zlib "
      . Compress::Raw::Zlib::zlib_version() . ')';
    my $json_xs = [\&json, 'JSON::XS', $JSON::XS::VERSION, $reads];
    my $cpanel_xs = [\&json, 'Cpanel::JSON::XS', $Cpanel::JSON::XS::VERSION, $digits];
    my @offers;
    for my $json ($json_xs, $cpanel_xs) {
        my ($make, $library, $version, $lossy) = @$json;
        my $made = sub (@schema_and_message) { $make->($library, @schema_and_message) };
        push @offers, offer('json', $library, $version, $parts, $made, $no_order, $lossy);
        push @offers, offer("json+gzip-$_", "$library + IO::Compress::Gzip", "$version, $gzip", $parts,
            gzip($made, $_), $no_order, $lossy)
          for 1, 6;
    }
    return @offers,
      offer('msgpack', 'Data::MessagePack', $Data::MessagePack::VERSION, $parts, \&msgpack, $doubles),
      offer('msgpack-old', 'Data::MessagePack', $Data::MessagePack::VERSION, ['decode'], \&msgpack),
      offer('empty', 'none', 'none', $parts, \&empty);
}

sub offer ($codec, $library, $version, $parts, $make, $caveat = undef, $lossy = undef) {
    return {
        make  => $make,
        hello => {
            codec           => $codec,
            library         => $library,
            library_version => "$version",
            parts           => $parts,
            defined $caveat ? (caveat => $caveat) : (),
            defined $lossy  ? (lossy  => $lossy)  : (),
        },
    };
}

sub json ($class, $schema, $message) {
    my $json   = $class->new->utf8;
    my $base64 = $schema->converter($message, 'bytes', sub ($bytes) { MIME::Base64::encode_base64($bytes, '') });
    if (!$base64) {
        return { encode => sub ($plain) { $json->encode($plain) }, decode => sub ($octets) { $json->decode($octets) } };
    }
    my $bytes = $schema->converter($message, 'bytes', \&from_base64);
    return {
        encode => sub ($plain) { $json->encode($base64->($plain)) },
        decode => sub ($octets) { $bytes->($json->decode($octets)) },
    };
}

sub from_base64 ($text) {
    # decode_base64 itself skips characters that are not base64.
    die "not base64\n" if !defined $text || ref $text || $text !~ m{\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\z};
    return MIME::Base64::decode_base64($text);
}

sub msgpack ($schema, $message) {
    my $pack = Data::MessagePack->new->utf8;
    # It has no bin, so it cannot write bytes. It reads them, as text if they happen to be UTF-8.
    my $bytes = $schema->converter($message, 'bytes', \&octets);
    return { decode => sub ($octets) { $bytes->($pack->unpack($octets)) } } if $bytes;
    return { encode => sub ($plain) { $pack->pack($plain) }, decode => sub ($octets) { $pack->unpack($octets) } };
}

sub octets ($string) {
    utf8::encode($string) if defined $string && utf8::is_utf8($string);
    return $string;
}

# Adds gzip to another codec: one call for a whole message.
sub gzip ($make, $level) {
    return sub ($schema, $message) {
        my ($encode, $decode) = $make->($schema, $message)->@{qw(encode decode)};
        return {
            encode => sub ($plain) {
                my $octets = $encode->($plain);
                IO::Compress::Gzip::gzip(\$octets, \my $compressed, -Level => $level)
                  or die "gzip: $IO::Compress::Gzip::GzipError\n";
                return $compressed;
            },
            decode => sub ($compressed) { $decode->(gunzip($compressed)) },
        };
    };
}

# Refuses input that is not gzip, instead of passing it on, and checks the checksum.
sub gunzip ($compressed) {
    my $stream = IO::Uncompress::Gunzip->new(\$compressed, Transparent => 0, Strict => 1)
      or die "gunzip: $IO::Uncompress::Gunzip::GunzipError\n";
    my $octets = '';
    while (length $octets <= $LONGEST) {
        my $read = $stream->read($octets, $LONGEST, length $octets);
        die "gunzip: $IO::Uncompress::Gunzip::GunzipError\n" if $read < 0;
        if ($read == 0) {
            die "bytes follow the compressed message\n" if length $stream->trailingData;
            return $octets;
        }
    }
    die "decompresses to more than $LONGEST bytes\n";
}

sub empty ($schema, $message) {
    return { encode => sub ($plain) { '' }, decode => sub ($octets) { {} } };
}

1;
