/**
 * Zero as V8 stores a double, for fields that will hold times or amounts. A field that begins with 0 is a small
 * integer; its first value above 2^31 changes the class of the object, and V8 then discards all compiled code that
 * knows the old one, in the middle of a run. It adds, compares and prints like 0.
 */
export const DOUBLE_ZERO: number = -0
