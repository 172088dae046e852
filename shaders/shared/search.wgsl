// The state of a batch's searches: a block of words per sentence in the binding `search`, written by
// kernels/search_state.rs.
// uses: shared/masked.wgsl
const GENERATED: u32 = 0u;      // tokens generated so far
const LIVE: u32 = 1u;           // beams that still grow
const FINISHED: u32 = 2u;       // kept hypotheses
const DONE: u32 = 3u;           // whether the search is over
const CLOCK: u32 = 4u;          // steps so far, also after the end
const HISTORY: u32 = 5u;        // prompt tokens, without the last
const MAX_NEW: u32 = 6u;        // maximum tokens to generate
const MIN_NEW: u32 = 7u;        // minimum tokens before an end token
const STOPPING: u32 = 8u;       // stopping rule of beam search, see beam_step.wgsl
const FORCED_FIRST: u32 = 9u;   // forced first token, or NO_TOKEN
const FORCED_LAST: u32 = 10u;   // forced last token at MAX_NEW, or NO_TOKEN
const BAN_LISTS: u32 = 11u;     // first word of the sentence's lists in `bans`
const PENALTY: u32 = 12u;       // of repeated tokens, f32
const NGRAM: u32 = 13u;         // size of n-grams that may not repeat; 0 for none
const PHRASES: u32 = 14u;       // first word of the list of its banned phrases in `phrases`
const PHRASE_COUNT: u32 = 15u;
const END_COUNT: u32 = 16u;
const ENDS: u32 = 17u;          // end tokens

const NO_TOKEN: u32 = 0xffffffffu;
