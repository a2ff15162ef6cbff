#!/usr/bin/env perl
# The Perl driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON.
use v5.30;
use warnings;
use threads;
use threads::shared;
use Encode qw(decode encode);
use FindBin;
use JSON::PP;
use Time::HiRes qw(time);
use lib $FindBin::Bin;
use AgentJob;

my @TEXT_AND_NUMBERS = qw(
    base_url api_key api_key_file project_id ca_file client_cert client_key proxy user_agent_suffix timeout connect_timeout
    max_retry_after min_interval max_interval lateness settle max_retries max_prompt_bytes max_response_bytes
);
my @FLAGS = qw(trust_env allow_plaintext);
my @FACTS = qw(kind delivery message http_status retry_after request_id body attempts);

# The next block of lines `key=value` as a hash; nothing at the end.
sub next_block {
    my %block;
    while (my $line = <STDIN>) {
        chomp $line;
        my ($key, $value) = split /=/, $line, 2;
        return \%block if !defined $value;
        $value =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        $block{$key} = decode('UTF-8', $value);
    }
    return;
}

# The client's options in the block.
sub client_settings {
    my ($block) = @_;
    my %settings = map { $_ => $block->{$_} } grep { exists $block->{$_} } @TEXT_AND_NUMBERS;
    $settings{$_} = $block->{$_} eq 'true' for grep { exists $block->{$_} } @FLAGS;
    $settings{wait_timeout} = _seconds($block->{wait_timeout}) if exists $block->{wait_timeout};
    $settings{headers} = _header($block->{header}) if exists $block->{header};
    return %settings;
}

# The settings `prefix…` of the block: seconds, or none, and a header.
sub call_settings {
    my ($block, $prefix) = @_;
    my %given = map { /^\Q$prefix\E(.*)/ ? ($1 => $block->{$_}) : () } keys %$block;
    my $header = delete $given{header};
    return ((map { $_ => _seconds($given{$_}) } keys %given), defined $header ? (headers => _header($header)) : ());
}

sub _seconds { $_[0] eq 'none' ? undef : $_[0] }

sub _header {
    my ($name, $value) = split /: /, $_[0], 2;
    return {$name => $value // ''};
}

# Makes the call that the block describes, and returns its outcome as JSON.
sub perform {
    my ($client, $block, $cancel) = @_;
    my ($operation, $job_id, $prompt) = ($block->{operation}, $block->{job_id} // '', $block->{prompt} // '');
    my @call = (call_settings($block, 'call.'), cancel => $cancel);
    my @wait = (call_settings($block, 'wait.'), cancel => $cancel);
    return $client->send_message($job_id, $prompt, @call)->{json} if $operation eq 'send_message';
    return $client->get_job($job_id, @call)->{json} if $operation eq 'get_job';
    return $client->create_job($prompt, @call)->{json} if $operation eq 'create_job';
    return $client->wait($job_id, @wait)->{json} if $operation eq 'wait';
    return $client->send_and_wait($job_id, $prompt, @wait)->{json} if $operation eq 'send_and_wait';
    if ($operation eq 'watch') {
        my @records;
        $client->watch($job_id, sub { push @records, $_[0]{json} }, @wait);
        return '[' . join(', ', @records) . ']';
    }
    die "no such operation: $operation\n";
}

# An error as the protocol defines it. Records stay text.
sub error_json {
    my ($error) = @_;
    my $json = JSON::PP->new->allow_nonref;
    my $facts = join ', ', map { "\"$_\": " . $json->encode($error->{$_}) } @FACTS;
    my $job = $error->{job} ? $error->{job}{json} : 'null';
    return qq({"error": {$facts, "job": $job}});
}

# Cancels after a while, from another thread; returns an object that ends that thread.
sub cancel_later {
    my ($cancel, $seconds) = @_;
    my ($address, $until) = ($cancel->address, time + $seconds);
    my $over : shared = 0;
    my $thread = threads->create(sub {
        lock $over;
        while (!$over) {
            cond_timedwait($over, $until) or last;
        }
        AgentJob::CancelToken->cancel_at($address) if !$over;
    });
    return sub {
        { lock $over; $over = 1; cond_signal($over) }
        $thread->join;
    };
}

sub run_call {
    my ($block) = @_;
    my $cancel = AgentJob::CancelToken->new;
    my $stop = $block->{cancel_after} ? cancel_later($cancel, $block->{cancel_after}) : sub { };
    my $result = eval { '{"ok": ' . perform(AgentJob->new(client_settings($block)), $block, $cancel) . '}' };
    my $error = $@;
    $stop->();
    return $result if defined $result;
    return error_json($error) if ref $error && $error->isa('AgentJob::Error');
    die $error;
}

$| = 1;
while (my $block = next_block()) {
    say encode('UTF-8', run_call($block)) if %$block;
}
