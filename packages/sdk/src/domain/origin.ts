/** Where data comes from. Emulated data never shares a folder with live data. The order is part of the formats. */
export const ORIGINS = ['live', 'emulator', 'import'] as const

/** The origin of a journal segment or chunk. */
export type Origin = (typeof ORIGINS)[number]
