/** The tape: ladders, columns and the chunk codec that store, downloads, replay and browser share. */
export * from './book-codec.ts'
export * from './bytes.ts'
export * from './chunk.ts'
export * from './columns.ts'
export * from './head-codec.ts'
export * from './ladder.ts'
export type * from './platform.ts'
