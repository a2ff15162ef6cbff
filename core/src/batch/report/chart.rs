//! Draws what happened when, as SVG: each message in its lane, and how many were sent over time. Both stretch to the page's width;
//! what has to stay readable, such as the times, is HTML beside them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::batch::pace::circuit_breaker::PauseReason;
use crate::batch::pace::rate::Rate;
use crate::batch::report::html::Html;
use crate::batch::report::moments::{clock, duration};
use crate::batch::report::timeline::{Send, Span, Timeline};
use crate::delivery::Delivery;

/// The width of a drawing, in its own units.
const WIDTH: f64 = 1000.0;
/// The least height of the lanes together, and the most.
const LANES: (f64, f64) = (72.0, 320.0);
/// The narrowest bar, so that a short call is visible beside hours.
const NARROWEST: f64 = 1.6;
const BARS_HEIGHT: f64 = 120.0;
/// The most bars of the rate.
const MOST_BARS: u64 = 80;
const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// The spans of time that a bar may stand for.
const STEPS: [u64; 16] = [
    SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    168 * HOUR,
];

/// What a bar may be: its class in the style, and its name in the legend.
pub(crate) const KINDS: [(&str, &str, Option<Delivery>); 5] = [
    ("accepted", "accepted", Some(Delivery::Accepted)),
    ("rejected", "rejected", Some(Delivery::Rejected)),
    ("unknown", "unknown", Some(Delivery::Unknown)),
    ("not_sent", "not sent, tried again later", Some(Delivery::NotSent)),
    ("sending", "no outcome yet", None),
];

/// What a pause is called.
pub(crate) fn cause(reason: PauseReason) -> &'static str {
    match reason {
        PauseReason::RateLimit => "rate limit",
        PauseReason::ServiceFailure => "service failure",
    }
}

/// Each message in its lane: in flight, its outcome, and how long its job was waited for; behind them the pauses and the runs.
pub(crate) fn lanes(html: &mut Html, timeline: &Timeline) {
    let numbers: BTreeSet<u64> = timeline.sends.iter().map(|send| send.item.number).collect();
    let lane_of: std::collections::HashMap<u64, usize> =
        numbers.iter().zip(0..).map(|(number, at)| (*number, at)).collect();
    let height = (numbers.len() as f64 * 9.0).clamp(LANES.0, LANES.1);
    let lane = height / (numbers.len().max(1) as f64);
    let scale = Scale::of(timeline);
    html.markup("<svg class=\"plot\" role=\"img\" aria-label=\"When each message was in flight\" preserveAspectRatio=\"none\" viewBox=\"0 0 1000 ");
    html.length(height).markup("\" height=\"").length(height).markup("\">");
    for (reason, span) in &timeline.pauses {
        html.markup("<path class=\"pause ").markup(reason.as_str()).markup("\" d=\"");
        bar(html, scale.bar(*span), 0.0, height);
        html.markup("\"><title>paused: ").markup(cause(*reason)).markup("</title></path>");
    }
    for began in &timeline.runs {
        html.markup("<path class=\"run\" d=\"M").length(scale.x(*began)).markup(" 0v").length(height).markup("\"/>");
    }
    // A gap between lanes, where there is room for one.
    let thickness = if lane >= 4.0 { lane - 1.5 } else { lane.max(0.8) };
    let y = |send: &Send| lane_of[&send.item.number] as f64 * lane;
    html.markup("<path class=\"job\" d=\"");
    for send in &timeline.sends {
        if let Some(finished) = send.finished {
            let waited = Span { from: send.in_flight.to, to: finished.max(send.in_flight.to) };
            bar(html, scale.bar(waited), y(send) + thickness * 0.25, thickness * 0.5);
        }
    }
    html.markup("\"/>");
    for (class, _, outcome) in KINDS {
        html.markup("<path class=\"").markup(class).markup("\" d=\"");
        for send in timeline.sends.iter().filter(|send| send.outcome == outcome) {
            bar(html, scale.bar(timeline.in_flight(send)), y(send), thickness);
        }
        html.markup("\"/>");
    }
    html.markup("</svg>");
    axis(html, timeline.span());
}

/// How many messages ended over time, by outcome, and the limit.
pub(crate) fn rate(html: &mut Html, timeline: &Timeline, limit: Option<&str>) {
    let (step, counts) = buckets(timeline);
    let highest = counts.iter().map(|bucket| bucket.iter().sum::<u64>()).max().unwrap_or(0);
    let most = limit.and_then(|limit| limit.parse::<Rate>().ok()).map(|limit| most_per_step(limit, step));
    let shown_limit = most.filter(|most| *most <= 3.0 * highest as f64);
    let top = shown_limit.unwrap_or(0.0).max(highest as f64).max(1.0);
    html.markup("<p class=\"note\">Messages per ").text(&duration(step)).markup("; the most are ").number(highest);
    if let Some(limit) = limit {
        html.markup(", the limit is ").text(limit);
    }
    html.markup(".</p><svg class=\"plot\" role=\"img\" aria-label=\"Messages over time\" preserveAspectRatio=\"none\" viewBox=\"0 0 1000 120\" height=\"120\">");
    let width = WIDTH / counts.len().max(1) as f64;
    for (kind, (class, ..)) in KINDS.iter().enumerate() {
        html.markup("<path class=\"").markup(class).markup("\" d=\"");
        for (at, bucket) in counts.iter().enumerate().filter(|(_, bucket)| bucket[kind] > 0) {
            let below: u64 = bucket[..=kind].iter().sum();
            let y = BARS_HEIGHT * (1.0 - below as f64 / top);
            let x = (at as f64 * width, (width * 0.85).max(NARROWEST));
            bar(html, x, y, BARS_HEIGHT * bucket[kind] as f64 / top);
        }
        html.markup("\"/>");
    }
    if let Some(limit) = shown_limit {
        let y = BARS_HEIGHT * (1.0 - limit / top);
        html.markup("<path class=\"limit\" d=\"M0 ").length(y).markup("h1000\"><title>the limit</title></path>");
    }
    html.markup("</svg>");
    axis(html, timeline.span());
    figures(html, timeline.span().from, step, &counts);
}

/// The same as a table, for those who don't see the drawing.
fn figures(html: &mut Html, from: u64, step: u64, counts: &[[u64; KINDS.len()]]) {
    html.markup("<details><summary>The figures</summary><div class=\"scroll\"><table class=\"small\"><thead><tr><th scope=\"col\">From (UTC)</th>");
    for (_, name, _) in KINDS {
        html.markup("<th scope=\"col\">").markup(name).markup("</th>");
    }
    html.markup("</tr></thead><tbody>");
    for (at, bucket) in (0_u64..).zip(counts) {
        if bucket.iter().any(|count| *count > 0) {
            html.markup("<tr><th scope=\"row\">").text(&clock(from + at * step)).markup("</th>");
            for count in bucket {
                html.markup("<td>").number(*count).markup("</td>");
            }
            html.markup("</tr>");
        }
    }
    html.markup("</tbody></table></div></details>");
}

/// How long a bar's span is, and how many sends ended in each span, by kind.
fn buckets(timeline: &Timeline) -> (u64, Vec<[u64; KINDS.len()]>) {
    let Span { from, to } = timeline.span();
    let length = to.saturating_sub(from);
    let step = STEPS.into_iter().find(|step| length / step < MOST_BARS).unwrap_or(length / MOST_BARS + 1);
    let mut counts = vec![[0; KINDS.len()]; usize::try_from(length / step).unwrap_or(0) + 1];
    for send in &timeline.sends {
        let at = usize::try_from(timeline.in_flight(send).to.saturating_sub(from) / step).unwrap_or(usize::MAX);
        let kind = KINDS.iter().position(|(.., outcome)| *outcome == send.outcome).unwrap_or_default();
        if let Some(bucket) = counts.get_mut(at) {
            bucket[kind] += 1;
        }
    }
    (step, counts)
}

/// The most messages that a rate lets leave in this many milliseconds: all of a period's may leave at once.
fn most_per_step(rate: Rate, step: u64) -> f64 {
    let periods = Duration::from_millis(step).as_secs_f64() / rate.per().as_secs_f64();
    f64::from(rate.messages()) * periods.ceil()
}

/// When the drawing begins and ends, and its middle.
fn axis(html: &mut Html, span: Span) {
    html.markup("<div class=\"axis\" aria-hidden=\"true\"><span>").text(&clock(span.from)).markup("</span><span>");
    html.text(&clock(span.from + span.to.saturating_sub(span.from) / 2)).markup("</span><span>");
    html.text(&clock(span.to)).markup("</span></div>");
}

/// Adds a bar to a path.
fn bar(html: &mut Html, (x, width): (f64, f64), y: f64, height: f64) {
    html.markup("M").length(x).markup(" ").length(y).markup("h").length(width).markup("v").length(height);
    html.markup("h-").length(width).markup("z");
}

/// From times to the drawing's width.
struct Scale {
    from: u64,
    length: f64,
}

impl Scale {
    fn of(timeline: &Timeline) -> Scale {
        let Span { from, to } = timeline.span();
        Scale { from, length: to.saturating_sub(from).max(1) as f64 }
    }

    /// A pause may last longer than the journal.
    fn x(&self, at: u64) -> f64 {
        (at.saturating_sub(self.from) as f64 / self.length).min(1.0) * (WIDTH - NARROWEST)
    }

    /// Where a span begins, and how wide it is.
    fn bar(&self, span: Span) -> (f64, f64) {
        let x = self.x(span.from);
        (x, (self.x(span.to) - x).max(NARROWEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_allows_all_messages_of_its_period_at_once() {
        let rows = [
            ("100/h", SECOND, 100.0),
            ("100/h", HOUR, 100.0),
            ("100/h", 3 * HOUR, 300.0),
            ("2/s", MINUTE, 120.0),
            ("1/min", 90 * SECOND, 2.0),
        ];
        for (rate, step, most) in rows {
            assert_eq!(most_per_step(rate.parse().unwrap(), step), most, "{rate} in {step} ms");
        }
    }
}
