/** Replay: recorded events of any markets of any venues, merged in the order in which they were seen. */
export type { ByteStore } from './byte-store.ts'
export * from './error.ts'
export * from './event.ts'
export * from './frames.ts'
export * from './http-source.ts'
export type { ReplayPlatform, RunningSum, Spool } from './platform.ts'
export * from './replay.ts'
export * from './source.ts'
