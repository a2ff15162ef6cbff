/*
 * A step of a store, as a model that `spin` explores to its last state: its message is not sent twice, whatever dies when.
 * check.sh runs it, README.md says what it shows, and journal.pml how to read it.
 *
 * One key, for keys have nothing to do with each other. Workers call send_message with it, any number of times; each may be killed at any
 * point, paused for any time, and cut off from the store, whose statements then have been executed or not, or are executed later. A call
 * whose connection broke sends its statement once more, over another one.
 */
#define WORKERS 2
#define TOKENS (WORKERS + 3) /* one for each call, for the row, for the statement that is late, and one to choose */

/* ---- The claims. A violated one is reported by its variable's name. */

#define CLAIM_A 1
#define CLAIM_B 2
#define CLAIM_C 3
#define CLAIM_D 4
#define CLAIM_G 7
#ifndef ONLY
#define ONLY 0
#endif
bool a_processed_at_most_once = true;         /* since the caller last decided to resend; with no such decision: ever */
bool b_accepted_was_processed_once = true;    /* the row says accepted => processed, exactly once */
bool c_processed_is_never_denied = true;      /* processed => the row says accepted or unknown, or `sending`, which becomes unknown */
bool d_no_message_leaves_after_a_takeover = true;
bool g_what_was_returned_stays_true = true;   /* a call has returned that the message was accepted => the row says so from then on */
#define CLAIM(letter, name, condition) \
	name = (condition) || (ONLY != 0 && ONLY != letter); assert(name)

/* ---- The world. */

/* The row. A statement changes it at once and durably. */
mtype = { none, sending, accepted, rejected, not_sent, unknown };
mtype state = none;
byte owner;                   /* the call that took it, by its token; 0: none */
bool lease_over;
bool earlier_unknown;         /* a person decided to resend it although it may have arrived */
bool returned_accepted;
#define NOTHING_IS_LATE (stray == 0 && late_decision == none)
mtype late_decision = none;   /* a person's, whose statement is executed later */
bool taken_since;             /* ... and the step was taken or decided meanwhile: it would be about another message */

/* The service. */
byte processed;
bool ever_processed;
byte flying;                  /* messages that left and that it may still process, or may not */

/* A worker's call. `late`: its own deadline has passed, which it checks right before the first byte. */
mtype = { rests, calls, took, checked, settles };
mtype step[WORKERS] = rests;
byte token[WORKERS];
bool late[WORKERS];
mtype verdict[WORKERS] = none;

/* A statement that a killed worker had sent, or whose connection broke, and that the store executes later: it takes the key, if it has no
   verdict, or records that. */
byte stray;
mtype stray_verdict = none;

bool calm;                    /* from now on nothing fails: every call must come to its end */
bool over;

byte i;
byte n;

#define IS_FREE(t) (owner != t && stray != t && USED_BY_NO_CALL(t))
#define USED_BY_NO_CALL(t) (token[0] != t && token[1] != t)
#define ALL_REST (step[0] == rests && step[1] == rests)
#define TAKER_CANNOT_SEND (CANNOT_SEND(0) && CANNOT_SEND(1))
#define CANNOT_SEND(w) (step[w] == rests || token[w] != owner || late[w])

inline check_row()
{
	CLAIM(CLAIM_A, a_processed_at_most_once, processed <= 1);
	CLAIM(CLAIM_B, b_accepted_was_processed_once, state != accepted || (processed <= 1 && ever_processed));
	CLAIM(CLAIM_C, c_processed_is_never_denied,
		!ever_processed || earlier_unknown || state == sending || state == accepted || state == unknown);
	CLAIM(CLAIM_G, g_what_was_returned_stays_true, !returned_accepted || state == accepted)
}

inline process_message()
{
	printf("THE SERVICE PROCESSES THE MESSAGE\n");
	processed++;
	ever_processed = true;
	check_row()
}

/* ---- The statements. */

/* Takes the key, if it is new, or if its message certainly did not arrive. A call whose connection to the store broke repeats the
   statement with its token, and recognizes its own row by it. */
#ifdef UNKNOWN_IS_RETAKEN
#define IS_OPEN (state == none || state == not_sent || state == rejected || state == unknown)
#else
#define IS_OPEN (state == none || state == not_sent || state == rejected)
#endif
#define MAY_TAKE(t) (IS_OPEN || (state == sending && owner == t))

inline take(t)
{
	printf("the key is taken\n");
	state = sending;
	owner = t;
	lease_over = false;
	taken_since = true;
	check_row()
}

/* Another call's lease is over: its outcome is not known. The call that finds that does not send. */
inline take_over(w)
{
	printf("worker %d finds that the lease is over\n", w);
#ifdef TAKEOVER_SENDS
	take(token[w]);
	step[w] = took
#else
	state = unknown;
	check_row()
#endif
}

/* Records the outcome, if the row is still the call's: also after a takeover, for the call knows better. */
#ifdef SETTLED_BY_KEY
#define IS_OWN(t) true
#define IS_SETTLED_IN_TIME (state == sending || state == unknown)
#elif defined(LATE_OUTCOME_IS_DROPPED)
#define IS_OWN(t) (owner == t)
#define IS_SETTLED_IN_TIME (state == sending)
#else
#define IS_OWN(t) (owner == t)
#define IS_SETTLED_IN_TIME (state == sending || state == unknown)
#endif
#ifdef REFUSED_RESEND_IS_BELIEVED
#define OUTCOME(v) v
#else
#define OUTCOME(v) ((earlier_unknown && (v == not_sent || v == rejected)) -> unknown : v)
#endif

inline settle(t, v)
{
	if
	:: IS_OWN(t) && IS_SETTLED_IN_TIME ->
		printf("the row: %e\n", OUTCOME(v));
		state = OUTCOME(v);
#ifdef REFUSED_RESEND_IS_BELIEVED
		earlier_unknown = false;
#endif
		check_row()
	:: else -> skip
	fi
}

/* ---- A call of send_message. */

inline begin_call(w)
{
	n = 0;
	for (i : 1 .. TOKENS) {
		n = (n == 0 && IS_FREE(i) -> i : n);
	}
	assert(n > 0);
	token[w] = n;
	late[w] = false;
	step[w] = calls;
	n = 0;
	i = 0
}

inline end_call(w)
{
	step[w] = rests;
	token[w] = 0;
	late[w] = false;
	verdict[w] = none
}

/* The message leaves, or does not. After the deadline it does not, whatever the row says. */
inline post(w)
{
	CLAIM(CLAIM_D, d_no_message_leaves_after_a_takeover, state == sending && owner == token[w]);
	if
	:: process_message(); verdict[w] = accepted
	:: !calm -> process_message(); verdict[w] = unknown
	:: !calm -> flying++; verdict[w] = unknown
	:: !calm -> verdict[w] = rejected
	:: !calm -> verdict[w] = not_sent
#ifdef STEP_NOT_SENT_IS_A_GUESS
	:: !calm -> process_message(); verdict[w] = not_sent
#endif
#ifdef STEP_REJECTED_IS_A_GUESS
	:: !calm -> process_message(); verdict[w] = rejected
#endif
#ifdef STEP_ACCEPTED_IS_A_GUESS
	:: !calm -> verdict[w] = accepted
#endif
	fi;
	step[w] = settles
}

#ifdef DEADLINE_IS_IGNORED
#define IN_TIME(w) true
#else
#define IN_TIME(w) (!late[w])
#endif

proctype Worker(byte w)
{
	do
	:: d_step { step[w] == rests && !calm -> begin_call(w) }

	/* 1. The key is taken, in one statement; or its connection breaks before or after that. */
#ifdef SENT_BEFORE_TAKEN
	:: atomic { step[w] == calls && MAY_TAKE(token[w]) -> process_message(); take(token[w]); verdict[w] = accepted; step[w] = settles }
	:: atomic { step[w] == calls && MAY_TAKE(token[w]) && !calm -> process_message(); end_call(w) }
#elif defined(KEY_TAKEN_IN_TWO_STEPS)
	:: d_step { step[w] == calls && MAY_TAKE(token[w]) -> step[w] = checked }
	:: d_step { step[w] == checked -> take(token[w]); step[w] = took }
#else
	:: atomic { step[w] == calls && MAY_TAKE(token[w]) ->
		if
		:: d_step { take(token[w]); step[w] = took }
		:: d_step { !calm -> take(token[w]) }
		:: d_step { !calm -> take(token[w]); end_call(w) }
		fi }
#endif
	:: d_step { step[w] == calls && NOTHING_IS_LATE && !calm -> stray = token[w] }
	:: d_step { step[w] == calls && !calm -> end_call(w) }

	/* Or it is another call's: this one waits for the outcome, or for the end of the lease. */
#ifndef NOBODY_TAKES_OVER
	:: d_step { step[w] == calls && state == sending && owner != token[w] && lease_over -> take_over(w) }
#endif
	/* Or known. */
	:: d_step { step[w] == calls && (state == accepted || state == unknown) && !MAY_TAKE(token[w]) ->
		returned_accepted = returned_accepted || state == accepted;
		end_call(w) }

	/* 2. The message, if the call's own deadline allows. */
#ifdef DEADLINE_IS_CHECKED_BEFORE
	:: d_step { step[w] == took && IN_TIME(w) -> step[w] = checked }
	:: atomic { step[w] == checked -> post(w) }
#elif !defined(SENT_BEFORE_TAKEN)
	:: atomic { step[w] == took && IN_TIME(w) -> post(w) }
#endif
	:: d_step { step[w] == took && !IN_TIME(w) -> verdict[w] = not_sent; step[w] = settles }

	/* 3. The outcome is recorded, and then returned. */
	:: atomic { step[w] == settles ->
		if
		:: d_step { settle(token[w], verdict[w]);
			returned_accepted = returned_accepted || (verdict[w] == accepted && owner == token[w]);
			end_call(w) }
		:: d_step { !calm -> settle(token[w], verdict[w]) }
		:: d_step { !calm -> end_call(w) }
#ifdef RESEND_KEEPS_ITS_OWNER
		:: d_step { verdict[w] == rejected && !calm -> settle(token[w], verdict[w]); verdict[w] = none; step[w] = calls }
#endif
		fi }
	:: d_step { step[w] == settles && NOTHING_IS_LATE && !calm -> stray = token[w]; stray_verdict = verdict[w] }

	/* It is killed. The store may still get the statement that it had sent. */
	:: d_step { step[w] != rests && !calm -> printf("worker %d is killed\n", w); end_call(w) }
	:: d_step { step[w] == settles && NOTHING_IS_LATE && !calm -> stray = token[w]; stray_verdict = verdict[w]; end_call(w) }
	:: over -> break
	od
}

/* Time passes, at the same rate everywhere: a lease is longer than the time that its call has, counted from before it took the key. */
#ifdef LEASE_IS_SHORTER
#define LEASE_MAY_END true
#else
#define LEASE_MAY_END TAKER_CANNOT_SEND
#endif
#define GETS_LATE(w) :: d_step { step[w] != rests && !late[w] -> printf("the deadline of worker %d passes\n", w); late[w] = true }

proctype Time()
{
	do
	GETS_LATE(0)
	GETS_LATE(1)
	:: d_step { state == sending && !lease_over && LEASE_MAY_END -> printf("the lease ends\n"); lease_over = true }
	:: d_step { stray != 0 && stray_verdict == none ->
		if
		:: MAY_TAKE(stray) -> take(stray)
		:: else -> skip
		fi;
		stray = 0 }
	:: d_step { stray != 0 && stray_verdict != none -> settle(stray, stray_verdict); stray = 0; stray_verdict = none }
	:: atomic { flying > 0 -> flying--; process_message() }
	:: d_step { flying > 0 -> flying-- }
#ifdef TAKEN_WITHOUT_SYNC
	:: d_step { state == sending && !calm -> printf("THE POWER GOES\n"); state = none; owner = 0; end_call(0); end_call(1) }
#endif
	:: d_step { !calm -> calm = true }
	:: d_step { calm && ALL_REST && NOTHING_IS_LATE && flying == 0 -> over = true }
	:: over -> break
	od
}

/* A person decides about an unknown message: it arrived, which is true, or it did not, which is true, too; or that it is sent again
   in any case. The statement is executed at once, and perhaps once more later, because its connection broke. */
mtype = { arrived, not_arrived, resend };

inline decide(decision)
{
	printf("a person decides: %e\n", decision);
	if
	:: decision == arrived -> state = accepted; earlier_unknown = false
	:: decision == not_arrived -> state = not_sent; earlier_unknown = false
	:: decision == resend -> state = not_sent; earlier_unknown = true; processed = 0
	fi;
	owner = 0;
	taken_since = true;
	check_row()
}

#define IS_UNKNOWN (state == unknown && !calm && flying == 0)
#define ARRIVED (ever_processed && processed <= 1)
#ifdef LATE_DECISION_COUNTS
#define IS_SEEN_MESSAGE true
#else
#define IS_SEEN_MESSAGE (!taken_since)
#endif

proctype Person()
{
	do
	:: d_step { IS_UNKNOWN && ARRIVED -> decide(arrived) }
	:: d_step { IS_UNKNOWN && !ever_processed -> decide(not_arrived) }
	:: d_step { IS_UNKNOWN -> decide(resend) }
	:: d_step { IS_UNKNOWN && ARRIVED && NOTHING_IS_LATE -> late_decision = arrived; taken_since = false }
	:: d_step { IS_UNKNOWN && !ever_processed && NOTHING_IS_LATE -> late_decision = not_arrived; taken_since = false }
	:: d_step { IS_UNKNOWN && NOTHING_IS_LATE -> late_decision = resend; taken_since = false }
	:: d_step { late_decision != none ->
		if
		:: IS_SEEN_MESSAGE && state == unknown -> decide(late_decision)
		:: else -> skip
		fi;
		late_decision = none }
	:: over -> break
	od
}

/* h: a call that is left alone ends. (A call that waits forever is also an "invalid end state", which spin checks for.) */
#ifdef STEPS_LEFT_ALONE
ltl h_a_call_left_alone_ends { [] (calm -> <> over) }
#endif

init
{
	atomic {
		byte w;
		for (w : 0 .. WORKERS - 1) {
			run Worker(w);
		}
		w = 0;
		run Time();
		run Person()
	}
}
