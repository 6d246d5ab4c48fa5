/** Replay over the socket: recorded rows of any markets, merged and sent at their pace. */
export { openReplay } from './open-replay.ts'
export type { Replay, ReplayOutput } from './replay.ts'
