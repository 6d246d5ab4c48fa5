/** Replay: recorded events of any markets, merged in the order in which they were received. */
export * from './error.ts'
export * from './event.ts'
export * from './read-tape.ts'
export * from './source.ts'
export type { ReplayPlatform, RunningSum, Spool } from './source.ts'
export * from './message-replay.ts'
export { replay } from './replay.ts'
export type { Replay, ReplayOptions } from './replay.ts'
