/* SPDX-License-Identifier: MIT */
/*
 * The order that the collector promises, as a model for Spin: what it hands out never goes back in
 * time, though every thread publishes on its own, stores become visible late, and nobody takes a
 * lock. tests/model/run checks it, and that it fails where a piece of the protocol is missing.
 *
 * Two threads make calls, as preload/record/call.h and preload/record/ring.c do: the floor is raised to the last
 * time that was seen, the clock is read, the floor is raised to that, a record is reserved (head),
 * filled, published (its state), and the floor is 0 again. Stores wait in a buffer for each
 * processor. The collector makes rounds as collect/merge.c does: it reads the clock, issues a
 * membarrier (which empties all buffers), reads floor and head of each slot in this order, and hands
 * out what is earlier than the clock and all floors. A record says whether it closes: whether no call
 * was under way when its own began. One that closes, and is later than what was copied before it,
 * stays in its ring until it comes next of all slots, and is read then; what stands before it is
 * copied. So the earliest of both slots is known, though only one record of each was looked at. One
 * that is too late for this round stays for the next while its ring has room. Room is given back
 * behind each record.
 *
 * What may be added:
 *   HANDLER   a signal handler makes a call of its own, once, in the middle of any step of a call
 *   ATTACH    the second thread takes its slot while all is under way; so does a fork's child
 *   REUSE     when the first thread has ended another one takes its slot
 *   WRAP      a ring has room for one record
 *   OVERRULED the collector may pass over a floor, as it does after 200 ms
 *   WEAK      stores to different places become visible in any order but where one releases, and a
 *             later one to the same place may swallow an earlier one (ARMv8)
 * Measured with Spin 6.5, in million states: 2.6 as it is and with WEAK, HANDLER 12.3, ATTACH 15.0,
 * REUSE 12.8, WRAP 8.1, OVERRULED 4.7; all takes four minutes.
 * What may be missing, and then it fails:
 *   NO_BARRIER    the collector issues none
 *   NO_FLOOR      there are none
 *   LATE_FLOOR    the floor is raised only once the clock has been read
 *   RELAXED_FLOOR with WEAK: its stores release nothing
 *   FIRST_HEAD    the collector reads heads before floors
 *   EARLY_TAIL    with WRAP: room is given back before records are copied
 *   FOREIGN_FLOOR with HANDLER: a handler's call takes the floor of the call that it interrupts for
 *                 its own
 *   NO_FIRST_FLOOR with ATTACH: a slot is shown without a floor
 *   EARLY_SLOTS   with ATTACH: the collector looks which slots there are before it reads the clock
 *   NEVER_LATE    with OVERRULED: that is claimed to cost nothing
 *   ALL_CLOSE     with HANDLER: every record says that it closes
 *   NO_BOUND      what a slot has in its place is handed out, whatever the other one has
 */
#ifndef CALLS_0
#define CALLS_0 2
#endif
#ifndef CALLS_1
#define CALLS_1 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifdef WRAP
#define ROOM 1
#else
#define ROOM 4
#endif
#ifdef HANDLER
#define HANDLED 1
#else
#define HANDLED 0
#endif
#ifdef REUSE
#define REUSED 1
#else
#define REUSED 0
#endif
#ifdef ATTACH
#define ATTACHED 1
#else
#define ATTACHED 0
#endif
#define ALL_0 (CALLS_0 + HANDLED + 2 * REUSED)
#define ALL_1 (CALLS_1 + ATTACHED)
#define MOST 5	/* calls of one slot */
#define DEPTH 4 /* stores that wait */

byte clock = 1; /* moves with every look at it */

/*
 * Memory as the collector sees it. A cell is a record's state: 0 while it is being filled, then its
 * time, and a bit if it closes.
 */
#define CLOSES 64
#define TIME 63
byte floor[2], head[2], tail[2], cell[2 * ROOM];
bool ready[2];

/* What producers really did, to compare with. */
byte said[2 * MOST], said_count[2];
byte ended; /* threads that are no more */

/* ---- stores ---- */

#define FLOOR 0
#define HEAD 1
#define READY 2
#define CELL 3 /* and those behind it */

/* of slot 0's thread, then slot 1's; at each place: what, value, whether it releases */
byte what[2 * DEPTH], value[2 * DEPTH], count[2];
bool releases[2 * DEPTH];

inline store(p, place, v, release)
{
	atomic {
		count[p] < DEPTH;
		what[p * DEPTH + count[p]] = place;
		value[p * DEPTH + count[p]] = v;
		releases[p * DEPTH + count[p]] = release;
		count[p]++
	}
}

/* Takes one out of the buffer; needs a byte j. */
inline remove(p, k)
{
	j = k;
	do
	:: j + 1 < count[p] ->
		what[p * DEPTH + j] = what[p * DEPTH + j + 1];
		value[p * DEPTH + j] = value[p * DEPTH + j + 1];
		releases[p * DEPTH + j] = releases[p * DEPTH + j + 1];
		j++
	:: else -> break
	od;
	count[p]--;
	what[p * DEPTH + count[p]] = 0;
	value[p * DEPTH + count[p]] = 0;
	releases[p * DEPTH + count[p]] = false;
	j = 0
}

inline commit(p, k)
{
	if
	:: what[p * DEPTH + k] == FLOOR -> floor[p] = value[p * DEPTH + k]
	:: what[p * DEPTH + k] == HEAD -> head[p] = value[p * DEPTH + k]
	:: what[p * DEPTH + k] == READY -> ready[p] = value[p * DEPTH + k]
	:: else -> cell[p * ROOM + what[p * DEPTH + k] - CELL] = value[p * DEPTH + k]
	fi;
	remove(p, k)
}

inline drain(p)
{
	do
	:: count[p] > 0 -> commit(p, 0)
	:: else -> break
	od
}

proctype memory(byte p)
{
	byte j;
end:
	do
	:: atomic { count[p] > 0 -> commit(p, 0) }
#ifdef WEAK
	:: atomic { count[p] > 1 && what[p * DEPTH + 1] != what[p * DEPTH] && !releases[p * DEPTH + 1] ->
		commit(p, 1) }
	/* the third swallows the second and passes the first */
	:: atomic { count[p] > 2 && what[p * DEPTH + 2] == what[p * DEPTH + 1] &&
		what[p * DEPTH + 2] != what[p * DEPTH] && !releases[p * DEPTH + 2] ->
		remove(p, 1); commit(p, 1) }
#endif
	od
}

/* ---- a thread ---- */

#ifdef RELAXED_FLOOR
#define FLOOR_RELEASES false
#else
#define FLOOR_RELEASES true
#endif

#ifdef NO_FLOOR
#define raise_floor(v) skip
#else
#define raise_floor(v) store(p, FLOOR, v, FLOOR_RELEASES)
#endif

inline read_clock(now)
{
	atomic { clock++; now = clock; last = now }
}

/* A record: reserved and shown, then published. Shown by whoever ends the last reservation. */
inline reserve(at)
{
	unheaded++;
	atomic { reserved - tail[p] < ROOM; at = reserved; reserved++; cell[p * ROOM + at % ROOM] = 0 }
}

inline show_head()
{
	unheaded--;
	if
	:: unheaded == 0 -> store(p, HEAD, reserved, true)
	:: else
	fi
}

inline publish(at, now, owner)
{
	d_step {
		word = now;
#ifndef ALL_CLOSE
		if :: owner -> word = word | CLOSES :: else fi;
#else
		word = word | CLOSES;
#endif
		said[p * MOST + at] = word;
		said_count[p]++
	};
	store(p, CELL + at % ROOM, word, true);
	word = 0
}

/* The whole call of a signal handler, once in the program's life, wherever it is. */
inline signal()
{
#ifdef HANDLER
	if
	:: p == 0 && !handled ->
		handled = true;
#ifdef FOREIGN_FLOOR
		owns_2 = true;
#else
		owns_2 = (mine == 0);
#endif
		if :: owns_2 -> mine = last; raise_floor(last) :: else fi;
		read_clock(now_2);
		if :: owns_2 -> mine = now_2; raise_floor(now_2) :: else fi;
		reserve(at_2);
		show_head();
		publish(at_2, now_2, owns_2);
		if :: owns_2 -> mine = 0; raise_floor(0) :: else fi
	:: true
	fi
#else
	skip
#endif
}

inline call()
{
	owns = (mine == 0);
	signal();
#ifndef LATE_FLOOR
	if :: owns -> mine = last; raise_floor(last) :: else fi;
	signal();
#endif
	read_clock(now);
	signal();
	if :: owns -> mine = now; raise_floor(now) :: else fi;
	signal();
	reserve(at);
	signal();
	show_head();
	signal();
	publish(at, now, owns);
	signal();
	if :: owns -> mine = 0; raise_floor(0) :: else fi
}

/* Takes the slot and says its first breath: until then nothing of it is older than a floor of 1. */
inline attach()
{
#ifndef NO_FIRST_FLOOR
	store(p, FLOOR, 1, true);
#endif
	store(p, READY, true, true);
	read_clock(now);
	reserve(at);
	show_head();
	publish(at, now, false);
	store(p, FLOOR, 0, true)
}

proctype thread(byte p; byte calls; bool attaches)
{
	byte last = 1, now, at, mine, now_2, at_2, word, reserved = said_count[p], unheaded;
	bool owns, owns_2, handled = !(HANDLED && p == 0 && !attaches);

	if :: attaches -> attach() :: else fi;
	do
	:: calls > 0 -> call(); calls--
	:: else -> break
	od;
	/* a handler that never came need not be waited for */
	do
	:: !handled -> signal()
	:: else -> break
	od;
	count[p] == 0; /* the kernel says that it is dead */
	if
	:: REUSED && p == 0 && !attaches -> run thread(p, 1, true)
	:: else
	fi;
	ended++
}

/* ---- the collector ---- */

byte taken[2], handed[2], copy[2 * MOST], last_time;
bool late, overruled;

/* Floor and head. */
inline look(p)
{
	heads[p] = taken[p];
	if
	:: is_there[p] ->
#ifdef FIRST_HEAD
		heads[p] = head[p];
		seen_floor = floor[p];
#else
		seen_floor = floor[p];
		heads[p] = head[p];
#endif
		if
		:: seen_floor && seen_floor < limit -> limit = seen_floor
#ifdef OVERRULED
		:: seen_floor && seen_floor < limit -> overruled = true
#endif
		:: else
		fi;
		seen_floor = 0
	:: else
	fi
}

#define next_cell(p) cell[p * ROOM + taken[p] % ROOM]
#define has_entries(p) (handed[p] < taken[p])
#define time_of(p) (copy[p * MOST + handed[p]] & TIME)
#define latest_of(p) (copy[p * MOST + taken[p] - 1] & TIME)

/* Whether the ring goes on with a record that is in its place and later than what was copied. */
#define is_in_place(p, of) ((of & CLOSES) && (!has_entries(p) || (of & TIME) > latest_of(p)))

/* One slot's records are in the order of completion: an earlier one goes to its place. */
inline sort(p)
{
	j = taken[p];
	do
	:: j > handed[p] + 1 ->
		j--;
		if
		:: (copy[p * MOST + j] & TIME) < (copy[p * MOST + j - 1] & TIME) ->
			k = copy[p * MOST + j];
			copy[p * MOST + j] = copy[p * MOST + j - 1];
			copy[p * MOST + j - 1] = k;
			j = taken[p]
		:: else
		fi
	:: else -> break
	od;
	j = 0;
	k = 0
}

inline hand_out(p)
{
	if
	:: time_of(p) < last_time -> late = true
	:: else -> last_time = time_of(p)
	fi;
	handed[p]++
}

/* Reads the next record, which is published. */
inline copy_next(p)
{
	copy[p * MOST + taken[p]] = next_cell(p);
	assert(copy[p * MOST + taken[p]] == said[p * MOST + taken[p]]);
	taken[p]++
}

/*
 * What the slot has next, before the limit: times[p], or 255. Copies what is not in its place. A
 * record that is not published ends its ring for this round, and so does one that is too late.
 */
inline find_next(p)
{
	do
	:: atomic { taken[p] < heads[p] && !next_cell(p) -> heads[p] = taken[p] }
	:: atomic {
		taken[p] < heads[p] && next_cell(p) &&
		(!is_in_place(p, next_cell(p)) || ((next_cell(p) & TIME) >= limit &&
						   heads[p] - taken[p] > ROOM * 3 / 4)) ->
		copy_next(p);
		sort(p)
	   }
#ifndef EARLY_TAIL
	   tail[p] = taken[p]
#endif
	:: atomic {
		taken[p] < heads[p] && is_in_place(p, next_cell(p)) &&
		((next_cell(p) & TIME) < limit || heads[p] - taken[p] <= ROOM * 3 / 4) ->
		times[p] = next_cell(p) & TIME;
		if :: has_entries(p) -> times[p] = time_of(p) :: else fi;
		if :: times[p] >= limit -> times[p] = 255 :: else fi;
		break
	   }
	:: atomic {
		taken[p] == heads[p] ->
		times[p] = 255;
		if :: has_entries(p) && time_of(p) < limit -> times[p] = time_of(p) :: else fi;
		break
	   }
	od
}

/* Hands out what the slot has next. */
inline pass_on(p)
{
	atomic {
		if :: !has_entries(p) -> copy_next(p) :: else fi;
		hand_out(p)
	}
#ifndef EARLY_TAIL
	tail[p] = taken[p];
#endif
	find_next(p)
}

#ifdef NO_BOUND
#define comes_next(p) (times[p] != 255)
#else
#define comes_next(p) (times[p] != 255 && times[p] <= times[1 - p])
#endif

#define has_more(p) (taken[p] < head[p] && cell[p * ROOM + taken[p] % ROOM])

inline see_slots()
{
	is_there[0] = ready[0];
	is_there[1] = ready[1]
}

proctype collector()
{
	byte limit, seen_floor, heads[2], times[2], round, j, k;
	bool is_last, is_there[2];

	do
	:: !is_last ->
		if
		:: round < ROUNDS -> round++
#ifdef WRAP
		/* whoever waits for room is waited for */
		:: has_more(0) || has_more(1)
#endif
		:: ended == 2 + REUSED
		fi;
		is_last = (ended == 2 + REUSED);
#ifdef EARLY_SLOTS
		see_slots();
#endif
		atomic { clock++; limit = clock };
#ifndef NO_BARRIER
		atomic { drain(0) };
		atomic { drain(1) };
#endif
#ifndef EARLY_SLOTS
		see_slots();
#endif
		if :: is_last -> limit = 255 :: else fi;
		look(0);
		look(1);
#ifdef EARLY_TAIL
		tail[0] = heads[0];
		tail[1] = heads[1];
#endif
		find_next(0);
		find_next(1);
		do
		:: comes_next(0) -> pass_on(0)
		:: comes_next(1) -> pass_on(1)
		:: times[0] == 255 && times[1] == 255 -> break
		od;
		atomic {
			heads[0] = 0;
			heads[1] = 0;
			times[0] = 0;
			times[1] = 0;
			limit = 0
		}
	:: else -> break
	od;
	assert(handed[0] == ALL_0 && handed[1] == ALL_1);
#ifdef NEVER_LATE
	assert(!late)
#else
	assert(!late || overruled)
#endif
}

init
{
	atomic {
		ready[0] = true;
#ifndef ATTACH
		ready[1] = true;
#endif
		run memory(0);
		run memory(1);
		run thread(0, CALLS_0, false);
#ifdef ATTACH
		run thread(1, CALLS_1, true);
#else
		run thread(1, CALLS_1, false);
#endif
		run collector()
	}
}
