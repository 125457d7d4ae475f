//! Functions of CPython, replaced inside the interpreter before the code of its user runs: its clocks, and `time.sleep`
//! where the [lines](super::lines) that sleep are noted.
//!
//! `time.monotonic` and `time.perf_counter` read the same clock of the kernel from the same place, so that they cannot
//! be told apart below the interpreter. Therefore an audit hook (PEP 578) puts other functions into the module `time`.
//! It does so before the interpreter imports `site`, or else before it runs its command, module or file.
//!
//! The hook is added while the interpreter opens its standard streams. It needs no variable of the environment, no file,
//! and no option of the interpreter. `-I`, `-S` and virtual environments make no difference. Nothing happens in programs
//! without an interpreter.
//!
//! The safety of all calls of the interpreter is the same, and stands here once. The functions are those of its own
//! stable interface, found by their names. The interpreter allows the version before it begins, and the hook while no
//! thread holds its lock. All others are called in its hook, where the thread holds the lock. Each new reference is
//! given away once.

#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_char, c_double, c_int, c_longlong, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use punctual_rules::{OsClock, Time};

use super::process;
use super::{lines, real, slots};
use crate::page::{Run, at};
use crate::runtime::{self, cpython};

/// A Python object, or a null pointer.
pub(super) type Object = *mut c_void;

type Function = unsafe extern "C-unwind" fn(Object, Object) -> Object;

macro_rules! interface {
    ($($name:ident: fn($($arg:ty),*) -> $out:ty;)*) => {
        /// The functions of the interpreter.
        #[allow(non_snake_case)]
        pub(super) struct Interface {
            $(pub(super) $name: unsafe extern "C-unwind" fn($($arg),*) -> $out,)*
        }

        impl Interface {
            /// Finds the functions of this process, if it has all of them.
            fn find() -> Option<Self> {
                Some(Self {
                    $($name: unsafe {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast());
                        transmute::<*mut c_void, Option<unsafe extern "C-unwind" fn($($arg),*) -> $out>>(found)?
                    },)*
                })
            }
        }
    };
}

interface! {
    PyCFunction_NewEx: fn(*const Method, Object, Object) -> Object;
    PyDict_New: fn() -> Object;
    PyDict_SetItem: fn(Object, Object, Object) -> c_int;
    PyErr_Clear: fn() -> ();
    PyEval_EvalCode: fn(Object, Object, Object) -> Object;
    PyEval_GetBuiltins: fn() -> Object;
    PyEval_GetFrame: fn() -> Object;
    PyFloat_AsDouble: fn(Object) -> c_double;
    PyFloat_FromDouble: fn(c_double) -> Object;
    PyFrame_GetCode: fn(Object) -> Object;
    PyFrame_GetLineNumber: fn(Object) -> c_int;
    PyImport_ImportModule: fn(*const c_char) -> Object;
    PyLong_FromLongLong: fn(c_longlong) -> Object;
    PyObject_CallObject: fn(Object, Object) -> Object;
    PyObject_GetAttrString: fn(Object, *const c_char) -> Object;
    PySys_AddAuditHook: fn(Hook, *mut c_void) -> c_int;
    PyTuple_GetItem: fn(Object, isize) -> Object;
    PyUnicode_AsUTF8: fn(Object) -> *const c_char;
    PyUnicode_FromStringAndSize: fn(*const c_char, isize) -> Object;
    Py_CompileString: fn(*const c_char, *const c_char, c_int) -> Object;
    Py_DecRef: fn(Object) -> ();
    Py_IncRef: fn(Object) -> ();
}

type Hook = unsafe extern "C-unwind" fn(*const c_char, Object, *mut c_void) -> c_int;

/// `PyMethodDef`.
#[repr(C)]
pub(super) struct Method {
    name: *const c_char,
    function: Function,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: nothing changes them.
unsafe impl Sync for Method {}

/// `METH_NOARGS`.
const NO_ARGUMENTS: c_int = 4;

/// `METH_VARARGS`.
const A_TUPLE: c_int = 1;

/// `Py_file_input`.
const A_FILE: c_int = 257;

macro_rules! method {
    ($name:literal, $function:ident, $doc:literal) => {
        Method {
            name: $name.as_ptr(),
            function: $function,
            flags: NO_ARGUMENTS,
            doc: $doc.as_ptr(),
        }
    };
}

/// Two for each clock of the table, in its order.
static METHODS: [Method; 4] = [
    method!(
        c"monotonic",
        monotonic,
        c"monotonic() -> float\n\nMonotonic clock, cannot go backward."
    ),
    method!(
        c"monotonic_ns",
        monotonic_ns,
        c"monotonic_ns() -> int\n\nMonotonic clock, cannot go backward, as nanoseconds."
    ),
    method!(
        c"time",
        time,
        c"time() -> floating point number\n\nReturn the current time in seconds since the Epoch."
    ),
    method!(
        c"time_ns",
        time_ns,
        c"time_ns() -> int\n\nReturn the current time in nanoseconds since the Epoch."
    ),
];

/// Stands before the real one, which has the errors.
static SLEEP: Method = Method {
    name: c"sleep".as_ptr(),
    function: lines::sleep,
    flags: A_TUPLE,
    doc: c"sleep(seconds)\n\nDelay execution for a given number of seconds.  The argument may be\na floating point number for subsecond precision."
        .as_ptr(),
};

/// The name of the real `time.sleep` in the module `time` after the replacement.
pub(super) const REAL_SLEEP: &CStr = c"__punctual__";

static INTERFACE: OnceLock<Interface> = OnceLock::new();

/// Whether the clocks are replaced, and `time.sleep`.
static CLOCKS: AtomicBool = AtomicBool::new(false);
static LINES: AtomicBool = AtomicBool::new(false);

/// The functions of the interpreter of this process, if anything in it is replaced.
pub(super) fn interface() -> Option<&'static Interface> {
    INTERFACE.get()
}

/// The minor version of the CPython 3 that this process is linked with, if it is.
pub(super) fn version() -> Option<u8> {
    // SAFETY: the function may be called before the interpreter begins, and returns a C string.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"Py_GetVersion".as_ptr());
        let get = transmute::<*mut c_void, Option<unsafe extern "C" fn() -> *const c_char>>(found)?;
        let text = get();
        (!text.is_null())
            .then(|| runtime::minor_version(CStr::from_ptr(text).to_bytes()))
            .flatten()
    }
}

/// Whether a version has clocks that move in steps under this rule.
pub(super) fn has_steps(minor: u8) -> bool {
    let mut clocks = cpython::CLOCKS.iter();
    clocks.any(|clock| clock.has(minor) && slots::step(clock.windows).is_some())
}

/// Has functions replaced as soon as there is an interpreter: the clocks, and `time.sleep`.
pub(super) fn prepare(run: &Run, clocks: bool, lines: bool) {
    let Some(found) = Interface::find() else {
        return;
    };
    CLOCKS.store(clocks, Relaxed);
    LINES.store(lines, Relaxed);
    BASES[0].store(run.origin / MS * MS, Relaxed);
    let of_day = run.origin.wrapping_add(run.time_of_day);
    BASES[1].store(of_day / 100 * 100, Relaxed);
    // It is set once.
    let _ = INTERFACE.set(found);
}

/// Whether the interpreter has not yet set its allocators, as far as it tells: since 3.13 it does not.
unsafe fn is_too_early() -> bool {
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"_Py_IsCoreInitialized".as_ptr());
        let has_core = transmute::<*mut c_void, Option<unsafe extern "C" fn() -> c_int>>(found);
        has_core.is_some_and(|has_core| has_core() == 0)
    }
}

/// Adds the hook as the interpreter opens its standard streams: it asks of each whether it is a terminal. The memory of
/// the hook must come from the allocator that frees it, and `-X dev` and `PYTHONMALLOC` set another one before that.
///
/// In other programs, and later, this is the real function alone.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn isatty(file: c_int) -> c_int {
    static IS_ADDED: AtomicBool = AtomicBool::new(false);
    unsafe {
        if let Some(interface) = INTERFACE.get()
            && !is_too_early()
            && !IS_ADDED.swap(true, Relaxed)
        {
            (interface.PySys_AddAuditHook)(hear, null_mut());
        }
        match real::isatty() {
            Some(real) => real(file),
            None => {
                *libc::__errno_location() = libc::ENOSYS;
                0
            }
        }
    }
}

const MS: u64 = 1_000_000;

/// The time of each clock when the time of the rule is zero: whole units of the clock, as nanoseconds.
static BASES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The last time that each clock showed, for the case that no rule is free.
static LAST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Nanoseconds of a clock of the table.
fn read(number: usize) -> u64 {
    let now = process::now(libc::CLOCK_MONOTONIC);
    let now = process::page().map_or(Time::ZERO, |page| Time::from_ns(page.time(now)));
    match slots::shows(cpython::CLOCKS[number].windows, now) {
        Some(shown) => {
            let shown = BASES[number].load(Relaxed).wrapping_add(shown.floor_ns());
            LAST[number].store(shown, Relaxed);
            shown
        }
        None => LAST[number].load(Relaxed),
    }
}

fn as_float(ns: u64) -> Object {
    let Some(interface) = INTERFACE.get() else {
        return null_mut();
    };
    // As CPython does it: whole seconds stay exact.
    let seconds = match ns % 1_000_000_000 {
        0 => (ns / 1_000_000_000) as f64,
        _ => ns as f64 / 1e9,
    };
    unsafe { (interface.PyFloat_FromDouble)(seconds) }
}

fn as_int(ns: u64) -> Object {
    INTERFACE.get().map_or(null_mut(), |interface| unsafe {
        (interface.PyLong_FromLongLong)(ns as c_longlong)
    })
}

unsafe extern "C-unwind" fn monotonic(_: Object, _: Object) -> Object {
    as_float(read(0))
}

unsafe extern "C-unwind" fn monotonic_ns(_: Object, _: Object) -> Object {
    as_int(read(0))
}

unsafe extern "C-unwind" fn time(_: Object, _: Object) -> Object {
    as_float(read(1))
}

unsafe extern "C-unwind" fn time_ns(_: Object, _: Object) -> Object {
    as_int(read(1))
}

/// Hears of events of the interpreter. Replaces the functions before it imports `site`, and else before it runs what it
/// was started for.
unsafe extern "C-unwind" fn hear(event: *const c_char, arguments: Object, _: *mut c_void) -> c_int {
    /// Replacing them imports modules, and that is an event as well.
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    unsafe {
        let Some(interface) = INTERFACE.get().filter(|_| !event.is_null()) else {
            return 0;
        };
        let event = CStr::from_ptr(event).to_bytes();
        let is_start = event.starts_with(b"cpython.run_")
            || event == b"import" && interface.first_is(arguments, c"site");
        if is_start && !IS_BUSY.swap(true, Relaxed) {
            if interface.replace().is_none() {
                (interface.PyErr_Clear)();
            }
            IS_BUSY.store(false, Relaxed);
        }
    }
    0
}

/// The code that puts the functions into the modules. It runs once for each interpreter.
const CODE: &CStr = c"
def replace():
    import sys, time
    if hasattr(time, '__punctual__'):
        return
    real_sleep = time.sleep
    before = time.get_clock_info
    resolution = step * 1e-7

    def get_clock_info(name, /):
        'get_clock_info(name: string) -> dict\\n\\nGet information of the specified clock.'
        info = before(name)
        if name in stated:
            info.implementation = stated[name]
            info.resolution = resolution
        return info

    get_clock_info.__module__ = 'time'
    get_clock_info.__qualname__ = 'get_clock_info'
    if stated:
        new['get_clock_info'] = get_clock_info
    instead = {id(getattr(time, name)): function for name, function in new.items()}
    for module in list(sys.modules.values()):
        names = getattr(module, '__dict__', None)
        if type(names) is dict:
            for name, value in list(names.items()):
                if id(value) in instead:
                    names[name] = instead[id(value)]
    time.__punctual__ = real_sleep

replace()
";

impl Interface {
    /// Whether the first of these arguments is this text.
    unsafe fn first_is(&self, arguments: Object, text: &CStr) -> bool {
        unsafe {
            let first = (self.PyTuple_GetItem)(arguments, 0);
            if first.is_null() {
                (self.PyErr_Clear)();
                return false;
            }
            let first = (self.PyUnicode_AsUTF8)(first);
            if first.is_null() {
                (self.PyErr_Clear)();
                return false;
            }
            CStr::from_ptr(first) == text
        }
    }

    /// Replaces the functions in the interpreter of this thread. `None` if it fails.
    unsafe fn replace(&self) -> Option<()> {
        let some = |object: Object| (!object.is_null()).then_some(object);
        unsafe {
            let text = |text: &str| {
                (self.PyUnicode_FromStringAndSize)(text.as_ptr().cast(), text.len() as isize)
            };
            // Gives a reference to `value` away.
            let put = |into: Object, name: &str, value: Object| {
                let (name, value) = (some(text(name))?, some(value)?);
                let result = (self.PyDict_SetItem)(into, name, value);
                (self.Py_DecRef)(name);
                (self.Py_DecRef)(value);
                (result == 0).then_some(())
            };
            let module = some((self.PyImport_ImportModule)(c"time".as_ptr()))?;
            let name = some(text("time"))?;
            let [new, stated] = [some((self.PyDict_New)())?, some((self.PyDict_New)())?];
            let [has_clocks, has_lines] = [&CLOCKS, &LINES].map(|wanted| wanted.load(Relaxed));
            let clocks = METHODS.iter().filter(|_| has_clocks);
            for method in clocks.chain(has_lines.then_some(&SLEEP)) {
                let function = (self.PyCFunction_NewEx)(method, module, name);
                put(new, CStr::from_ptr(method.name).to_str().ok()?, function)?;
            }
            let mut step = 0;
            if has_clocks {
                for clock in cpython::CLOCKS {
                    put(stated, clock.what, text(clock.stated))?;
                }
                // GetSystemTimeAdjustment states the default interval, whatever is requested.
                step = slots::step(OsClock::GetTickCount)?.floor_ns() / 100;
            }
            let names = some((self.PyDict_New)())?;
            put(names, "new", new)?;
            put(names, "stated", stated)?;
            put(
                names,
                "step",
                (self.PyLong_FromLongLong)(step as c_longlong),
            )?;
            let builtins = some((self.PyEval_GetBuiltins)())?;
            (self.Py_IncRef)(builtins);
            put(names, "__builtins__", builtins)?;
            let code = (self.Py_CompileString)(CODE.as_ptr(), c"<punctual>".as_ptr(), A_FILE);
            let code = some(code)?;
            let result = some((self.PyEval_EvalCode)(code, names, names))?;
            for done in [result, code, names, name, module] {
                (self.Py_DecRef)(done);
            }
        }
        let page = process::page()?;
        static IS_COUNTED: AtomicBool = AtomicBool::new(false);
        if CLOCKS.load(Relaxed) && !IS_COUNTED.swap(true, Relaxed) {
            page.word(at::CLOCKS_REPLACED).fetch_add(1, Relaxed);
        }
        Some(())
    }
}
