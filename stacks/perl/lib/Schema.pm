package Schema;

# The schema of the codec bench's messages, and the conversions that walk it.

use v5.36;
use JSON::XS ();

sub new ($class, $text) {
    return bless JSON::XS->new->utf8->decode($text), $class;
}

sub knows ($self, $message) {
    return exists $self->{messages}{$message};
}

sub fields ($self, $message) {
    return @{ $self->{messages}{$message} };
}

# Returns a function that copies a message with $function applied to every field of $kind; undef if
# the message has no such field.
sub converter ($self, $message, $kind, $function) {
    my @steps;
    for my $field ($self->fields($message)) {
        my $step =
            $field->{kind} eq $kind ? $function
          : $field->{kind} eq 'message' ? $self->converter($field->{type}, $kind, $function)
          :                               undef;
        next if !$step;
        my $one = $step;
        $step = sub ($list) { [map { $one->($_) } @$list] } if $field->{repeated};
        push @steps, [$field->{json}, $step];
    }
    return undef if !@steps;
    return sub ($plain) {
        my %copy = %$plain;
        for my $step (@steps) {
            my ($name, $convert) = @$step;
            $copy{$name} = $convert->($copy{$name}) if exists $copy{$name};
        }
        return \%copy;
    };
}

1;
