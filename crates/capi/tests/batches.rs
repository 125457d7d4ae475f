//! Batches of a ticker with the default options.

use std::ptr;

use punctual_capi::{
    punctual_missed, punctual_period, punctual_result, punctual_ticker_free, punctual_ticker_new,
    punctual_ticker_next_batch, punctual_ticker_options,
};

/// At 1 kHz a linger of 3 ms has four slots, whatever becomes of missed ones, and however late
/// the wait and the caller are.
#[test]
fn a_batch_has_every_slot_of_its_linger() {
    use punctual_missed::{Burst, Skip};

    for missed in [Skip, Burst] {
        let options = punctual_ticker_options {
            size: size_of::<punctual_ticker_options>(),
            waiter: ptr::null(),
            start_ns: 0,
            burst: 0,
            poisson_seed: 0,
            missed: missed as u32,
            reserved: 0,
        };
        let period = punctual_period {
            cycles: 1_000,
            seconds: 1,
        };
        let mut ticker = ptr::null_mut();
        // SAFETY: the options and the place of the ticker are valid.
        let made = unsafe { punctual_ticker_new(period, &options, &mut ticker) };
        assert_eq!(made, punctual_result::Ok);
        for _ in 0..5 {
            let (mut due, mut taken) = ([0; 64], 0);
            // SAFETY: there is room for as many slots as are asked for.
            let done = unsafe {
                let (due, taken) = (due.as_mut_ptr(), &mut taken);
                punctual_ticker_next_batch(ticker, 64, 3_000_000, ptr::null(), due, taken)
            };
            assert_eq!(done, punctual_result::Ok);
            assert!(taken >= 4, "{missed:?}: {taken}");
            let at = |ms: u64| due[0] + ms * 1_000_000;
            assert_eq!(due[..4], [at(0), at(1), at(2), at(3)]);
        }
        // SAFETY: it was made above, and is used no more.
        unsafe { punctual_ticker_free(ticker) };
    }
}
