/** Replay over the socket: recorded rows of any markets, merged and sent at their pace. */
export { openReplay, type Replay, type ReplayOutput } from './player.ts'
