// How far a recorder may be behind its sockets on a machine that does other things.
const UNREAD = 2_000_000

/**
 * A recorder that is behind its sockets and is killed or stopped loses trades that were sent before its last
 * row was received: pausing one for a second and killing it in the backlog shows that. Gaps tell of them
 * by received time, the log by the time of sending. Samples have no gaps.
 */
export function isOfUnread(complaint: string, deaths: readonly number[]): boolean {
  if (complaint.includes('samples stored')) return true
  const at = Number(/: trade \S+ at (\d+) is not stored$/.exec(complaint)?.[1])
  return deaths.some((death) => at <= death && at >= death - UNREAD)
}
