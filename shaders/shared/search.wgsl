// The searches of a batch as the device knows them: a block of words for each sentence, in the binding `search`. See
// kernels/search.rs, which writes it.
// uses: shared/masked.wgsl
const GENERATED: u32 = 0u;      // tokens generated so far
const LIVE: u32 = 1u;           // beams that still grow
const FINISHED: u32 = 2u;       // hypotheses that are complete and kept
const DONE: u32 = 3u;           // whether the search is over
const CLOCK: u32 = 4u;          // steps so far, those after the end included
const HISTORY: u32 = 5u;        // tokens of the prompt but its last
const MAX_NEW: u32 = 6u;        // tokens to generate at most
const MIN_NEW: u32 = 7u;        // tokens before the first that may be an end token
const STOPPING: u32 = 8u;       // when a beam search stops, see beam_step.wgsl
const FORCED_FIRST: u32 = 9u;   // the first token, unless NO_TOKEN
const FORCED_LAST: u32 = 10u;   // the last one, where MAX_NEW is reached
const BAN_LISTS: u32 = 11u;     // where the sentence's lists begin in `bans`
const PENALTY: u32 = 12u;       // of tokens that occurred before, f32
const NGRAM: u32 = 13u;         // the size of what must not be repeated; 0: anything may
const PHRASES: u32 = 14u;       // where the list of its banned phrases begins in `phrases`
const PHRASE_COUNT: u32 = 15u;
const END_COUNT: u32 = 16u;
const ENDS: u32 = 17u;          // end tokens

const NO_TOKEN: u32 = 0xffffffffu;
