//! The page as a whole.

use crate::batch::decisions::export::BatchExportItem;
use crate::batch::report::chart::{self, KINDS, cause};
use crate::batch::report::html::{Html, policy_hash};
use crate::batch::report::moments::{clock, duration, short};
use crate::batch::report::next_steps::next_steps;
use crate::batch::report::table;
use crate::batch::report::timeline::Timeline;
use crate::batch::status::BatchStatus;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The most pauses and decisions that are listed.
const MOST_LISTED: usize = 200;

/// What the page is about.
pub(crate) struct Report<'a> {
    /// The journal's path, as the caller gave it.
    pub(crate) journal: &'a str,
    pub(crate) status: &'a BatchStatus,
    pub(crate) items: &'a [BatchExportItem],
    pub(crate) timeline: &'a Timeline,
}

/// The page. The same report always makes the same one.
pub(crate) fn render(report: &Report<'_>) -> String {
    let mut html = Html::default();
    let name = report.journal.rsplit('/').next().unwrap_or_default();
    html.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    // Before anything that it is about. A page from a file has no header that could say it.
    html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ");
    policy(&mut html, STYLE);
    html.markup("; script-src ");
    policy(&mut html, SCRIPT);
    html.markup("; base-uri 'none'; form-action 'none'\"><meta name=\"referrer\" content=\"no-referrer\">");
    html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.markup("<meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\"><title>");
    html.text(name).markup(" – batch report</title><style>").markup(STYLE).markup("</style></head><body>");
    html.markup("<a class=\"skip\" href=\"#list\">Skip to the messages</a>");
    header(&mut html, report, name);
    html.markup("<main>");
    counts(&mut html, report);
    steps(&mut html, report);
    timeline(&mut html, report);
    decisions(&mut html, report);
    messages(&mut html, report);
    html.markup("</main><footer><p>Made by agentjob ").text(env!("CARGO_PKG_VERSION"));
    html.markup(" from the journal as of ").text(&short(&report.status.written_at));
    html.markup(" UTC. It has no prompts and no API key.</p></footer><script>")
        .markup(SCRIPT)
        .markup("</script></body></html>\n");
    html.finish()
}

/// A source of the policy; its quotes are part of it, and it has no other special character.
fn policy(html: &mut Html, source: &'static str) {
    html.text(&policy_hash(source));
}

fn header(html: &mut Html, report: &Report<'_>, name: &str) {
    let Report { status, timeline, .. } = report;
    html.markup("<header><h1>").text(name).markup("</h1><p>Project <b>").text(&status.project_id);
    html.markup("</b> at <b>").text(&status.base_url).markup("</b>. ");
    html.markup(if status.running { "Running" } else { "Not running" }).markup("; ");
    html.number(status.runs).markup(if status.runs == 1 { " run" } else { " runs" });
    let span = timeline.span();
    html.markup(" from ").text(&clock(span.from)).markup(" to ").text(&clock(span.to)).markup(" UTC (");
    html.text(&duration(span.to.saturating_sub(span.from))).markup(")");
    if let Some(rate) = &status.rate {
        html.markup(", at most ").text(rate);
    }
    html.markup(if status.waits { ", with its jobs" } else { "" }).markup(".</p>");
    if status.dropped_bytes > 0 {
        html.markup("<p class=\"warning\">A crash cut off a line of the journal: ").number(status.dropped_bytes);
        html.markup(" bytes are skipped.</p>");
    }
    html.markup("</header>");
}

fn counts(html: &mut Html, report: &Report<'_>) {
    let progress = &report.status.progress;
    html.markup("<section aria-label=\"Counts\"><dl class=\"counts\">");
    for (class, name, count, is_always_shown) in [
        ("total", "messages", progress.items, true),
        ("accepted", "accepted", progress.accepted, true),
        ("failed", "jobs failed", progress.failed, true),
        ("rejected", "rejected", progress.rejected, true),
        ("unknown", "unknown", progress.unknown, true),
        ("not_sent", "left to send", progress.left, true),
        ("sending", "in flight", progress.sending, false),
        ("waiting", "jobs not done", progress.waiting, false),
        ("dropped", "dropped", progress.dropped, false),
    ] {
        if is_always_shown || count > 0 {
            html.markup("<div class=\"").markup(class).markup(if count == 0 { " none" } else { "" }).markup("\"><dt>");
            html.markup(name).markup("</dt><dd>").number(count).markup("</dd></div>");
        }
    }
    html.markup("</dl></section>");
}

fn steps(html: &mut Html, report: &Report<'_>) {
    html.markup("<section aria-labelledby=\"next\"><h2 id=\"next\">What to do next</h2><ol class=\"steps\">");
    for step in next_steps(report.journal, report.status, report.items) {
        html.markup("<li>").text(&step.sentence);
        for command in &step.commands {
            html.markup("<pre tabindex=\"0\"><code>").text(command).markup("</code></pre>");
        }
        html.markup("</li>");
    }
    html.markup("</ol></section>");
}

fn timeline(html: &mut Html, report: &Report<'_>) {
    let timeline = report.timeline;
    html.markup("<section aria-labelledby=\"when\"><h2 id=\"when\">Timeline</h2>");
    if timeline.sends.is_empty() {
        html.markup("<p>Nothing was sent yet.</p></section>");
        return;
    }
    html.markup("<p class=\"note\">One lane per message, in the order of the list. Times are UTC.</p>");
    chart::lanes(html, timeline);
    legend(html, report);
    pauses(html, timeline);
    html.markup("<h2 id=\"rate\">Rate</h2>");
    chart::rate(html, timeline, report.status.rate.as_deref());
    html.markup("</section>");
}

fn legend(html: &mut Html, report: &Report<'_>) {
    let timeline = report.timeline;
    html.markup("<ul class=\"legend\">");
    for (class, name, outcome) in KINDS {
        if timeline.sends.iter().any(|send| send.outcome == outcome) {
            html.markup("<li><i class=\"").markup(class).markup("\"></i>").markup(name).markup("</li>");
        }
    }
    if timeline.sends.iter().any(|send| send.finished.is_some()) {
        html.markup("<li><i class=\"job\"></i>until the job was done</li>");
    }
    let mut causes: Vec<_> = timeline.pauses.iter().map(|(reason, _)| *reason).collect();
    causes.dedup();
    causes.sort_by_key(|reason| reason.as_str());
    causes.dedup();
    for reason in causes {
        html.markup("<li><i class=\"pause ").markup(reason.as_str()).markup("\"></i>pause: ");
        html.markup(cause(reason)).markup("</li>");
    }
    html.markup("<li><i class=\"run\"></i>a run begins</li></ul>");
}

fn pauses(html: &mut Html, timeline: &Timeline) {
    let total: u64 = timeline.pauses.iter().map(|(_, span)| span.to - span.from).sum();
    if timeline.pauses.is_empty() {
        return;
    }
    let count = timeline.pauses.len();
    html.markup("<details><summary>").number(count as u64).markup(if count == 1 { " pause" } else { " pauses" });
    html.markup(", ").text(&duration(total)).markup(" in all</summary><ul>");
    for (reason, span) in timeline.pauses.iter().take(MOST_LISTED) {
        html.markup("<li>").text(&clock(span.from)).markup(", for ").text(&duration(span.to - span.from));
        html.markup(": ").markup(cause(*reason)).markup("</li>");
    }
    others(html, count);
    html.markup("</ul></details>");
}

fn decisions(html: &mut Html, report: &Report<'_>) {
    let decisions = &report.timeline.decisions;
    if decisions.is_empty() {
        return;
    }
    html.markup("<section aria-labelledby=\"decided\"><h2 id=\"decided\">Decisions</h2><ul class=\"decisions\">");
    for (at, item, decision) in decisions.iter().take(MOST_LISTED) {
        html.markup("<li>").text(&clock(*at)).markup(" message ").number(item.number).markup(": <b>");
        html.markup(decision.as_str()).markup("</b></li>");
    }
    others(html, decisions.len());
    html.markup("</ul></section>");
}

fn others(html: &mut Html, count: usize) {
    if count > MOST_LISTED {
        html.markup("<li>and ").number((count - MOST_LISTED) as u64).markup(" more</li>");
    }
}

fn messages(html: &mut Html, report: &Report<'_>) {
    html.markup("<section aria-labelledby=\"list\"><h2 id=\"list\" tabindex=\"-1\">Messages</h2>");
    let unseen = report.status.progress.items.saturating_sub(report.items.len() as u64);
    if unseen > 0 {
        html.markup("<p class=\"note\">").number(unseen).markup(if unseen == 1 {
            " message was"
        } else {
            " messages were"
        });
        html.markup(" never tried yet, so the journal does not know ").markup(if unseen == 1 { "it" } else { "them" });
        html.markup(".</p>");
    }
    if !report.items.is_empty() {
        table::controls(html, report.items);
        table::table(html, report.items, report.timeline);
    }
    html.markup("</section>");
}
