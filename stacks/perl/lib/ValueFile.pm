package ValueFile;

# Reads value files (docs/codec-runner.md) into plain objects and writes them from those.
#
# A plain object is a hash with JSON's names, as a decoder returns it to an app. Its numbers are
# numbers, its text is decoded, its bytes are not; true and false are \1 and \0, which the encoders
# of both JSON and MessagePack accept. A float is kept as the number of the shortest decimal that
# reads back as the same float, so that it prints as that decimal.

use v5.36;
use B ();
use Encode ();
use Scalar::Util qw(blessed);

my $LARGEST_FLOAT = unpack 'f>', "\x7f\x7f\xff\xff";
my @INT32         = ('i', sub ($text) { integer($text) }, sub ($value) { written_integer($value, -2**31, 2**31 - 1) });

# Letter, reader and writer of each kind, and its default.
my %KINDS = (
    int32 => [@INT32, 0],
    int64 => ['i', \&integer, sub ($value) { written_integer($value, -9223372036854775808, 9223372036854775807) }, 0],
    uint64 => ['i', \&integer, sub ($value) { written_integer($value, 0, 18446744073709551615) }, 0],
    float  => ['f', \&float,   \&written_float,   0],
    double => ['d', sub ($text) { unpack 'd>', octets($text, 8) }, \&written_double, 0],
    bool   => ['b', \&bool,    \&written_bool,    \0],
    string => ['s', sub ($text) { text(octets($text)) }, \&written_string, ''],
    bytes  => ['x', sub ($text) { octets($text) }, \&written_bytes, ''],
    null   => [@INT32, undef],    # never set by the bench, but a decoder may produce a number
);

# Dies with the reason if the text does not match the schema.
sub read_value ($schema, $message, $text) {
    die "the file is truncated\n" if $text !~ /\n\z/;
    my @lines = split /\n/, $text;
    my $plain = read_message($schema, $message, \@lines);
    die "more lines follow the message\n" if @lines;
    return $plain;
}

# Dies with the reason if the plain object does not match the schema.
sub write_value ($schema, $message, $plain) {
    my @lines;
    write_message($schema, $message, $plain, \@lines);
    return join "\n", @lines, '';
}

sub read_message ($schema, $message, $lines) {
    expect('{', $lines);
    my %plain;
    for my $field ($schema->fields($message)) {
        $plain{ $field->{json} } =
          $field->{repeated}
          ? [map { read_element($schema, $field, $lines) } 1 .. integer(rest('[', $lines))]
          : read_element($schema, $field, $lines);
    }
    expect('}', $lines);
    return \%plain;
}

sub read_element ($schema, $field, $lines) {
    return read_message($schema, $field->{type}, $lines) if $field->{kind} eq 'message';
    return expect('z', $lines)                           if $field->{kind} eq 'null';
    my ($letter, $read) = $KINDS{ $field->{kind} }->@*;
    return $read->(rest($letter, $lines));
}

sub rest ($letter, $lines) {
    my $line = shift @$lines // '';
    die "expected '$letter ...', got '" . substr($line, 0, 40) . "'\n" if $line !~ /\A\Q$letter\E /;
    return substr $line, 2;
}

sub expect ($want, $lines) {
    my $line = shift @$lines // '';
    die "expected '$want', got '" . substr($line, 0, 40) . "'\n" if $line ne $want;
    return undef;
}

sub integer ($text) {
    die "'$text' is not an integer\n" if $text !~ /\A-?[0-9]{1,20}\z/;
    return 0 + $text;
}

sub octets ($text, $length = undef) {
    die "not pairs of hex digits\n" if $text !~ /\A(?:[0-9a-f]{2})*\z/;
    die "not $length octets\n"      if defined $length && length $text != 2 * $length;
    return pack 'H*', $text;
}

sub float ($text) {
    my $value = unpack 'f>', octets($text, 4);
    return $value if $value != $value || abs $value > $LARGEST_FLOAT;
    for my $digits (1 .. 9) {
        my $short = 0 + sprintf "%.${digits}g", $value;
        return $short if unpack('H*', pack 'f>', $short) eq $text;
    }
    return $value;    # nine are always enough, but Perl turns -0 into 0, and the largest float's decimal into infinity
}

sub bool ($text) {
    return $text eq '1' ? \1 : $text eq '0' ? \0 : die "'$text' is neither 0 nor 1\n";
}

sub text ($octets) {
    return Encode::decode('UTF-8', $octets, Encode::FB_CROAK);
}

sub write_message ($schema, $message, $plain, $lines) {
    die "expected the map of a $message\n" if ref $plain ne 'HASH';
    push @$lines, '{';
    for my $field ($schema->fields($message)) {
        my $name    = "$message.$field->{json}";
        my $default = $field->{repeated} ? [] : $field->{kind} eq 'message' ? {} : $KINDS{ $field->{kind} }[3];
        my $value   = exists $plain->{ $field->{json} } ? $plain->{ $field->{json} } : $default;
        if ($field->{repeated}) {
            die "$name is not an array\n" if ref $value ne 'ARRAY';
            push @$lines, '[ ' . @$value;
        }
        write_element($schema, $field, $name, $_, $lines) for $field->{repeated} ? @$value : $value;
    }
    push @$lines, '}';
}

sub write_element ($schema, $field, $name, $value, $lines) {
    return write_message($schema, $field->{type}, $value, $lines) if $field->{kind} eq 'message';
    if ($field->{kind} eq 'null' && !defined $value) {
        push @$lines, 'z';
        return;
    }
    my ($letter, undef, $written) = $KINDS{ $field->{kind} }->@*;
    push @$lines, "$letter " . ($written->($value) // die "$name is not a $field->{kind}\n");
}

# The writers return undef for a value that is not of their kind.

sub written_integer ($value, $low, $high) {
    return undef if !is_number($value, B::SVf_IOK) || $value < $low || $value > $high;
    return "$value";
}

sub written_float ($value) {
    return undef if !is_number($value, B::SVf_IOK | B::SVf_NOK);
    my $octets = pack 'f>', $value;
    return undef if abs $value < 9**9**9 && abs unpack('f>', $octets) == 9**9**9;    # rounded to infinity
    return unpack 'H*', $octets;
}

sub written_double ($value) {
    return is_number($value, B::SVf_IOK | B::SVf_NOK) ? unpack 'H*', pack 'd>', $value : undef;
}

sub written_bool ($value) {
    return $$value ? '1' : '0' if ref $value eq 'SCALAR';
    return undef               if (blessed($value) // '') !~ /Boolean\z/;
    return $value ? '1' : '0';
}

sub written_string ($value) {
    # Decoded text beyond ASCII carries the UTF-8 flag; without it these are octets that are not UTF-8.
    return undef if !is_string($value) || !utf8::is_utf8($value) && $value =~ /[^\x00-\x7f]/;
    my $octets = eval { Encode::encode('UTF-8', $value, Encode::FB_CROAK | Encode::LEAVE_SRC) };
    return defined $octets ? unpack 'H*', $octets : undef;
}

sub written_bytes ($value) {
    return undef if !is_string($value) || utf8::is_utf8($value) && !utf8::downgrade($value, 1);
    return unpack 'H*', $value;
}

# A scalar's flags show whether it was made as a number or as a string.

sub is_number ($value, $flags) {
    my $own = ref $value ? 0 : B::svref_2object(\$value)->FLAGS;
    return $own & $flags && !($own & B::SVf_POK);
}

sub is_string ($value) {
    return !ref $value && B::svref_2object(\$value)->FLAGS & B::SVf_POK;
}

1;
