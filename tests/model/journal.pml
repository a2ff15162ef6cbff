/*
 * The journal of a batch, as a model that `spin` explores to its last state: no message is sent twice, whatever dies when.
 * check.sh runs it, README.md says what it shows.
 *
 * How to read this, without knowing Promela:
 *   proctype X        something that acts by itself; all of them take their steps in any order: every order is tried
 *   do :: A :: B od   forever, any one of A, B whose first condition holds; if several hold, each is tried
 *   if :: A :: B fi   once, any one of A, B whose first condition holds; if several hold, each is tried
 *   c -> s            s, where c holds
 *   atomic, d_step    one step, within which nothing else happens
 *   inline            a named piece of text, as a macro
 *   (c -> x : y)      the expression "x if c, else y". No sum in one: spin 6.5.2 reads `c -> n - 1 : 0` as `-1`, silently.
 *
 * Nothing is counted but what a claim needs, so the states are finite with any number of crashes, runs and refusals: there is no
 * bound on them. What is bounded is the size: ITEMS messages, WORKERS a process, two processes that would like to run.
 *
 * `#ifdef` marks the mutations, one mistake each: see README.md.
 */
#ifndef ITEMS
#define ITEMS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define PROCESSES 2
#define ALL_WORKERS (PROCESSES * WORKERS)
#define ROOM 8 /* unsynced lines at a time; that it is enough is asserted, but for a search for a violation of ONLY one claim */

#ifdef OUTCOME_SYNCED_NEVER
#define OUTCOME_SYNCED_LATE
#endif

/* ---- The claims. A violated one is reported by its variable's name. ONLY=CLAIM_X checks only X, BUT=CLAIM_X all others. */

#define CLAIM_A 1
#define CLAIM_B 2
#define CLAIM_C 3
#define CLAIM_D 4
#define CLAIM_E 5
#define CLAIM_F 6
#define CLAIM_G 7
#define CLAIM_I 8
#define CLAIM_J 9
#define CLAIM_K 10
#define CLAIM_L 11
#ifndef ONLY
#define ONLY 0
#endif
#ifndef BUT
#define BUT 0
#endif
bool a_processed_at_most_once = true;         /* since the caller last decided to resend; with no such decision: ever */
bool b_accepted_was_processed_once = true;    /* the journal says accepted => processed, exactly once */
bool c_processed_is_never_denied = true;      /* processed => the journal says accepted or unknown, or is about to */
bool d_a_finished_run_ended_every_item = true;
bool e_one_worker_an_item = true;
bool f_one_open_item_a_worker = true;         /* a crash leaves no more `sending` without outcome than there are workers */
bool g_a_finished_runs_report_stays_true = true;
bool i_a_result_is_its_messages_own = true;   /* the result that is reported for a message is not another one's */
bool j_a_stopped_run_leaves_nothing_open = true;
bool k_a_jobs_messages_arrive_in_order = true;
bool l_a_decision_is_never_lost = true;
#define CLAIM(letter, name, condition) \
	name = (condition) || (ONLY != 0 && ONLY != letter) || BUT == letter; assert(name)

/* ---- The world. */

/* A journal line is one of these words about one item. `none`: no line. `unreadable`: no JSON, because two lines ran together. */
mtype = { none, sending, accepted, rejected, not_sent, unknown, finished, unreadable };
#define IS_ACCEPTED(word) (word == accepted || word == finished)

/* The journal: its durable lines, of which only the last about each item matters, and then, one by one, those that no fsync has
   covered yet: a killed process leaves them in the page cache, a power loss takes any number of them from the end. */
mtype durable[ITEMS] = none;
bool durable_unknown[ITEMS];    /* a durable line says unknown, maybe not the last one */
mtype kind[ROOM] = none;
byte about[ROOM];
byte unsynced;                /* how many of these two are lines */
bool torn;                    /* the last line has no end */
bool named;                   /* the directory's entry of the file is durable, too */
byte lock;                    /* 0, or 1 + the process that has it */

/* The service. That it decides when the message leaves, and not later, loses nothing: the client sees of it only the response. */
byte processed[ITEMS];
bool ever_processed[ITEMS];

/* With SEQUENCED, the first SAME messages are for one job, and the batch waits for it. The job works on one message after the other;
   after one that it takes it may still show the result before. BUSY: it refuses messages (409) while it works, and begins with
   another sender's. */
#ifdef BUSY
#define SEQUENCED
#endif
#ifndef SAME
#define SAME ITEMS
#endif
#ifdef SEQUENCED
#define FOREIGN (ITEMS + 1)
#define IN_SEQUENCE(it) (it < SAME)
#ifdef BUSY
byte work = FOREIGN;          /* 1 + the message that it works on; 0: it is done */
#define REFUSES(it) (IN_SEQUENCE(it) && (work != 0 || queued != 0))
#else
byte work;
#define REFUSES(it) false
#endif
byte queued;                  /* the one that it works on then; it shows the result of the first for a moment */
byte result;                  /* the one whose result it shows */
bool stale;                   /* it still shows the one before */
bool doubt[PROCESSES];        /* when the job is done with a message is not known: its other messages are held */
#else
#define IN_SEQUENCE(it) false
#define REFUSES(it) false
#endif
#ifdef GRACE
bool stopping[PROCESSES];     /* it takes no more messages, and waits for the responses in flight */
#define IS_STOPPING(p) stopping[p]
#else
#define IS_STOPPING(p) false
#endif
#ifdef DECISIONS
mtype decided[ITEMS] = none;  /* the last decision that was reported as recorded, until a run reads it */
byte decides;                 /* 1 + the message that a person is deciding about: its line is written */
mtype decision = none;
#define DESK (PROCESSES + 1)  /* the lock's owner meanwhile */
#endif

mtype reported[ITEMS] = none; /* what a finished run reported to its caller */
bool calm;                    /* from now on nothing fails: what runs must come to its end */
bool over;                    /* and it has */

/* A process: its phase, and what it holds about each item in memory (waits to be sent, held by a worker, ended, or open: a
   `sending` without outcome was read). */
mtype = { away, reads, locks, marks, works };
mtype = { waits, held, open, ended, awaited, parked };
mtype phase[PROCESSES] = away;
mtype memory[PROCESSES * ITEMS] = none;
#define MEMORY(p, i) memory[(p) * ITEMS + (i)]
#ifdef RESEND_UNKNOWN
bool resend[PROCESSES];       /* the caller said so */
#endif
#ifdef RESUME_SYNCS_OWN_LINES_ONLY
bool marked[PROCESSES];
#endif

/* A worker: what it does next. */
mtype = { rests, searches, found, announces, syncs_sending, records, syncs_outcome };
mtype step[ALL_WORKERS] = rests;
byte item[ALL_WORKERS];
mtype = { busy };             /* a verdict that is no line: 409, and the line is not_sent */
#define LINE_OF(word) (word == busy -> not_sent : word)
mtype verdict[ALL_WORKERS] = none;
byte line[ALL_WORKERS];       /* its line is the n-th unsynced one; 0: durable, as far as the process knows */
byte fsync[ALL_WORKERS];      /* its fsync is in progress, for so many unsynced lines; 0: none is */
#define PROCESS(w) ((w) / WORKERS)
#ifdef FSYNC_LEFT_TO_ANOTHER
bool leaves_it[ALL_WORKERS];
#endif

/* Scratch, back to 0 at the end of each step. */
byte i;
byte j;
byte n;
mtype says[ITEMS] = none;
bool may_be_processed[ITEMS];
byte kept;
bool tears;
bool file_lost;

/* ---- What can be done to a file. */

#define HAS_ROOM (ONLY == 0 || unsynced < ROOM)

/* One write(), to the file's end. After a line without an end, the two are one, that no one can read. */
inline append(word, it)
{
	printf("the journal: %e, item %d\n", word, it);
	if
	:: torn ->
		if
		:: unsynced > 0 -> skip
		:: else -> unsynced++
		fi;
		kind[unsynced - 1] = unreadable;
		about[unsynced - 1] = 0;
		torn = false
	:: else ->
		assert(unsynced < ROOM);
		kind[unsynced] = word;
		about[unsynced] = it;
		unsynced++
	fi
}

/* The last line is there by half. */
inline tear()
{
	printf("the journal: half of the last line\n");
	torn = true;
#ifndef TORN_LINE_IS_BELIEVED
	kind[unsynced - 1] = unreadable;
	about[unsynced - 1] = 0
#endif
}

/* The first `lines` unsynced lines are on the disk. */
inline make_durable(lines)
{
	n = lines;
	printf("the disk: %d lines are durable, %d are not\n", n, unsynced - n);
	for (j : 0 .. ROOM - 1) {
		if
		:: j < n && kind[j] != unreadable ->
			durable[about[j]] = kind[j];
			durable_unknown[about[j]] = durable_unknown[about[j]] || kind[j] == unknown
		:: else -> skip
		fi;
	}
	for (j : 0 .. ROOM - 1) {
		if
		:: j + n < ROOM -> kind[j] = kind[j + n]; about[j] = about[j + n]
		:: else -> kind[j] = none; about[j] = 0
		fi;
	}
	unsynced = unsynced - n;
	for (j : 0 .. ALL_WORKERS - 1) {
		if
		:: line[j] > n -> line[j] = line[j] - n
		:: else -> line[j] = 0
		fi;
		if
		:: fsync[j] > n -> fsync[j] = fsync[j] - n
		:: else -> fsync[j] = 0
		fi;
	}
	n = 0;
	j = 0
}

/* The lines from `from` on are lost. */
inline cut(from)
{
	for (j : 0 .. ROOM - 1) {
		if
		:: j >= from -> kind[j] = none; about[j] = 0
		:: else -> skip
		fi;
	}
	unsynced = from;
	torn = false;
	j = 0
}

/* What the journal says about each item: the last line that can be read. */
inline read()
{
	for (j : 0 .. ITEMS - 1) {
		says[j] = durable[j];
		may_be_processed[j] = durable_unknown[j];
	}
	for (j : 0 .. ROOM - 1) {
		if
		:: j < unsynced && kind[j] != unreadable ->
			says[about[j]] = kind[j];
			may_be_processed[about[j]] = may_be_processed[about[j]] || kind[j] == unknown
		:: else -> skip
		fi;
	}
	j = 0
}

inline forget_what_was_read()
{
	for (j : 0 .. ITEMS - 1) {
		says[j] = none;
		may_be_processed[j] = false;
	}
	j = 0
}

/* ---- What can happen to a process. */

/* It has ended; the kernel releases its lock. */
inline end_process(p)
{
	if
	:: phase[p] != away -> printf("process %d ends\n", p)
	:: else -> skip
	fi;
	phase[p] = away;
	lock = (lock == p + 1 -> 0 : lock);
#ifdef RESEND_UNKNOWN
	resend[p] = false;
#endif
#ifdef SEQUENCED
	doubt[p] = false;
#endif
#ifdef GRACE
	stopping[p] = false;
#endif
#ifdef RESUME_SYNCS_OWN_LINES_ONLY
	marked[p] = false;
#endif
	for (j : 0 .. ITEMS - 1) {
		MEMORY(p, j) = none;
	}
	for (j : 0 .. WORKERS - 1) {
		step[p * WORKERS + j] = rests;
		item[p * WORKERS + j] = 0;
		verdict[p * WORKERS + j] = none;
		line[p * WORKERS + j] = 0;
		fsync[p * WORKERS + j] = 0;
#ifdef FSYNC_LEFT_TO_ANOTHER
		leaves_it[p * WORKERS + j] = false;
#endif
	}
	j = 0
}

/* A resend that the caller asks for makes a last `rejected` say nothing about the sends before it: their `unknown` stands. */
#ifdef LAST_LINE_DECIDES
#define MAY_BE_PROCESSED(it) false
#elif defined(RESEND_UNKNOWN)
#define MAY_BE_PROCESSED(it) may_be_processed[it]
#else
#define MAY_BE_PROCESSED(it) false
#endif

/* The journal is read: what is still to be done? */
inline resume(p)
{
	if
	:: torn ->
#if defined(TORN_LINE_IS_BELIEVED) || defined(TORN_LINE_STAYS)
		skip
#else
		n = unsynced;
		if
		:: n > 0 -> n--
		:: else -> skip
		fi;
		cut(n)
#endif
	:: else -> skip
	fi;
	read();
	n = 0;
	for (i : 0 .. ITEMS - 1) {
		CLAIM(CLAIM_B, b_accepted_was_processed_once, !IS_ACCEPTED(says[i]) || processed[i] == 1);
		CLAIM(CLAIM_C, c_processed_is_never_denied,
			!ever_processed[i] || says[i] == sending || IS_ACCEPTED(says[i]) || says[i] == unknown || MAY_BE_PROCESSED(i));
		CLAIM(CLAIM_G, g_a_finished_runs_report_stays_true,
			reported[i] == none || says[i] == reported[i] || (IS_ACCEPTED(says[i]) && IS_ACCEPTED(reported[i])));
#ifdef DECISIONS
		CLAIM(CLAIM_L, l_a_decision_is_never_lost, decided[i] == none || says[i] == decided[i]);
		decided[i] = none;
#endif
		printf("process %d reads: item %d is %e\n", p, i, says[i]);
		if
		:: says[i] == sending -> n++
		:: else -> skip
		fi;
		if
		:: says[i] == none || says[i] == not_sent -> MEMORY(p, i) = waits
		:: says[i] == accepted && IN_SEQUENCE(i) -> MEMORY(p, i) = awaited
#ifdef SENDING_IS_RESENT
		:: says[i] == sending -> MEMORY(p, i) = waits
#else
		:: says[i] == sending -> MEMORY(p, i) = open
#endif
		:: else -> MEMORY(p, i) = ended
		fi;
#ifdef SEQUENCED
		doubt[p] = doubt[p] || (IN_SEQUENCE(i) && (says[i] == unknown || says[i] == sending));
#endif
#ifdef RESEND_UNKNOWN
		if
		:: resend[p] && (says[i] == sending || says[i] == unknown) ->
			processed[i] = 0;
			reported[i] = none;
			MEMORY(p, i) = (says[i] == unknown -> waits : open)
		:: else -> skip
		fi;
#endif
	}
	CLAIM(CLAIM_F, f_one_open_item_a_worker, n <= WORKERS);
	n = 0;
	i = 0;
	forget_what_was_read()
}

/* It is left for a later run, because of another message of its job. */
#ifdef SEQUENCED
#define IS_HELD(p, it) (IN_SEQUENCE(it) && doubt[p] && (MEMORY(p, it) == waits || MEMORY(p, it) == parked))
#else
#define IS_HELD(p, it) false
#endif

/* All items have ended, and no worker finds another one. */
inline finish(p)
{
#if defined(OUTCOME_SYNCED_LATE) && !defined(OUTCOME_SYNCED_NEVER)
	make_durable(unsynced);
#endif
	read();
	for (i : 0 .. ITEMS - 1) {
		CLAIM(CLAIM_B, b_accepted_was_processed_once, !IS_ACCEPTED(says[i]) || processed[i] == 1);
		CLAIM(CLAIM_C, c_processed_is_never_denied, !ever_processed[i] || IS_ACCEPTED(says[i]) || says[i] == unknown || MAY_BE_PROCESSED(i));
		CLAIM(CLAIM_D, d_a_finished_run_ended_every_item,
			IS_ACCEPTED(says[i]) || says[i] == rejected || says[i] == unknown || IS_HELD(p, i));
		reported[i] = (IS_HELD(p, i) -> none : says[i]);
		printf("process %d reports: item %d is %e\n", p, i, says[i]);
	}
	i = 0;
	forget_what_was_read();
	over = calm;
	end_process(p)
}

/* No worker does anything, and there is nothing left to do. */
#define IDLE(p, k) step[(p) * WORKERS + k] == searches
#define IS_DONE(p, it) (MEMORY(p, it) == ended || IS_HELD(p, it))
#if WORKERS == 1
#define ALL_IDLE(p) IDLE(p, 0)
#elif WORKERS == 2
#define ALL_IDLE(p) IDLE(p, 0) && IDLE(p, 1)
#elif WORKERS == 3
#define ALL_IDLE(p) IDLE(p, 0) && IDLE(p, 1) && IDLE(p, 2)
#endif
#if ITEMS == 1
#define ALL_DONE(p) IS_DONE(p, 0)
#elif ITEMS == 2
#define ALL_DONE(p) IS_DONE(p, 0) && IS_DONE(p, 1)
#elif ITEMS == 3
#define ALL_DONE(p) IS_DONE(p, 0) && IS_DONE(p, 1) && IS_DONE(p, 2)
#elif ITEMS == 4
#define ALL_DONE(p) IS_DONE(p, 0) && IS_DONE(p, 1) && IS_DONE(p, 2) && IS_DONE(p, 3)
#endif

/* The first item whose `sending` has no outcome; ITEMS: there is none. */
inline next_open(p)
{
	n = ITEMS;
	for (j : 0 .. ITEMS - 1) {
		n = (n == ITEMS && MEMORY(p, j) == open -> j : n);
	}
	j = 0
}

inline after_marking(p)
{
#ifdef RESEND_UNKNOWN
	MEMORY(p, n) = (resend[p] -> waits : ended);
#else
	MEMORY(p, n) = ended;
#endif
#ifdef RESUME_SYNCS_OWN_LINES_ONLY
	marked[p] = true;
#endif
	n = 0
}

inline begin_work(p)
{
#ifdef RESUME_SYNCS_NOTHING
	skip;
#elif defined(RESUME_SYNCS_OWN_LINES_ONLY)
	if
	:: marked[p] -> make_durable(unsynced)
	:: else -> skip
	fi;
	marked[p] = false;
#else
	make_durable(unsynced);
#endif
#ifndef DIRECTORY_NOT_SYNCED
	named = true;
#endif
	phase[p] = works;
	for (j : 0 .. WORKERS - 1) {
		step[p * WORKERS + j] = searches;
	}
	j = 0
}

#ifdef SEQUENCED
/* A poll shows that the job is done. The settle rule: what it shows must not be the result before. `finished` is written before the
   job's next message may be taken. */
#ifdef NO_SETTLE
#define SHOWS_A_RESULT (work == 0 || (stale && result != 0))
#else
#define SHOWS_A_RESULT (work == 0 && !stale)
#endif
inline take_result(p, it)
{
	printf("process %d takes the result of item %d for item %d\n", p, result - 1, it);
	CLAIM(CLAIM_I, i_a_result_is_its_messages_own, result == it + 1);
#ifndef FINISHED_IS_NOT_WRITTEN
	append(finished, it);
#endif
	MEMORY(p, it) = ended
}

/* The wait ends without a result. */
inline give_up_waiting(p, it)
{
	printf("process %d waits no longer for item %d\n", p, it);
	MEMORY(p, it) = ended;
#ifndef NO_RESULT_HOLDS_NOTHING
	doubt[p] = true
#endif
}

#define FOLLOW(p, it) \
	:: d_step { phase[p] == works && !IS_STOPPING(p) && MEMORY(p, it) == awaited && SHOWS_A_RESULT && HAS_ROOM -> take_result(p, it) } \
	:: d_step { phase[p] == works && !calm && MEMORY(p, it) == awaited -> give_up_waiting(p, it) } \
	:: d_step { phase[p] == works && MEMORY(p, it) == parked && (!calm || (work == 0 && queued == 0)) -> MEMORY(p, it) = waits }
#endif

#ifdef GRACE
/* No worker has a message any more. */
inline stop_ends(p)
{
	read();
	for (i : 0 .. ITEMS - 1) {
		CLAIM(CLAIM_J, j_a_stopped_run_leaves_nothing_open, says[i] != sending);
	}
	i = 0;
	forget_what_was_read();
	end_process(p)
}
#ifdef STOP_DOES_NOT_WAIT
#define MAY_STOP(p) true
#else
#define MAY_STOP(p) (ALL_IDLE(p))
#endif
#endif

/* `agentjob batch`: run, end, run again, forever. */
proctype Command(byte p)
{
	do
	/* The lock, and only then the journal. If the other process has it, this one ends with an error: nothing changes. */
#ifdef LOCKED_AFTER_READING
	:: atomic { phase[p] == away && !over -> phase[p] = reads }
#elif defined(NO_LOCK)
	:: atomic { phase[p] == away && !over -> phase[p] = reads }
#else
	:: atomic { phase[p] == away && !over && lock == 0 -> lock = p + 1; phase[p] = reads }
#endif
	:: atomic { phase[p] == reads ->
#ifdef RESEND_UNKNOWN
		if
		:: resend[p] = true
		:: resend[p] = false
		fi;
#endif
#ifdef LOCKED_AFTER_READING
		d_step { resume(p); phase[p] = locks } }
	:: atomic { phase[p] == locks && lock == 0 -> lock = p + 1; phase[p] = marks }
#else
		d_step { resume(p); phase[p] = marks } }
#endif

	/* Each open item gets its `unknown`; then one fsync for these and for what a killed process left unsynced, one for the
	   directory, and the workers start. A failure ends the process, here and everywhere. */
	:: atomic { phase[p] == marks && HAS_ROOM ->
		if
		:: d_step { next_open(p);
			if
			:: n < ITEMS -> append(unknown, n); after_marking(p)
			:: else -> begin_work(p)
			fi }
		:: d_step { !calm -> next_open(p);
			if
			:: n < ITEMS -> append(unknown, n); tear()
			:: else -> skip
			fi;
			n = 0;
			end_process(p) }
		fi }

	:: d_step { phase[p] == works && ALL_IDLE(p) && ALL_DONE(p) -> finish(p) }
#ifdef SEQUENCED
	FOLLOW(p, 0)
#if SAME > 1
	FOLLOW(p, 1)
#endif
#if SAME > 2
	FOLLOW(p, 2)
#endif
#endif
#ifdef GRACE
	/* Ctrl-C, a token, a break, an exception, close. */
	:: d_step { phase[p] == works && !calm && !stopping[p] -> stopping[p] = true }
	:: d_step { phase[p] == works && stopping[p] && MAY_STOP(p) -> stop_ends(p) }
#endif

	/* SIGKILL. What was written stays in the page cache. (In the middle of a write() it is what a full disk is: append_fails.) */
	:: d_step { phase[p] != away && !calm -> printf("PROCESS %d IS KILLED\n", p); end_process(p) }
	:: over -> break
	od
}

/* ---- A worker. */

inline take(w, it)
{
	for (j : 0 .. ALL_WORKERS - 1) {
		CLAIM(CLAIM_E, e_one_worker_an_item, j == w || step[j] == rests || step[j] == searches || step[j] == found || item[j] != it);
	}
	j = 0;
	MEMORY(PROCESS(w), it) = held;
	item[w] = it;
	step[w] = announces
}

inline process(it)
{
	if
	:: processed[it] < 2 -> processed[it]++
	:: else -> skip
	fi;
	ever_processed[it] = true;
#ifdef SEQUENCED
	if
	:: IN_SEQUENCE(it) ->
		for (j : 0 .. SAME - 1) {
			CLAIM(CLAIM_K, k_a_jobs_messages_arrive_in_order, j <= it || !ever_processed[j]);
		}
		j = 0;
		stale = result != 0;
		queued = (work == 0 -> 0 : it + 1);
		work = (work == 0 -> it + 1 : work)
	:: else -> skip
	fi;
#endif
	printf("THE SERVICE PROCESSES ITEM %d\n", it);
	CLAIM(CLAIM_A, a_processed_at_most_once, processed[it] == 1)
}

/* The worker releases the item. */
inline let_go(w)
{
#ifdef NOT_SENT_IS_FORGOTTEN
	MEMORY(PROCESS(w), item[w]) = ended;
#elif defined(PUT_BACK_BEFORE_RECORDED)
	MEMORY(PROCESS(w), item[w]) = (verdict[w] == not_sent -> MEMORY(PROCESS(w), item[w]) : ended);
#else
	MEMORY(PROCESS(w), item[w]) = (verdict[w] == not_sent -> waits : ended);
#endif
#ifdef SEQUENCED
	if
	:: verdict[w] == busy ->
#ifdef BUSY_IS_FORGOTTEN
		MEMORY(PROCESS(w), item[w]) = ended
#else
		MEMORY(PROCESS(w), item[w]) = parked
#endif
	:: verdict[w] == accepted && IN_SEQUENCE(item[w]) -> MEMORY(PROCESS(w), item[w]) = awaited
	:: else -> skip
	fi;
#ifndef UNKNOWN_HOLDS_NOTHING
	doubt[PROCESS(w)] = doubt[PROCESS(w)] || (verdict[w] == unknown && IN_SEQUENCE(item[w]));
#endif
#endif
	item[w] = 0;
	verdict[w] = none;
	line[w] = 0;
	step[w] = searches
}

/* The message leaves, the service processes it or not, and the response arrives or not. A kill in between leaves what a kill right
   after it leaves: maybe processed, and no outcome. 429, and what never left, is not_sent: the item goes back. */
inline responded(w)
{
#ifdef OUTCOME_BEFORE_RESPONSE
	let_go(w)
#else
	line[w] = 0;
	step[w] = records
#endif
}

inline post(w)
{
	if
	:: d_step { !REFUSES(item[w]) -> process(item[w]); verdict[w] = accepted; responded(w) }
	:: d_step { !REFUSES(item[w]) -> process(item[w]); verdict[w] = unknown; responded(w) }
#ifdef BUSY
	:: d_step { REFUSES(item[w]) -> verdict[w] = busy; responded(w) }
#endif
	:: d_step { verdict[w] = unknown; responded(w) }
	:: d_step { verdict[w] = rejected; responded(w) }
	:: d_step { !calm -> verdict[w] = not_sent;
#ifdef PUT_BACK_BEFORE_RECORDED
		MEMORY(PROCESS(w), item[w]) = waits;
#endif
		responded(w) }
#ifdef NOT_SENT_IS_A_GUESS
	:: d_step { process(item[w]); verdict[w] = not_sent; responded(w) }
#endif
#ifdef REJECTED_IS_A_GUESS
	:: d_step { process(item[w]); verdict[w] = rejected; responded(w) }
#endif
	fi
}

#ifdef SENT_BEFORE_FSYNC
#define SENDING_IS_DURABLE(w) true
#else
#define SENDING_IS_DURABLE(w) line[w] == 0
#endif
#ifdef OUTCOME_SYNCED_LATE
#define OUTCOME_IS_DURABLE(w) true
#else
#define OUTCOME_IS_DURABLE(w) line[w] == 0
#endif

/* A message of a job is taken when the job is done with all before it. */
#ifdef SEQUENCED
#ifdef NEXT_BEFORE_TERMINAL
#define IS_OVER(p, it) (MEMORY(p, it) == ended || MEMORY(p, it) == awaited)
#elif defined(TAKEN_OUT_OF_ORDER)
#define IS_OVER(p, it) true
#else
#define IS_OVER(p, it) (MEMORY(p, it) == ended)
#endif
#define BEFORE_0(p) true
#define BEFORE_1(p) IS_OVER(p, 0)
#define BEFORE_2(p) (IS_OVER(p, 0) && IS_OVER(p, 1))
#define BEFORE_3(p) (IS_OVER(p, 0) && IS_OVER(p, 1) && IS_OVER(p, 2))
#define MAY_TAKE(p, it) (!IS_STOPPING(p) && (!IN_SEQUENCE(it) || (!doubt[p] && BEFORE_##it(p))))
#else
#define MAY_TAKE(p, it) (!IS_STOPPING(p))
#endif

#ifdef TAKEN_IN_TWO_STEPS
#define TAKE(w, it) \
	:: d_step { step[w] == searches && MEMORY(PROCESS(w), it) == waits -> item[w] = it; step[w] = found } \
	:: d_step { step[w] == found && item[w] == it -> take(w, it) }
#else
#define TAKE(w, it) :: d_step { step[w] == searches && MEMORY(PROCESS(w), it) == waits && MAY_TAKE(PROCESS(w), it) -> take(w, it) }
#endif

/* The disk is full, or SIGKILL comes in the middle of the write(): nothing of the line is there, or half of it. The process ends: no
   one may write behind half a line. That its other workers end in the same step loses nothing: what they might still do, they
   might have done just before. */
inline append_fails(w, word)
{
	if
	:: d_step { !calm && !torn -> append(word, item[w]); tear();
#ifndef WRITES_ON_AFTER_FAILURE
		end_process(PROCESS(w))
#endif
		}
	:: d_step { !calm ->
#ifdef OUTCOME_MAY_BE_MISSING
		if
		:: word == sending -> end_process(PROCESS(w))
		:: else -> let_go(w)
		fi
#else
		end_process(PROCESS(w))
#endif
		}
	fi
}

/* An fsync covers what was written before it began, not what is written while it runs. */
inline fsync_ends(w)
{
	make_durable(fsync[w]);
#ifdef FSYNC_COVERS_LATER_LINES
	for (j : 0 .. WORKERS - 1) {
		line[PROCESS(w) * WORKERS + j] = 0;
	}
	j = 0
#endif
}

/* The lines may be lost for good, and a second fsync would not say so: the kernel tells a failed write-back once. */
inline fsync_fails(w)
{
#ifdef FSYNC_IS_RETRIED
	fsync[w] = 0;
	line[w] = 0
#else
	end_process(PROCESS(w))
#endif
}

/* The worker has written its line; now that has to become durable. */
inline wrote(w, next)
{
	line[w] = unsynced;
	step[w] = next;
#ifdef FSYNC_LEFT_TO_ANOTHER
	leaves_it[w] = false;
	for (j : 0 .. WORKERS - 1) {
		leaves_it[w] = leaves_it[w] || fsync[PROCESS(w) * WORKERS + j] > 0;
	}
	j = 0
#endif
}
#ifdef FSYNC_LEFT_TO_ANOTHER
#define LEAVES_IT(w) leaves_it[w]
#else
#define LEAVES_IT(w) false
#endif

proctype Worker(byte w)
{
	do
	TAKE(w, 0)
#if ITEMS > 1
	TAKE(w, 1)
#endif
#if ITEMS > 2
	TAKE(w, 2)
#endif
#if ITEMS > 3
	TAKE(w, 3)
#endif

	/* 1. `sending`, and that it is durable. */
	:: atomic { step[w] == announces && HAS_ROOM ->
		if
		:: d_step { append(sending, item[w]); wrote(w, syncs_sending) }
		:: append_fails(w, sending)
		fi }

	/* 2. The message. */
#ifdef OUTCOME_BEFORE_RESPONSE
	:: d_step { step[w] == syncs_sending && SENDING_IS_DURABLE(w) -> verdict[w] = accepted; step[w] = records }
	:: atomic { step[w] == syncs_outcome && OUTCOME_IS_DURABLE(w) -> post(w) }
#else
	:: atomic { step[w] == syncs_sending && SENDING_IS_DURABLE(w) -> post(w) }
	:: d_step { step[w] == syncs_outcome && OUTCOME_IS_DURABLE(w) -> let_go(w) }
#endif

	/* 3. The outcome, and that it is durable; then (above) the item is let go. */
	:: atomic { step[w] == records && HAS_ROOM ->
		if
		:: d_step { append(LINE_OF(verdict[w]), item[w]); wrote(w, syncs_outcome) }
		:: append_fails(w, LINE_OF(verdict[w]))
		fi }

	/* Who waits for its line to be durable begins an fsync, unless another's has covered it (group commit). */
	:: d_step { (step[w] == syncs_sending || step[w] == syncs_outcome) && line[w] > 0 && fsync[w] == 0 && !LEAVES_IT(w) ->
		fsync[w] = unsynced }
	:: atomic { fsync[w] > 0 ->
		if
		:: d_step { fsync_ends(w) }
		:: d_step { !calm -> fsync_fails(w) }
		fi }
	:: over -> break
	od
}

/* h: a run that is left alone, and gets some other response than 429 in the end, ends: no worker waits for what never comes. (A run
   that hangs is also an "invalid end state", which spin checks for in every model.) */
#ifdef LEFT_ALONE
ltl h_a_run_left_alone_ends { [] (calm -> <> over) }
#endif

#ifdef SEQUENCED
/* The job. */
proctype Job()
{
	do
	:: d_step { work != 0 -> printf("THE JOB IS DONE WITH ITEM %d\n", work - 1); result = work; work = 0 }
	:: d_step { work == 0 && queued != 0 -> work = queued; queued = 0 }
	:: d_step { stale -> stale = false }
	:: over -> break
	od
}
#endif

#ifdef DECISIONS
/* A person decides about an unknown message, between two runs: it arrived, which is true, or it did not, which is true, too. The line
   is durable before it is reported. Until a run has read it, it may be decided otherwise: but the truth does not change. */
inline write_decision(word, it)
{
#ifndef DECIDED_DURING_A_RUN
	lock = DESK;
#endif
	append(word, it);
	decides = it + 1;
	decision = word
}

inline desk_ends()
{
	decides = 0;
	decision = none;
	lock = (lock == DESK -> 0 : lock)
}

#ifdef DECIDED_DURING_A_RUN
#define DESK_IS_OPEN (phase[0] != marks && phase[1] != marks)
#else
#define DESK_IS_OPEN (lock == 0)
#endif
#define IS_UNKNOWN(it) \
	((unsynced == 0 && durable[it] == unknown) || (unsynced > 0 && kind[unsynced - 1] == unknown && about[unsynced - 1] == it))
#define DECIDE(it) \
	:: atomic { !calm && decides == 0 && !torn && HAS_ROOM && DESK_IS_OPEN && IS_UNKNOWN(it) -> \
		if \
		:: d_step { processed[it] == 1 -> write_decision(accepted, it) } \
		:: d_step { processed[it] == 0 -> write_decision(not_sent, it) } \
		:: d_step { append(accepted, it); tear() } /* killed in the middle of the write() */ \
		fi }
proctype Person()
{
	do
	DECIDE(0)
#if ITEMS > 1
	DECIDE(1)
#endif
#if ITEMS > 2
	DECIDE(2)
#endif
	:: d_step { decides > 0 ->
#ifndef DECISION_IS_NOT_SYNCED
		make_durable(unsynced);
#endif
		decided[decides - 1] = decision;
		reported[decides - 1] = none;
		desk_ends() }
	:: d_step { decides > 0 && !calm -> reported[decides - 1] = none; desk_ends() }
	:: over && decides == 0 -> break
	od
}
#endif

/* ---- The machine. */

/* The power goes, for all at once. Of the unsynced lines the first `kept` survive, the last of these maybe by half; a file whose
   directory was never synced may be lost completely. What survived is on the disk. */
proctype Power()
{
	do
	:: atomic { !calm ->
		do
		:: kept < unsynced -> kept++
		:: break
		od;
		if
		:: kept > 0 -> tears = true
		:: tears = false
		fi;
		if
		:: !named -> file_lost = true
		:: file_lost = false
		fi;
		d_step {
			printf("THE POWER GOES, %d of %d lines that were not durable survive\n", kept, unsynced);
			end_process(0);
			end_process(1);
#ifdef DECISIONS
			if
			:: decides > 0 -> reported[decides - 1] = none
			:: else -> skip
			fi;
			desk_ends();
#endif
			if
			:: kept < unsynced -> cut(kept)
			:: else -> skip
			fi;
			if
			:: kept > 0 && (tears || torn) ->
				tear();
				make_durable(kept - 1)
			:: else -> make_durable(kept)
			fi;
			if
			:: file_lost ->
				printf("the file is lost\n");
				cut(0);
				for (j : 0 .. ITEMS - 1) {
					durable[j] = none;
					durable_unknown[j] = false;
				}
				j = 0
			:: else -> skip
			fi;
			kept = 0;
			tears = false;
			file_lost = false
		} }
	:: atomic { !calm -> calm = true }
	:: over -> break
	od
}

init
{
	atomic {
		byte w;
		for (w : 0 .. ALL_WORKERS - 1) {
			run Worker(w);
		}
		w = 0;
		run Command(0);
		run Command(1);
		run Power();
#ifdef DECISIONS
		run Person();
#endif
#ifdef SEQUENCED
		run Job()
#else
		skip
#endif
	}
}
