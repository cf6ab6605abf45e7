#!/usr/bin/perl
# Runs Perl's codec libraries for the codec bench (docs/codec-runner.md, version 2).
#
# This file holds the conversation and the timed loops; lib/Codecs.pm calls the libraries.

use v5.36;
use FindBin ();
use lib "$FindBin::Bin/lib";
use JSON::XS   ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

use Codecs;
use Schema;
use ValueFile;

my $LONGEST       = 64 << 20;    # bytes of an encoded message
my $VALUES_KEPT   = 32;
my $REASON_LENGTH = 4096;        # characters; a line may have 65,536 bytes
my %ANSWERS       = (
    hello => \&hello, setup => \&setup, encode => \&encode, decode => \&decode, time => \&timed,
);

my @offers = Codecs::offers();
my $schema;
my %codecs;
my (%values, @values_read);

if (@ARGV && $ARGV[0] eq '--versions') {
    say "$_->{hello}{library} $_->{hello}{library_version}" for @offers;
    exit 0;
}
serve();

sub serve {
    my $json = JSON::XS->new->utf8;
    open my $requests, '<:raw', $ENV{COMMUTE_IN}  or die "COMMUTE_IN: $!\n";
    open my $replies,  '>:raw', $ENV{COMMUTE_OUT} or die "COMMUTE_OUT: $!\n";
    $replies->autoflush(1);
    while (my $line = <$requests>) {
        my $request = eval { $json->decode($line) };
        if (ref $request ne 'HASH') {
            print $replies $json->encode({ type => 'failed', reason => 'not a request' }), "\n";
            next;
        }
        my $type = $request->{type} // '';
        last if $type eq 'close';
        my $answer = $ANSWERS{$type} // sub ($unknown) { unsupported("request $type", 'the runner does not know it') };
        my $reply  = eval { $answer->($request) } // { type => 'failed', reason => one_line($@) };
        print $replies $json->encode($reply), "\n";
    }
}

sub hello ($request) {
    return {
        type => 'hello', version => 2, runtime => 'perl', runtime_version => sprintf('%vd', $^V),
        codecs => [map { $_->{hello} } @offers],
    };
}

sub setup ($request) {
    $schema = Schema->new(slurp($request->{schema_file}));
    return { type => 'ready' };
}

sub encode ($request) {
    my ($codec, undef, $unsupported) = find($request);
    return $unsupported if $unsupported;
    return cannot_write($request) if !$codec->{encode};
    my $plain  = read_value($request);
    my $octets = eval { $codec->{encode}->($plain) } // return refused($@);
    spew($request->{encoded_file}, $octets);
    return { type => 'encoded', bytes => length $octets };
}

sub decode ($request) {
    my ($codec, undef, $unsupported) = find($request);
    return $unsupported if $unsupported;
    my $octets = slurp($request->{encoded_file}, $LONGEST + 1);
    return refused("longer than $LONGEST bytes") if length $octets > $LONGEST;
    # Perl's decoders accept any types; writing the value checks them against the schema.
    my $text = eval { ValueFile::write_value($schema, $request->{message}, $codec->{decode}->($octets)) }
      // return refused($@);
    spew($request->{value_file}, $text);
    return { type => 'decoded' };
}

sub timed ($request) {
    my ($codec, $offer, $unsupported) = find($request);
    return $unsupported if $unsupported;
    my ($part, $iterations) = $request->@{qw(part iterations)};
    my @parts = $offer->{hello}{parts}->@*;
    return unsupported("part $part", "$request->{library} has @parts") if !grep { $_ eq $part } @parts;
    die "$iterations iterations cannot be timed\n"                     if $iterations !~ /\A[1-9][0-9]{0,17}\z/;
    return cannot_write($request) if !$codec->{$part};
    my $input = $values{ value_key($request) } // read_value($request);
    if ($part eq 'decode') {
        if (defined $request->{encoded_file}) {
            $input = slurp($request->{encoded_file}, $LONGEST + 1);
        } elsif ($codec->{encode}) {
            $input = eval { $codec->{encode}->($input) } // return refused($@);
        } else {
            return cannot_write($request);
        }
    }
    my ($elapsed, $sink) = eval { $part eq 'encode' ? encode_loop($codec->{encode}, $input, $iterations)
                                                    : decode_loop($codec->{decode}, $input, $iterations) };
    return refused($@) if !defined $elapsed;
    return { type => 'timed', elapsed_ns => int($elapsed * 1e9 + 0.5), sink => $sink };
}

sub encode_loop ($encode, $plain, $iterations) {
    my $sink  = 0;
    my $start = clock_gettime(CLOCK_MONOTONIC);
    for (1 .. $iterations) {
        $sink += length $encode->($plain);
    }
    return (clock_gettime(CLOCK_MONOTONIC) - $start, $sink);
}

sub decode_loop ($decode, $octets, $iterations) {
    my $sink  = 0;
    my $start = clock_gettime(CLOCK_MONOTONIC);
    for (1 .. $iterations) {
        $sink += defined $decode->($octets);
    }
    return (clock_gettime(CLOCK_MONOTONIC) - $start, $sink);
}

# Returns the codec that a request names, prepared for its message, and its offer; or, as the third
# value, the reply that says what is unsupported.
sub find ($request) {
    my ($name, $library, $message) = map { $_ // '' } $request->@{qw(codec library message)};
    my @of_codec = grep { $_->{hello}{codec} eq $name } @offers;
    return (undef, undef, unsupported("codec $name", 'no library here has it')) if !@of_codec;
    my ($offer) = grep { $_->{hello}{library} eq $library } @of_codec;
    return (undef, undef, unsupported("library $library", "it is not offered for $name")) if !$offer;
    die "$request->{type} came before setup\n" if !$schema;
    return (undef, undef, unsupported("message $message", 'the runner does not know it'))
      if !Codecs::messages()->{$message} || !$schema->knows($message);
    my $codec = $codecs{"$name\0$library\0$message"} //= $offer->{make}->($schema, $message);
    return ($codec, $offer, undef);
}

# Reads a value file and keeps its value until $VALUES_KEPT others have been read.
sub read_value ($request) {
    my $plain = ValueFile::read_value($schema, $request->{message}, slurp($request->{value_file}));
    my $key   = value_key($request);
    push @values_read, $key if !exists $values{$key};
    $values{$key} = $plain;
    delete $values{ shift @values_read } if @values_read > $VALUES_KEPT;
    return $plain;
}

sub value_key ($request) {
    return "$request->{message}\0$request->{value_file}";
}

sub slurp ($name, $max_length = undef) {
    open my $file, '<:raw', $name or die "$name: $!\n";
    my $octets = '';
    if (defined $max_length) {
        defined read $file, $octets, $max_length or die "$name: $!\n";
    } else {
        local $/ = undef;
        $octets = readline($file) // '';
    }
    return $octets;
}

sub spew ($name, $octets) {
    open my $file, '>:raw', $name or die "$name: $!\n";
    print {$file} $octets or die "$name: $!\n";
    close $file or die "$name: $!\n";
}

sub refused ($error) {
    return { type => 'refused', error => one_line($error) };
}

sub cannot_write ($request) {
    return unsupported('part encode', "$request->{library} cannot write this message as $request->{codec}");
}

sub unsupported ($what, $reason) {
    return { type => 'unsupported', what => $what, reason => $reason };
}

# Drops the position in this program, which tells the reader of the reply nothing.
sub one_line ($text) {
    $text =~ s/ at \S+ line \d+(?:, <\$requests> line \d+)?\.?$//mg;
    return substr join(' ', split ' ', $text), 0, $REASON_LENGTH;
}
