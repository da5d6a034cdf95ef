# SPDX-License-Identifier: MIT
"""Reads traces of holdtrace.

    import holdtrace

    with holdtrace.open("run.htr") as trace:
        for event in trace:
            print(event.time_ns, event.function, event.object)

A trace is read once, from its beginning to its end, event by event or in columns:

    with holdtrace.open("run.htr") as trace:
        for columns in trace.columns("bytes", "effect"):
            total += sum(columns["bytes"])          # memoryviews; numpy.asarray() takes them as they are

Live objects, leaks and waits are computed from the whole trace:

    with holdtrace.open("run.htr") as trace:
        objects = trace.live(at="1.5")          # 1.5 s after the start; each row an object
        leaks = trace.leaks()                   # each row a call site, most bytes first
        for site in leaks[:5]:
            print(site.bytes, site.resource, *leaks.names(site.backtrace), sep="\n  ")
        trace.waits().to_pandas()               # if pandas is installed

The library libholdtrace-trace reads the traces; holdtrace-trace(3) describes each member.
"""

from __future__ import annotations

import builtins
import ctypes
import os
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

__all__ = [
    "Error",
    "Event",
    "Frame",
    "Object",
    "Site",
    "Process",
    "Rows",
    "Tally",
    "Trace",
    "Wait",
    "open",
    "version",
]

_Path = Union[str, "os.PathLike[str]"]


class Error(OSError):
    """An error of libholdtrace-trace, with errno and strerror."""


class Event(NamedTuple):
    """One operation of one call on one object. Times are nanoseconds of CLOCK_MONOTONIC."""

    index: int  # type: ignore[assignment]
    time_ns: int
    enter_ns: int
    leave_ns: int
    object: int
    bytes: int
    related: int
    result: int
    call: int
    process: int
    thread: int
    function: str
    resource: str
    operation: str
    effect: int
    flags: int
    error: int
    backtrace: Optional[int]
    is_note: bool


class Frame(NamedTuple):
    """A function of a backtrace."""

    address: int
    offset: int
    function: Optional[str]
    file: Optional[str]
    module: Optional[str]
    line: int
    is_inlined: bool

    def __str__(self) -> str:
        where = f" {os.path.basename(self.file)}:{self.line}" if self.file else ""
        return (self.function or f"{os.path.basename(self.module or '')}+{self.offset:#x}") + where


class Object(NamedTuple):
    """A live object, or one of the parts that remain of a partly unmapped mapping."""

    object: int
    bytes: int
    time_ns: int
    age_ns: int
    index: int  # type: ignore[assignment]
    process: int
    function: str
    resource: str
    backtrace: Optional[int]
    thread: int
    count: int  # type: ignore[assignment]
    is_part: bool


class Site(NamedTuple):
    """The live objects of one class and one call site. The same code in several processes is one call site."""

    count: int  # type: ignore[assignment]
    bytes: int
    oldest_ns: int
    processes: int
    function: str
    resource: str
    backtrace: Optional[int]


class Wait(NamedTuple):
    """The waits of one process at one call site that ended in the same way and have the same holder or waker."""

    kind: str
    ended: str
    count: int  # type: ignore[assignment]
    total_ns: int
    longest_ns: int
    since_ns: int
    object: int
    thread: int
    waker_thread: Optional[int]
    process: int
    backtrace: Optional[int]
    waker_backtrace: Optional[int]


class Process(NamedTuple):
    """A process of the trace. A program that a process executes (exec) is a further Process."""

    pid: int
    parent_pid: int
    start_ns: int
    realtime_ns: int
    name: Optional[str]
    arch: Optional[str]


class Tally(NamedTuple):
    """How much was read, and how much could not be read."""

    events: int
    dropped: int
    damages: int
    damaged_bytes: int
    is_complete: bool


NEITHER, ACQUIRES, RELEASES = range(3)
FAILED, UNWOUND, OPEN, LATE, CUT = (1 << bit for bit in range(5))
NO_ID = 0xFFFFFFFF

_NOTES, _NOW, _ACCOUNT = 1, 2, 4
_WIDE = ("index", "time_ns", "enter_ns", "leave_ns", "object", "bytes", "related", "result", "call")
_CHUNK = 16384
_FRAMES_MAX = 1024


# ---- the library ----


_WORD, _LONG, _TEXT = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p


def _fields(*groups: Tuple[Any, Iterable[str]]) -> List[Tuple[str, Any]]:
    """The members of a structure, in groups of one type each."""
    return [(name, kind) for kind, names in groups for name in names]


class _ErrorText(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("text", ctypes.c_char * 1020)]


class _Options(ctypes.Structure):
    _fields_ = _fields(
        (_WORD, ["flags"]), (_TEXT, ["since", "until"]), (_LONG, ["memory_max"]), (_TEXT, ["root", "debug_directory"])
    )


class _Frame(ctypes.Structure):
    _fields_ = _fields((_LONG, Frame._fields[:2]), (_TEXT, Frame._fields[2:5]), (_WORD, Frame._fields[5:]))


class _Object(ctypes.Structure):
    _fields_ = _fields(
        (_LONG, Object._fields[:5]),
        (_WORD, ["process", "function", "resource", "backtrace", "thread", "count", "is_part"]),
    )


class _Site(ctypes.Structure):
    _fields_ = _fields((_LONG, Site._fields[:3]), (_WORD, Site._fields[3:]))


class _Wait(ctypes.Structure):
    _fields_ = _fields((_TEXT, Wait._fields[:2]), (_LONG, Wait._fields[2:7]), (_WORD, Wait._fields[7:]))


class _Columns(ctypes.Structure):
    _fields_ = _fields((ctypes.c_void_p, Event._fields))


class _Process(ctypes.Structure):
    _fields_ = _fields((_WORD, Process._fields[:2]), (_LONG, Process._fields[2:4]), (_TEXT, Process._fields[4:]))


class _Tally(ctypes.Structure):
    _fields_ = _fields((_LONG, Tally._fields[:4]), (_WORD, Tally._fields[4:]))


def _find_library() -> str:
    """The library that HOLDTRACE_TRACE_LIBRARY names, for a build that is not installed; that of the tree in which this
    module is installed (a wheel, or a prefix); or the one that ld.so finds."""
    name = "libholdtrace-trace.so.0"
    here = os.path.dirname(os.path.abspath(__file__))
    beside = (os.path.join(here, part, name) for part in ("tree/lib", "../../..", "../../../../lib"))
    return os.environ.get("HOLDTRACE_TRACE_LIBRARY") or next(filter(os.path.exists, beside), name)


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_find_library())
    pointer = ctypes.c_void_p
    number = ctypes.c_uint32
    text = ctypes.c_char_p
    for name, result, arguments in (
        ("holdtrace_version", text, ()),
        ("holdtrace_trace_open", ctypes.c_int, (pointer, pointer, ctypes.c_size_t, pointer, pointer)),
        ("holdtrace_trace_close", None, (pointer,)),
        ("holdtrace_trace_read", ctypes.c_long, (pointer, pointer, ctypes.c_size_t, pointer)),
        ("holdtrace_trace_skip", ctypes.c_int, (pointer, pointer)),
        ("holdtrace_trace_live", ctypes.c_long, (pointer, pointer, pointer)),
        ("holdtrace_trace_sites", ctypes.c_long, (pointer, pointer, pointer)),
        ("holdtrace_trace_waits", ctypes.c_long, (pointer, pointer, pointer)),
        ("holdtrace_trace_argument", text, (pointer, text)),
        ("holdtrace_trace_function", text, (pointer, number)),
        ("holdtrace_trace_resource", text, (pointer, number)),
        ("holdtrace_operation_name", text, (number,)),
        ("holdtrace_trace_backtrace", ctypes.c_size_t, (pointer, number, pointer)),
        ("holdtrace_trace_names", ctypes.c_long, (pointer, number, pointer, ctypes.c_size_t, pointer)),
        ("holdtrace_trace_process", ctypes.c_int, (pointer, number, pointer)),
        ("holdtrace_trace_tally", None, (pointer, pointer)),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


_library = _load()


def version() -> str:
    """The version of libholdtrace-trace."""
    return str(_library.holdtrace_version(), "ascii")


def _text(value: Optional[builtins.bytes]) -> Optional[str]:
    return None if value is None else os.fsdecode(value)


def _check(status: int, error: _ErrorText) -> int:
    if status < 0:
        raise Error(error.number, os.fsdecode(error.text))
    return status


class _Names(Dict[int, str]):
    """Names by id, each looked up once."""

    def __init__(self, ask: Any) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, number: int) -> str:
        name = _text(self._ask(number)) or ""
        self[number] = name
        return name


def _id(number: int) -> Optional[int]:
    return None if number == NO_ID else number


# ---- results ----

_Row = TypeVar("_Row", bound=Tuple[Any, ...])


class Rows(List[_Row]):
    """A list of rows. The ids in it (backtrace, process) are valid for the methods of this list, but not for those
    of the trace that returned it."""

    def __init__(self, rows: Iterable[_Row], members: Tuple[str, ...], trace: "Trace") -> None:
        super().__init__(rows)
        self._members = members
        self._trace = trace

    def names(self, id: Optional[int]) -> Tuple[Frame, ...]:
        """The functions of a backtrace, innermost first."""
        return self._trace.names(id)

    def backtrace(self, id: Optional[int]) -> Tuple[int, ...]:
        """The return addresses of a backtrace, innermost first."""
        return self._trace.backtrace(id)

    def process(self, id: int) -> Process:
        """The process of a row."""
        return self._trace.process(id)

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame."""
        import pandas  # type: ignore[import]

        return pandas.DataFrame(list(self), columns=list(self._members))


# ---- a trace ----


class Trace:
    """An open trace, which is read once. Close it, or use it in a `with` statement."""

    def __init__(
        self,
        paths: Sequence[_Path],
        *,
        since: Optional[str] = None,
        until: Optional[str] = None,
        notes: bool = False,
        now: bool = False,
        root: Optional[_Path] = None,
        debug_directory: Optional[_Path] = None,
        account: bool = False,
    ) -> None:
        self._paths = paths
        self._how = {"now": now, "root": root, "debug_directory": debug_directory}
        self._until = until
        self._accounts: Dict[Optional[str], "Trace"] = {}
        names = [os.fsencode(path) for path in paths]
        array = (ctypes.c_char_p * len(names))(*names)
        options = _Options(
            (_NOTES if notes else 0) | (_NOW if now else 0) | (_ACCOUNT if account else 0),
            None if since is None else since.encode(),
            None if until is None else until.encode(),
            0,
            None if root is None else os.fsencode(root),
            None if debug_directory is None else os.fsencode(debug_directory),
        )
        error = _ErrorText()
        self._handle: Optional[ctypes.c_void_p] = None
        handle = ctypes.c_void_p()
        _check(
            _library.holdtrace_trace_open(
                ctypes.byref(handle), array, len(names), ctypes.byref(options), ctypes.byref(error)
            ),
            error,
        )
        self._handle = handle
        self._functions = _Names(lambda id: _library.holdtrace_trace_function(self._open(), id))
        self._resources = _Names(lambda id: _library.holdtrace_trace_resource(self._open(), id))
        self._operations = _Names(_library.holdtrace_operation_name)

    def _open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the trace is closed")
        return self._handle

    def close(self) -> None:
        """Frees the trace. Events and columns that it returned remain valid."""
        if self._handle is not None:
            _library.holdtrace_trace_close(self._handle)
            self._handle = None
        self._accounts.clear()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    # -- events

    def columns(self, *wanted: str, chunk: int = _CHUNK) -> Iterator[Dict[str, memoryview]]:
        """Yields the rest of the trace in columns of at most chunk rows: a dict with a memoryview of unsigned integers
        for each wanted member of Event, or for all members if none is named. Functions, resources and operations are
        ids, see function(), resource() and operation(). The views stay valid."""
        members = wanted or Event._fields
        unknown = set(members) - set(Event._fields)
        if unknown:
            raise ValueError(f"no such column: {', '.join(sorted(unknown))}")
        error = _ErrorText()
        while True:
            arrays = {
                name: ((ctypes.c_uint64 if name in _WIDE else ctypes.c_uint32) * chunk)() for name in members
            }
            columns = _Columns(**{name: ctypes.addressof(array) for name, array in arrays.items()})
            rows = _check(
                _library.holdtrace_trace_read(self._open(), ctypes.byref(columns), chunk, ctypes.byref(error)),
                error,
            )
            if rows == 0:
                return
            yield {
                name: memoryview(array).cast("B").cast("Q" if name in _WIDE else "I")[:rows]
                for name, array in arrays.items()
            }

    def __iter__(self) -> Iterator[Event]:
        names = {"function": self._functions, "resource": self._resources, "operation": self._operations}
        for columns in self.columns():
            lists: List[Iterable[Any]] = []
            for member, column in columns.items():
                values: List[Any] = column.tolist()
                if member in names:
                    table = names[member]
                    values = [table[value] for value in values]
                elif member == "backtrace":
                    values = [None if value == NO_ID else value for value in values]
                elif member == "is_note":
                    values = [value != 0 for value in values]
                lists.append(values)
            yield from map(Event._make, zip(*lists))

    def to_pandas(self, *wanted: str) -> Any:
        """The rest of the trace as a pandas.DataFrame, with names as categories."""
        import numpy
        import pandas

        parts = [
            {name: numpy.asarray(column) for name, column in columns.items()}
            for columns in self.columns(*wanted, chunk=1 << 18)
        ]
        members = wanted or Event._fields
        frame = pandas.DataFrame(
            {name: numpy.concatenate([part[name] for part in parts]) if parts else [] for name in members}
        )
        for member, table in (
            ("function", self._functions),
            ("resource", self._resources),
            ("operation", self._operations),
        ):
            if member in frame:
                ids = frame[member].unique()
                frame[member] = frame[member].map({id: table[int(id)] for id in ids}).astype("category")
        return frame

    # -- live objects, and waits

    def _account(self, at: Optional[str]) -> "Trace":
        """Opens the same trace again, with an account, and reads it from its start to that time."""
        self._open()
        found = self._accounts.get(at)
        if found is None:
            found = Trace(self._paths, until=at, account=True, **self._how)  # type: ignore[arg-type]
            error = _ErrorText()
            _check(_library.holdtrace_trace_skip(found._open(), ctypes.byref(error)), error)
            self._accounts = {at: found}
        return found

    def _rows(self, kind: Any, question: Any, structure: Any) -> "Rows[Any]":
        """Calls a function of the library that returns an array, and returns its rows, with names in place of ids."""
        meaning = {
            "function": self.function,
            "resource": self.resource,
            "backtrace": _id,
            "waker_backtrace": _id,
            "waker_thread": lambda thread: thread or None,
            "is_part": bool,
            "kind": _text,
            "ended": _text,
        }
        rows = ctypes.POINTER(structure)()
        error = _ErrorText()
        count = _check(question(self._open(), ctypes.byref(rows), ctypes.byref(error)), error)
        return Rows(
            (
                kind._make(meaning.get(name, int)(getattr(row, name)) for name in kind._fields)
                for row in rows[:count]
            ),
            kind._fields,
            self,
        )

    def live(self, at: Optional[str] = None) -> Rows[Object]:
        """All objects that are live at an instant, in the order of acquisition. at: seconds after the start ("1.5"),
        "250ms", or a time of day ("19:20:31"); None: the end of the trace, or `until`. If a process has ended by
        then, the objects that were live at its end are included. Reads the trace again from its start; iterating over
        this trace is not affected."""
        return self._account(at or self._until)._rows(Object, _library.holdtrace_trace_live, _Object)

    def sites(self, at: Optional[str] = None) -> Rows[Site]:
        """Objects that are live at an instant (see live()), by call site, most bytes first. Objects that are part of
        another object, such as the descriptor of a stream, are left out."""
        return self._account(at or self._until)._rows(Site, _library.holdtrace_trace_sites, _Site)

    def leaks(self) -> Rows[Site]:
        """Objects that were never released, by call site, with the same numbers as `holdtrace report leaks
        --suppress=none`."""
        return self.sites()

    def waits(self) -> Rows[Wait]:
        """Waits for locks, conditions and semaphores, with their holders or wakers, longest first."""
        return self._account(self._until)._rows(Wait, _library.holdtrace_trace_waits, _Wait)

    # -- the meaning of ids

    def function(self, id: int) -> str:
        """The name of a function, such as "malloc"."""
        return self._functions[id]

    def resource(self, id: int) -> str:
        """The name of a class of resources, such as "memory"."""
        return self._resources[id]

    def operation(self, id: int) -> str:
        """The name of an operation, such as "ALLOC"."""
        return self._operations[id]

    def backtrace(self, id: Optional[int]) -> Tuple[int, ...]:
        """The return addresses of a backtrace, innermost first."""
        frames = ctypes.POINTER(ctypes.c_uint64)()
        if id is None:
            return ()
        count = _library.holdtrace_trace_backtrace(self._open(), id, ctypes.byref(frames))
        return tuple(frames[:count])

    def names(self, id: Optional[int]) -> Tuple[Frame, ...]:
        """The functions of a backtrace, innermost first. Names come from the modules on this machine."""
        frames = (_Frame * _FRAMES_MAX)()
        error = _ErrorText()
        if id is None:
            return ()
        count = _check(
            _library.holdtrace_trace_names(self._open(), id, frames, _FRAMES_MAX, ctypes.byref(error)), error
        )
        return tuple(
            Frame(
                frame.address,
                frame.offset,
                _text(frame.function),
                _text(frame.file),
                _text(frame.module),
                frame.line,
                frame.is_inlined != 0,
            )
            for frame in frames[:count]
        )

    def process(self, id: int) -> Process:
        """The process of an event. Raises LookupError for an unknown id."""
        process = _Process()
        if _library.holdtrace_trace_process(self._open(), id, ctypes.byref(process)) < 0:
            raise LookupError(f"no process {id}")
        return Process(
            process.pid,
            process.parent_pid,
            process.start_ns,
            process.realtime_ns,
            _text(process.name),
            _text(process.arch),
        )

    @property
    def processes(self) -> List[Process]:
        """All processes that have appeared so far."""
        found: List[Process] = []
        while True:
            try:
                found.append(self.process(len(found)))
            except LookupError:
                return found

    @property
    def tally(self) -> Tally:
        """How much was read so far, and how much could not be read."""
        tally = _Tally()
        _library.holdtrace_trace_tally(self._open(), ctypes.byref(tally))
        return Tally(tally.events, tally.dropped, tally.damages, tally.damaged_bytes, tally.is_complete != 0)


def open(
    *paths: _Path,
    since: Optional[str] = None,
    until: Optional[str] = None,
    notes: bool = False,
    now: bool = False,
    root: Optional[_Path] = None,
    debug_directory: Optional[_Path] = None,
) -> Trace:
    """Opens traces. paths: files, or directories with the traces of a run. Several traces are read as one, ordered
    by time. since and until: instants in the syntax of `holdtrace report --since` ("1.5", "250ms"). notes: also
    return notes (~mark, ~end ...). now: if a file is still being written, do not wait for its writer. root,
    debug_directory: where to find modules and their debug files, if not at the paths in the trace."""
    return Trace(
        paths,
        since=since,
        until=until,
        notes=notes,
        now=now,
        root=root,
        debug_directory=debug_directory,
    )
