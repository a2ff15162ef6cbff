#!/usr/bin/env php
<?php

declare(strict_types=1);

/** The PHP driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON. */

require __DIR__ . '/AgentJob.php';

const TEXTS = ['base_url', 'api_key', 'api_key_file', 'project_id', 'ca_file', 'client_cert', 'client_key', 'proxy', 'user_agent_suffix'];
const SECONDS = ['timeout', 'connect_timeout', 'max_retry_after', 'wait_timeout', 'min_interval', 'max_interval', 'lateness', 'settle'];
const WHOLE = ['max_retries', 'max_prompt_bytes', 'max_response_bytes'];
const FLAGS = ['trust_env', 'allow_plaintext'];

/** Each block of lines `key=value` as an array. */
function blocks($input): Generator
{
    $block = [];
    while (($line = fgets($input)) !== false) {
        [$key, $value] = [...explode('=', rtrim($line, "\n"), 2), null];
        if ($value !== null) {
            $block[$key] = rawurldecode($value);
        } else {
            yield $block;
            $block = [];
        }
    }
}

/** The client's options in the block. */
function clientSettings(array $block): array
{
    $given = fn (array $names) => array_intersect_key($block, array_flip($names));
    return [
        ...$given(TEXTS),
        ...array_map(seconds(...), $given(SECONDS)),
        ...array_map('intval', $given(WHOLE)),
        ...array_map(fn ($value) => $value === 'true', $given(FLAGS)),
        ...(isset($block['header']) ? ['headers' => header_of($block['header'])] : []),
    ];
}

function seconds(string $text): float
{
    return $text === 'none' ? INF : (float) $text;
}

function header_of(string $line): array
{
    [$name, $value] = [...explode(': ', $line, 2), ''];
    return [$name => $value];
}

/** The settings `prefix…` of the block: seconds, or none, and a header. */
function callSettings(array $block, string $prefix): array
{
    $settings = isset($block['cancel_after']) ? ['cancel_after' => (float) $block['cancel_after']] : [];
    foreach ($block as $key => $value) {
        if (str_starts_with($key, $prefix)) {
            $name = substr($key, strlen($prefix));
            if ($name === 'header') {
                $settings['headers'] = header_of($value);
            } else {
                $settings[$name] = seconds($value);
            }
        }
    }
    return $settings;
}

/** Makes the call that the block describes, and returns its outcome as JSON. */
function perform(AgentJob\Client $client, array $block): string
{
    [$jobId, $prompt] = [$block['job_id'] ?? '', $block['prompt'] ?? ''];
    [$call, $wait] = [callSettings($block, 'call.'), callSettings($block, 'wait.')];
    return match ($block['operation']) {
        'send_message' => $client->sendMessage($jobId, $prompt, ...$call)->json,
        'get_job' => $client->getJob($jobId, ...$call)->json,
        'create_job' => $client->createJob($prompt, ...$call)->json,
        'wait' => $client->wait($jobId, ...$wait)->json,
        'send_and_wait' => $client->sendAndWait($jobId, $prompt, ...$wait)->json,
        'watch' => '[' . implode(', ', array_column(iterator_to_array($client->watch($jobId, ...$wait)), 'json')) . ']',
    };
}

/** An error as the protocol defines it. Records stay text: json_decode() would round long numbers. */
function errorJson(AgentJob\Error $error): string
{
    $facts = json_encode([
        'kind' => $error->kind,
        'delivery' => $error->delivery,
        'message' => $error->getMessage(),
        'http_status' => $error->httpStatus,
        'retry_after' => $error->retryAfter,
        'request_id' => $error->requestId,
        'body' => $error->body,
        'attempts' => $error->attempts,
    ], JSON_THROW_ON_ERROR);
    return '{"error": ' . substr($facts, 0, -1) . ', "job": ' . ($error->job?->json ?? 'null') . '}}';
}

foreach (blocks(STDIN) as $block) {
    try {
        $result = '{"ok": ' . perform(new AgentJob\Client(...clientSettings($block)), $block) . '}';
    } catch (AgentJob\Error $error) {
        $result = errorJson($error);
    }
    echo $result, "\n";
}
