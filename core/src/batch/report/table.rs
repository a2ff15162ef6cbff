//! The table of messages, which a script can sort and filter, and which is complete without it.

use std::collections::HashMap;

use crate::batch::decisions::export::BatchExportItem;
use crate::batch::report::html::Html;
use crate::batch::report::moments::{clock, duration, short};
use crate::batch::report::timeline::{Send, Timeline};
use crate::delivery::Delivery;

/// The columns, and how the script sorts each: by numbers or by text.
pub(crate) const COLUMNS: [(&str, bool); 10] = [
    ("#", true),
    ("Key", false),
    ("Job", false),
    ("Outcome", false),
    ("Job status", false),
    ("Sent (UTC)", false),
    ("In flight", true),
    ("Job took", true),
    ("Pull request", false),
    ("Why", false),
];

/// The states that the filter offers: the word in a row's data, and its label.
const STATES: [(&str, &str); 7] = [
    ("accepted", "accepted"),
    ("failed", "job failed"),
    ("rejected", "rejected"),
    ("unknown", "unknown"),
    ("not_sent", "to be sent"),
    ("sending", "in flight"),
    ("dropped", "dropped"),
];

/// The item's words for the filter: one that is accepted and whose job failed has both.
fn states(item: &BatchExportItem) -> (&'static str, bool) {
    (item.state, item.job_failed)
}

/// Shown by the script, because nothing else can use it.
pub(crate) fn controls(html: &mut Html, items: &[BatchExportItem]) {
    html.markup("<form id=\"controls\" hidden><label>Find <input id=\"find\" type=\"search\" autocomplete=\"off\" placeholder=\"a job, key, reason …\"></label>");
    html.markup("<label>Sort by <select id=\"sort\">");
    for (at, (name, _)) in (0_u64..).zip(COLUMNS) {
        html.markup("<option value=\"").number(at).markup("\">").markup(name).markup("</option>");
    }
    html.markup("</select></label><fieldset><legend>Show</legend>");
    for (word, label) in STATES {
        let count =
            items.iter().map(states).filter(|(state, failed)| *state == word || word == "failed" && *failed).count();
        if count > 0 {
            html.markup("<label><input type=\"checkbox\" name=\"state\" checked value=\"").markup(word).markup("\"> ");
            html.markup(label).markup(" <span class=\"count\">").number(count as u64).markup("</span></label>");
        }
    }
    html.markup("</fieldset><p id=\"shown\" role=\"status\" aria-live=\"polite\"></p></form>");
}

pub(crate) fn table(html: &mut Html, items: &[BatchExportItem], timeline: &Timeline) {
    let sends: HashMap<u64, &Send> = timeline.sends.iter().map(|send| (send.item.number, send)).collect();
    html.markup("<table id=\"messages\"><caption class=\"hidden\">The messages of the batch</caption><thead><tr>");
    for (name, is_number) in COLUMNS {
        html.markup("<th scope=\"col\"").markup(if is_number { " data-n" } else { "" }).markup(">");
        html.markup(name).markup("</th>");
    }
    html.markup("</tr></thead><tbody>");
    for item in items {
        row(html, item, sends.get(&item.number).copied(), timeline);
    }
    html.markup("</tbody></table>");
}

fn row(html: &mut Html, item: &BatchExportItem, send: Option<&Send>, timeline: &Timeline) {
    let (state, failed) = states(item);
    html.markup("<tr data-s=\"").markup(state).markup(if failed { " failed" } else { "" });
    html.markup("\"><th scope=\"row\">").number(item.number).markup("</th><td><code>").text(&item.key);
    html.markup("</code></td><td>").text(&item.job_id).markup("</td><td><b class=\"").markup(state).markup("\">");
    html.markup(label(state)).markup("</b>");
    if let Some((decision, at)) = &item.decision {
        html.markup(" <small>decided ").markup(decision.as_str()).markup(" ").text(&short(at)).markup("</small>");
    }
    html.markup("</td><td>");
    let job = item.job.as_ref();
    if let Some(job) = job {
        html.markup(if failed { "<b class=\"failed\">" } else { "<span>" }).text(job.status().as_str());
        html.markup(if failed { "</b>" } else { "</span>" });
    }
    html.markup("</td><td>");
    if let Some(send) = send {
        html.text(&clock(send.in_flight.from));
    }
    html.markup("</td>");
    let in_flight = send.filter(|send| !send.is_cut).map(|send| timeline.in_flight(send));
    length(html, in_flight.map(|span| span.to - span.from));
    let accepted = send.filter(|send| send.outcome == Some(Delivery::Accepted));
    length(html, accepted.and_then(|send| Some(send.finished?.saturating_sub(send.in_flight.to))));
    html.markup("<td>");
    if let Some(link) = job.and_then(|job| job.pr_link()) {
        html.link(link, name_of(link));
    }
    html.markup("</td><td>").text(item.reason.as_deref().unwrap_or_default()).markup("</td></tr>");
}

/// A cell with a time, and its milliseconds to sort by.
fn length(html: &mut Html, ms: Option<u64>) {
    match ms {
        Some(ms) => html.markup("<td data-v=\"").number(ms).markup("\">").text(&duration(ms)).markup("</td>"),
        None => html.markup("<td></td>"),
    };
}

/// A state as people say it.
fn label(state: &'static str) -> &'static str {
    match state {
        "not_sent" => "to be sent",
        "sending" => "in flight",
        other => other,
    }
}

/// What a link is called: its last two parts, as in `pull/17`.
fn name_of(link: &str) -> &str {
    let path = link.strip_prefix("https://").unwrap_or(link).trim_end_matches('/');
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}
