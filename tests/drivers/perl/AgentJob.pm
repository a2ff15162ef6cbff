package AgentJob;

=head1 NAME

AgentJob - agentjob from Perl, by FFI::Platypus and the facts of agentjob.h

=head1 SYNOPSIS

    my $client = AgentJob->new(base_url => 'https://api.example.com', api_key => '…', project_id => '…');
    my $job = $client->send_and_wait('job_123', 'Also cover the error cases', timeout => 1800);
    say "$job->{status} $job->{pr_link}";

Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
A call that fails dies with an AgentJob::Error.

=cut

use v5.30;
use warnings;
use Carp qw(croak);
use Encode qw(decode encode FB_CROAK);
use FFI::Platypus 2.00;
use FFI::Platypus::Buffer qw(buffer_to_scalar);
use List::Util qw(min max);
use Time::HiRes qw(sleep);

my $ffi = FFI::Platypus->new(api => 2, lib => $ENV{AGENTJOB_LIBRARY} // 'libagentjob.so.0');

# Attaches functions as C::name. Objects are "opaque"; "opaque*" is memory for an object or an error.
sub _attach {
    my ($name, $arguments, $result) = @_;
    $ffi->attach(["agentjob_$name" => "AgentJob::C::$name"] => $arguments => $result // 'sint32');
}

_attach(client_new           => ['opaque', 'opaque*', 'opaque*']);
_attach(client_close         => ['opaque'], 'void');
_attach(client_free          => ['opaque'], 'void');
_attach(client_send_message  => ['opaque', 'string', 'string', 'size_t', 'opaque', 'opaque*', 'opaque*']);
_attach(client_get_job       => ['opaque', 'string', 'opaque', 'opaque*', 'opaque*']);
_attach(client_create_job    => ['opaque', 'string', 'size_t', 'opaque', 'opaque*', 'opaque*']);
_attach(client_wait          => ['opaque', 'string', 'opaque', 'opaque*', 'opaque*']);
_attach(client_send_and_wait => ['opaque', 'string', 'string', 'size_t', 'opaque', 'opaque*', 'opaque*']);
_attach(poller_new           => ['opaque', 'string', 'opaque', 'opaque*', 'opaque*']);

_attach(options_new  => [], 'opaque');
_attach(options_free => ['opaque'], 'void');
_attach(call_new     => [], 'opaque');
_attach(call_free    => ['opaque'], 'void');
_attach(call_set_cancel           => ['opaque', 'opaque', 'opaque*']);
for my $object (qw(options call)) {
    _attach("${object}_set_poll_interval_ms", ['opaque', 'uint64', 'uint64', 'opaque*']);
    _attach("${object}_set_header",           ['opaque', 'string', 'string', 'opaque*']);
}

_attach(cancel_new          => [], 'opaque');
_attach(cancel_trigger      => ['opaque'], 'void');
_attach(cancel_is_triggered => ['opaque'], 'bool');
_attach(cancel_free         => ['opaque'], 'void');

_attach(poller_due_in_ms => ['opaque'], 'uint64');
_attach(poller_poll      => ['opaque', 'opaque', 'opaque', 'bool*', 'opaque*']);
_attach(poller_job       => ['opaque'], 'opaque');
_attach(poller_free      => ['opaque'], 'void');

_attach(job_id          => ['opaque'], 'string');
_attach(job_status_name => ['opaque'], 'string');
_attach(job_is_terminal => ['opaque'], 'bool');
_attach(job_pr_link     => ['opaque'], 'string');
_attach(job_json        => ['opaque', 'size_t*'], 'string');
_attach(job_free        => ['opaque'], 'void');

_attach(error_kind           => ['opaque'], 'string');
_attach(error_message        => ['opaque'], 'string');
_attach(error_delivery       => ['opaque']);
_attach(error_http_status    => ['opaque']);
_attach(error_retry_after_ms => ['opaque'], 'sint64');
_attach(error_request_id     => ['opaque'], 'string');
_attach(error_body           => ['opaque', 'size_t*'], 'opaque');
_attach(error_attempts       => ['opaque'], 'uint32');
_attach(error_elapsed_ms     => ['opaque'], 'uint64');
_attach(error_job            => ['opaque'], 'opaque');
_attach(error_free           => ['opaque'], 'void');
_attach(delivery_name        => ['sint32'], 'string');

# The settings, with the type of each.
my %OPTIONS = (
    (map { $_ => 'text' } qw(base_url api_key api_key_file project_id ca_file client_cert client_key proxy user_agent_suffix)),
    (map { $_ => 'time' } qw(timeout connect_timeout max_retry_after wait_timeout settle)),
    (map { $_ => 'size_t' } qw(max_prompt_bytes max_response_bytes)),
    (map { $_ => 'bool' } qw(trust_env allow_plaintext)),
    max_retries => 'uint32',
    lateness    => 'double',
);
my %CALL = ((map { $_ => 'time' } qw(timeout wait_timeout settle)), lateness => 'double');

my %CTYPE = (text => 'string', time => 'uint64');
for my $type (['options', \%OPTIONS], ['call', \%CALL]) {
    my ($object, $settings) = @$type;
    while (my ($name, $kind) = each %$settings) {
        _attach(_setter($object, $name, $kind), ['opaque', $CTYPE{$kind} // $kind, 'opaque*']);
    }
}

sub _setter {
    my ($object, $name, $kind) = @_;
    return "${object}_set_$name" . ($kind eq 'time' ? '_ms' : '');
}

# Sets an object's settings.
sub _set {
    my ($object, $handle, $kinds, %settings) = @_;
    my ($min, $max, $headers) = delete @settings{qw(min_interval max_interval headers)};
    # One function sets both; 2 s and 60 s are the defaults.
    _check("${object}_set_poll_interval_ms", $handle, _milliseconds($min // 2), _milliseconds($max // 60)) if defined($min // $max);
    _check("${object}_set_header", $handle, _no_nul($_), _no_nul($headers->{$_})) for keys %{$headers // {}};
    while (my ($name, $value) = each %settings) {
        my $kind = $kinds->{$name} // croak "no setting is called $name";
        $value = $kind eq 'text' ? _no_nul($value) : $kind eq 'time' ? _milliseconds($value) : $value;
        _check(_setter($object, $name, $kind), $handle, $value);
    }
}

# Calls a function whose last parameter is the error; dies with the error.
sub _check {
    my ($name, @arguments) = @_;
    my $function = AgentJob::C->can($name);
    my $code     = $function->(@arguments, \my $err);
    die AgentJob::Error->_taken($err) if $code != 0;
}

# Calls a function that returns an object through `out`.
sub _made {
    my ($name, @arguments) = @_;
    _check($name, @arguments, \my $object);
    return $object;
}

# Calls a function when it goes out of scope, also after a die.
sub _finally { bless {action => $_[0]}, 'AgentJob::Finally' }

# Perl's texts are characters, the library's are UTF-8 bytes.
# encode() with FB_CROAK empties its argument, so it gets a copy.
sub _bytes { my ($text) = @_; encode('UTF-8', $text, FB_CROAK) }
sub _text  { defined $_[0] ? decode('UTF-8', $_[0]) : undef }

# A NUL byte is refused, because C would read only the part before it, which may be another job's id.
sub _no_nul {
    my $bytes = _bytes($_[0]);
    croak 'a NUL in a text that is no prompt' if $bytes =~ /\0/;
    return $bytes;
}

sub _milliseconds {
    my ($seconds) = @_;
    return ~0 if !defined $seconds;    # a wait without a deadline
    return $seconds > 0 ? max(1, int($seconds * 1000 + 0.5)) : 0;    # a short time does not become 0
}

# A job's record at one moment; json is the whole record.
sub _copied {
    my ($job) = @_;
    return {
        id       => _text(AgentJob::C::job_id($job)),
        status   => _text(AgentJob::C::job_status_name($job)),
        terminal => AgentJob::C::job_is_terminal($job),
        pr_link  => _text(AgentJob::C::job_pr_link($job)),
        json     => _text(AgentJob::C::job_json($job, undef)),
    };
}

=head1 METHODS

=head2 new(settings), close

A client of one project. C<close> ends its calls in other threads and refuses new ones.

=cut

sub new {
    my ($class, %settings) = @_;
    my $options = AgentJob::C::options_new();
    my $free    = _finally(sub { AgentJob::C::options_free($options) });
    _set('options', $options, \%OPTIONS, %settings);
    return bless {handle => _made('client_new', $options)}, $class;
}

sub close { AgentJob::C::client_close($_[0]{handle}) }

sub DESTROY { AgentJob::C::client_free($_[0]{handle}) }

# A new thread gets no copy, because two owners would free the client twice.
sub CLONE_SKIP { 1 }

=head2 send_message(job, prompt, settings), get_job(job, settings), create_job(prompt, settings)

Settings: C<timeout>, C<headers> (a hash of names and values), C<cancel> (an AgentJob::CancelToken).

=head2 wait(job, settings), send_and_wait(job, prompt, settings), watch(job, sub { … }, settings)

Settings: C<timeout> (how long to wait; undef: no limit), C<min_interval>, C<max_interval>, C<lateness>, C<settle>, C<headers>, C<cancel>.
C<watch> calls its sub with each record that differs from the one before it, and with the last one.

=cut

sub send_message {
    my ($self, $job_id, $prompt, %settings) = @_;
    my $bytes = _bytes($prompt);
    return $self->_job('client_send_message', [_no_nul($job_id), $bytes, length $bytes], %settings);
}

sub get_job {
    my ($self, $job_id, %settings) = @_;
    return $self->_job('client_get_job', [_no_nul($job_id)], %settings);
}

sub create_job {
    my ($self, $prompt, %settings) = @_;
    my $bytes = _bytes($prompt);
    return $self->_job('client_create_job', [$bytes, length $bytes], %settings);
}

sub wait {
    my ($self, $job_id, %settings) = @_;
    return $self->_job('client_wait', [_no_nul($job_id)], _waiting(%settings));
}

sub send_and_wait {
    my ($self, $job_id, $prompt, %settings) = @_;
    my $bytes = _bytes($prompt);
    return $self->_job('client_send_and_wait', [_no_nul($job_id), $bytes, length $bytes], _waiting(%settings));
}

sub watch {
    my ($self, $job_id, $receive, %settings) = @_;
    my $call      = _call(_waiting(%settings));
    my $free_call = _finally(sub { AgentJob::C::call_free($call) });
    my $poller    = _made('poller_new', $self->{handle}, _no_nul($job_id), $call);
    my $free      = _finally(sub { AgentJob::C::poller_free($poller) });
    my ($done, $last) = (0);
    while (!$done) {
        while ((my $due = AgentJob::C::poller_due_in_ms($poller)) && !($settings{cancel} && $settings{cancel}->cancelled)) {
            sleep(min($due, 20) / 1000);    # briefly, to notice a cancel soon
        }
        _check('poller_poll', $poller, $self->{handle}, $call, \$done);
        my $record = AgentJob::C::poller_job($poller) // next;    # borrowed from the poller until its next poll
        my $job    = _copied($record);
        $receive->($last = $job) if $done || !$last || $job->{json} ne $last->{json};
    }
}

# For a wait, timeout is the deadline of the wait; its requests keep the client's timeout.
sub _waiting {
    my %settings = @_;
    $settings{wait_timeout} = delete $settings{timeout} if exists $settings{timeout};
    return %settings;
}

# Makes one call that returns a job.
sub _job {
    my ($self, $function, $arguments, %settings) = @_;
    my $call      = _call(%settings);
    my $free_call = _finally(sub { AgentJob::C::call_free($call) });
    my $job       = _made($function, $self->{handle}, @$arguments, $call);
    my $free_job  = _finally(sub { AgentJob::C::job_free($job) });
    return _copied($job);
}

# The settings of one call, for the caller to free.
sub _call {
    my (%settings) = @_;
    my $cancel = delete $settings{cancel};
    my $call = AgentJob::C::call_new();
    my $done = eval {
        _check('call_set_cancel', $call, $cancel->{handle}) if $cancel;
        _set('call', $call, \%CALL, %settings);
        1;
    };
    return $call if $done;
    AgentJob::C::call_free($call);
    die $@;
}

package AgentJob::Finally {
    sub DESTROY    { $_[0]{action}->() }
    sub CLONE_SKIP { 1 }
}

# Cancels the calls that have it: they die with an error of the kind "cancelled". Another thread cannot get the token
# itself; it cancels by address: AgentJob::CancelToken->cancel_at($address).
package AgentJob::CancelToken {
    sub new       { bless {handle => AgentJob::C::cancel_new()}, $_[0] }
    sub address   { $_[0]{handle} }
    sub cancel    { AgentJob::C::cancel_trigger($_[0]{handle}) }
    sub cancel_at { AgentJob::C::cancel_trigger($_[1]) }
    sub cancelled { AgentJob::C::cancel_is_triggered($_[0]{handle}) }
    sub DESTROY    { AgentJob::C::cancel_free($_[0]{handle}) }
    sub CLONE_SKIP { 1 }
}

# Why a call failed: a hash of kind, delivery, message, http_status, retry_after, request_id, body, attempts, elapsed, job.
package AgentJob::Error {
    use overload '""' => sub { $_[0]{message} }, fallback => 1;

    # Everything is copied, so the library's error is freed at once.
    sub _taken {
        my ($class, $err) = @_;
        my $free           = AgentJob::_finally(sub { AgentJob::C::error_free($err) });
        my $delivery       = AgentJob::C::error_delivery($err);
        my $retry_after_ms = AgentJob::C::error_retry_after_ms($err);
        my $body           = AgentJob::C::error_body($err, \my $length);
        my $job            = AgentJob::C::error_job($err);
        return bless {
            kind        => AgentJob::_text(AgentJob::C::error_kind($err)),
            delivery    => $delivery ? AgentJob::C::delivery_name($delivery) : undef,    # "unknown": check the job before you send it again
            message     => AgentJob::_text(AgentJob::C::error_message($err)),
            http_status => AgentJob::C::error_http_status($err) || undef,
            retry_after => $retry_after_ms < 0 ? undef : $retry_after_ms / 1000,
            request_id  => AgentJob::_text(AgentJob::C::error_request_id($err)),
            body        => defined $body ? AgentJob::_text(FFI::Platypus::Buffer::buffer_to_scalar($body, $length)) : undef,
            attempts    => AgentJob::C::error_attempts($err),
            elapsed     => AgentJob::C::error_elapsed_ms($err) / 1000,
            job         => defined $job ? AgentJob::_copied($job) : undef,
        }, $class;
    }
}

1;
